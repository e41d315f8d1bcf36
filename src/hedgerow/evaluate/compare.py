"""All metrics over two tables."""

from collections.abc import Callable, Sequence

import numpy as np

from hedgerow.errors import JobError
from hedgerow.evaluate.base import AbstractMetric, Comparison, DoesNotApply, Result, Side, Table
from hedgerow.evaluate.registry import METRICS
from hedgerow.public.schema import Schema

Watch = Callable[[str], None]


def compare(
    a: Table,
    copies: Table | Sequence[Table],
    schema: Schema,
    *,
    rng: np.random.Generator,
    metrics: Sequence[AbstractMetric] | None = None,
    watch: Watch = lambda phase: None,
) -> Comparison:
    """What the metrics (all of them, with their defaults) find of synthetic ``copies`` that stand for ``a``.

    Which metrics are asked changes no other's result: each draws from a generator of its own.
    """
    copies = [copies] if isinstance(copies, Table) else list(copies)
    asked = [m() for m in METRICS.values()] if metrics is None else list(metrics)
    generators = dict(zip(METRICS, rng.spawn(len(METRICS)), strict=True))
    results, skipped = list[Result](), list[tuple[str, str]]()
    for i, metric in enumerate(asked, 1):
        watch(f"{metric.title} ({i} of {len(asked)})")
        try:
            results.append(metric.of_copies(a, copies, schema, rng=generators.get(metric.name) or rng.spawn(1)[0]))
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
