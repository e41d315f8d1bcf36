"""The figures of planning: the papers' intervals against leaf size, and the error of a table of counts.

The papers' first figure shows intervals by p, n and epsilon; their second a simulation that must agree with them.
The figure of a plan for a table of counts shows expected error against epsilon, for each recipe.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hedgerow.figures import (
    Bar,
    Drawing,
    Key,
    LinePoint,
    Section,
    Trace,
    columns,
    faint,
    interval_groups,
    log_lines,
    series,
    sheet,
    small,
    write_sheet,
)
from hedgerow.planning.interval import Interval, Kind, interval
from hedgerow.planning.tables import Imagined, error_curves
from hedgerow.public import Budget

SHARES = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5)
EPSILONS = tuple(i / 10 for i in range(1, 11))
SIZES = (25, 50, 100, 250, 500, 1000, 2000)
DRAWS = 10_000
_WIDE, _ACROSS, _BARS = 380, 2, 45
BUDGETS = ("0.1", "0.25", "0.5", "1", "2", "3", "5", "8", "10")
_ALSO = {"dirichlet_multinomial": " (and its kin, where they apply)"}


def draw_intervals(
    path: Path,
    *,
    rng: np.random.Generator,
    p: float | None = None,
    epsilon: float = 0.3,
    n: int = 1000,
    level: float = 0.9,
    kind: Kind = "symmetric",
) -> None:
    """Write both figures to ``path``, above one another; a share ``p`` that the papers do not show gets a panel.

    ``epsilon`` and ``n`` are those of the simulation; the intervals are drawn for the papers' own values.
    """
    shares = sorted({*SHARES, *(() if p is None else (p,))})
    found = [interval(q, epsilon, n, level=level, kind=kind) for q in shares]
    write_sheet(path, sheet([interval_section(shares, level, kind), simulation_section(found, rng)]))


def simulated(p: float, epsilon: float, n: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Synthetic shares drawn as the leaf draws them: noise on the count, a cut to [0, 1], n labels."""
    noisy = np.clip((n * p + rng.laplace(0, 1 / epsilon, DRAWS)) / n, 0, 1)
    return rng.binomial(n, noisy) / n


def interval_section(shares: Sequence[float], level: float, kind: Kind) -> Section:
    """Panels by p, groups by n, in each group the intervals by epsilon."""
    charts = []
    for p in shares:
        rows = [[interval(p, e, n, level=level, kind=kind) for n in SIZES] for e in EPSILONS]
        chart = interval_groups(
            [f"{n:,}" for n in SIZES],
            [[(i.low, i.high) for i in row] for row in rows],
            at_line=p,
            said=f"Intervals at p = {p:g} by n and epsilon",
            axes=("n, records in the leaf", "synthetic share"),
            wide=_WIDE,
        )
        charts.append((f"p = {p:g}", chart))
    keys = [Key(f"{e:g}", "range", faint(i, len(EPSILONS))) for i, e in enumerate(EPSILONS)]
    heading = f"Intervals that hold the synthetic share with probability {level:g} ({kind})"
    notes = ["in each group by the epsilon of the count, left to right; dashed: the true share"]
    return Section(heading, charts, notes=notes, across=_ACROSS, keys=keys)


def empirical(counts: npt.NDArray[np.float64], n: int, level: float) -> tuple[float, float]:
    """The interval of simulated shares that leaves out the same number on both sides."""
    low, high = np.quantile(counts, [(1 - level) / 2, (1 + level) / 2]) / n
    return float(low), float(high)


def simulation_section(intervals: Sequence[Interval], rng: np.random.Generator) -> Section:
    """Histograms of simulated shares, one per p, with the exact interval and the empirical one."""
    one = intervals[0]
    charts = []
    for found in intervals:
        counts = np.rint(simulated(found.p, found.epsilon, found.n, rng) * found.n)
        inside = float(np.mean((counts >= found.counts[0]) & (counts <= found.counts[1])))
        seen = empirical(counts, found.n, found.level)
        title = (
            f"p = {found.p:g}: exact {found.low:.4f} to {found.high:.4f}, simulated {seen[0]:.4f} to {seen[1]:.4f}; "
            f"{found.counts[0]:,} to {found.counts[1]:,} labels: {inside:.3f} simulated, {found.mass:.3f} exact"
        )
        charts.append((title, _histogram(found, counts, seen)))
    keys = [
        Key("simulated leaves", "bar"),
        Key("the exact interval", "span"),
        Key(f"the empirical interval: {one.level:g} of the simulated leaves", "here"),
    ]
    return Section(
        f"{DRAWS:,} simulated leaves of n = {one.n:,} records, epsilon {one.epsilon:.4g}",
        charts,
        across=_ACROSS,
        keys=keys,
    )


def _histogram(found: Interval, counts: npt.NDArray[np.float64], seen: tuple[float, float]) -> Drawing:
    first, last = np.quantile(counts, [0.001, 0.999]).astype(int).tolist()
    step = max(1, round((last - first) / _BARS))
    edges = np.arange(first, last + step + 1, step) - 0.5  # between whole counts, so many counts to each bar
    heights = (np.histogram(counts, edges)[0] / DRAWS).tolist()
    middles = ((edges[:-1] + step / 2) / found.n).tolist()
    return columns(
        [Bar(f"{x:.3g}", h, f"about {x:.4g}: {h:.4f} of the leaves") for x, h in zip(middles, heights, strict=True)],
        said=f"Simulated shares at p = {found.p:g}",
        span=tuple((end * found.n - edges[0]) / step for end in (found.low, found.high)),
        marks=tuple((end * found.n - edges[0]) / step for end in seen),
        axes=("synthetic share", "share of leaves"),
        wide=_WIDE,
    )


def draw_errors(
    path: Path, table: Imagined, budget: Budget, rng: np.random.Generator
) -> dict[str, list[tuple[float, float]]]:
    """Write the figure to ``path`` and give the curves in it: recipe -> [(epsilon, expected distance)]."""
    section, curves = error_section(table, budget, rng)
    write_sheet(path, sheet([section]))
    return curves


def error_section(
    table: Imagined, budget: Budget, rng: np.random.Generator
) -> tuple[Section, dict[str, list[tuple[float, float]]]]:
    """The chart of expected error against epsilon, and the curves in it; the heading says which table is assumed."""
    budgets = [Budget(e, budget.delta) for e in sorted({*map(float, BUDGETS), float(budget.epsilon)})]
    curves = error_curves(table, budgets, rng)
    looks = {name: series(i) for i, name in enumerate(curves)}
    traces = [
        Trace(looks[name], tuple(LinePoint(e, far, said=f"{name}, epsilon {e:g}: {small(far)}") for e, far in points))
        for name, points in curves.items()
        if points
    ]
    chart = log_lines(
        traces,
        said="Expected total-variation distance against epsilon",
        show=small,
        axes=("epsilon", "expected total-variation distance"),
        here=float(budget.epsilon),
    )
    keys = [Key(name + _ALSO.get(name, ""), f"curve {looks[name]}") for name, points in curves.items() if points]
    keys.append(Key("the epsilon of this job", "here"))
    heading = f"{table.table}: {len(table.counts):,} cells"
    return Section(heading, [("", chart)], notes=[f"worked out for {table.assumed}"], keys=keys), curves
