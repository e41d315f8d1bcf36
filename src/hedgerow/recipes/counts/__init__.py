"""Counts: tables of counts, with noise on every cell or drawn from urns."""
