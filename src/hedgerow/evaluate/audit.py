"""Audit numbers, which are no verdict on privacy: how near records of B come to records of A, and unique matches."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.evaluate.base import AbstractMetric, CodedTable, DoesNotApply, Result, Scale
from hedgerow.evaluate.cells import in_both, joint_cells


@final
@dataclass(frozen=True)
class NearestRecords(AbstractMetric):
    """In how many columns, on average, a record of B differs from the nearest record of A.

    Attributes:
        columns: what is compared; all columns that both tables have, by default.
        most: so many records are looked up, chosen at random, among so many times twenty.
    """

    name = "nearest-records"
    title = "Distance to the nearest record of A"
    scale = Scale(0, float("inf"), 0, "columns")
    null = "how far A's own records are from their nearest other record in A"
    reading = (
        "Not a privacy verdict: a small distance may be mere density, and a large one proves nothing. Compare it "
        "with the distance among A's own records."
    )
    appendix = True
    columns: tuple[str, ...] | None = None
    most: int = 1000

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """The distances of both tables' records."""
        names = in_both(a, b, self.columns)
        if not names or a.rows < 2:
            raise DoesNotApply("the tables share no column, or A has one row only")
        x, y = (np.stack([t.codes([n])[n] for n in names], 1) for t in (a, b))
        pool = rng.permutation(a.rows)[: 20 * self.most]
        own = rng.choice(len(pool), min(self.most, len(pool)), replace=False)
        asked = rng.choice(b.rows, min(self.most, b.rows), replace=False)
        of_b = _nearest(y[asked], x[pool], None)
        of_a = _nearest(x[pool][own], x[pool], own)
        top = len(names) + 1
        table = pl.DataFrame(
            {
                "columns_that_differ": np.arange(top),
                "records_of_b": np.bincount(of_b, minlength=top) / len(of_b),
                "records_of_a": np.bincount(of_a, minlength=top) / len(of_a),
            }
        ).filter((pl.col("records_of_b") > 0) | (pl.col("records_of_a") > 0))
        value, among = float(of_b.mean()), float(of_a.mean())
        return Result(
            self.name,
            value,
            among,
            f"Records of B differ from the nearest of A in {value:.2f} of {len(names)} columns on average; A's own "
            f"records differ from their nearest in {among:.2f}. This is not a privacy verdict.",
            table,
            parts={"columns": len(names), "looked_up": len(asked), "among": len(pool)},
        )


def _nearest(
    asked: npt.NDArray[Any], pool: npt.NDArray[Any], itself: npt.NDArray[np.int64] | None
) -> npt.NDArray[np.int64]:
    """For each record the fewest columns in which one of ``pool`` differs; its own place there does not count."""
    found, columns = np.empty(len(asked), np.int64), np.ascontiguousarray(pool.T)
    for i, record in enumerate(asked):
        apart = np.zeros(len(pool), np.uint16)
        for line, value in zip(columns, record, strict=True):
            apart += line != value
        if itself is not None:
            apart[itself[i]] = asked.shape[1] + 1
        found[i] = apart.min()
    return found


@final
@dataclass(frozen=True)
class UniqueMatches(AbstractMetric):
    """The share of A's unique records, as coded, that occur in B.

    Attributes:
        columns: what a record is; all columns that both tables have, by default.
    """

    name = "unique-matches"
    title = "Unique records of A that occur in B"
    scale = Scale(0, 1, 0, "share of unique records")
    null = "not 0: whoever draws from the right distribution meets some; the table says how often B's own uniques do"
    reading = (
        "Not a privacy verdict. A file with a guarantee may match many records and one without may match none: "
        "the promise is in the statement. A jump between releases is worth a look, that is all."
    )
    appendix = True
    columns: tuple[str, ...] | None = None

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """Unique records, and how many of them occur in the other table."""
        names = in_both(a, b, self.columns)
        if not names:
            raise DoesNotApply("the tables share no column")
        cells = joint_cells(a, b, names)
        unique, also = int((cells.a == 1).sum()), int(((cells.a == 1) & (cells.b > 0)).sum())
        both_once = int(((cells.a == 1) & (cells.b == 1)).sum())
        exact = int(cells.b[cells.a > 0].sum())
        table = pl.DataFrame(
            {
                "count": [
                    "records unique in A",
                    "of these, in B",
                    "of these, unique in B",
                    "rows of B that are in A",
                ],
                "value": [unique, also, both_once, exact],
            }
        )
        share = also / unique if unique else 0.0
        return Result(
            self.name,
            share,
            None,
            f"{also:,} of {unique:,} records that are unique in A (over {len(names)} columns, as coded) occur in B. "
            "This is not a privacy verdict.",
            table,
            parts={"columns": len(names), "rows_of_b_in_a": exact / b.rows},
        )
