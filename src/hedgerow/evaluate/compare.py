"""All metrics over two tables, and what they found: a comparison."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import PurePath
from typing import Any, final

import numpy as np
from markupsafe import escape

from hedgerow.errors import JobError
from hedgerow.evaluate.base import AbstractMetric, CodedTable, CompareOptions, DoesNotApply, Result
from hedgerow.evaluate.registry import METRICS
from hedgerow.figures import many, shown, table_html
from hedgerow.public import Formula

Watch = Callable[[str], None]
SUMMARY_HEAD = ("measure", "found", "by chance", "best", "")


@final
@dataclass(frozen=True)
class Side:
    """One of the two tables of a comparison, as it is named in results."""

    name: str
    rows: int
    copies: int = 1

    def __str__(self) -> str:
        rows = f"{self.rows:,} rows" + (f" in each of {self.copies} copies" if self.copies > 1 else "")
        return f"{self.called} ({rows})"

    @property
    def called(self) -> str:
        """What a table is called on a page: the end of its path."""
        place = PurePath(self.name)
        return place.name if len(place.parts) < 2 else "/".join(place.parts[-2:]).lstrip("/")


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """What every metric found of two tables.

    Attributes:
        a: the table that is stood for.
        b: the synthetic table that stands for it.
        results: one per metric, in the order of the registry.
        skipped: name of a metric and why it does not apply.
    """

    a: Side
    b: Side
    results: tuple[Result, ...]
    skipped: tuple[tuple[str, str], ...] = ()

    def __getitem__(self, metric: str) -> Result:
        for r in self.results:
            if r.metric == metric:
                return r
        raise KeyError(metric)

    def __repr__(self) -> str:
        missing = f", {len(self.skipped)} not measured" if self.skipped else ""
        return f"<Comparison of {self.b} with {self.a}: {many(len(self.results), 'measure')}{missing}>"

    def _repr_html_(self) -> str:
        """The measures as a table, for a notebook, and why others were not measured."""
        left = "".join(f"{METRICS[name].title}: not measured, {escape(why)}<br>" for name, why in self.skipped)
        return table_html(f"{self.b}, compared with {self.a}", SUMMARY_HEAD, self.summary_rows()) + left

    def summary_rows(self) -> list[tuple[str, ...]]:
        """A line for each measure, in the order of ``SUMMARY_HEAD``."""
        return [
            (
                METRICS[r.metric].title,
                shown(r.value),
                shown(r.null),
                f"{METRICS[r.metric].scale.best:g}",
                METRICS[r.metric].scale.unit
                + ("; audit appendix, not a verdict" if METRICS[r.metric].appendix else ""),
            )
            for r in self.results
        ]

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain data."""
        return {
            "a": {"name": self.a.name, "rows": self.a.rows},
            "b": {"name": self.b.name, "rows": self.b.rows, "copies": self.b.copies},
            "results": [r.to_json() for r in self.results],
            "skipped": [{"metric": m, "why": why} for m, why in self.skipped],
        }


def compare(
    a: CodedTable,
    copies: CodedTable | Sequence[CodedTable],
    *,
    rng: np.random.Generator,
    metrics: Sequence[AbstractMetric] | None = None,
    watch: Watch = lambda phase: None,
) -> Comparison:
    """What the metrics (all of them, with their defaults) find of synthetic ``copies`` that stand for ``a``.

    All tables are read with one schema.  Which metrics are asked changes no other's result: each
    draws from a generator of its own.
    """
    copies = [copies] if isinstance(copies, CodedTable) else list(copies)
    asked = [m() for m in METRICS.values()] if metrics is None else list(metrics)
    generators = dict(zip(METRICS, rng.spawn(len(METRICS)), strict=True))
    results, skipped = list[Result](), list[tuple[str, str]]()
    for i, metric in enumerate(asked, 1):
        watch(f"{metric.title} ({i} of {len(asked)})")
        try:
            results.append(metric.of_copies(a, copies, rng=generators.get(metric.name) or rng.spawn(1)[0]))
        except DoesNotApply as why:
            skipped.append((metric.name, str(why)))
    rows = round(sum(c.rows for c in copies) / len(copies))
    return Comparison(Side(a.name, a.rows), Side(copies[0].name, rows, len(copies)), tuple(results), tuple(skipped))


def chosen(names: Sequence[str]) -> list[AbstractMetric]:
    """The metrics of these names, with their defaults."""
    if unknown := [n for n in names if n not in METRICS]:
        raise JobError(
            f"There is no metric {', '.join(unknown)}. Choose among: {', '.join(METRICS)}.\n"
            "No confidential row was read and nothing was spent."
        )
    return [METRICS[n]() for n in names]


def metrics_for(options: CompareOptions) -> list[AbstractMetric]:
    """The metrics that the options choose, set as they ask."""
    for formula in filter(None, (options.model, options.logistic)):
        Formula.parse(formula)  # a mistake shows before any table is read
    return [m.with_options(options) for m in chosen(options.only or tuple(METRICS))]


def listed(text: str) -> tuple[str, ...]:
    """Names written with commas between them.

    >>> listed("agency, year")
    ('agency', 'year')
    """
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if len(set(found)) < len(found):
        raise JobError(f"{text!r} names a column twice. Name each once. Nothing was read or spent.")
    return found


def metric_names(only: Sequence[str]) -> tuple[str, ...]:
    """Names of metrics, written one by one or with commas."""
    return tuple(n for text in only for n in listed(text))


def metrics_from(**options: Any) -> list[AbstractMetric]:
    """The metrics with ``CompareOptions`` as a call from Python gives them: names as a list, or in one text."""
    known = {f.name for f in fields(CompareOptions)}
    if unknown := sorted(set(options) - known):
        raise JobError(
            f"A comparison does not know {', '.join(unknown)}. It knows: {', '.join(sorted(known))}.\n"
            "No confidential row was read and nothing was spent."
        )
    given = dict(options)
    for name in {"only", "group", "joint"} & set(given):
        texts = (given[name],) if isinstance(given[name], str) else tuple(given[name])
        given[name] = metric_names(texts)
    return metrics_for(CompareOptions(**given))
