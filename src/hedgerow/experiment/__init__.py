"""Experiment: factorial runs over plans, on public or pretend-confidential tables only."""
