"""Charts on one sheet, as a file of its own: SVG with its style inside, in light and dark; PNG by a library.

The style is that of the pages, so a chart looks the same in a report and on a sheet.  Charts stand in rows of their
own size; text keeps a size that can still be read where a phone shows the sheet 400 pixels wide.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import final

from jinja2 import Environment, PackageLoader
from markupsafe import escape

from hedgerow.errors import JobError, MissingExtra
from hedgerow.figures.svg import Drawing, line, text

SERIES = 6
_EDGE, _GAP, _LETTER, _LINE = 14, 20, 7.4, 19


@final
@dataclass(frozen=True)
class Key:
    """What a mark on the charts means: words, and the mark's look with how opaque it is."""

    words: str
    look: str
    opacity: float = 1.0

    @property
    def wide(self) -> float:
        """How much room it needs."""
        return 34 + _LETTER * len(self.words) + 14


@final
@dataclass(frozen=True)
class Section:
    """Charts that belong together: a heading, notes under it, each chart with its title, and the key of the marks."""

    heading: str
    charts: Sequence[tuple[str, Drawing]] = ()
    notes: Sequence[str] = ()
    across: int = 1
    keys: Sequence[Key] = ()


def series(place: int, *, dashed: bool = False) -> str:
    """The look of the line at a place in an order of lines: six colours, then the same with other dashes."""
    again = place // SERIES
    return f"s{place % SERIES}" + (" dotted" if again % 2 else " dashed" if dashed else "")


def sheet(sections: Sequence[Section]) -> str:
    """The sections under each other, as the text of an SVG file."""
    widest = [(s.across, max(c.wide for _, c in s.charts)) for s in sections if s.charts]
    wide = max(_EDGE * 2 + across * chart + _GAP * (across - 1) for across, chart in widest)
    out, y = [], _EDGE
    for s in sections:
        body, y = _section(s, y, wide)
        out.append(body)
    said = escape("; ".join(s.heading for s in sections))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {y}" width="{wide}" height="{y}" role="img" '
        f'aria-label="{said}"><style>{style()}</style><rect class="paper" width="{wide}" height="{y}"/>'
        + "\n".join(out)
        + "</svg>\n"
    )


def _section(s: Section, y: int, wide: int) -> tuple[str, int]:
    out = []
    for kind, words in [("heading", s.heading), *(("note", n) for n in s.notes)]:
        for part in _wrapped(words, wide - 2 * _EDGE, 8.6 if kind == "heading" else _LETTER):
            y += _LINE
            out.append(text(_EDGE, y - 4, part, kind, "start"))
    y += 8
    for first in range(0, len(s.charts), s.across):
        row = s.charts[first : first + s.across]
        step = max(c.wide for _, c in s.charts) + _GAP
        titles = [_wrapped(title, c.wide, _LETTER) if title else [] for title, c in row]
        lines = max(map(len, titles))
        for i, ((_, chart), title) in enumerate(zip(row, titles, strict=True)):
            x = _EDGE + i * step
            out += [text(x, y + _LINE * (k + 1) - 5, t, "panel", "start") for k, t in enumerate(title)]
            place = f'<svg x="{x}" y="{y + _LINE * lines}" width="{chart.wide}" height="{chart.high}" '
            out.append(str(chart).replace("<svg ", place, 1))
        y += _LINE * lines + max(c.high for _, c in row) + 8
    at = float(_EDGE)
    for k in s.keys:
        if at > _EDGE and at + k.wide > wide - _EDGE:
            at, y = float(_EDGE), y + _LINE
        out.append(_key(k, at, y + 12))
        at += k.wide
    return "\n".join(out), y + (_LINE + 12 if s.keys else 0) + _EDGE


def _key(k: Key, x: float, y: float) -> str:
    kind = k.look.split()[0]
    if kind == "bar" or kind == "span":
        mark = f'<rect class="{k.look}" x="{x:.1f}" y="{y - 6:.1f}" width="24" height="11"/>'
    elif kind == "dot":
        mark = f'<circle class="{k.look}" cx="{x + 12:.1f}" cy="{y:.1f}" r="4"/>'
    elif kind == "range":
        mark = f'<g stroke-opacity="{k.opacity:.2f}">{line(k.look, x + 12, y - 7, x + 12, y + 6)}</g>'
    else:
        mark = line(k.look, x, y, x + 26, y)
    return mark + text(x + (22 if kind == "range" else 32), y + 4, k.words, "key", "start")


def _wrapped(words: str, room: float, letter: float) -> list[str]:
    """The words in lines that have room."""
    found = [""]
    for word in words.split():
        longer = f"{found[-1]} {word}".strip()
        if found[-1] and len(longer) * letter > room:
            found.append(word)
        else:
            found[-1] = longer
    return found


@cache
def style() -> str:
    """What the pages' style says of charts, with its colours in light and dark, and what only a sheet has."""
    environment = Environment(autoescape=True, loader=PackageLoader("hedgerow.figures"))
    pages, own = (environment.get_template(n).render() for n in ("style.css.j2", "sheet.css"))
    palette, rest = pages[: pages.index("* {")], pages[pages.index("* {") : pages.index("@media print")]
    return palette + "\n".join(re.findall(r"svg [^{}]*\{[^}]*\}", rest)) + "\n" + own


def write(path: Path, drawing: str) -> None:
    """Write a sheet in the format that the name of the file says: .svg, or .png by the extra library."""
    if path.suffix.lower() == ".png":
        path.write_bytes(_raster(drawing))
    else:
        path.write_text(drawing, "utf-8", newline="\n")


def check(path: Path, cost: str) -> None:
    """Refuse a place or a format that cannot be written before any work is done; ``cost`` says what it has cost.

    Raises:
        OSError: there is no such folder.
        JobError: the name ends in neither .svg nor .png, or nothing here can draw a PNG.
    """
    if path.suffix.lower() not in (".svg", ".png"):
        raise JobError(f"--figure is {path}: the name must end in .svg or .png. {cost}")
    path.parent.stat()
    if path.suffix.lower() == ".png":
        words = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><text y="15">x</text></svg>'
        if _raster(words) == _raster(words.replace(">x<", "><")):
            raise JobError(
                f"This machine has no fonts, so a PNG would have no words. Write the figure as .svg. {cost}"
            )


def _raster(drawing: str) -> bytes:
    """The sheet as an image of twice its size, in its light colours: the library knows no variables."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise MissingExtra(needed_for="A figure as PNG (as .svg it needs nothing)", extra="png") from None
    light, plain = dict(re.findall(r"(--[\w-]+): (#\w+)", drawing.partition("@media")[0])), drawing
    plain = re.sub(r"@media \(prefers-color-scheme: dark\) \{ :root \{[^}]*\} \}", "", plain)
    plain = re.sub(r"var\((--[\w-]+)\)", lambda m: light[m[1]], plain)
    return bytes(svg_to_bytes(svg_string=plain, zoom=2))
