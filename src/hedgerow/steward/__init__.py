"""Steward: exact looks, for the steward's eyes only. Nothing here can be released.

inside.py          the type of what must stay inside, and the folder it may lie in
exact.py           the confidential table, and each intended use judged on it
compare.py         a release against the confidential table
classification.py  how often a synthetic private value is the true one
report.py          the page of the uses, marked, in a folder of its own
side_by_side.py    a table of counts as it is and as it was released
attacks.py         attacks on a job: membership.py, and attribute inference
ledger_book.py     what was promised and spent on which table
"""
