"""The interval chart: estimates under each other with how far they range, or groups of intervals side by side."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from markupsafe import escape

from hedgerow.figures.svg import WIDE, Axis, Drawing, dot, fitted, gutter, line, number, roomy, svg, text


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
