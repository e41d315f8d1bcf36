"""The parts of a drawing: lines, texts, axes with their ticks, plain and logarithmic.

>>> ticks(0, 950), [t for t in decades(0.3, 40)]
([0, 250, 500, 750], [1.0, 10.0])
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import final

from markupsafe import Markup, escape

WIDE = 520
_LETTER = 7.2
"""The width of a letter in a drawing, rather too large: fonts differ from reader to reader."""


@final
class Drawing(Markup):
    """An SVG element that knows its size, so that it can stand in a page or beside others on a sheet."""

    wide: int
    high: int


def svg(body: str, wide: int, high: int, said: str) -> Drawing:
    """A whole drawing; ``said`` is what it shows, for who cannot see it."""
    drawing = Drawing(
        f'<svg viewBox="0 0 {wide} {high}" role="img" aria-label="{escape(said)}" '
        f'xmlns="http://www.w3.org/2000/svg">{body}</svg>'
    )
    drawing.wide, drawing.high = wide, high
    return drawing


@final
@dataclass(frozen=True)
class Axis:
    """Where values from ``low`` to ``high`` lie between two places of a drawing; beyond a log axis is its end.

    >>> Axis(0, 10, 50, 250)(5), Axis(1, 100, 0, 200, logarithmic=True)(10)
    (150.0, 100.0)
    """

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """The place of a value."""
        low, high = self.low, self.high
        if self.logarithmic:
            value, low, high = log10(min(max(value, low), high)), log10(low), log10(high)
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    @property
    def marks(self) -> list[float]:
        """Round values on it."""
        return decades(self.low, self.high) if self.logarithmic else ticks(self.low, self.high)


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """A straight line."""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def path(kind: str, points: Sequence[tuple[float, float]], *, closed: bool = False) -> str:
    """A line through points, or the area they enclose."""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<{"polygon" if closed else "polyline"} class="{kind}" points="{places}"/>'


def text(x: float, y: float, words: str, kind: str, anchor: str) -> str:
    """Words beside a mark; ``anchor`` is start, middle or end."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def dot(kind: str, x: float, y: float, r: float, said: str = "") -> str:
    """A round mark, and what it says when it is pointed at."""
    if not said:
        return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}"/>'
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}"><title>{escape(said)}</title></circle>'


def short(words: str, length: int) -> str:
    """The words, cut with a sign of it where they are too long."""
    return words if len(words) <= length else words[: length - 1] + "…"


def gutter(labels: Iterable[str], most: int = 236) -> int:
    """How much room labels need to the left of a drawing; beyond ``most`` they are cut."""
    return min(most, max(60, 14 + ceil(_LETTER * max(map(len, labels), default=0))))


def fitted(words: str, room: float) -> str:
    """The words, cut where the room ends."""
    return short(words, max(2, int(room / _LETTER)))


def roomy(ends: Sequence[float], near: float) -> tuple[float, float]:
    """The ends of an axis: a little room around ``ends``, and zero in sight where it is ``near``, as a share.

    >>> roomy([1.0, 10.0], 0.4), roomy([8.0, 10.0], 0.4)
    ((-0.6, 10.6), (7.88, 10.12))
    """
    low, high = min(ends), max(ends)
    if 0 < low < near * high:
        low = 0.0
    if 0 > high > near * low:
        high = 0.0
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return low - room, high + room


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round places on a plain axis."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** floor(log10(rough))
    step = next(k * power for k in (1, 2, 2.5, 5, 10) if k * power >= rough * 0.999)
    first = ceil(low / step - 1e-9)
    found = [round(i * step, 12) for i in range(first, first + about * 2 + 3) if i * step <= high + step * 1e-9]
    return [int(t) if t == int(t) else t for t in found]


def whole_ticks(most: float) -> list[int]:
    """Round whole places on an axis of counts from 0.

    >>> whole_ticks(9.0), whole_ticks(1000.0)
    ([0, 2, 4, 6, 8], [0, 250, 500, 750, 1000])
    """
    power = 10 ** floor(log10(most / 4))
    step = max(1, int(next(k * power for k in (1, 2, 2.5, 5, 10) if k * power >= most / 4)))
    return list(range(0, int(most) + 1, step))


def decades(low: float, high: float) -> list[float]:
    """The powers of ten on a logarithmic axis; 1, 2 and 5 times them where there are fewer than two."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5)):
        found = [
            round(k * 10.0**p, 12) for p in powers for k in steps if low <= k * 10.0**p * 1.0000001 <= high * 1.01
        ]
        if len(found) > 1:
            return found
    return [low, high]


def number(value: float) -> str:
    """A number on an axis, as short as it goes.

    >>> number(0.05), number(12000), number(3.0), number(0.00002)
    ('0.05', '12,000', '3', '2e-05')
    """
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:.3g}"
