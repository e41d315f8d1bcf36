"""All metrics over two tables, and what they found: a comparison, in lines and as a page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import PurePath
from typing import Any, final

import numpy as np
import polars as pl
from markupsafe import escape

from hedgerow import __version__
from hedgerow.errors import NOTHING, JobError
from hedgerow.evaluate.base import AbstractMetric, CodedTable, CompareOptions, DoesNotApply, Figure, Result
from hedgerow.evaluate.registry import METRICS
from hedgerow.figures import (
    Bar,
    Dot,
    Drawing,
    LinePoint,
    Shade,
    Trace,
    Twin,
    aligned,
    bars,
    heat,
    lines,
    many,
    render,
    scatter,
    shown,
    table_html,
    twins,
)
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
        """A line for each measure, in the order of ``SUMMARY_HEAD``; of several numbers a line for each."""
        return [
            (
                METRICS[r.metric].title + (f": {of}" if of else ""),
                shown(value),
                shown(null),
                f"{METRICS[r.metric].scale.best:g}",
                METRICS[r.metric].scale.unit
                + ("; audit appendix, not a verdict" if METRICS[r.metric].appendix else ""),
            )
            for r in self.results
            for of, value, null in r.each or (("", r.value, r.null),)
        ]

    def csv_files(self) -> dict[str, str]:
        """All numbers of every measure that has a table, as the text of a CSV file by its name."""
        return {f"{r.metric}.csv": r.table.write_csv() for r in self.results if r.table.height}

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
        raise JobError(f"There is no metric {', '.join(unknown)}. Choose among: {', '.join(METRICS)}.\n{NOTHING}")
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
            f"A comparison does not know {', '.join(unknown)}. It knows: {', '.join(sorted(known))}.\n{NOTHING}"
        )
    given = dict(options)
    for name in {"only", "group", "joint", "scatter", "private"} & set(given):
        texts = (given[name],) if isinstance(given[name], str) else tuple(given[name])
        given[name] = metric_names(texts)
    return metrics_for(CompareOptions(**given))


_TABLE_ROWS = 120
Names = tuple[str, str]
Row = dict[str, Any]
_BARS, _ROWS, _COLUMNS, _PANELS, _BEHIND, _BAND, _NARROW = 40, 40, 24, 60, 120, 60, 360


def page(
    comparison: Comparison,
    *,
    title: str = "",
    names: Names = ("A", "B"),
    uses: Sequence[Mapping[str, str]] = (),
    watermark: str = "",
    warning: str = "",
    beside: Comparison | None = None,
    notes: Sequence[str] = (),
) -> str:
    """The page; with a ``watermark`` over it and a ``warning`` at its head where the numbers must stay inside.

    ``names`` are what the two sides are called; with judged ``uses`` the page opens with them.  ``beside`` is the
    comparison of another synthetic table with the same one: every figure of both, side by side.  ``notes`` are lines
    that stand under the measures.
    """
    other = {} if beside is None else {r.metric: _section(r, names) for r in beside.results}
    sections = [_section(r, names) | {"other": other.get(r.metric)} for r in comparison.results]
    a, b = comparison.a.called, comparison.b.called
    return render(
        "hedgerow.evaluate",
        "comparison.html.j2",
        {
            "comparison": comparison,
            "facts": _facts(comparison, names),
            "names": names,
            "sections": [s for s in sections if not s["appendix"]],
            "appendix": [s for s in sections if s["appendix"]],
            "title": title or f"{b} against {a}",
            "sides": (a, b),
            "both": None if beside is None else (b, beside.b.called),
            "notes": notes,
            "uses": uses,
            "watermark": watermark,
            "warning": warning,
            "version": __version__,
        },
    )


def summary(comparison: Comparison) -> str:
    """The comparison in a few lines for a terminal."""
    lines = aligned(SUMMARY_HEAD, comparison.summary_rows(), left=(0, 4))
    lines += [f"{METRICS[name].title}: not measured, {why}" for name, why in comparison.skipped]
    lines += ["", "by chance: what two samples of one population would give; best: what equal tables give."]
    return "\n".join(lines)


def _facts(comparison: Comparison, names: Names) -> list[tuple[str, str]]:
    a, b = comparison.a, comparison.b
    each = f" in each of {many(b.copies, 'copy')}" if b.copies > 1 else ""
    return [
        (f"{a.rows:,}", f"rows of {names[0]}: {a.called}"),
        (f"{b.rows:,}", f"rows of {names[1]}{each}: {b.called}"),
        (str(len(comparison.results)), "measures" if len(comparison.results) != 1 else "measure"),
    ]


def _section(result: Result, names: Names) -> dict[str, Any]:
    metric = METRICS[result.metric]
    table = result.table.head(_TABLE_ROWS)
    return {
        "name": result.metric,
        "title": metric.title,
        "appendix": metric.appendix,
        "numbers": [
            (metric.title + (f": {of}" if of else ""), shown(value), shown(null))
            for of, value, null in result.each or (("", result.value, result.null),)
        ],
        "best": f"{metric.scale.best:g}",
        "unit": metric.scale.unit,
        "sentence": result.sentence,
        "reading": metric.reading,
        "null_words": metric.null,
        "notes": result.notes,
        "figures": [d for f in result.figures if (d := figure_card(f, names)) is not None],
        "columns": [c.replace("_", " ") for c in table.columns],
        "numeric": [d.is_numeric() for d in table.dtypes],
        "rows": [[_word(v) for v in row] for row in table.iter_rows()],
        "more": result.table.height if result.table.height > _TABLE_ROWS else 0,
    }


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else shown(value)


@final
@dataclass(frozen=True)
class FigurePanel:
    """One drawing, what it is of, and the same as a table."""

    name: str
    svg: Drawing
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int = 0


@final
@dataclass(frozen=True)
class FigureCard:
    """A figure as drawings.

    Attributes:
        title: what it shows.
        look: how the two sides are told apart: ``bars``, ``lines``, ``dots``, or nothing.
        names: what the two sides are called.
        panels: the drawings.
        choose: what one chooses between several panels.
        pick: what one picks among the groups of a scatter; empty when it has none.
    """

    title: str
    look: str
    names: Names
    panels: tuple[FigurePanel, ...]
    choose: str = ""
    pick: str = ""


def figure_card(figure: Figure, names: Names = ("A", "B")) -> FigureCard | None:
    """The figure as drawings, its sides called ``names`` unless it has names of its own; None when it is empty."""
    if not len(figure.data):
        return None
    draw = {"bars": _bars, "scatter": _scatter, "coefficients": _coefficients, "heat": _heat, "curve": _curves}
    return draw[figure.kind](figure, figure.names or names)


def _bars(figure: Figure, names: Names) -> FigureCard:
    rows = [(str(r["label"]), float(r["a"] or 0), float(r["b"] or 0)) for r in figure.data.iter_rows(named=True)]
    told = "{}: {} {}, {} {}".format
    pairs = [
        Bar(label, b, told(label, names[0], shown(a), names[1], shown(b)), beside=a) for label, a, b in rows[:_BARS]
    ]
    svg = bars(pairs, said=figure.title, show=shown)
    panel = _panel("", svg, ("", *names), [(label, shown(a), shown(b)) for label, a, b in rows])
    return FigureCard(figure.title, "bars", names, (panel,))


def _scatter(figure: Figure, names: Names) -> FigureCard:
    data = figure.data.drop_nulls(["a", "b"])
    axes = (_named(figure.x, names), _named(figure.y, names))
    dots = [
        Dot(r["a"], r["b"], f"{r['label']}: {shown(r['a'])}, {shown(r['b'])}".removeprefix(": "), r["group"])
        for r in data.iter_rows(named=True)
    ]
    svg = scatter(dots, said=figure.title, axes=axes, logarithmic=figure.logarithmic, band=_band(data))
    far = data.with_columns(away=(pl.col("a") - pl.col("b")).abs()).sort("away", descending=True)
    rows = [(r["label"], shown(r["a"]), shown(r["b"])) for r in far.iter_rows(named=True)]
    panel = _panel("", svg, ("furthest apart first", *axes), rows)
    several = data["group"].n_unique() > 1
    return FigureCard(figure.title, "", names, (panel,), pick="Column:" if several else "")


def _band(data: pl.DataFrame) -> list[tuple[float, float, float]]:
    """Where chance alone would put the second number, at some of the first."""
    if "band" not in data.columns:
        return []
    known = data.filter(pl.col("a") > 0).unique("a").sort("a").select("a", "band")
    step = max(1, len(known) // _BAND)
    return [(a, a - half, a + half) for a, half in known.gather_every(step).iter_rows()]


def _coefficients(figure: Figure, names: Names) -> FigureCard:
    """Coefficients with their intervals: over time in a panel each, or one below the other."""
    if figure.data["at"].n_unique() > 1:
        return _by_time(figure, names)
    rows = list(figure.data.iter_rows(named=True))
    pairs = [
        Twin(r["label"], r["a"], (r["a_low"], r["a_high"]), r["b"], (r["b_low"], r["b_high"])) for r in rows[:_BARS]
    ]
    svg = twins(pairs, said=figure.title, show=shown)
    return FigureCard(figure.title, "dots", names, (_panel("", svg, _ranged(names), _intervals(rows, "label")),))


def _by_time(figure: Figure, names: Names) -> FigureCard:
    times = sorted(figure.data["at"].unique().to_list())
    panels = []
    for label in figure.data["label"].unique(maintain_order=True).to_list()[:_PANELS]:
        rows = list(figure.data.filter(pl.col("label") == label).sort("at").iter_rows(named=True))
        traces = [
            Trace("true" if side == "a" else "made", tuple(_point(r, side, name, times) for r in rows))
            for side, name in zip("ab", names, strict=True)
        ]
        said = f"{label} by {figure.x or 'period'}: {names[0]} solid, {names[1]} dashed"
        panels.append(
            _panel(label, lines(times, traces, said=said, wide=_NARROW), _ranged(names), _intervals(rows, "at"))
        )
    return FigureCard(figure.title, "lines", names, tuple(panels), choose="Coefficient:")


def _point(r: Row, side: str, name: str, times: Sequence[str]) -> LinePoint:
    low, high = r[side + "_low"], r[side + "_high"]
    return LinePoint(
        times.index(r["at"]),
        r[side],
        low,
        high,
        f"{r['at']}, {name}: {shown(r[side])} ({shown(low)} to {shown(high)})",
    )


def _ranged(names: Names) -> tuple[str, ...]:
    return "", names[0], "95 % interval", names[1], "95 % interval"


def _intervals(rows: Sequence[Row], first: str) -> list[tuple[str, ...]]:
    return [
        (
            str(r[first]),
            *(w for s in "ab" for w in (shown(r[s]), f"{shown(r[s + '_low'])} to {shown(r[s + '_high'])}")),
        )
        for r in rows
    ]


def _heat(figure: Figure, names: Names) -> FigureCard:
    """A field per row and column, darker where it is worse."""
    value = {(str(r["row"]), str(r["column"])): float(r["value"]) for r in figure.data.iter_rows(named=True)}
    if figure.order_counts:
        rows, columns = (list(dict.fromkeys(figure.data[c].cast(pl.String))) for c in ("row", "column"))
    else:
        rows, columns = _in_order(figure.data["row"], falling=True), _in_order(figure.data["column"], falling=False)
    rows, columns = rows[:_ROWS], columns[:_COLUMNS]
    seen = [v for (r, c), v in value.items() if r in rows and c in columns]
    low, wide = min(seen), max(seen) - min(seen) or 1.0

    def field(r: str, c: str) -> Shade | None:
        if (r, c) not in value:
            return None
        share = (value[r, c] - low) / wide
        level = int(5.999 * (share if figure.worse == "high" else 1 - share))
        words = f"{value[r, c]:.0f}" if abs(value[r, c]) >= 10 else f"{value[r, c]:.2f}"
        return Shade(level, words, f"{r}, {c}: {shown(value[r, c])}")

    svg = heat(rows, columns, [[field(r, c) for c in columns] for r in rows], said=figure.title)
    listed = sorted(value.items(), key=lambda x: x[1], reverse=figure.worse == "high")
    behind = [(r, c, shown(v)) for (r, c), v in listed]
    return FigureCard(figure.title, "", names, (_panel("", svg, ("row", "column", "value"), behind),))


def _in_order(names: pl.Series, *, falling: bool) -> list[str]:
    """Each once, so that the pairs of a triangle stand in a triangle: by how often they are there."""
    found = names.cast(pl.String)
    count = dict(found.value_counts().iter_rows())
    return sorted(found.unique(maintain_order=True).to_list(), key=lambda n: -count[n] if falling else count[n])


def _curves(figure: Figure, names: Names) -> FigureCard:
    """Quantiles of one side against the other's, a panel for each column."""
    panels = []
    for name in figure.data["series"].unique(maintain_order=True).to_list()[:_PANELS]:
        part = figure.data.filter(pl.col("series") == name)
        share = [100 * (i + 0.5) / len(part) for i in range(len(part))]
        rows = [(f"{s:.1f} %", shown(x), shown(y)) for s, x, y in zip(share, part["x"], part["y"], strict=True)]
        dots = [Dot(x, y, f"{r[0]}: {r[1]}, {r[2]}") for r, x, y in zip(rows, part["x"], part["y"], strict=True)]
        svg = scatter(dots, said=f"Quantiles of {name}", axes=names)
        panels.append(_panel(name, svg, ("quantile", *names), rows))
    return FigureCard(figure.title, "", names, tuple(panels), choose="Column:")


def _panel(name: str, svg: Drawing, head: Sequence[str], rows: Sequence[tuple[str, ...]]) -> FigurePanel:
    return FigurePanel(name, svg, tuple(head), tuple(rows[:_BEHIND]), max(0, len(rows) - _BEHIND))


def _named(axis: str, names: Names) -> str:
    """The words of an axis, with the sides' own names."""
    for letter, name in zip("AB", names, strict=True):
        if axis.endswith(f" {letter}"):
            return axis[:-1] + name
    return axis
