"""Broken input by the thousand: jobs, schemas, tables, grids and bundles, mutated, against the whole command line.

``python -m tests.fuzz --cases 1000 --seed 0`` runs them (``make fuzz``); a finding is repeated with ``--only SEED``.
"""
