"""A table of fields, darker where the number is worse."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import final

from markupsafe import escape

from hedgerow.figures.svg import WIDE, Drawing, fitted, gutter, short, svg, text


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
