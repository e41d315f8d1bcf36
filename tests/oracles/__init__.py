"""Exact laws of the urn recipes, by enumeration: what tests hold the gate and the calculators to."""
