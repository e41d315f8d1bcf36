"""Drafts of a schema from what is public: a table, a code book, or both.

A draft is a guess for a person to read and change; its reasons stand beside it as comments.

    sketch.py        one column before it is written
    profile.py       what a table shows of each column, read once
    kinds.py         the kind of a column;  names, lists, dates, binning: what it rests on
    relations.py     columns fixed by others, columns that occur in few combinations;  rules.py: order
    entry.py         what a code book says of a column;  from_*: where it comes from
    writing.py       the schema file with its comments
    drafting.py      from a path to a draft
"""
