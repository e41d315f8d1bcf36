"""Simulate: made-up tables with known truth, for the demo, tests and benchmarks."""
