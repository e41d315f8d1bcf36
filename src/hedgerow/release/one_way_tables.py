"""One column at a time: the noisy counts against those of the synthetic records.

Both sides are public, so the comparison is free and may be published.  It shows how well the records
follow what was measured; how far the measurement itself is from the truth is what the noise says.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.public.costs.question import Counts, Measurement
from hedgerow.public.schema import Schema
from hedgerow.release.measurements import Answers
from hedgerow.release.words import plus_minus

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OneWayTable:
    """The cells of one column, measured and synthetic.

    Attributes:
        name: the column.
        labels: a label per cell.
        ordered: whether the order of the cells has a meaning.
        noisy: the noisy counts.
        plus_minus: a noisy count is within this of the truth 95 times in 100.
        synthetic: the counts in the synthetic records, the mean over copies.
        source: the measured table the noisy counts come from.
    """

    name: str
    labels: tuple[str, ...]
    ordered: bool
    noisy: Counts
    plus_minus: float
    synthetic: Floats
    source: str

    @property
    def distance(self) -> float:
        """Half the summed difference of shares, noisy against synthetic."""
        measured = np.maximum(self.noisy, 0) / max(int(np.maximum(self.noisy, 0).sum()), 1)
        return float(np.abs(measured - self.synthetic / max(self.synthetic.sum(), 1)).sum() / 2)

    @property
    def within(self) -> float:
        """The share of cells whose synthetic count is within ``plus_minus`` of the noisy one."""
        return float(np.mean(np.abs(self.noisy - self.synthetic) <= self.plus_minus + 0.5))


def one_way_tables(schema: Schema, answers: Answers, records: Sequence[pl.DataFrame]) -> tuple[OneWayTable, ...]:
    """Every column that some answer tells of, in the order of the schema."""
    kinds = {c.name: c.kind for c in schema.columns}
    found = []
    for name in schema.attributes:
        best = _best_answer(name, [m for _, m in answers])
        if best is None or not records:
            continue
        others = len(best.counts) // schema.size([name])
        found.append(
            OneWayTable(
                name=name,
                labels=schema.cell_labels(name),
                ordered=kinds.get(name, "categorical") not in ("categorical", "yes-no"),
                noisy=_summed(schema, name, best),
                plus_minus=plus_minus(best.noise, others),
                synthetic=_counted(schema, name, records),
                source=str(best.question),
            )
        )
    return tuple(found)


def _best_answer(name: str, answers: Sequence[Measurement]) -> Measurement | None:
    """The answer that tells most exactly how many rows have each value of ``name``."""
    telling = [m for m in answers if name in m.question.columns]
    return min(telling, key=lambda m: m.noise.variance * len(m.counts), default=None)


def _summed(schema: Schema, name: str, answer: Measurement) -> Counts:
    shape = schema.shape(answer.question.columns)
    at = answer.question.columns.index(name)
    cube = answer.counts.reshape(-1, shape[at], prod(shape[at + 1 :]))
    return np.asarray(cube.sum(axis=(0, 2)), np.int64)


def _counted(schema: Schema, name: str, records: Sequence[pl.DataFrame]) -> Floats:
    size, total = schema.size([name]), np.zeros(schema.size([name]))
    for copy in records:
        total += np.bincount(schema.coding.encode(copy, [name])[name], minlength=size)
    return total / len(records)
