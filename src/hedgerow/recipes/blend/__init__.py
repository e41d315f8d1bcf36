"""Blends: whole records from measured one-way and two-way tables, with a public relative or without."""
