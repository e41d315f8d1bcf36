"""Figures in the papers' form: a coefficient by year, authentic solid, one dashed line per level, panels beside.

Loads matplotlib: import this module only when a figure is to be drawn.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hedgerow.experiment.effects import Effects
from hedgerow.experiment.grid import Grid, Picture

_INK, _SOFT = "#222222", "#8a8a8a"
_STYLE: Any = {"font.size": 8.5, "svg.hashsalt": "hedgerow", "axes.spines.top": False, "axes.spines.right": False}


def draw_lines(path: Path, grid: Grid, picture: Picture, measure: str, results: pl.DataFrame) -> None:
    """A row of panels for every coefficient; a column for every level of the panel factor."""
    here = results.filter((pl.col("measure") == measure) & pl.col("synthetic").is_finite())
    for name, level in picture.at.items():
        here = here.filter(pl.col(name) == level)
    terms = here["term"].unique(maintain_order=True).to_list()
    panels = _levels(here, picture.panels) if picture.panels else [None]
    lines = _levels(here, picture.lines)
    colours = [colormaps["viridis"](x / max(len(lines) - 1, 1) * 0.8) for x in range(len(lines))]
    with rc_context(_STYLE):
        figure = Figure(figsize=(1.2 + 2.9 * len(panels), 1.1 + 1.7 * len(terms)), layout="constrained")
        axes = figure.subplots(len(terms), len(panels), squeeze=False, sharex=True, sharey="row")
        for i, term in enumerate(terms):
            for j, panel in enumerate(panels):
                part = here.filter(pl.col("term") == term)
                if panel is not None:
                    part = part.filter(pl.col(picture.panels) == panel)
                _panel(axes[i, j], part, picture.lines, list(zip(lines, colours, strict=True)))
                if i == 0 and panel is not None:
                    axes[i, j].set_title(f"{picture.panels} = {panel}", size=9)
                if j == 0:
                    axes[i, j].set_ylabel(term)
        keys = [Line2D([], [], color=_INK, label="authentic (stand-in)")]
        keys += [
            Line2D([], [], color=c, linestyle=(0, (4, 2)), label=f"{picture.lines} = {v}")
            for v, c in zip(lines, colours, strict=True)
        ]
        figure.align_ylabels()
        figure.legend(handles=keys, ncols=min(len(keys), 4), loc="outside lower center", frameon=False)
        figure.suptitle(_caption(grid, picture, measure), x=0.01, ha="left", size=9)
        figure.savefig(path, metadata={"Date": None})


def _panel(axes: Axes, part: pl.DataFrame, lines: str, levels: Sequence[tuple[Any, Any]]) -> None:
    def mean(rows: pl.DataFrame, column: str) -> tuple[list[Any], list[float]]:
        found = rows.group_by("at").agg(pl.col(column).mean()).sort("at")
        return _along(found["at"]), found[column].to_list()

    axes.plot(*mean(part, "authentic"), color=_INK, linewidth=1.6, marker="o", markersize=3, zorder=3)
    for level, colour in levels:
        x, y = mean(part.filter(pl.col(lines) == level), "synthetic")
        axes.plot(x, y, color=colour, linewidth=1.3, linestyle=(0, (4, 2)), marker="o", markersize=2.5)
    axes.axhline(0, color="#dddddd", linewidth=0.7, zorder=0)
    axes.margins(x=0.1)  # so that the ends of neighbouring panels do not run into each other
    axes.set_xticks(sorted(set(_along(part["at"]))), labels=sorted(set(part["at"])))


def _along(groups: pl.Series) -> list[Any]:
    """Where groups stand: years at their distance; what is no number side by side."""
    number = groups.cast(pl.Float64, strict=False)
    return groups.to_list() if number.null_count() else number.to_list()


def _caption(grid: Grid, picture: Picture, measure: str) -> str:
    held = [f"{k} = {v}" for k, v in picture.at.items()]
    shown = (picture.lines, picture.panels, *picture.at)
    rest = [f.name for f in grid.factors if f.name not in shown]
    against = next(m.reference for m in grid.file.measure if m.name == measure)
    text = f"{measure}: coefficients, authentic (solid) and synthetic (dashed)"
    if against:
        text += "; against " + ", ".join(f"{k} {v}" for k, v in against.items())
    if held:
        text += "\n" + ", ".join(held)
    if rest:
        text += "\nmean over " + ", ".join(rest) + " and seeds"
    return text


def draw_effects(path: Path, effects: Effects) -> None:
    """Bars: how much of the variation of the error goes with each factor and pair of factors."""
    rows = [*effects.single, *effects.pairs][:24][::-1]
    with rc_context(_STYLE):
        figure = Figure(figsize=(6.4, 1.0 + 0.27 * len(rows)), layout="constrained")
        axes = figure.subplots()
        place = range(len(rows))
        axes.barh(
            place,
            [100 * e.share for e in rows],
            color=["#3b6ea5" if len(e.factors) == 1 else "#9db8d2" for e in rows],
        )
        chance = [100 * e.by_chance for e in rows]
        axes.plot(chance, place, "|", color=_INK, markersize=9, label="what chance alone gives")
        axes.barh([0], [0], color="#3b6ea5", label="a factor alone")
        axes.barh([0], [0], color="#9db8d2", label="two factors, beyond each alone")
        axes.set_yticks(place, [e.name for e in rows])
        axes.set_xlabel("% of the variation of the error between runs")
        axes.set_title(f"{effects.measure}: what matters", loc="left", size=10)
        axes.legend(frameon=False, loc="lower right")
        figure.savefig(path, metadata={"Date": None})


def _levels(results: pl.DataFrame, factor: str) -> list[Any]:
    return results[factor].unique(maintain_order=True).to_list()
