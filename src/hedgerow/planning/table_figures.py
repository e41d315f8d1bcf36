"""The figure of a plan for a table of counts: expected error against epsilon, for each recipe.

Loads matplotlib: import this module only when a figure is to be drawn.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from hedgerow.planning.tables import Imagined, error_curves
from hedgerow.public.costs.accounting import Budget

EPSILONS = ("0.1", "0.25", "0.5", "1", "2", "3", "5", "8", "10")
_INK, _SOFT = "#222222", "#8a8a8a"
_COLOURS = ("#1b6ca8", "#c8553d")
_ALSO = {"dirichlet_multinomial": " (and its kin, where they apply)"}


def draw(
    path: Path, table: Imagined, budget: Budget, rng: np.random.Generator
) -> dict[str, list[tuple[float, float]]]:
    """Write the figure to ``path`` and give the curves in it: recipe -> [(epsilon, expected distance)]."""
    budgets = [Budget(e, budget.delta) for e in sorted({*map(float, EPSILONS), float(budget.epsilon)})]
    curves = error_curves(table, budgets, rng)
    style: Any = {"font.size": 9, "svg.hashsalt": "hedgerow", "axes.spines.top": False, "axes.spines.right": False}
    with rc_context(style):
        figure = Figure(figsize=(7.2, 4.6), layout="constrained")
        axes = figure.subplots()
        for (name, points), colour in zip(curves.items(), _COLOURS, strict=True):
            if points:
                axes.plot(*zip(*points, strict=True), "o-", color=colour, ms=4, lw=1.8)
                axes.annotate(
                    name + _ALSO.get(name, ""), points[0], (6, 6), textcoords="offset points", color=colour, size=9
                )
        axes.axvline(float(budget.epsilon), color=_SOFT, lw=1, ls=":")
        axes.set(xscale="log", yscale="log", xlabel="epsilon (dotted: this job)")
        axes.set_ylabel("expected total-variation distance")
        axes.set_xticks([float(e) for e in EPSILONS], EPSILONS)
        axes.minorticks_off()
        axes.grid(visible=True, color="#e6e6e6", lw=0.6)
        rows, cells = round(float(table.counts.sum())), len(table.counts)
        axes.set_title(f"{table.table}: {cells:,} cells, {rows:,} rows assumed", loc="left", color=_INK, size=10)
        figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
    return curves
