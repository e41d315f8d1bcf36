"""Evaluate: how close two public tables are. One metric, one file."""
