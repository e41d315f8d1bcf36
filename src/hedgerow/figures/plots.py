"""Plots against a number or time: lines with how far they range, and scatters around a diagonal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import final

from hedgerow.figures.drawing import WIDE, Axis, Drawing, dot, escape, fitted, line, number, path, roomy, svg, text

_Places = Callable[[float], float]
COLOURS = 6
_LEFT, _GROUND, _TOP, _SIZE = 64, 330, 8, 322


@final
@dataclass(frozen=True)
class LinePoint:
    """One place of a line.

    Attributes:
        at: where: the number of a time, or the number it is drawn against.
        value: how high.
        low: where its range begins, if it has one.
        high: where its range ends.
        said: what it says when it is pointed at.
        off: drawn hollow, for what misses a tolerance.
    """

    at: float
    value: float
    low: float | None = None
    high: float | None = None
    said: str = ""
    off: bool = False


@final
@dataclass(frozen=True)
class Trace:
    """One line; its look is ``true`` (solid), ``made`` (dashed), or on a sheet ``s0`` to ``s5``, dashed or not."""

    kind: str
    points: tuple[LinePoint, ...]

    @property
    def look(self) -> str:
        """The end of the classes of its marks."""
        return "" if self.kind == "true" else f" {self.kind}"


def lines(
    times: Sequence[str],
    traces: Sequence[Trace],
    *,
    said: str,
    show: Callable[[float], str] = number,
    corridor: Sequence[tuple[int, float, float]] = (),
    wide: int = WIDE,
    ends: tuple[float, float] | None = None,
    places: Sequence[float] | None = None,
) -> Drawing:
    """The traces over ``times``; ``corridor`` says between which two lines a tolerance is kept at each time.

    ``ends`` are those of the axis, for charts that stand beside each other; otherwise the figures decide.  ``places``
    say where times stand that are not equally far apart, from 0 to their number less one.
    """
    left, right, top, ground = 62, 20, 10, 190
    y = Axis(*(ends or _ends(traces, corridor)), ground, top)
    step = (wide - left - right) / max(len(times) - 1, 1)

    def x(i: float) -> float:
        return left + (i * step if len(times) > 1 else (wide - left - right) / 2)

    out = [line("zero" if t == 0 else "grid", left, y(t), wide - right, y(t)) for t in y.marks]
    out += [text(left - 6, y(t) + 4, number(t), "tick", "end") for t in y.marks]
    every = max(1, -(-len(times) * 46 // (wide - left)))
    shown = range(0, len(times), every) if places is None else _apart([x(i) for i in places], 46)
    for i in shown:
        half = 3.6 * len(times[i])  # of its width in a common font: a label at the edge stays whole
        at = min(x(places[i] if places else i), wide - max(half, right))
        out.append(text(at, ground + 18, times[i], "tick", "middle"))
    for edge in (1, 2):
        out.append(path("limit", [(x(c[0]), y(c[edge])) for c in corridor]) if corridor else "")
    out += _areas(traces, x, y) + _lines(traces, x, y, show, radius=3.6)
    return svg("".join(out), wide, ground + 28, said)


def _ends(traces: Sequence[Trace], corridor: Sequence[tuple[int, float, float]]) -> tuple[float, float]:
    ends = [v for t in traces for p in t.points for v in (p.value, p.low, p.high) if v is not None]
    return roomy(ends + [v for _, low, high in corridor for v in (low, high)], 0.3)


def log_lines(
    traces: Sequence[Trace],
    *,
    said: str,
    show: Callable[[float], str],
    axes: tuple[str, str] = ("epsilon", ""),
    limit: float | None = None,
    here: float | None = None,
    wide: int = WIDE,
) -> Drawing:
    """The traces against a number, both axes logarithmic; ``limit`` is a tolerance, ``here`` where we are."""
    top, ground, high = 10 if not axes[1] else 28, 210, 250
    points = [p for t in traces for p in t.points]
    values = [v for p in points for v in _reach(p) if v > 0] + ([] if limit is None else [limit])
    places = sorted({p.at for p in points} | ({here} if here else set()))
    x = Axis(places[0] / 1.06, places[-1] * 1.06, 64, wide - 12, logarithmic=True)
    y = Axis(min(values) / 1.25, max(values) * 1.25, ground, top, logarithmic=True)
    out = [line("grid", x.start, y(t), x.end, y(t)) for t in y.marks]
    out += [text(x.start - 6, y(t) + 4, show(t), "tick", "end") for t in y.marks]
    for v in (places[i] for i in _apart([x(v) for v in places], 34)):
        half = 4.2 * len(number(v))  # of its width in a common font: a label at the edge stays whole
        out.append(text(min(x(v), wide - half), ground + 18, number(v), "tick", "middle"))
    out.append(text((x.start + wide) / 2, ground + 36, axes[0], "tick", "middle"))
    areas, above = _areas(traces, x, y), _lines(traces, x, y, show, radius=4)
    if limit is not None:
        areas.append(line("limit", x.start, y(limit), x.end, y(limit)))
        areas.append(text(x.end, y(limit) - 5, f"tolerance {show(limit)}", "limit", "end"))
    if here is not None:
        areas.append(line("here", x(here), top, x(here), ground))
    if axes[1]:
        out.append(text(4, 14, axes[1], "tick", "start"))
    return svg("".join(out + areas + above), wide, high, said)


def _reach(p: LinePoint) -> tuple[float, ...]:
    """What an axis must show of a point: a range below a third of its value would flatten all others."""
    return (p.value,) if p.low is None or p.high is None else (p.value, p.high, max(p.low, p.value / 3))


def _apart(places: Sequence[float], room: float) -> list[int]:
    """Which labels have so much room beside each other, from the left.

    >>> _apart([0.0, 10.0, 50.0], 34)
    [0, 2]
    """
    kept: list[int] = []
    for i, x in enumerate(places):
        if not kept or x - places[kept[-1]] > room:
            kept.append(i)
    return kept


def _areas(traces: Sequence[Trace], x: _Places, y: Axis) -> list[str]:
    out = []
    for t in traces:
        ranged = [(x(p.at), p.low, p.high) for p in t.points if p.low is not None and p.high is not None]
        band = [(at, y(high)) for at, _, high in ranged] + [(at, y(low)) for at, low, _ in reversed(ranged)]
        out += [path(f"area{t.look}", band, closed=True)] if band else []
    return out


def _lines(traces: Sequence[Trace], x: _Places, y: Axis, show: Callable[[float], str], *, radius: float) -> list[str]:
    out = []
    for t in traces:
        out.append(path(f"curve{t.look}", [(x(p.at), y(p.value)) for p in t.points]))
        out += [
            dot(f"dot{t.look}" + " off" * p.off, x(p.at), y(p.value), radius, p.said or show(p.value))
            for p in t.points
        ]
    return out


@final
@dataclass(frozen=True)
class Dot:
    """One mark of a scatter: two numbers for the same thing, what it says, and to which group it belongs."""

    x: float
    y: float
    said: str
    group: str = ""


def scatter(
    dots: Sequence[Dot],
    *,
    said: str,
    axes: tuple[str, str],
    logarithmic: bool = False,
    band: Sequence[tuple[float, float, float]] = (),
    ends: tuple[float, float] | None = None,
    radius: float = 2.4,
) -> Drawing:
    """The dots with the diagonal on which both numbers are equal; groups have colours and a key.

    On logarithmic axes what is 0 lies on the edge.  ``band`` says between which values chance alone would put the
    second number, for values of the first; ``ends`` are those of both axes, otherwise the dots decide.
    """
    low, high = ends or _square_ends([v for d in dots for v in (d.x, d.y)], logarithmic)
    x, y = (Axis(low, high, *places, logarithmic) for places in ((_LEFT, _LEFT + _SIZE), (_GROUND, _TOP)))
    out = [line("grid", _LEFT, y(t), _LEFT + _SIZE, y(t)) for t in x.marks]
    out += [line("grid", x(t), _TOP, x(t), _GROUND) for t in x.marks]
    out += [text(_LEFT - 6, y(t) + 4, number(t), "tick", "end") for t in x.marks]
    out += [text(x(t), _GROUND + 18, number(t), "tick", "middle") for t in x.marks]
    if band:
        edge = [(x(v), y(high)) for v, _, high in band]
        edge += [(x(v), y(low)) for v, low, _ in reversed(band)]
        out.append(path("area", edge, closed=True))
    out.append(line("curve thin", _LEFT, _GROUND, _LEFT + _SIZE, _TOP))
    groups = list(dict.fromkeys(d.group for d in dots))
    out += [_mark(x(d.x), y(d.y), d, groups, radius) for d in dots]
    out.append(text(_LEFT + _SIZE / 2, _GROUND + 36, axes[0], "tick", "middle"))
    out.append(text(_LEFT + 6, _TOP + 12, axes[1], "tick", "start"))
    named = [g for g in groups if g] if len(groups) > 1 else []
    for i, g in enumerate(named):
        left, below = _LEFT + (i % 3) * 150, _GROUND + 58 + 18 * (i // 3)
        out.append(f'<circle class="p{groups.index(g) % COLOURS}" cx="{left}" cy="{below - 4}" r="4"/>')
        out.append(text(left + 9, below, fitted(g, 136), "tick", "start"))
    return svg("".join(out), WIDE, _GROUND + 42 + 18 * ceil(len(named) / 3) + 6 * bool(named), said)


def log_scatter(dots: Sequence[Dot], band: float, *, said: str, axes: tuple[str, str]) -> Drawing:
    """Counts against counts on logarithmic axes; around the diagonal the band in which noise alone puts them."""
    least, most = 0.7, max([10.0, band, *(d.x for d in dots), *(d.y for d in dots)]) * 1.2
    places = [least * (most / least) ** (i / 60) for i in range(61)]
    around = [(v, v - band, v + band) for v in places]
    return scatter(dots, said=said, axes=axes, logarithmic=True, band=around, ends=(least, most), radius=2.2)


def _square_ends(values: Sequence[float], logarithmic: bool) -> tuple[float, float]:
    if logarithmic:
        some = [v for v in values if v > 0] or [0.1, 1.0]
        return min(some) / 1.5, max(some) * 1.5
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    room = (high - low) * 0.04 or abs(high) * 0.1 or 0.5
    return low - room, high + room


def _mark(x: float, y: float, d: Dot, groups: Sequence[str], radius: float) -> str:
    kind = f"p{groups.index(d.group) % COLOURS}" if len(groups) > 1 else "dot small"
    group = f' data-group="{escape(d.group)}"' if d.group else ""
    place = f'cx="{x:.1f}" cy="{y:.1f}" r="{radius}"'
    return f'<circle class="{kind}" {place}{group}><title>{escape(d.said)}</title></circle>'
