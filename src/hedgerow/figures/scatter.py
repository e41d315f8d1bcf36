"""Two numbers for each of many things: where they agree, a dot lies on the diagonal."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10
from typing import final

from markupsafe import Markup, escape

from hedgerow.figures.svg import decades, fitted, line, number, path, svg, text, ticks

WIDE, COLOURS = 520, 6
_LEFT, _GROUND, _TOP, _SIZE = 64, 330, 8, 322


@final
@dataclass(frozen=True)
class Dot:
    """One mark of a scatter: two numbers for the same thing, what it says, and to which group it belongs."""

    x: float
    y: float
    said: str
    group: str = ""


@final
@dataclass(frozen=True)
class _Scale:
    """A plain or logarithmic scale, the same for both axes."""

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def over(cls, values: Sequence[float], logarithmic: bool) -> "_Scale":
        if logarithmic:
            some = [v for v in values if v > 0] or [0.1, 1.0]
            return cls(min(some) / 1.5, max(some) * 1.5, True)
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        room = (high - low) * 0.04 or abs(high) * 0.1 or 0.5
        return cls(low - room, high + room, False)

    def __call__(self, value: float) -> float:
        if self.logarithmic:
            value = min(max(value, self.low), self.high)
            return (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low)) * _SIZE
        return (value - self.low) / (self.high - self.low) * _SIZE

    @property
    def marks(self) -> list[float]:
        return decades(self.low, self.high) if self.logarithmic else ticks(self.low, self.high)


def scatter(
    dots: Sequence[Dot],
    *,
    said: str,
    axes: tuple[str, str],
    logarithmic: bool = False,
    band: Sequence[tuple[float, float, float]] = (),
) -> Markup:
    """The dots with the diagonal on which both numbers are equal; groups have colours and a key.

    On logarithmic axes what is 0 lies on the edge.  ``band`` says between which values chance alone would put the
    second number, for values of the first.
    """
    at = _Scale.over([v for d in dots for v in (d.x, d.y)], logarithmic)
    out = [line("grid", _LEFT, _GROUND - at(t), _LEFT + _SIZE, _GROUND - at(t)) for t in at.marks]
    out += [line("grid", _LEFT + at(t), _TOP, _LEFT + at(t), _GROUND) for t in at.marks]
    out += [text(_LEFT - 6, _GROUND - at(t) + 4, number(t), "tick", "end") for t in at.marks]
    out += [text(_LEFT + at(t), _GROUND + 18, number(t), "tick", "middle") for t in at.marks]
    if band:
        edge = [(_LEFT + at(x), _GROUND - at(high)) for x, _, high in band]
        edge += [(_LEFT + at(x), _GROUND - at(low)) for x, low, _ in reversed(band)]
        out.append(path("area", edge, closed=True))
    out.append(line("curve thin", _LEFT, _GROUND, _LEFT + _SIZE, _TOP))
    groups = list(dict.fromkeys(d.group for d in dots))
    out += [_mark(_LEFT + at(d.x), _GROUND - at(d.y), d, groups) for d in dots]
    out.append(text(_LEFT + _SIZE / 2, _GROUND + 36, axes[0], "tick", "middle"))
    out.append(text(_LEFT + 6, _TOP + 12, axes[1], "tick", "start"))
    named = [g for g in groups if g] if len(groups) > 1 else []
    for i, g in enumerate(named):
        x, y = _LEFT + (i % 3) * 150, _GROUND + 58 + 18 * (i // 3)
        out.append(f'<circle class="p{groups.index(g) % COLOURS}" cx="{x}" cy="{y - 4}" r="4"/>')
        out.append(text(x + 9, y, fitted(g, 136), "tick", "start"))
    return svg("".join(out), WIDE, _GROUND + 42 + 18 * ceil(len(named) / 3) + 6 * bool(named), said)


def _mark(x: float, y: float, d: Dot, groups: Sequence[str]) -> str:
    kind = f"p{groups.index(d.group) % COLOURS}" if len(groups) > 1 else "dot small"
    group = f' data-group="{escape(d.group)}"' if d.group else ""
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="2.4"{group}><title>{escape(d.said)}</title></circle>'
