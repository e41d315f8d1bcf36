"""A table of counts: the cross of some columns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import pi, sqrt
from typing import Any, ClassVar, final

import numpy as np

from hedgerow.public import CodedTable, Floats
from hedgerow.uses.base import A_LIST, AbstractUse, Quantity, UseError, Within, is_names


@final
@dataclass(frozen=True)
class Table(AbstractUse):
    """The counts of the cross of ``columns``: their shares in total variation, or the cells one by one.

    >>> Table(["sex", "race"], tolerance=0.01).what
    'sex x race: total variation'
    """

    kind: ClassVar[str] = "table"
    unit: ClassVar[str] = "cell"
    size_key: ClassVar[str] = "cell_size"
    figures_are_counts: ClassVar[bool] = True
    default_within: ClassVar[Within] = "total-variation"

    columns: Sequence[str]
    cell_size: int = field(default=0, kw_only=True)

    @classmethod
    def problems(cls, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """What is wrong with the values of some keys."""
        yield from super().problems(values)
        if not is_names(values.get("columns", ())):
            yield "columns", A_LIST

    @property
    def subject(self) -> str:
        """What is looked at."""
        return " x ".join(self.columns)

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns in whose every cell there is a count."""
        return tuple(self.columns)

    @property
    def table(self) -> tuple[str, ...]:
        """The same columns, each once."""
        return tuple(dict.fromkeys(self.columns))

    def size_in_words(self, error: float) -> str:
        """Total variation is the share of records that would have to change their cell."""
        if self.within != "total-variation":
            return super().size_in_words(error)
        return f"{10_000 * error:,.0f} in 10,000" if error >= 0.0001 else "fewer than 1 in 10,000"

    def error_in_words(self, error: float) -> str:
        """How many are counted wrongly.

        >>> Table(["sex"], tolerance=0.01).error_in_words(0.0017)
        'about 17 in 10,000 records counted in a wrong cell'
        """
        if self.within != "total-variation":
            return super().error_in_words(error)
        return f"about {self.size_in_words(error)} records counted in a wrong cell"

    def figures(self, table: CodedTable) -> Quantity:
        """The count of every cell."""
        cells, size = table.cells(self.groups), table.schema.size(self.groups)
        counts = np.bincount(cells, table.counts, size).astype(np.float64)
        return Quantity(counts, counts, np.empty(0))

    def scaled(self, made: Quantity, true: Quantity) -> Floats:
        """The counts brought to the same total, since shares are what is compared."""
        return made.values * (true.total / max(made.total, 1e-12))

    def error(self, made: Quantity, true: Quantity, *, scale: float = 1.0) -> UseError:
        """Half the summed difference of shares; or cell by cell, as for every other kind."""
        if self.within != "total-variation":
            return super().error(made, true, scale=scale)
        parts = np.abs(_shares(made.values) - _shares(true.values))
        return UseError(float(parts.sum() / 2), parts)

    def half_sample_error(
        self, table: CodedTable, true: Quantity, rng: np.random.Generator, *, scale: float = 1.0
    ) -> float:
        """In closed form: a count of a random half is hypergeometric, and nearly normal."""
        if self.over != "typical":
            return super().half_sample_error(table, true, rng, scale=scale)
        counts = true.values * scale
        n = float(counts.sum())
        if n <= 0:
            return float("nan")
        p = counts / n
        if self.within == "total-variation":
            return sqrt(2 / pi) / 2 * float(np.sqrt(p * (1 - p)).sum()) / sqrt(n)
        large = p[counts >= max(self.cell_size, 1)]
        return sqrt(2 / pi) * float(np.sqrt((1 - large) / large).mean()) / sqrt(n) if len(large) else 0.0

    def from_noise(self, size: float, cells: int, rows: int | None) -> tuple[float | None, str]:
        """The error that noise alone gives."""
        if self.within == "relative" and self.cell_size > 0:
            return size / self.cell_size, "noise scale; the smallest cell that counts"
        if self.within == "total-variation" and rows:
            return min(1.0, size * cells / 2 / rows), "noise scale; before projection"
        return (
            None,
            "no forecast: the job says no number of rows (assumed_rows, a public guess), and the use no cell_size",
        )


def _shares(counts: Floats) -> Floats:
    kept = np.maximum(counts, 0.0)
    return kept / max(float(kept.sum()), 1e-12)
