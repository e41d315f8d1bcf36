"""Drafts of a schema from what is public: a table, a code book, or both.

A draft is a guess for a person to read and change; its reasons stand beside it as comments.

    draft.py       from a frame or a path to a draft; columns fixed by others, few combinations, order between columns
    sketch.py      one column of a draft, with its reasons
    profile.py     what a table shows of each column, read once
    kinds.py       from the profile or the code book of a column to its sketch; numbers.py, lists.py: by kind
    names.py       what names say
    codebook.py    what a code book says of a column, and the files it comes in
"""
