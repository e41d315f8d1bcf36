"""Steward: exact looks, for the steward's eyes only. Nothing here can be released.

ledger_book.py   what was promised and spent on which table
exact_uses.py    each intended use judged on the confidential table itself
report.py        the page of it, marked, in a folder of its own
"""
