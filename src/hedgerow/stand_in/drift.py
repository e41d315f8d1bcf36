"""Drift: how far the confidential table may have moved away from its relative, played by an uneven split.

Two random parts of one table differ by chance alone.  A confidential table and its public relative differ by more:
another period, another place, other people.  A recipe that leans on the relative errs by part of that, and a
rehearsal on random parts cannot see it.  So a public table is split unevenly: the odds that a person plays in the
confidential table are exp(drift * score), where the score of a row is a random mixture of its columns plus a product
of two such mixtures, with mean 0 and variance 1.  One-way tables drift by the first, associations by the second; a
recipe that measures what has drifted mends it here as it will in the release, and one that does not, does not.

``DRIFT`` is the standard deviation of the log odds.  It lies between two sizes that were tried on past pairs
of tables, and was not fitted itself: docs/rehearse.md says on which and how it did on others (``bench/forecast.py``).
"""

import numpy as np

from hedgerow.public import BINNED, CodedTable, Floats

DRIFT = 0.5
_MOST = 3.0  # standard deviations of a score: single rows far out must not all be on one side


def drift_score(table: CodedTable, rng: np.random.Generator) -> Floats:
    """A score for each row: a direction, drawn at random, in which two such tables may drift apart."""
    first, left, right = (_mixture(table, rng) for _ in range(3))
    return np.clip(_standard(first + left * right), -_MOST, _MOST)


def _mixture(table: CodedTable, rng: np.random.Generator) -> Floats:
    """A random mixture of all columns, each standardized: numbers by their order, the others by random scores."""
    total = np.zeros(table.rows)
    for column in table.schema.columns:
        if column.name not in table.frame.columns:
            continue
        codes = table.cells((column.name,))
        size = table.schema.size((column.name,))
        ordered = column.kind == "ordered" or column.kind in BINNED
        values = np.arange(size, dtype=np.float64) if ordered else rng.normal(size=size)
        total += rng.normal() * _standard(values[codes])
    return _standard(total)


def _standard(values: Floats) -> Floats:
    spread = float(values.std())
    return (values - values.mean()) / spread if spread > 0 else np.zeros(len(values))
