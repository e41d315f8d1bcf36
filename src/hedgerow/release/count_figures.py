"""The figures of a released table of counts: bars with 95 % intervals where noise was added."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

import polars as pl
from markupsafe import Markup, escape

from hedgerow.figures.svg import fitted, gutter, svg
from hedgerow.figures.svg import line as _line
from hedgerow.figures.svg import text as _text
from hedgerow.model.tables.count_table import ALL
from hedgerow.release.contents import Contents, label_columns

_MOST_BARS = 30
_MOST_ROWS = 200
_STEP, _WIDTH = 22, 520


@dataclass(frozen=True)
class Bar:
    """One cell: its labels, its synthetic count, and the interval around it, if it has one."""

    label: str
    synthetic: float
    low: float | None = None
    high: float | None = None

    @property
    def title(self) -> str:
        """What is shown when the mark is pointed at."""
        said = f"{self.label}: {self.synthetic:,.0f}"
        return said if self.low is None else f"{said}, 95 % interval {self.low:,.0f} to {self.high:,.0f}"


@dataclass(frozen=True)
class CountFigure:
    """One table or margin with its figure, and the same as rows."""

    name: str
    figure: Markup
    note: str
    rows: tuple[tuple[str, str, str], ...]
    rows_more: str


def count_figures(contents: Contents) -> tuple[CountFigure, ...]:
    """The table itself, then the margin of each of its columns."""
    if contents.counts is None:
        return ()
    labels = label_columns(contents.counts)
    found = [_figure(" x ".join(labels), contents.counts, labels)]
    if contents.margins is not None and len(labels) > 1:
        for name in labels:
            others = [pl.col(o) == ALL for o in labels if o != name]
            margin = contents.margins.filter(pl.all_horizontal(*others) & (pl.col(name) != ALL))
            found.append(_figure(name, margin, (name,)))
    return tuple(found)


def _figure(name: str, counts: pl.DataFrame, labels: Sequence[str]) -> CountFigure:
    shown = counts
    if len(counts) > _MOST_BARS:
        shown = counts.with_row_index("_at").sort("count", "_at", descending=[True, False]).head(_MOST_BARS)
    note = f"Shown: the {_MOST_BARS} largest of {len(counts):,} cells." if len(counts) > _MOST_BARS else ""
    rows = tuple(
        (b.label, f"{b.synthetic:,.0f}", "" if b.low is None else f"{b.low:,.0f} to {b.high:,.0f}")
        for b in bars(counts.head(_MOST_ROWS), labels)
    )
    more = f"{len(counts) - _MOST_ROWS:,}" if len(counts) > _MOST_ROWS else ""
    return CountFigure(name, bar_chart(bars(shown, labels), f"Synthetic counts of {name}"), note, rows, more)


def bars(counts: pl.DataFrame, labels: Sequence[str]) -> tuple[Bar, ...]:
    """The cells of a table as bars."""
    said = [pl.col(c).cast(pl.String).fill_null("missing") for c in labels]
    names = counts.select(pl.concat_str(said, separator=" · ")).to_series()
    ends: list[Sequence[float | None]] = [
        counts[c].to_list() if c in counts.columns else [None] * len(counts) for c in ("low", "high")
    ]
    return tuple(Bar(*cell) for cell in zip(names.to_list(), counts["count"].to_list(), *ends, strict=True))


def bar_chart(cells: Sequence[Bar], said: str) -> Markup:
    """Lying bars with their intervals."""
    top, left = 2, gutter(c.label for c in cells)
    wide = _WIDTH - left - 64
    height = top + _STEP * len(cells) + 26
    ticks, scale = _scale(max([1.0, *(max(c.synthetic, c.high or 0.0) for c in cells)]), wide)
    out = [_line("grid", left + t * scale, top, left + t * scale, height - 24) for t in ticks]
    out += [_text(left + t * scale, height - 8, f"{t:,}", "tick", "middle") for t in ticks]
    for i, cell in enumerate(cells):
        y = top + i * _STEP
        band = ""
        if cell.low is not None and cell.high is not None:
            low, high = left + cell.low * scale, left + cell.high * scale
            band = _line("band", low, y + 12, high, y + 12)
            band += _line("band", low, y + 8, low, y + 16) + _line("band", high, y + 8, high, y + 16)
        out.append(
            f"<g><title>{escape(cell.title)}</title>"
            + _text(left - 8, y + 16, fitted(cell.label, left - 8), "label", "end")
            + f'<rect class="bar" x="{left}" y="{y + 4}" width="{cell.synthetic * scale:.1f}" height="16"/>{band}'
            + _text(_WIDTH - 2, y + 16, f"{cell.synthetic:,.0f}", "value", "end")
            + "</g>"
        )
    return svg("".join(out), _WIDTH, height, said)


def _scale(most: float, room: float) -> tuple[list[int], float]:
    """Round whole ticks from 0, and how much of the drawing one row takes."""
    power = 10 ** floor(log10(most / 4))
    step = max(1, int(next(k * power for k in (1, 2, 2.5, 5, 10) if k * power >= most / 4)))
    return list(range(0, int(most) + 1, step)), room / most
