"""Two bars for each label: what a table is compared with above, what it shows below."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from markupsafe import Markup, escape

from hedgerow.figures.charts import WIDE
from hedgerow.figures.svg import fitted, gutter, line, number, svg, text, ticks


@final
@dataclass(frozen=True)
class Pair:
    """One label with its two numbers, neither below 0."""

    label: str
    first: float
    second: float


def pair_bars(
    pairs: Sequence[Pair], *, said: str, names: tuple[str, str], show: Callable[[float], str] = number
) -> Markup:
    """The bars under each other, the second number of each at the right."""
    left, right, step, top = gutter(p.label for p in pairs), 62, 24, 4
    most = max([1e-12, *(max(p.first, p.second) for p in pairs)])
    ground, room = top + step * len(pairs), WIDE - left - right
    marks = ticks(0, most)
    out = [line("grid", left + t / most * room, top, left + t / most * room, ground) for t in marks]
    out += [text(left + t / most * room, ground + 16, number(t), "tick", "middle") for t in marks]
    for i, p in enumerate(pairs):
        y = top + i * step
        told = f"{p.label}: {names[0]} {show(p.first)}, {names[1]} {show(p.second)}"
        out.append(
            f"<g><title>{escape(told)}</title>"
            f'<rect class="hit" x="0" y="{y}" width="{WIDE}" height="{step}"/>'
            + text(left - 8, y + 15, fitted(p.label, left - 8), "label", "end")
            + f'<rect class="truth" x="{left}" y="{y + 2}" width="{p.first / most * room:.1f}" height="9"/>'
            + f'<rect class="bar" x="{left}" y="{y + 12}" width="{p.second / most * room:.1f}" height="9"/>'
            + text(WIDE - 2, y + 15, show(p.second), "value", "end")
            + "</g>"
        )
    return svg("".join(out), WIDE, ground + 24, said)
