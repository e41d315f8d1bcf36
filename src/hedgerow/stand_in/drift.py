"""Drift: how far the confidential table may have moved away from its relative, played by an uneven split.

Two random parts of one table differ by chance alone.  A confidential table and its public relative differ by more:
another period, another place, other people.  A recipe that leans on the relative errs by part of that, and a
rehearsal on random parts cannot see it.  So a public table is split unevenly: the odds that a person plays in the
confidential table are exp(drift * score), where the score of a row is a random mixture of its columns plus a product
of two such mixtures, with mean 0 and variance 1.  One-way tables drift by the first, associations by the second; a
recipe that measures what has drifted mends it here as it will in the release, and one that does not, does not.

Where columns are attached to a target, it is public how far that lies from the public table: later years, higher pay.
No split of the public table has these, so the part that plays the confidential table is moved there: its columns with
an order get the values of the target, rank by rank, and what goes with a rank stays with it.

``DRIFT`` is the standard deviation of the log odds.  It lies between two sizes that were tried on past pairs
of tables, and was not fitted itself: docs/rehearse.md says on which and how it did on others (``bench/forecast.py``).
"""

import numpy as np
import polars as pl

from hedgerow.public import BINNED, CodedTable, Floats, Places

DRIFT = 0.5
_MOST = 3.0  # standard deviations of a score: single rows far out must not all be on one side


def drift_score(table: CodedTable, rng: np.random.Generator) -> Floats:
    """A score for each row: a direction, drawn at random, in which two such tables may drift apart."""
    first, left, right = (_mixture(table, rng) for _ in range(3))
    return np.clip(_standard(first + left * right), -_MOST, _MOST)


def moved(part: CodedTable, target: CodedTable, rng: np.random.Generator) -> CodedTable:
    """The rows of ``part`` where ``target`` lies: each column with an order gets its values, rank by rank.

    Equal values are ranked by lot.  Columns that a join, a structural zero or a rule ties to others stay as they are.
    """
    schema, new = part.schema, []
    tied = {c for join in schema.joined for c in join.columns} | {c for zero in schema.zeros for c, _ in zero.where}
    tied |= {c for rule in schema.rules for c in (rule.left, rule.right)}
    for column in schema.columns:
        name, ordered = column.name, column.kind == "ordered" or column.kind in BINNED
        if not ordered or name in tied or name not in target.frame.columns or not target.rows:
            continue
        ours, theirs = _in_order(part, name, rng), _in_order(target, name, rng)
        place = np.empty(part.rows, np.int64)
        place[ours] = theirs[((np.arange(part.rows) + 0.5) * target.rows / part.rows).astype(np.int64)]
        new.append(target.frame[name][place])
    return part.with_frame(part.frame.with_columns(new))


def _in_order(table: CodedTable, name: str, rng: np.random.Generator) -> Places:
    """The places of the rows, by the cells of a column and, inside a cell, by its numbers."""
    values = table.frame[name]
    numbers = values.cast(pl.Float64) if values.dtype.is_numeric() else pl.Series([0.0]).new_from_index(0, table.rows)
    return np.lexsort((rng.random(table.rows), numbers.fill_null(0.0).to_numpy(), table.cells((name,))))


def _mixture(table: CodedTable, rng: np.random.Generator) -> Floats:
    """A random mixture of all columns, each standardized: numbers by their order, the others by random scores."""
    total = np.zeros(table.rows)
    for column in table.schema.columns:
        if column.name not in table.frame.columns:
            continue
        codes, share = table.codes((column.name,))[column.name], _shares(table, column.name)
        ordered = column.kind == "ordered" or column.kind in BINNED
        values = np.arange(len(share), dtype=np.float64) if ordered else rng.normal(size=len(share))
        values -= share @ values
        spread = float(np.sqrt(share @ values**2))
        scale = rng.normal()
        if spread > 0:
            total += (values * (scale / spread))[codes]
    return _standard(total)


def _shares(table: CodedTable, name: str) -> Floats:
    """The shares of the codes of a column. Worked out once."""
    key = ("shares of codes", name)
    if key not in table.memo:
        size = table.schema.size((name,))
        table.memo[key] = np.bincount(table.codes((name,))[name], minlength=size) / max(table.rows, 1)
    found: Floats = table.memo[key]
    return found


def _standard(values: Floats) -> Floats:
    values = values - values.mean()
    spread = float(np.sqrt(values @ values / max(len(values), 1)))
    return values / spread if spread > 0 else np.zeros(len(values))
