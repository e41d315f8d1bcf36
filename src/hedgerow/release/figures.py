"""The figures of a release: noisy counts on synthetic ones, spending, odds, tables of counts; and their panel."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import final

import numpy as np
import polars as pl
from markupsafe import Markup, escape

from hedgerow.figures import WIDE, Bar, bars, columns, svg, text
from hedgerow.model.tables.count_table import ALL
from hedgerow.release.contents import Contents, label_columns
from hedgerow.release.measured_tables import OneWayTable
from hedgerow.release.words import Odds, of_100

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
    said = f"Synthetic and noisy counts of {one.name}" + (f"; {left_out}" if left_out else "")
    most = max([1.0, *(m.synthetic for m in marks), *(m.noisy + min(m.band, abs(m.noisy)) for m in marks)])
    cells = [
        Bar(
            _beginning(m.label) if upright else m.label,
            m.synthetic,
            m.title,
            low=m.noisy - m.band,
            high=m.noisy + m.band,
            dot=m.noisy,
        )
        for m in marks
    ]
    return (columns if upright else bars)(cells, said=said, counts=True, most=most)


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


def spending(parts: Sequence[tuple[str, float]], left: float) -> Markup:
    """One bar: the share of the promise that each request took, and what was not spent."""
    out, x, wide = [], 0.0, float(WIDE)
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
    return svg("".join(out), WIDE, 26, "The share of the promise each request took")


def chances(odds: Sequence[Odds]) -> Markup:
    """For each prior a bar of 100 guesses: right without the release, and at most with it."""
    out = []
    for i, o in enumerate(odds):
        y, before, after = 2 + 32 * i, 300 * o.before, 300 * o.after
        out.append(
            f'<rect class="rail" x="0.5" y="{y + 0.5}" width="299" height="21"/>'
            f'<rect class="after" x="0" y="{y}" width="{after:.1f}" height="22"/>'
            f'<rect class="before" x="0" y="{y}" width="{before:.1f}" height="22"/>'
            + text(before - 6, y + 16, of_100(o.before), "inside", "end")
            + (
                text(after - 6, y + 16, of_100(o.after), "inside", "end")
                if after - before >= 32
                else text(after + 6, y + 16, of_100(o.after), "label", "start")
            )
            + text(308, y + 16, "of 100", "tick", "start")
        )
    pairs = "; ".join(f"{of_100(o.before)} in 100 becomes at most about {of_100(o.after)} in 100" for o in odds)
    return svg("".join(out), 360, 32 * len(odds) - 6, pairs)


def _beginning(label: str) -> str:
    """Where the span of a label begins: enough for a mark on an axis."""
    return label.split(" … ")[0].split(" to ")[0].lstrip("[").split(",")[0]


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
        (b.label, f"{b.value:,.0f}", "" if b.low is None else f"{b.low:,.0f} to {b.high:,.0f}")
        for b in _cells(counts.head(_MOST_ROWS), labels)
    )
    more = f"{len(counts) - _MOST_ROWS:,}" if len(counts) > _MOST_ROWS else ""
    figure = bars(_cells(shown, labels), said=f"Synthetic counts of {name}", counts=True)
    return CountFigure(name, figure, note, rows, more)


def _cells(counts: pl.DataFrame, labels: Sequence[str]) -> tuple[Bar, ...]:
    """The cells of a table as bars, each with the interval around its count, if it has one."""
    named = [pl.col(c).cast(pl.String).fill_null("missing") for c in labels]
    names = counts.select(pl.concat_str(named, separator=" · ")).to_series()
    ends: list[Sequence[float | None]] = [
        counts[c].to_list() if c in counts.columns else [None] * len(counts) for c in ("low", "high")
    ]
    cells = zip(names.to_list(), counts["count"].to_list(), *ends, strict=True)
    return tuple(Bar(label, count, _title(label, count, low, high), low, high) for label, count, low, high in cells)


def _title(label: str, count: float, low: float | None, high: float | None) -> str:
    return f"{label}: {count:,.0f}" + ("" if low is None else f", 95 % interval {low:,.0f} to {high:,.0f}")
