"""Steward: exact looks, for the steward's eyes only. Nothing here can be released.

inside.py       the type of what must stay inside, and the folder it may lie in
exact.py        the confidential table: each intended use judged on it, a table of counts beside its release
compare.py      a release against the confidential table, and how often a synthetic private value is the true one
report.py       the page of the uses, marked, in a folder of its own
attacks.py      attacks on a job: membership and attribute inference
ledger_book.py  what was promised and spent on which table
"""
