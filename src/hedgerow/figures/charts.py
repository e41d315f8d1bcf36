"""Charts of plain numbers: curves with bands, scatters, heat tables, estimates with ranges."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log10
from typing import final

from markupsafe import Markup, escape

from hedgerow.figures.scatter import Dot
from hedgerow.figures.svg import decades, dot, fitted, gutter, line, number, path, roomy, short, svg, text, ticks

WIDE = 520


@final
@dataclass(frozen=True)
class Step:
    """One place of a curve: where, how high, and the band around it."""

    x: float
    y: float
    low: float
    high: float
    said: str


@final
@dataclass(frozen=True)
class Range:
    """One estimate: what of, its value, and how far it ranges."""

    label: str
    value: float
    low: float
    high: float


def curve(steps: Sequence[Step], limit: float, here: float, *, said: str, show: Callable[[float], str]) -> Markup:
    """Error against epsilon, both on logarithmic axes: mean, band, the tolerance, and the epsilon of the job."""
    left, right, top, ground, high = 64, 12, 10, 210, 250
    values = [v for s in steps for v in (s.y, s.high, max(s.low, s.y / 3)) if v > 0] + [limit]
    (y0, y1), (x0, x1) = _span(values, 1.25), _span([s.x for s in steps], 1.06)

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            left + (log10(x) - log10(x0)) / (log10(x1) - log10(x0)) * (WIDE - left - right),
            ground - (log10(min(max(y, y0), y1)) - log10(y0)) / (log10(y1) - log10(y0)) * (ground - top),
        )

    out = [line("grid", left, at(x0, t)[1], WIDE - right, at(x0, t)[1]) for t in decades(y0, y1)]
    out += [text(left - 6, at(x0, t)[1] + 4, show(t), "tick", "end") for t in decades(y0, y1)]
    out += [text(at(s.x, y0)[0], ground + 18, number(s.x), "tick", "middle") for s in _apart(steps, at)]
    out.append(text((left + WIDE) / 2, ground + 36, "epsilon", "tick", "middle"))
    band = [at(s.x, s.high) for s in steps] + [at(s.x, s.low) for s in reversed(steps)]
    out.append(path("area", band, closed=True))
    limit_y = at(x0, limit)[1]
    out.append(line("limit", left, limit_y, WIDE - right, limit_y))
    out.append(text(WIDE - right, limit_y - 5, f"tolerance {show(limit)}", "limit", "end"))
    out.append(line("here", at(here, y0)[0], top, at(here, y0)[0], ground))
    out.append(path("curve", [at(s.x, s.y) for s in steps]))
    out += [dot("dot" if s.high <= limit else "dot off", *at(s.x, s.y), 4, s.said) for s in steps]
    return svg("".join(out), WIDE, high, said)


def _apart(steps: Sequence[Step], at: Callable[[float, float], tuple[float, float]]) -> list[Step]:
    """The steps whose labels have room beside each other."""
    kept: list[Step] = []
    for s in steps:
        if not kept or at(s.x, 1)[0] - at(kept[-1].x, 1)[0] > 34:
            kept.append(s)
    return kept


def _span(values: Sequence[float], room: float) -> tuple[float, float]:
    return min(values) / room, max(values) * room


def log_scatter(dots: Sequence[Dot], band: float, *, said: str, axes: tuple[str, str]) -> Markup:
    """Counts against counts on logarithmic axes; around the diagonal the band in which noise alone puts them."""
    left, ground, top, size = 64, 330, 8, 322
    most = max([10.0, band, *(d.x for d in dots), *(d.y for d in dots)]) * 1.2
    least = 0.7

    def at(v: float) -> float:
        return (log10(min(max(v, least), most)) - log10(least)) / (log10(most) - log10(least)) * size

    marks = [t for t in decades(1, most) if t >= 1]
    out = [line("grid", left, ground - at(t), left + size, ground - at(t)) for t in marks]
    out += [line("grid", left + at(t), top, left + at(t), ground) for t in marks]
    out += [text(left - 6, ground - at(t) + 4, number(t), "tick", "end") for t in marks]
    out += [text(left + at(t), ground + 18, number(t), "tick", "middle") for t in marks]
    places = [least * (most / least) ** (i / 60) for i in range(61)]
    area = [(left + at(v), ground - at(v + band)) for v in places]
    area += [(left + at(v), ground - at(v - band)) for v in reversed(places)]
    out.append(path("area", area, closed=True))
    out.append(line("curve thin", left, ground, left + size, top))
    out += [dot("dot small", left + at(d.x), ground - at(d.y), 2.2, d.said) for d in dots]
    out.append(text(left + size / 2, ground + 36, axes[0], "tick", "middle"))
    out.append(text(left + 6, top + 12, axes[1], "tick", "start"))
    return svg("".join(out), WIDE, ground + 42, said)


@final
@dataclass(frozen=True)
class Shade:
    """One field of a heat table: how dark, of six steps from 0, what stands in it, what it says."""

    level: int
    words: str
    said: str


def heat(
    rows: Sequence[str], columns: Sequence[str], fields: Sequence[Sequence[Shade | None]], *, said: str
) -> Markup:
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


def estimates(ranges: Sequence[Range], *, said: str, show: Callable[[float], str]) -> Markup:
    """Estimates under each other, each with its range, and zero where it is in sight."""
    left, right, step, top = gutter(r.label for r in ranges), 70, 22, 6
    ends = [v for r in ranges for v in (r.low, r.high)]
    low, high = roomy(ends, 0.4)
    ground = top + step * len(ranges)

    def at(v: float) -> float:
        return left + (v - low) / (high - low) * (WIDE - left - right)

    marks = ticks(low, high)
    out = [line("zero" if t == 0 else "grid", at(t), top, at(t), ground) for t in marks]
    out += [text(at(t), ground + 16, number(t), "tick", "middle") for t in marks]
    for i, r in enumerate(ranges):
        y = top + i * step + step / 2
        said_here = f"{r.label}: {show(r.value)}, from {show(r.low)} to {show(r.high)}"
        out.append(
            f"<g><title>{escape(said_here)}</title>"
            + text(left - 8, y + 4, fitted(r.label, left - 8), "label", "end")
            + line("band", at(r.low), y, at(r.high), y)
            + dot("dot", at(r.value), y, 3.5)
            + text(WIDE - 2, y + 4, show(r.value), "value", "end")
            + "</g>"
        )
    return svg("".join(out), WIDE, ground + 24, said)


@final
@dataclass(frozen=True)
class Twin:
    """The same figure from two tables: the authentic one with its interval, the synthetic one with its range."""

    label: str
    true: float
    interval: tuple[float, float]
    made: float
    range: tuple[float, float]


def twins(pairs: Sequence[Twin], *, said: str, show: Callable[[float], str]) -> Markup:
    """Authentic above synthetic for every label, each with how far it may range."""
    left, right, step, top = gutter(p.label for p in pairs), 12, 26, 6
    ends = [v for p in pairs for v in (*p.interval, *p.range)]
    low, high = min(ends), max(ends)
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    low, high = (0.0 if low >= 0 and low < 0.4 * high else low - room), high + room
    ground = top + step * len(pairs)

    def at(v: float) -> float:
        return left + (v - low) / (high - low) * (WIDE - left - right)

    marks = ticks(low, high)
    out = [line("zero" if t == 0 else "grid", at(t), top, at(t), ground) for t in marks]
    out += [text(at(t), ground + 16, number(t), "tick", "middle") for t in marks]
    for i, p in enumerate(pairs):
        y = top + i * step + step / 2
        out.append(
            f"<g><title>{escape(f'{p.label}: authentic {show(p.true)}, synthetic {show(p.made)}')}</title>"
            f'<rect class="hit" x="0" y="{y - step / 2:.1f}" width="{WIDE}" height="{step}"/>'
            + text(left - 8, y + 4, fitted(p.label, left - 8), "label", "end")
            + line("band", at(p.interval[0]), y - 4, at(p.interval[1]), y - 4)
            + dot("dot", at(p.true), y - 4, 3.5)
            + line("band made", at(p.range[0]), y + 5, at(p.range[1]), y + 5)
            + dot("dot made", at(p.made), y + 5, 3.5)
            + "</g>"
        )
    return svg("".join(out), WIDE, ground + 24, said)
