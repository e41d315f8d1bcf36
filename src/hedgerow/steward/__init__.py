"""Steward: exact looks, for the steward's eyes only. Nothing here can be released.

inside.py        the type of what must stay inside
exact.py         the confidential table with the face of a table that metrics measure
compare.py       a release against the confidential table;  writing.py: the folder of exact reports
attacks.py       membership.py and attribute.py on a job;  leaf_attack.py: the regression test of forests
classified.py    how often a synthetic private value is the true one
side_by_side.py  a table of counts as it is and as it was released
ledger_book.py   what was promised and spent on which table
exact_uses.py    each intended use judged on the confidential table itself
use_rows.py      the table that exact reports open with
report.py        the page of it, marked, in a folder of its own
"""
