"""What every measure of closeness is: its scale, what chance alone would give, and how to read it.

A metric is a frozen dataclass whose fields are its settings.  Metrics never hold a table, and they know
nothing of where a table came from: the same code compares two public tables and, in ``steward/``, a synthetic
table with the confidential one.  How to add one:

1. a subclass of ``AbstractMetric``, in the file of its subject or in one of its own: ``name``, ``title``, ``scale``,
   ``null`` and ``reading`` say what the number is; ``of`` works it out; ``with_options`` where a command may set it;
2. its line in ``evaluate/registry.py``, which gives it to ``hedgerow compare`` and to the contract test
   ``tests/contract/test_every_metric.py``;
3. its paragraph in ``docs/metrics.md``.

``of`` raises ``DoesNotApply`` with the reason when the tables have nothing that it could measure.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, ClassVar, Literal, Self, final

import numpy as np
import polars as pl

from hedgerow.public import CodedTable as CodedTable

Value = float | int | str | bool | None
CHANCE = ("by chance", "found")
"""The names of the two sides of a figure that shows what was found beside what chance would give."""


class DoesNotApply(Exception):
    """These tables have nothing that the metric could measure; the text says why."""


@final
@dataclass(frozen=True)
class Scale:
    """Where the number of a metric may lie, and where it is best; an end that is open is infinite."""

    low: float
    high: float
    best: float
    unit: str = ""

    def __contains__(self, value: float) -> bool:
        return self.low - 1e-9 <= value <= self.high + 1e-9


@final
@dataclass(frozen=True, eq=False)
class Figure:
    """The numbers of a figure; who draws it decides how.

    ``data`` has these columns, by ``kind``:
        bars: ``label``, ``a``, ``b``.
        scatter: ``label``, ``group``, ``a``, ``b``, and ``band`` where chance alone would put b (half width).
        coefficients: ``label``, ``a``, ``a_low``, ``a_high``, ``b``, ``b_low``, ``b_high``; ``at`` when by year.
        heat: ``row``, ``column``, ``value``; ``worse`` says which end of it is. Rows and columns stand so that
            pairs make a triangle, or as the data has them if ``order_counts``.
        curve: ``series``, ``x``, ``y``.
    ``names`` are what ``a`` and ``b`` are, where they are not the two tables.
    """

    kind: Literal["bars", "scatter", "coefficients", "heat", "curve"]
    title: str
    data: pl.DataFrame
    x: str = ""
    y: str = ""
    logarithmic: bool = False
    names: tuple[str, str] | None = None
    worse: Literal["high", "low"] = "high"
    order_counts: bool = False


@final
@dataclass(frozen=True, eq=False)
class Result:
    """What a metric found.

    Attributes:
        metric: its name.
        value: the one number, on the metric's scale; None when only the table says it.
        null: what ``value`` would be if B were another sample of A's population, of B's size; None if not known.
        sentence: the number in plain words.
        table: the numbers behind it, worst first where that means something. Pages show its beginning.
        parts: other single numbers, by name.
        figures: what to draw.
        notes: what a reader must know to trust the number: what was left out, sampled or collapsed.
        each: where ``value`` is the worst of several numbers: what each is of, the number, and its null.
    """

    metric: str
    value: float | None
    null: float | None
    sentence: str
    table: pl.DataFrame
    parts: Mapping[str, Value] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    each: tuple[tuple[str, float, float | None], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The result as plain data; figures are left out, for their numbers are the table's."""
        return {
            "metric": self.metric,
            "value": _plain(self.value),
            "null": _plain(self.null),
            "sentence": self.sentence,
            "each": [{"of": of, "value": _plain(value), "null": _plain(null)} for of, value, null in self.each],
            "parts": {k: _plain(v) for k, v in self.parts.items()},
            "table": [{k: _plain(v) for k, v in row.items()} for row in self.table.iter_rows(named=True)],
            "notes": list(self.notes),
        }


@final
@dataclass(frozen=True)
class CompareOptions:
    """What may be chosen of a comparison; what is empty keeps its default. Each metric takes what concerns it.

    Attributes:
        only: names of metrics; all when empty.
        model: the formula of the linear model.
        by: the column by whose values it is fitted.
        logistic: the formula of the logistic model.
        cluster: the column of rows that go together, for its standard errors.
        group: columns whose values are groups.
        joint: columns of panel (a).
        scatter: columns that panel (b) crosses.
        private: columns that are synthetic where the others were given; all are, when empty.
        label: the column to predict.
        library: what fits linear models.
    """

    only: tuple[str, ...] = ()
    model: str = ""
    by: str = ""
    logistic: str = ""
    cluster: str = ""
    group: tuple[str, ...] = ()
    joint: tuple[str, ...] = ()
    scatter: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    label: str = ""
    library: Literal["hedgerow", "pyfixest"] = "hedgerow"


class AbstractMetric(ABC):
    """One measure of how close table B (synthetic) is to table A (the one it stands for).

    Attributes:
        name: a short name for commands and files.
        title: a heading.
        scale: where its number lies and where it is best.
        null: in words, what chance alone would give.
        reading: in plain words, what a high or a low number means for who uses the file.
        appendix: True for numbers that are no verdict and belong in the audit appendix only.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    scale: ClassVar[Scale]
    null: ClassVar[str]
    reading: ClassVar[str]
    appendix: ClassVar[bool] = False

    def with_options(self, options: CompareOptions) -> Self:
        """The same metric, set as ``options`` ask; one that has nothing to choose stays as it is."""
        return self

    @abstractmethod
    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """How close ``b`` is to ``a``, both read with one schema, which is ``a.schema``.

        ``rng`` is for splits and random choices; equal ones give equal results.
        """

    def of_copies(self, a: CodedTable, copies: Sequence[CodedTable], *, rng: np.random.Generator) -> Result:
        """The same over several synthetic copies: of the first, with the spread of the number over all."""
        found = [self.of(a, b, rng=r) for b, r in zip(copies, rng.spawn(len(copies)), strict=True)]
        values = [r.value for r in found if r.value is not None and isfinite(r.value)]
        if len(copies) < 2 or not values:
            return found[0]
        spread = {
            "copies": len(copies),
            "lowest": min(values),
            "mean": float(np.mean(values)),
            "highest": max(values),
        }
        return replace(found[0], parts={**found[0].parts, **spread})


def _plain(value: Any) -> Any:
    """A value that JSON can hold; what is not a number is null."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str | None) else str(value)
