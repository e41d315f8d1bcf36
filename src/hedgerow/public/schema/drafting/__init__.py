"""Drafts of a schema from what is public: a table, a code book, or both.

A draft is a guess for a person to read and change; its reasons stand beside it as comments.

    draft.py       from a frame or a path to a draft
    sketch.py      one column of a draft, with its reasons
    profile.py     what a table shows of each column, read once
    kinds.py       the kind of a column, and dates;  numbers.py, lists.py: the other kinds;  names.py: what names say
    relations.py   columns fixed by others, few combinations, order, values on one side of a number
    codebook.py    what a code book says of a column;  codebook_files.py, codebook_json.py: where it comes from
"""
