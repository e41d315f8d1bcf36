"""The papers' two figures: intervals against leaf size, and a simulation that must agree with them."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hedgerow.planning.interval import Interval, Kind, interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

SHARES = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5)
EPSILONS = tuple(i / 10 for i in range(1, 11))
SIZES = (25, 50, 100, 250, 500, 1000, 2000)
DRAWS = 10_000
_INK, _SOFT, _BLUE = "#222222", "#8a8a8a", "#9db8d2"
_COLUMNS = 3


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
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    shares = sorted({*SHARES, *(() if p is None else (p,))})
    rows = -(-len(shares) // _COLUMNS)
    style = {"font.size": 9, "svg.hashsalt": "hedgerow", "axes.spines.top": False, "axes.spines.right": False}
    with rc_context(style):
        figure = Figure(figsize=(13, 3.1 * rows + 2.7 * rows + 1.6), layout="constrained")
        top, bottom = figure.subfigures(2, 1, height_ratios=(3.1 * rows + 0.9, 2.7 * rows + 0.7), hspace=0.03)
        _intervals(top, shares, level, kind)
        _simulation(bottom, [interval(q, epsilon, n, level=level, kind=kind) for q in shares], rng)
        figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def simulated(p: float, epsilon: float, n: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Synthetic shares drawn as the leaf draws them: noise on the count, a cut to [0, 1], n labels."""
    noisy = np.clip((n * p + rng.laplace(0, 1 / epsilon, DRAWS)) / n, 0, 1)
    return rng.binomial(n, noisy) / n


def _intervals(part: "SubFigure", shares: list[float], level: float, kind: Kind) -> None:
    """Panels by p, groups by n, bars by epsilon."""
    from matplotlib import colormaps
    from matplotlib.lines import Line2D

    colours = [colormaps["viridis_r"](x) for x in np.linspace(0.12, 1, len(EPSILONS))]
    part.suptitle(
        f"Intervals that hold the synthetic share with probability {level:g} ({kind})", x=0.01, ha="left", size=12
    )
    for axes, p in zip(_panels(part, len(shares)), shares, strict=False):
        for group, n in enumerate(SIZES):
            for i, (epsilon, colour) in enumerate(zip(EPSILONS, colours, strict=True)):
                found = interval(p, epsilon, n, level=level, kind=kind)
                x = group + 0.08 * (i - (len(EPSILONS) - 1) / 2)
                axes.vlines(x, found.low, found.high, color=colour, linewidth=2.4)
        axes.axhline(p, color=_INK, linewidth=0.7, linestyle=(0, (5, 4)), zorder=0.5)
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


def _simulation(part: "SubFigure", intervals: list[Interval], rng: np.random.Generator) -> None:
    """Histograms of simulated shares, one per p, with the exact interval and the simulated one."""
    one = intervals[0]
    part.suptitle(
        f"{DRAWS:,} simulated leaves for each p: n = {one.n:,}, epsilon {one.epsilon:g}", x=0.01, ha="left", size=12
    )
    for axes, found in zip(_panels(part, len(intervals)), intervals, strict=False):
        shares = simulated(found.p, found.epsilon, found.n, rng)
        low, high = np.quantile(shares, [0.001, 0.999])
        step = max(1, round((high - low) * found.n / 45)) / found.n
        bins = np.arange(low - step / 2, high + step, step)
        axes.hist(shares, bins=bins.tolist(), weights=np.full(DRAWS, 1 / DRAWS), color=_BLUE, label="simulated")
        axes.axvspan(found.low, found.high, color=_SOFT, alpha=0.16, linewidth=0, label="exact interval")
        for end in (found.low, found.high):
            axes.axvline(end, color=_INK, linewidth=1)
        inside = float(np.mean((shares >= found.counts[0] / found.n) & (shares <= found.counts[1] / found.n)))
        axes.set_title(f"p = {found.p:g}:  {found.low:.4f} to {found.high:.4f}", loc="left", size=10)
        axes.set_title(f"{found.counts[0]:,} to {found.counts[1]:,}: {inside:.3f} / {found.mass:.3f}", loc="right")
        axes.set(xlabel="synthetic share", ylabel="share of leaves")


def _panels(part: "SubFigure", number: int) -> list["Axes"]:
    """So many axes in rows of three, the rest of the last row empty."""
    rows = -(-number // _COLUMNS)
    grid = part.subplots(rows, _COLUMNS, squeeze=False).ravel().tolist()
    for axes in grid[number:]:
        axes.set_axis_off()
    return list(grid[:number])
