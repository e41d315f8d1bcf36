"""The figures of a release: noisy counts on synthetic ones, spending, odds, tables of counts; and their panel."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10, sqrt
from typing import final

import numpy as np
import polars as pl
from markupsafe import Markup, escape

from hedgerow.figures.svg import fitted, gutter, svg
from hedgerow.figures.svg import line as _line
from hedgerow.figures.svg import short as _short
from hedgerow.figures.svg import text as _text
from hedgerow.model.tables.count_table import ALL
from hedgerow.release.contents import Contents, label_columns
from hedgerow.release.measured_tables import OneWayTable
from hedgerow.release.words import Odds, of_100

_WIDTH, _STEP = 520, 22
_MOST_BARS, _MOST_COLUMNS, _MOST_ROWS = 30, 100, 200
_UPRIGHT_FROM = 13


@final
@dataclass(frozen=True)
class ReportPanel:
    """A figure, what it is of, a remark, and the table behind it."""

    name: str
    about: str
    figure: Markup
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: str = ""
    extra: tuple[Markup, ...] = ()


@dataclass(frozen=True)
class _Mark:
    """One cell as drawn: label, synthetic count, noisy count, half width of its 95 % band."""

    label: str
    synthetic: float
    noisy: float
    band: float

    @property
    def title(self) -> str:
        return f"{self.label}: synthetic {self.synthetic:,.0f}, noisy {self.noisy:,.0f} ± {self.band:,.0f}"


def noise_bars(one: OneWayTable) -> Markup:
    """Bars of synthetic counts with the noisy counts and their 95 % bands marked on them."""
    upright = one.ordered and len(one.labels) >= _UPRIGHT_FROM
    marks, left_out = _marks(one, upright)
    body, height = _upright(marks) if upright else _lying(marks)
    said = f"Synthetic and noisy counts of {one.name}" + (f"; {left_out}" if left_out else "")
    return svg(body, _WIDTH, height, said)


def omission_note(one: OneWayTable) -> str:
    """What the figure leaves out or puts together; empty when it shows every cell."""
    return _marks(one, one.ordered and len(one.labels) >= _UPRIGHT_FROM)[1]


def _marks(one: OneWayTable, upright: bool) -> tuple[list[_Mark], str]:
    every = [
        _Mark(label, float(s), float(n), one.plus_minus)
        for label, s, n in zip(one.labels, one.synthetic, one.noisy, strict=True)
    ]
    if upright and len(every) > _MOST_COLUMNS:
        together = ceil(len(every) / _MOST_COLUMNS)
        groups = [every[i : i + together] for i in range(0, len(every), together)]
        return [_joined(g) for g in groups], f"drawn with {together} neighbouring cells together"
    if not upright and len(every) > _MOST_BARS:
        kept = np.argsort(-np.maximum(one.synthetic, one.noisy), kind="stable")[:_MOST_BARS]
        order = sorted(kept.tolist()) if one.ordered else kept.tolist()
        return [every[i] for i in order], f"the {_MOST_BARS} largest of {len(every):,} cells"
    return every, ""


def _joined(group: Sequence[_Mark]) -> _Mark:
    label = group[0].label if len(group) == 1 else f"{group[0].label} … {group[-1].label}"
    band = group[0].band * sqrt(len(group))
    return _Mark(label, sum(m.synthetic for m in group), sum(m.noisy for m in group), band)


def _lying(marks: Sequence[_Mark]) -> tuple[str, int]:
    left, top = gutter(m.label for m in marks), 2
    wide, height = _WIDTH - left - 64, top + _STEP * len(marks) + 26
    ticks, scale = _scale(_largest(marks), wide)
    out = [_line("grid", left + t * scale, top, left + t * scale, height - 24) for t in ticks]
    out += [_text(left + t * scale, height - 8, f"{t:,}", "tick", "middle") for t in ticks]
    for i, m in enumerate(marks):
        y = top + i * _STEP
        low, high = _clipped(m, wide / scale)
        out.append(
            f"<g><title>{escape(m.title)}</title>"
            + _text(left - 8, y + 16, fitted(m.label, left - 8), "label", "end")
            + f'<rect class="bar" x="{left}" y="{y + 4}" width="{m.synthetic * scale:.1f}" height="16"/>'
            + _line("band", left + low * scale, y + 12, left + high * scale, y + 12)
            + f'<circle class="dot" cx="{left + max(0.0, m.noisy) * scale:.1f}" cy="{y + 12}" r="3.5"/>'
            + _text(_WIDTH - 2, y + 16, f"{m.synthetic:,.0f}", "value", "end")
            + "</g>"
        )
    return "".join(out), height


def _upright(marks: Sequence[_Mark]) -> tuple[str, int]:
    left, top, high, height = 56, 8, 180, 218
    wide = _WIDTH - left - 8
    ticks, scale = _scale(_largest(marks), high)
    ground, step = top + high, wide / len(marks)
    out = [_line("grid", left, ground - t * scale, _WIDTH - 8, ground - t * scale) for t in ticks]
    out += [_text(left - 6, ground - t * scale + 4, f"{t:,}", "tick", "end") for t in ticks]
    every = ceil(len(marks) / 6)
    for i, m in enumerate(marks):
        x, bar = left + i * step, m.synthetic * scale
        low, up = (end * scale for end in _clipped(m, high / scale))
        middle, gap = x + step / 2, min(2.0, step * 0.12)
        out.append(
            f"<g><title>{escape(m.title)}</title>"
            f'<rect class="hit" x="{x:.1f}" y="{top}" width="{step:.1f}" height="{high}"/>'
            f'<rect class="bar" x="{x + gap:.1f}" y="{ground - bar:.1f}" '
            f'width="{step - 2 * gap:.1f}" height="{bar:.1f}"/>'
            + _line("band", middle, ground - low, middle, ground - up)
            + f'<circle class="dot" cx="{middle:.1f}" cy="{ground - max(0.0, m.noisy) * scale:.1f}" '
            f'r="{min(3.5, max(1.6, step / 3)):.1f}"/></g>'
        )
        if i % every == 0 and middle < _WIDTH - 30:
            out.append(_text(middle, ground + 18, _short(_beginning(m.label), 11), "tick", "middle"))
    return "".join(out), height


def spending(parts: Sequence[tuple[str, float]], left: float) -> Markup:
    """One bar: the share of the promise that each request took, and what was not spent."""
    out, x, wide = [], 0.0, float(_WIDTH)
    for i, (name, share) in enumerate(parts):
        out.append(
            f'<g><title>{escape(name)}: {100 * share:.1f} %</title><rect class="part{i % 3}" '
            f'x="{x:.1f}" y="2" width="{max(share * wide - 1, 0.5):.1f}" height="22"/></g>'
        )
        x += share * wide
    out.append(
        f'<g><title>not spent: {100 * left:.1f} %</title><rect class="unspent" x="{x:.1f}" y="2.5" '
        f'width="{max(wide - x - 0.5, 0):.1f}" height="21"/></g>'
    )
    return svg("".join(out), _WIDTH, 26, "The share of the promise each request took")


def chances(odds: Sequence[Odds]) -> Markup:
    """For each prior a bar of 100 guesses: right without the release, and at most with it."""
    out = []
    for i, o in enumerate(odds):
        y, before, after = 2 + 32 * i, 300 * o.before, 300 * o.after
        out.append(
            f'<rect class="rail" x="0.5" y="{y + 0.5}" width="299" height="21"/>'
            f'<rect class="after" x="0" y="{y}" width="{after:.1f}" height="22"/>'
            f'<rect class="before" x="0" y="{y}" width="{before:.1f}" height="22"/>'
            + _text(before - 6, y + 16, of_100(o.before), "inside", "end")
            + (
                _text(after - 6, y + 16, of_100(o.after), "inside", "end")
                if after - before >= 32
                else _text(after + 6, y + 16, of_100(o.after), "label", "start")
            )
            + _text(308, y + 16, "of 100", "tick", "start")
        )
    pairs = "; ".join(f"{of_100(o.before)} in 100 becomes at most about {of_100(o.after)} in 100" for o in odds)
    return svg("".join(out), 360, 32 * len(odds) - 6, pairs)


def _clipped(mark: _Mark, most: float) -> tuple[float, float]:
    """The ends of the band, as far as they are inside the drawing."""
    low, high = mark.noisy - mark.band, mark.noisy + mark.band
    return min(max(low, 0.0), most), min(max(high, 0.0), most)


def _largest(marks: Sequence[_Mark]) -> float:
    """How far the drawing must reach."""
    return max([1.0, *(m.synthetic for m in marks), *(m.noisy + min(m.band, abs(m.noisy)) for m in marks)])


def _beginning(label: str) -> str:
    """Where the span of a label begins: enough for a mark on an axis."""
    return label.split(" … ")[0].split(" to ")[0].lstrip("[").split(",")[0]


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
