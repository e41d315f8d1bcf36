"""The figure of a plan for a table of counts: expected error against epsilon, for each recipe."""

from pathlib import Path

import numpy as np

from hedgerow.figures import LinePoint, Trace, log_lines
from hedgerow.figures.sheet import Key, Section, series, sheet, write
from hedgerow.figures.words import small
from hedgerow.planning.tables import Imagined, error_curves
from hedgerow.public.costs import Budget

EPSILONS = ("0.1", "0.25", "0.5", "1", "2", "3", "5", "8", "10")
_ALSO = {"dirichlet_multinomial": " (and its kin, where they apply)"}


def draw(
    path: Path, table: Imagined, budget: Budget, rng: np.random.Generator
) -> dict[str, list[tuple[float, float]]]:
    """Write the figure to ``path`` and give the curves in it: recipe -> [(epsilon, expected distance)]."""
    budgets = [Budget(e, budget.delta) for e in sorted({*map(float, EPSILONS), float(budget.epsilon)})]
    curves = error_curves(table, budgets, rng)
    looks = {name: series(i) for i, name in enumerate(curves)}
    traces = [
        Trace(looks[name], tuple(LinePoint(e, far, said=f"{name}, epsilon {e:g}: {small(far)}") for e, far in points))
        for name, points in curves.items()
        if points
    ]
    rows, cells = round(float(table.counts.sum())), len(table.counts)
    chart = log_lines(
        traces,
        said="Expected total-variation distance against epsilon",
        show=small,
        axes=("epsilon", "expected total-variation distance"),
        here=float(budget.epsilon),
    )
    keys = [Key(name + _ALSO.get(name, ""), f"curve {looks[name]}") for name, points in curves.items() if points]
    keys.append(Key("the epsilon of this job", "here"))
    write(path, sheet([Section(f"{table.table}: {cells:,} cells, {rows:,} rows assumed", [("", chart)], keys=keys)]))
    return curves
