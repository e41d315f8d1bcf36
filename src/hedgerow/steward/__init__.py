"""Steward: exact looks, for the steward's eyes only. Nothing here can be released.

inside.py       the type of what must stay inside, and the folder it may lie in
exact.py       the confidential table: each intended use judged on it, with a page; counts beside their release
compare.py      a release against the confidential table, and how often a synthetic private value is the true one
attacks.py      attacks on a job: membership and attribute inference
ledger_book.py  what was promised and spent on which table
"""
