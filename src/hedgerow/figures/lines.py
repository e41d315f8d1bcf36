"""A figure over time, from two tables: authentic solid, synthetic dashed, each with how far it may range."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, final

from markupsafe import Markup

from hedgerow.figures.charts import WIDE
from hedgerow.figures.svg import dot, line, number, path, roomy, svg, text, ticks


@final
@dataclass(frozen=True)
class Point:
    """One time of a line: which, how high, how far it ranges, and what it says."""

    at: int
    value: float
    low: float
    high: float
    said: str


@final
@dataclass(frozen=True)
class Trace:
    """The line of one table: ``true`` is drawn solid, ``made`` dashed."""

    kind: Literal["true", "made"]
    points: tuple[Point, ...]


def lines(
    times: Sequence[str],
    traces: Sequence[Trace],
    *,
    said: str,
    show: Callable[[float], str] = number,
    corridor: Sequence[tuple[int, float, float]] = (),
    wide: int = WIDE,
) -> Markup:
    """The traces over ``times``; ``corridor`` says between which two lines a tolerance is kept at each time."""
    left, right, top, ground = 62, 20, 10, 190
    ends = [v for t in traces for p in t.points for v in (p.value, p.low, p.high)]
    ends += [v for _, low, high in corridor for v in (low, high)]
    low, high = roomy(ends, 0.3)
    step = (wide - left - right) / max(len(times) - 1, 1)

    def at(i: int, v: float) -> tuple[float, float]:
        x = left + (i * step if len(times) > 1 else (wide - left - right) / 2)
        return x, ground - (v - low) / (high - low) * (ground - top)

    marks = ticks(low, high)
    out = [line("zero" if t == 0 else "grid", left, at(0, t)[1], wide - right, at(0, t)[1]) for t in marks]
    out += [text(left - 6, at(0, t)[1] + 4, number(t), "tick", "end") for t in marks]
    every = max(1, -(-len(times) * 46 // (wide - left)))
    out += [text(at(i, low)[0], ground + 18, t, "tick", "middle") for i, t in enumerate(times) if i % every == 0]
    for edge in (1, 2):
        out.append(path("limit", [at(int(c[0]), c[edge]) for c in corridor]) if corridor else "")
    for t in traces:
        kind = "" if t.kind == "true" else " made"
        band = [at(p.at, p.high) for p in t.points] + [at(p.at, p.low) for p in reversed(t.points)]
        out.append(path(f"area{kind}", band, closed=True))
    for t in traces:
        kind = "" if t.kind == "true" else " made"
        out.append(path(f"curve{kind}", [at(p.at, p.value) for p in t.points]))
        out += [dot(f"dot{kind}", *at(p.at, p.value), 3.6, p.said or show(p.value)) for p in t.points]
    return svg("".join(out), wide, ground + 28, said)
