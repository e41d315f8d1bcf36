"""Counting: exact counts of questions, wherever the rows are."""
