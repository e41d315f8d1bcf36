"""The bar chart: lying bars with a label each, or upright columns; intervals, dots and a second bar where there are.

Lying bars are for labels, columns for an order with too many places to name.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import final

from markupsafe import escape

from hedgerow.figures.svg import (
    WIDE,
    Axis,
    Drawing,
    fitted,
    gutter,
    line,
    number,
    short,
    svg,
    text,
    ticks,
    whole_ticks,
)


@final
@dataclass(frozen=True)
class Bar:
    """One bar; no number below 0 is drawn.

    Attributes:
        label: what it is of.
        value: how long it is.
        said: what it says when it is pointed at.
        low: where an interval on it begins, if it has one.
        high: where the interval ends.
        dot: another number for the same thing, marked on the bar.
        beside: a number that the value is compared with, as a bar of its own above it.
        kind: its look: ``bar``, or ``bar soft`` on a sheet.
    """

    label: str
    value: float
    said: str
    low: float | None = None
    high: float | None = None
    dot: float | None = None
    beside: float | None = None
    kind: str = "bar"


def whole(value: float) -> str:
    """A count."""
    return f"{value:,.0f}"


def bars(
    rows: Sequence[Bar],
    *,
    said: str,
    show: Callable[[float], str] = whole,
    counts: bool = False,
    most: float | None = None,
) -> Drawing:
    """Lying bars, each with its label at the left and its value at the right; of counts the ticks are whole."""
    top, left = 2, gutter(r.label for r in rows)
    paired = any(r.beside is not None for r in rows)
    step = 24 if paired else 22
    most, scale = _scale(rows, counts, most, WIDE - left - 64)
    height = top + step * len(rows) + 26
    marks = whole_ticks(most) if counts else ticks(0, most)
    out = [line("grid", left + t * scale, top, left + t * scale, height - 24) for t in marks]
    out += [text(left + t * scale, height - 8, _tick(t, counts), "tick", "middle") for t in marks]
    for i, r in enumerate(rows):
        y = top + i * step
        out.append(
            f"<g><title>{escape(r.said)}</title>"
            + (f'<rect class="hit" x="0" y="{y}" width="{WIDE}" height="{step}"/>' if paired else "")
            + text(left - 8, y + (15 if paired else 16), fitted(r.label, left - 8), "label", "end")
            + (_two(r, left, y, scale) if paired else _one(r, left, y, scale, most))
            + text(WIDE - 2, y + (15 if paired else 16), show(r.value), "value", "end")
            + "</g>"
        )
    return svg("".join(out), WIDE, height, said)


def _two(r: Bar, left: int, y: int, scale: float) -> str:
    """What it is compared with above, the value below."""
    return (
        f'<rect class="truth" x="{left}" y="{y + 2}" width="{(r.beside or 0.0) * scale:.1f}" height="9"/>'
        f'<rect class="{r.kind}" x="{left}" y="{y + 12}" width="{r.value * scale:.1f}" height="9"/>'
    )


def _one(r: Bar, left: int, y: int, scale: float, most: float) -> str:
    """The bar, its interval, and its dot; an interval without a dot has ends."""
    out = f'<rect class="{r.kind}" x="{left}" y="{y + 4}" width="{r.value * scale:.1f}" height="16"/>'
    if r.low is not None and r.high is not None:
        low, high = (left + end * scale for end in _inside(r.low, r.high, most))
        out += line("band", low, y + 12, high, y + 12)
        if r.dot is None:
            out += line("band", low, y + 8, low, y + 16) + line("band", high, y + 8, high, y + 16)
    if r.dot is not None:
        out += f'<circle class="dot" cx="{left + max(0.0, r.dot) * scale:.1f}" cy="{y + 12}" r="3.5"/>'
    return out


def columns(
    rows: Sequence[Bar],
    *,
    said: str,
    counts: bool = False,
    most: float | None = None,
    wide: int = WIDE,
    span: tuple[float, float] | None = None,
    axes: tuple[str, str] = ("", ""),
) -> Drawing:
    """Upright bars beside each other, some of them labelled; ``span`` shades what lies from one place to another.

    Places are counted in bars from the left edge of the first.
    """
    left, top, high = 56, 8 if not axes[1] else 26, 180
    room = wide - left - 8
    most, scale = _scale(rows, counts, most, high)
    ground, step = top + high, room / len(rows)
    marks = whole_ticks(most) if counts else ticks(0, most)
    out = [line("grid", left, ground - t * scale, wide - 8, ground - t * scale) for t in marks]
    out += [text(left - 6, ground - t * scale + 4, _tick(t, counts), "tick", "end") for t in marks]
    if span is not None:
        out.append(_shaded(Axis(0, len(rows), left, wide - 8), span, top, high))
    every = ceil(len(rows) / (6 * room / (WIDE - 64)))
    for i, r in enumerate(rows):
        x, bar = left + i * step, r.value * scale
        middle, gap = x + step / 2, min(2.0, step * 0.12)
        out.append(
            f"<g><title>{escape(r.said)}</title>"
            f'<rect class="hit" x="{x:.1f}" y="{top}" width="{step:.1f}" height="{high}"/>'
            f'<rect class="{r.kind}" x="{x + gap:.1f}" y="{ground - bar:.1f}" '
            f'width="{step - 2 * gap:.1f}" height="{bar:.1f}"/>'
        )
        if r.low is not None and r.high is not None:
            low, up = (end * scale for end in _inside(r.low, r.high, high / scale))
            out.append(line("band", middle, ground - low, middle, ground - up))
        if r.dot is not None:
            radius = min(3.5, max(1.6, step / 3))
            place = f'cx="{middle:.1f}" cy="{ground - max(0.0, r.dot) * scale:.1f}"'
            out.append(f'<circle class="dot" {place} r="{radius:.1f}"/>')
        out.append("</g>")
        if i % every == 0 and middle < wide - 30:
            out.append(text(middle, ground + 18, short(r.label, 11), "tick", "middle"))
    if axes[1]:
        out.append(text(4, 14, axes[1], "tick", "start"))
    if axes[0]:
        out.append(text((left + wide) / 2, ground + 38, axes[0], "tick", "middle"))
    return svg("".join(out), wide, ground + (46 if axes[0] else 30), said)


def _shaded(at: Axis, span: tuple[float, float], top: int, high: int) -> str:
    low, up = (min(max(at(v), at.start), at.end) for v in span)
    area = f'<rect class="span" x="{low:.1f}" y="{top}" width="{up - low:.1f}" height="{high}"/>'
    return area + "".join(line("edge", at(v), top, at(v), top + high) for v in span if 0 <= v <= at.high)


def _scale(rows: Sequence[Bar], counts: bool, most: float | None, room: float) -> tuple[float, float]:
    """The longest bar, and how much of the drawing one unit takes."""
    if most is None:
        ends = [v for r in rows for v in (r.value, r.high, r.dot, r.beside) if v is not None]
        most = max([1.0 if counts else 1e-12, *ends])
    return most, room / most


def _inside(low: float, high: float, most: float) -> tuple[float, float]:
    """The ends of an interval, as far as they are inside the drawing."""
    return min(max(low, 0.0), most), min(max(high, 0.0), most)


def _tick(value: float, counts: bool) -> str:
    return f"{value:,}" if counts else number(value)
