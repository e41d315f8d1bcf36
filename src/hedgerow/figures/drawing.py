"""What drawings are made of: lines, texts, axes with their ticks, plain and logarithmic; and several on one sheet.

A sheet is a file of its own: SVG with its style inside, in light and dark; PNG by a library.  The style is that of
the pages, so a chart looks the same in a report and on a sheet.  Charts stand in rows of their own size; text keeps a
size that can still be read where a phone shows the sheet 400 pixels wide.

>>> ticks(0, 950), [t for t in decades(0.3, 40)]
([0, 250, 500, 750], [1.0, 10.0])
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, floor, log10
from pathlib import Path
from typing import final

from markupsafe import Markup
from markupsafe import escape as as_markup

from hedgerow.errors import JobError, MissingExtra
from hedgerow.figures.words import one_line

WIDE = 520
_LETTER = 7.2
"""The width of a letter in a drawing, rather too large: fonts differ from reader to reader."""


def escape(words: str) -> Markup:
    """Words inside a drawing: nothing in them is markup, or acts unseen."""
    return as_markup(one_line(words))


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


SERIES = 6
_EDGE, _GAP, _SHEET_LETTER, _LINE = 14, 20, 7.4, 19


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
        return 34 + _SHEET_LETTER * len(self.words) + 14


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
    wide = max(wide, *(ceil(k.wide) + 2 * _EDGE for s in sections for k in s.keys), 0)  # no key is clipped
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
        for part in _wrapped(words, wide - 2 * _EDGE, 8.6 if kind == "heading" else _SHEET_LETTER):
            y += _LINE
            out.append(text(_EDGE, y - 4, part, kind, "start"))
    y += 8
    for first in range(0, len(s.charts), s.across):
        row = s.charts[first : first + s.across]
        step = max(c.wide for _, c in s.charts) + _GAP
        titles = [_wrapped(title, c.wide, _SHEET_LETTER) if title else [] for title, c in row]
        lines = max(map(len, titles))
        for i, ((_, chart), title) in enumerate(zip(row, titles, strict=True)):
            x = _EDGE + i * step
            out += [text(x, y + _LINE * (k + 1) - 5, t, "panel", "start") for k, t in enumerate(title)]
            place = f'<svg x="{x}" y="{y + _LINE * lines}" width="{chart.wide}" height="{chart.high}" '
            out.append(str(chart).replace("<svg ", place, 1))
        y += _LINE * lines + max(c.high for _, c in row) + 8
    marks, deep = _keys(s.keys, _EDGE, wide - _EDGE, y)
    return "\n".join([*out, *marks]), y + deep + _EDGE


def abreast(drawings: Sequence[Drawing]) -> Drawing:
    """Drawings beside each other as one."""
    out, x = [], 0
    for d in drawings:
        out.append(str(d).replace("<svg ", f'<svg x="{x}" y="0" width="{d.wide}" height="{d.high}" ', 1))
        x += d.wide + _GAP
    said = "; ".join(re.findall(r'aria-label="([^"]*)"', "".join(out)))
    return svg("".join(out), x - _GAP, max(d.high for d in drawings), said)


def legend(keys: Sequence[Key], wide: int = WIDE) -> Drawing:
    """The key of the marks as a drawing of its own, for a page; no words of it are cut."""
    wide = max(wide, *(ceil(k.wide) for k in keys))
    marks, deep = _keys(keys, 0, wide, 0)
    return svg("".join(marks), wide, deep, "; ".join(k.words for k in keys))


def _keys(keys: Sequence[Key], start: float, end: float, y: int) -> tuple[list[str], int]:
    """The keys in lines from ``start`` to ``end``, below ``y``, and how deep they reach."""
    out, at, top = [], float(start), y
    for k in keys:
        if at > start and at + k.wide > end:
            at, y = float(start), y + _LINE
        out.append(_key(k, at, y + 12))
        at += k.wide
    return out, y - top + _LINE + 12 if keys else 0


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
    from jinja2 import Environment, PackageLoader

    environment = Environment(autoescape=True, loader=PackageLoader("hedgerow.figures"))
    pages, own = (environment.get_template(n).render() for n in ("style.css.j2", "sheet.css"))
    palette, rest = pages[: pages.index("* {")], pages[pages.index("* {") : pages.index("@media print")]
    return palette + "\n".join(re.findall(r"svg [^{}]*\{[^}]*\}", rest)) + "\n" + own


def write_sheet(path: Path, drawing: str) -> None:
    """Write a sheet in the format that the name of the file says: .svg, or .png by the extra library."""
    if path.suffix.lower() == ".png":
        path.write_bytes(_raster(drawing))
    else:
        path.write_text(drawing, "utf-8", newline="\n")


def check_sheet(path: Path, cost: str) -> None:
    """Refuse a place or a format that cannot be written before any work is done; ``cost`` says what it has cost.

    Raises:
        OSError: there is no such folder.
        JobError: the name ends in neither .svg nor .png, or nothing here can draw a PNG.
    """
    if path.suffix.lower() not in (".svg", ".png"):
        raise JobError(f"--figure is {path}: the name must end in .svg or .png. {cost}")
    path.parent.stat()
    if path.suffix.lower() == ".png":
        sheet = f'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><style>{style()}</style>'
        words = f'{sheet}<text y="15">x</text></svg>'  # in the fonts of a sheet: the library looks for no others
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
