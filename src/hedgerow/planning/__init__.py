"""Planning: what a budget buys, before anything confidential is read.

forecast.py      what a job will ask, cost and give, what to warn of, and whether it fits in this machine
tables.py        what each recipe would make of a table of counts, side by side
attach.py        trees before they are filled, and what an attach job is worth
interval.py      how close a synthetic share comes
"""
