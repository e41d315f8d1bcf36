"""Charts by label: bars, estimates with ranges, groups of intervals, and heat tables.

Lying bars are for labels, columns for an order with too many places to name; both may carry an interval, a dot, or a
second bar.  Estimates stand under each other with how far they range, alone or authentic beside synthetic.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import final

from hedgerow.figures.drawing import (
    WIDE,
    Axis,
    Drawing,
    dot,
    escape,
    fitted,
    gutter,
    line,
    number,
    roomy,
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
    marks: Sequence[float] = (),
    axes: tuple[str, str] = ("", ""),
) -> Drawing:
    """Upright bars beside each other, some of them labelled; ``span`` shades what lies from one place to another.

    Places are counted in bars from the left edge of the first; ``marks`` are places with a line of their own.
    """
    left, top, high = 56, 8 if not axes[1] else 26, 180
    room = wide - left - 8
    most, scale = _scale(rows, counts, most, high)
    ground, step = top + high, room / len(rows)
    heights = whole_ticks(most) if counts else ticks(0, most)
    out = [line("grid", left, ground - t * scale, wide - 8, ground - t * scale) for t in heights]
    out += [text(left - 6, ground - t * scale + 4, _tick(t, counts), "tick", "end") for t in heights]
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
    places = Axis(0, len(rows), left, wide - 8)
    out += [line("here", places(v), top, places(v), ground) for v in marks if 0 <= v <= len(rows)]
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


@final
@dataclass(frozen=True)
class Range:
    """One estimate: what of, its value, and how far it ranges."""

    label: str
    value: float
    low: float
    high: float


@final
@dataclass(frozen=True)
class Twin:
    """The same figure from two tables: the authentic one with its interval, the synthetic one with its range."""

    label: str
    true: float
    interval: tuple[float, float]
    made: float
    range: tuple[float, float]


def estimates(ranges: Sequence[Range], *, said: str, show: Callable[[float], str]) -> Drawing:
    """Estimates under each other, each with its range and its value, and zero where it is in sight."""
    left = gutter(r.label for r in ranges)
    rows = []
    for r in ranges:
        told = f"{r.label}: {show(r.value)}, from {show(r.low)} to {show(r.high)}"
        rows.append((r.label, told, [("", r.value, r.low, r.high, 0)], show(r.value)))
    return _under_each_other(rows, left, 70, 22, said)


def twins(pairs: Sequence[Twin], *, said: str, show: Callable[[float], str]) -> Drawing:
    """Authentic above synthetic for every label, each with how far it may range."""
    left = gutter(p.label for p in pairs)
    rows = []
    for p in pairs:
        told = f"{p.label}: authentic {show(p.true)}, synthetic {show(p.made)}"
        rows.append((p.label, told, [("", p.true, *p.interval, -4), (" made", p.made, *p.range, 5)], ""))
    return _under_each_other(rows, left, 12, 26, said)


_Marks = list[tuple[str, float, float, float, int]]
"""Look, value, low, high, and how far below the middle of its row."""


def _under_each_other(
    rows: Sequence[tuple[str, str, _Marks, str]], left: int, right: int, step: int, said: str
) -> Drawing:
    top = 6
    ground = top + step * len(rows)
    at = Axis(*roomy([v for _, _, marks, _ in rows for m in marks for v in m[2:4]], 0.4), left, WIDE - right)
    out = [line("zero" if t == 0 else "grid", at(t), top, at(t), ground) for t in at.marks]
    out += [text(at(t), ground + 16, number(t), "tick", "middle") for t in at.marks]
    for i, (label, told, marks, value) in enumerate(rows):
        y = top + i * step + step / 2
        hit = f'<rect class="hit" x="0" y="{y - step / 2:.1f}" width="{WIDE}" height="{step}"/>'
        out.append(
            f"<g><title>{escape(told)}</title>"
            + (hit if len(marks) > 1 else "")
            + text(left - 8, y + 4, fitted(label, left - 8), "label", "end")
            + "".join(
                line(f"band{look}", at(low), y + below, at(high), y + below)
                + dot(f"dot{look}", at(middle), y + below, 3.5)
                for look, middle, low, high, below in marks
            )
            + (text(WIDE - 2, y + 4, value, "value", "end") if value else "")
            + "</g>"
        )
    return svg("".join(out), WIDE, ground + 24, said)


def interval_groups(
    groups: Sequence[str],
    intervals: Sequence[Sequence[tuple[float, float]]],
    *,
    at_line: float,
    said: str,
    axes: tuple[str, str],
    wide: int = WIDE,
) -> Drawing:
    """For each group its intervals side by side, upright, fainter first, with a line at one value.

    ``intervals`` holds for each place in a group the interval of every group.
    """
    left, right, top, ground = 56, 8, 26, 206
    low, high = roomy([v for row in intervals for ends in row for v in ends], 0.4)
    at = Axis(max(low, 0.0), high, ground, top)
    room = (wide - left - right) / max(len(groups), 1)
    out = [line("grid", left, at(t), wide - right, at(t)) for t in at.marks]
    out += [text(left - 6, at(t) + 4, number(t), "tick", "end") for t in at.marks]
    out.append(line("reference", left, at(at_line), wide - right, at(at_line)))
    for j, row in enumerate(intervals):
        out.append(f'<g stroke-opacity="{faint(j, len(intervals)):.2f}">')
        for i, (low, high) in enumerate(row):
            x = left + (i + 0.1 + 0.8 * (j + 0.5) / len(intervals)) * room
            out.append(line("range", x, at(low), x, min(at(high), at(low) - 1)))
        out.append("</g>")
    out += [text(left + (i + 0.5) * room, ground + 18, g, "tick", "middle") for i, g in enumerate(groups)]
    out.append(text(4, 14, axes[1], "tick", "start"))
    out.append(text((left + wide) / 2, ground + 38, axes[0], "tick", "middle"))
    return svg("".join(out), wide, ground + 46, said)


def faint(place: int, places: int) -> float:
    """How opaque the mark at a place of an order is: a quarter for the first, all for the last.

    >>> faint(0, 4), faint(3, 4)
    (0.25, 1.0)
    """
    return 1.0 if places < 2 else 0.25 + 0.75 * place / (places - 1)


@final
@dataclass(frozen=True)
class Shade:
    """One field of a heat table: how dark, of six steps from 0, what stands in it, what it says."""

    level: int
    words: str
    said: str


def heat(
    rows: Sequence[str], columns: Sequence[str], fields: Sequence[Sequence[Shade | None]], *, said: str
) -> Drawing:
    """A table of fields, darker where the number is worse; every field says its number, None is left blank."""
    left, top, step = gutter(rows, 200), 8, 20
    wide = (WIDE - left) / max(len(columns), 1)
    ground = top + step * len(rows)
    out = []
    for i, (label, row) in enumerate(zip(rows, fields, strict=True)):
        y = top + i * step
        out.append(text(left - 6, y + 14, fitted(label, left - 6), "label", "end"))
        for j, f in enumerate(row):
            if f is None:
                continue
            x = left + j * wide
            out.append(
                f'<g><title>{escape(f.said)}</title><rect class="q{f.level}" x="{x:.1f}" y="{y}" '
                f'width="{max(wide - 1, 1):.1f}" height="{step - 1}"/>'
                + (text(x + wide / 2, y + 14, f.words, f"on{f.level}", "middle") if wide >= 30 else "")
                + "</g>"
            )
    below, deep = _column_labels(columns, left, wide, ground)
    return svg("".join(out) + below, WIDE, ground + deep, said)


def tiles(fields: Sequence[Shade], across: int, *, said: str, title: str = "", wide: int = 380) -> Drawing:
    """Squares in rows of ``across``, darker where the number is worse: a map of areas whose borders do not matter."""
    top, step = 22 if title else 4, wide / max(across, 1)
    high = min(step, 64)
    out = [text(2, 14, title, "panel", "start")] if title else []
    for i, f in enumerate(fields):
        x, y = (i % across) * step, top + (i // across) * high
        out.append(
            f'<g><title>{escape(f.said)}</title><rect class="q{f.level}" x="{x:.1f}" y="{y:.1f}" '
            f'width="{step - 2:.1f}" height="{high - 2:.1f}"/>'
            + text(x + step / 2 - 1, y + high / 2 + 4, fitted(f.words, step), f"on{f.level}", "middle")
            + "</g>"
        )
    return svg("".join(out), wide, ceil(top + high * ceil(len(fields) / max(across, 1)) + 4), said)


def _column_labels(columns: Sequence[str], left: float, wide: float, ground: float) -> tuple[str, int]:
    """The labels under the columns and how deep they reach: level where they have room, slanted where not."""
    if all(fitted(c, wide - 2) == c for c in columns):
        level = [text(left + (j + 0.5) * wide, ground + 16, c, "tick", "middle") for j, c in enumerate(columns)]
        return "".join(level), 24
    every = max(1, ceil(15 / wide))
    out = []
    for j, label in list(enumerate(columns))[::every]:
        x = left + (j + 0.5) * wide
        words = escape(short(label, min(16, max(2, int((x - 4) / 6)))))
        place = f"translate({x:.1f},{ground + 14}) rotate(-38)"
        out.append(f'<text class="tick" text-anchor="end" transform="{place}">{words}</text>')
    return "".join(out), 24 + ceil(4.6 * min(16, max(map(len, columns))))
