"""Records that are unique in A and occur in B. An audit number: it is no verdict on privacy, either way."""

from dataclasses import dataclass
from typing import final

import numpy as np
import polars as pl

from hedgerow.evaluate.base import AbstractMetric, CodedTable, DoesNotApply, Result, Scale
from hedgerow.evaluate.cells import in_both, joint_cells


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
