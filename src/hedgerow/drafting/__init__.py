"""Drafts of a schema from what is public: a table, a code book, or both.

A draft is a guess for a person to read and change; its reasons stand beside it as comments.

    sketch.py        one column before it is written
    profile.py       what a table shows of each column, read once
    kinds.py         the kind of a column;  lists, amounts, dates: the sketch of each;  names, binning: on what
    relations.py     columns fixed by others, columns that occur in few combinations;  rules.py: order and bounds
    entry.py         what a code book says of a column;  from_*: where it comes from;  labelled, apart: with a table
    writing.py       the schema file with its comments
    drafting.py      from a path to a draft;  from_table.py: from a table
    fit.py           how a table fits a schema;  summary.py: both in words
"""
