"""Costs: what may be asked, what it costs, with which noise, and the statement that says so. All of it is public.

question.py     questions, noise and noisy answers, as data
accounting.py   the promise, sensitivities, prices
spend.py        a request, priced
noise_laws.py   the mathematics of each law of noise
statement.py    what a release publishes of all this

Further mechanisms have their public half in urn.py, claim.py and stopping.py, which only those who use them import.
The gate imports the first three by themselves: they are on the auditor's list.
"""
