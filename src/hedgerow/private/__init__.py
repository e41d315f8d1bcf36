"""Private: the one gate. The only code that sees confidential rows or draws noise.

An auditor reads PROOFS.md and the core, at most 1,000 non-blank lines; then the further mechanisms, at most 160 each:

    entropy.py   random words from the operating system; noise.py  exact noise in whole numbers, exact private choice
    rows.py      the confidential rows: streamed, capped per person, counted
    gate.py      price, book, count, mark, add noise, answer

    hedgerow/errors.py  public/question.py  public/accounting.py  public/spend.py  public/coding.py
    counting/kernel.py  counting/plan.py

    verification.py public/claim.py  claims about coefficients; selection.py public/stopping.py  the best of many runs

Rules kept by tests: no float literals, no seeds, no logging, no printing, no callbacks from outside
(but the trials of ``selection``: PROOFS.md), no error that depends on a confidential value.
"""

from hedgerow.private.gate import Gate as Gate
