"""How often a synthetic private value is the true one: exact, for the steward's eyes, never released.

The papers print these rates beside their epsilon, which does not cover them.  Here they stay inside: the result is
held in an ``InsideOnly``, carries its mark, and nothing under ``release/`` can import this room.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import polars as pl

from hedgerow.errors import JobError
from hedgerow.public import CodedTable

MARK = "INSIDE ONLY: exact numbers about confidential rows. Not covered by any epsilon; do not publish."


@final
@dataclass(frozen=True)
class ClassificationRates:
    """Exact rates, for the steward only.

    Attributes:
        rows: synthetic rows.
        match_rate: the share of them with exactly one confidential row of the same keys.
        true_rate: of the matched ones, how often the synthetic value of a column is the true one.
        by_chance: what labels drawn by the column's shares alone would reach.
        mark: what must stand beside these numbers wherever they are shown.
    """

    rows: int
    match_rate: float
    true_rate: dict[str, float]
    by_chance: dict[str, float]
    mark: str = MARK

    def to_json(self) -> dict[str, Any]:
        """The rates as plain data."""
        return dict(vars(self))


def classification_rates(
    confidential: CodedTable, copy: CodedTable, *, private: Sequence[str], keys: Sequence[str]
) -> ClassificationRates:
    """Match synthetic rows with confidential ones by ``keys``, columns of both, and compare ``private``.

    For what stays inside an ``InsideOnly`` only.
    """
    schema, needed = confidential.schema, confidential.schema.coding.needs(private)
    true, records = confidential.frame, copy.frame
    if lacking := [c for c in (*keys, *needed) if c not in true.columns or c not in records.columns]:
        raise JobError(f"Both tables need {', '.join(lacking)} to be compared. Nothing was compared.")
    one = true.select(pl.col(k).cast(pl.String) for k in keys).with_row_index("at")
    alone = one.filter(pl.len().over(list(keys)) == 1)
    mine = records.select(pl.col(k).cast(pl.String) for k in keys).with_row_index("row")
    found = mine.join(alone, list(keys), how="inner", nulls_equal=True)
    here, there = copy.codes(private), confidential.codes(private)
    rate, chance = {}, {}
    for c in private:
        same = here[c][found["row"].to_numpy()] == there[c][found["at"].to_numpy()]
        rate[c] = float(same.mean()) if len(same) else 0.0
        shares = [np.bincount(x[c], minlength=schema.size([c])) / max(len(x[c]), 1) for x in (here, there)]
        chance[c] = float((shares[0] * shares[1]).sum())
    return ClassificationRates(records.height, found.height / max(records.height, 1), rate, chance)
