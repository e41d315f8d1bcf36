"""Benchmarks: ratios within one run, and error tables on real data."""
