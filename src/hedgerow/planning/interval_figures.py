"""The papers' two figures: intervals against leaf size, and a simulation that must agree with them.

Loads matplotlib: import this module only when a figure is to be drawn.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from hedgerow.planning.interval import Interval, Kind, interval

SHARES = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5)
EPSILONS = tuple(i / 10 for i in range(1, 11))
SIZES = (25, 50, 100, 250, 500, 1000, 2000)
DRAWS = 10_000
_INK, _SOFT, _BLUE = "#222222", "#8a8a8a", "#9db8d2"
_ROWS = 2


def draw(
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
    style: Any = {"font.size": 9, "svg.hashsalt": "hedgerow", "axes.spines.top": False, "axes.spines.right": False}
    with rc_context(style):
        figure = Figure(figsize=(4.4 * -(-len(shares) // _ROWS), 13.2), layout="constrained")
        parts: Any = figure.subfigures(2, 1, height_ratios=(7.1, 6.1), hspace=0.03)
        _intervals(parts[0], shares, level, kind)
        _simulation(parts[1], [interval(q, epsilon, n, level=level, kind=kind) for q in shares], rng)
        figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def simulated(p: float, epsilon: float, n: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Synthetic shares drawn as the leaf draws them: noise on the count, a cut to [0, 1], n labels."""
    noisy = np.clip((n * p + rng.laplace(0, 1 / epsilon, DRAWS)) / n, 0, 1)
    return rng.binomial(n, noisy) / n


def _intervals(part: SubFigure, shares: list[float], level: float, kind: Kind) -> None:
    """Panels by p, groups by n, bars by epsilon."""
    colours = [colormaps["viridis_r"](x) for x in np.linspace(0.12, 1, len(EPSILONS))]
    part.suptitle(
        f"Intervals that hold the synthetic share with probability {level:g} ({kind})", x=0.01, ha="left", size=12
    )
    for axes, p in zip(_panels(part, len(shares)), shares, strict=True):
        for i, (epsilon, colour) in enumerate(zip(EPSILONS, colours, strict=True)):
            bars = [interval(p, epsilon, n, level=level, kind=kind) for n in SIZES]
            x = np.arange(len(SIZES)) + 0.08 * (i - (len(EPSILONS) - 1) / 2)
            axes.vlines(x, [b.low for b in bars], [b.high for b in bars], color=colour, linewidth=2.4, zorder=2)
        axes.axhline(p, color=_INK, linewidth=0.7, linestyle=(0, (5, 4)), zorder=1)
        axes.set_xticks(range(len(SIZES)), [f"{n:,}" for n in SIZES])
        axes.set_title(f"p = {p:g}", loc="left", size=10)
        axes.set(xlabel="n, records in the leaf", ylabel="synthetic share")
        axes.grid(axis="y", color="#e6e6e6", linewidth=0.7)
        axes.set_axisbelow(True)
    keys = [Line2D([], [], color=c, linewidth=4, label=f"{e:g}") for e, c in zip(EPSILONS, colours, strict=True)]
    part.legend(
        handles=keys,
        title="epsilon of the count, left to right in each group",
        ncols=len(keys),
        loc="outside lower center",
        frameon=False,
    )


def _simulation(part: SubFigure, intervals: list[Interval], rng: np.random.Generator) -> None:
    """Histograms of simulated shares, one per p, with the exact interval, and how many fell into it."""
    one = intervals[0]
    part.suptitle(
        f"{DRAWS:,} simulated leaves of n = {one.n:,} records, epsilon {one.epsilon:.4g}; shaded: the exact interval",
        x=0.01,
        ha="left",
        size=12,
    )
    for axes, found in zip(_panels(part, len(intervals)), intervals, strict=True):
        counts = np.rint(simulated(found.p, found.epsilon, found.n, rng) * found.n)
        first, last = np.quantile(counts, [0.001, 0.999]).astype(int).tolist()
        step = max(1, round((last - first) / 45))
        edges = np.arange(first, last + step + 1, step) - 0.5  # between whole counts, so many counts to each bar
        heights = np.histogram(counts, edges)[0] / DRAWS
        axes.bar(edges[:-1] / found.n, heights, step / found.n, align="edge", color=_BLUE)
        axes.axvspan(found.low, found.high, color=_SOFT, alpha=0.16, linewidth=0, zorder=0)
        for end in (found.low, found.high):
            axes.axvline(end, color=_INK, linewidth=1)
        inside = float(np.mean((counts >= found.counts[0]) & (counts <= found.counts[1])))
        axes.set_title(
            f"p = {found.p:g}: interval {found.low:.4f} to {found.high:.4f}\n"
            f"{found.counts[0]:,} to {found.counts[1]:,} labels: {inside:.3f} simulated, {found.mass:.3f} exact",
            loc="left",
            size=9,
        )
        axes.set(xlabel="synthetic share", ylabel="share of leaves")


def _panels(part: SubFigure, number: int) -> list[Axes]:
    """So many axes in two rows; what is left of the last row stays empty."""
    grid = part.subplots(_ROWS, -(-number // _ROWS), squeeze=False).ravel().tolist()
    for axes in grid[number:]:
        axes.set_axis_off()
    return list(grid[:number])
