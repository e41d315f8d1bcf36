"""Two numbers for each of many things: where they agree, a dot lies on the diagonal."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import final

from markupsafe import escape

from hedgerow.figures.svg import WIDE, Axis, Drawing, fitted, line, number, path, svg, text

COLOURS = 6
_LEFT, _GROUND, _TOP, _SIZE = 64, 330, 8, 322


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
    low, high = ends or _ends([v for d in dots for v in (d.x, d.y)], logarithmic)
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


def _ends(values: Sequence[float], logarithmic: bool) -> tuple[float, float]:
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
