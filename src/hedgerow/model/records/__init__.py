"""Whole records: models they are drawn from, and ways to fit them to tables."""
