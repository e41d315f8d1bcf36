"""Ledger: what was promised and spent on which table. It books public numbers; it never sees a row."""
