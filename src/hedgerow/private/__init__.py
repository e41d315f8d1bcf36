"""Private: the one gate. The only code that sees confidential rows or draws noise.

An auditor reads this folder, PROOFS.md, what it imports of ours (for gdp costs/gaussian.py). The core, at most 1,000:

    entropy.py   random words from the operating system; noise.py   exact whole-number noise, exact private choice
    rows.py      the confidential rows: hidden, and counted by a counter
    gate.py      price, book, count, draw, save and mark, answer

    hedgerow/errors.py  public/costs/question.py  public/costs/accounting.py  public/costs/spend.py  public/coding.py
    counting/kernel.py  counting/plan.py

The local counter, at most 430: local.py counting/encode.py counting/order.py counting/parts.py
The fingerprint, at most 140, of all counters: counting/fingerprint.py

Engines, at most 300 each, in its place: engines/sql.py engines/duckdb.py engines/postgresql.py engines/spark.py
engines/frames.py engines/spark_rows.py public/servers.py (engines/shards.py draws on Spark's workers, meets no row)

Readers, at most 265, through which every row comes (a test follows rows to find them): public/files.py

Further mechanisms, at most 160 each; the core does not import them, and a job that uses none needs none:

    urns.py public/costs/urn.py             synthetic counts drawn from Polya urns
    verification.py public/costs/claim.py   how many parts of the table bear out a claim about a coefficient
    selection.py public/costs/stopping.py   the best of a random number of runs
    relabel.py counting/relabel.py          counts of rows whose label was drawn by a public law first
    people.py public/people.py              people counted once, by facts about all of their rows
    careers.py public/careers.py            people counted once by their first record, and by some of their steps

Rules kept by tests: no float literals, no seeds, no logging, no printing, no callbacks from outside
(but the trials of ``selection``: PROOFS.md), no error that depends on a confidential value.
"""

from hedgerow.private.gate import Gate as Gate
