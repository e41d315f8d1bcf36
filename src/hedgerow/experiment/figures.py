"""Figures in the papers' form: a coefficient by year, authentic solid, one dashed line per level, panels beside."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from hedgerow.experiment.effects import Effects
from hedgerow.experiment.grid import Grid, Picture
from hedgerow.figures import (
    Bar,
    Drawing,
    Key,
    LinePoint,
    Section,
    Trace,
    bars,
    lines,
    roomy,
    series,
    sheet,
    small,
    write_sheet,
)

_WIDE, _MOST_BARS = 360, 24
_Line = list[tuple[str, float]]


def draw_lines(path: Path, grid: Grid, picture: Picture, measure: str, results: pl.DataFrame) -> None:
    """A row of panels for every coefficient; a column for every level of the panel factor."""
    here = results.filter((pl.col("measure") == measure) & pl.col("synthetic").is_finite())
    for name, level in picture.at.items():
        here = here.filter(pl.col(name) == level)
    panels = _levels(here, picture.panels) if picture.panels else [None]
    levels = _levels(here, picture.lines)
    looks = [series(i, dashed=True) for i in range(len(levels))]
    heading, *notes = _caption(grid, picture, measure)
    keys = [Key("authentic (stand-in)", "curve")]
    keys += [Key(f"{picture.lines} = {v}", f"curve {look}") for v, look in zip(levels, looks, strict=True)]
    sections = [Section(heading, notes=notes, keys=keys)]
    times = sorted(here["at"].unique().to_list(), key=lambda t: (_number(t) is None, _number(t), t))
    for term in here["term"].unique(maintain_order=True).to_list():
        drawn = []
        for panel in panels:
            part = here.filter(pl.col("term") == term)
            if panel is not None:
                part = part.filter(pl.col(picture.panels) == panel)
            synthetic = [_means(part.filter(pl.col(picture.lines) == v), "synthetic") for v in levels]
            drawn.append((panel, [_means(part, "authentic"), *synthetic]))
        values = [v for _, found in drawn for line in found for _, v in line]
        ends = roomy([*values, 0.0] if values else [0.0, 1.0], 0.3)
        charts = [
            ("" if panel is None else f"{picture.panels} = {panel}", _panel(term, times, found, looks, ends))
            for panel, found in drawn
        ]
        sections.append(Section(term, charts, across=min(2, len(charts))))
    write_sheet(path, sheet(sections))


def _means(rows: pl.DataFrame, column: str) -> _Line:
    """The mean at every group, in any order."""
    return list(rows.group_by("at", maintain_order=True).agg(pl.col(column).mean()).iter_rows())


def _panel(
    term: str, times: Sequence[str], found: Sequence[_Line], looks: Sequence[str], ends: tuple[float, float]
) -> Drawing:
    places = _places(times)
    at = dict(zip(times, places, strict=True))
    traces = [
        Trace(
            look,
            tuple(LinePoint(at[t], v, said=f"{t}: {small(v)}") for t, v in sorted(line, key=lambda x: at[x[0]])),
        )
        for look, line in zip(["true", *looks], found, strict=True)
    ]
    return lines(times, traces[1:] + traces[:1], said=f"{term} by group", wide=_WIDE, ends=ends, places=places)


def _places(times: Sequence[str]) -> list[float]:
    """Where groups stand: years at their distance; what is no number side by side."""
    numbers = [n for t in times if (n := _number(t)) is not None]
    if len(numbers) < max(2, len(times)):
        return [float(i) for i in range(len(times))]
    return [(n - numbers[0]) / (numbers[-1] - numbers[0]) * (len(times) - 1) for n in numbers]


def _number(time: Any) -> float | None:
    try:
        return float(time)
    except ValueError:
        return None


def _caption(grid: Grid, picture: Picture, measure: str) -> list[str]:
    fixed = [f"{k} = {v}" for k, v in picture.at.items()]
    shown = (picture.lines, picture.panels, *picture.at)
    rest = [f.name for f in grid.factors if f.name not in shown]
    against = next(m.reference for m in grid.file.measure if m.name == measure)
    text = [f"{measure}: coefficients, authentic (solid) and synthetic (dashed)"]
    if against:
        text.append("against " + ", ".join(f"{k} {v}" for k, v in against.items()))
    if fixed:
        text.append(", ".join(fixed))
    if rest:
        text.append("mean over " + ", ".join(rest) + " and seeds")
    return text


def draw_effects(path: Path, effects: Effects) -> None:
    """Bars: how much of the variation of the error goes with each factor and pair of factors."""
    rows = [*effects.single, *effects.pairs][:_MOST_BARS]
    shown = [
        Bar(
            e.name,
            100 * e.share,
            f"{e.name}: {100 * e.share:.1f} %; chance alone gives {100 * e.by_chance:.1f} %",
            dot=100 * e.by_chance,
            kind="bar" if len(e.factors) == 1 else "bar soft",
        )
        for e in rows
    ]
    chart = bars(shown, said=f"What matters for {effects.measure}", show=lambda v: f"{v:.1f} %")
    keys = [
        Key("a factor alone", "bar"),
        Key("two factors, beyond each alone", "bar soft"),
        Key("what chance alone gives", "dot"),
    ]
    notes = ["% of the variation of the error between runs"]
    write_sheet(path, sheet([Section(f"{effects.measure}: what matters", [("", chart)], notes=notes, keys=keys)]))


def _levels(results: pl.DataFrame, factor: str) -> list[Any]:
    return results[factor].unique(maintain_order=True).to_list()
