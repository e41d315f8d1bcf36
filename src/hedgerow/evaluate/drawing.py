"""Figures of a comparison as inline SVG: no script, no network, coloured by the page, numbers on hover.

A is drawn solid and in the page's ink, B in its accent; where chance alone would put a point, a line shows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import final

import numpy as np
import polars as pl
from markupsafe import Markup, escape

from hedgerow.evaluate.base import Figure

_WIDE = 560


def drawn(figure: Figure) -> Markup:
    """The figure as SVG."""
    draw = {"bars": _bars, "scatter": _scatter, "coefficients": _coefficients, "heat": _heat, "curve": _curves}
    return draw[figure.kind](figure) if len(figure.data) else Markup("")


@final
@dataclass(frozen=True)
class _Axis:
    """A stretch of the drawing and the numbers it stands for."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float, *, logarithmic: bool = False) -> "_Axis":
        known = [v for v in values if np.isfinite(v) and (v > 0 or not logarithmic)] or [0.1, 1.0]
        low, high = min(known), max(known)
        if logarithmic:
            return cls(low / 1.3, high * 1.3, start, end, True)
        room = (high - low or abs(high) or 1.0) * 0.06
        return cls(low - room, high + room, start, end)

    def __call__(self, value: float) -> float:
        """The place of a number."""
        if self.logarithmic:
            share = log10(max(value, self.low) / self.low) / log10(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """A few round numbers within."""
        if self.logarithmic:
            return [10.0**e for e in range(ceil(log10(self.low)), floor(log10(self.high)) + 1)]
        rough = (self.high - self.low) / 4
        power = 10 ** floor(log10(rough))
        step = next(k * power for k in (1, 2, 2.5, 5, 10) if k * power >= rough)
        return [step * i for i in range(ceil(self.low / step), floor(self.high / step) + 1)]


def _bars(figure: Figure) -> Markup:
    """Two bars per label, A above B."""
    rows = figure.data.head(40).iter_rows(named=True)
    marks = [(str(r["label"]), float(r["a"] or 0), float(r["b"] or 0)) for r in rows]
    left, step = 214, 24
    to = _Axis(0.0, max([1e-12, *(max(m[1:]) for m in marks)]), left, _WIDE - 60)
    out = []
    for i, (label, a, b) in enumerate(marks):
        y = 4 + i * step
        out.append(
            f"<g><title>{escape(label)}: A {_number(a)}, B {_number(b)}</title>"
            + _text(left - 8, y + 14, _short(label, 28), "end")
            + f'<rect class="a" x="{left}" y="{y + 1}" width="{to(a) - left:.1f}" height="9"/>'
            + f'<rect class="b" x="{left}" y="{y + 11}" width="{to(b) - left:.1f}" height="9"/>'
            + _text(_WIDE - 2, y + 14, _number(b), "end")
            + "</g>"
        )
    return _svg("".join(out), 8 + step * len(marks), figure)


def _scatter(figure: Figure) -> Markup:
    """B against A with the line on which they agree."""
    data = figure.data.drop_nulls(["a", "b"])
    values = [*data["a"].to_list(), *data["b"].to_list()]
    high, left = 380, 64
    x = _Axis.over(values, left, _WIDE - 12, logarithmic=figure.logarithmic)
    y = _Axis(x.low, x.high, high, 8, x.logarithmic)
    groups = data["group"].unique(maintain_order=True).to_list()
    out = [_grid(x, y, left, high)]
    out.append(_line("agree", x(x.low), y(x.low), x(x.high), y(x.high)))
    for r in data.iter_rows(named=True):
        said = f"{r['label']}: A {_number(r['a'])}, B {_number(r['b'])}".removeprefix(": ")
        out.append(
            f'<circle class="p{groups.index(r["group"]) % 6}" cx="{x(r["a"]):.1f}" cy="{y(r["b"]):.1f}" r="2.6">'
            f"<title>{escape(said)}</title></circle>"
        )
    out += [_text((left + _WIDE) / 2, high + 34, figure.x, "middle"), _text(2, 14, figure.y, "start")]
    named = [g for g in groups if g]
    for i, g in enumerate(named[:12]):
        at = left + (i % 4) * 124, high + 54 + 18 * (i // 4)
        out.append(f'<circle class="p{i % 6}" cx="{at[0]}" cy="{at[1] - 4}" r="4"/>')
        out.append(_text(at[0] + 8, at[1], _short(g, 16), "start"))
    return _svg("".join(out), high + 44 + 18 * ceil(min(len(named), 12) / 4), figure)


def _coefficients(figure: Figure) -> Markup:
    """Coefficients with their intervals: over time in small panels, or one below the other."""
    if figure.data["at"].n_unique() > 1:
        return _panels(figure)
    marks = list(figure.data.head(40).iter_rows(named=True))
    left, step = 214, 26
    ends = [m[f"{side}_{end}"] for m in marks for side in "ab" for end in ("low", "high")]
    x = _Axis.over([*ends, 0.0], left, _WIDE - 12)
    out = [_line("agree", x(0), 0, x(0), step * len(marks))]
    for i, m in enumerate(marks):
        y = 6 + i * step
        out.append(_text(left - 8, y + 12, _short(m["label"], 28), "end"))
        for side, down in (("a", 4), ("b", 13)):
            low, high = _number(m[side + "_low"]), _number(m[side + "_high"])
            said = f"{m['label']}, {side.upper()}: {_number(m[side])} ({low} to {high})"
            out.append(
                f"<g><title>{escape(said)}</title>"
                + _line(f"line {side}", x(m[side + "_low"]), y + down, x(m[side + "_high"]), y + down)
                + f'<circle class="{side}" cx="{x(m[side]):.1f}" cy="{y + down}" r="3.4"/></g>'
            )
    foot = 6 + step * len(marks)
    out += [_text(x(t), foot + 14, _number(t), "middle") for t in x.ticks]
    return _svg("".join(out), foot + 22, figure)


def _panels(figure: Figure) -> Markup:
    """One panel per coefficient: A solid with its interval, B dashed, over time."""
    labels = figure.data["label"].unique(maintain_order=True).to_list()[:12]
    times = sorted(figure.data["at"].unique().to_list())
    across, wide, high = 3, _WIDE / 3, 132
    out = []
    for i, label in enumerate(labels):
        part = figure.data.filter(pl.col("label") == label).sort("at")
        left, top = (i % across) * wide + 44, (i // across) * high + 22
        x = _Axis(0, max(len(times) - 1, 1), left + 4, left + wide - 54)
        y = _Axis.over([*part["a_low"], *part["a_high"], *part["b"]], top + 84, top)
        out.append(_text(left - 40, top - 8, _short(label, 24), "start"))
        out += [_text(left - 4, y(t) + 4, _number(t), "end") for t in y.ticks[:: max(1, len(y.ticks) // 3)]]
        at = [x(times.index(t)) for t in part["at"]]
        points = [f"{p:.1f},{y(v):.1f}" for p, v in zip(at, part["a_low"], strict=True)]
        points += [f"{p:.1f},{y(v):.1f}" for p, v in reversed(list(zip(at, part["a_high"], strict=True)))]
        out.append(f'<polygon class="band" points="{" ".join(points)}"/>')
        for side in "ab":
            path = " ".join(f"{p:.1f},{y(v):.1f}" for p, v in zip(at, part[side], strict=True))
            out.append(f'<polyline class="line {side}" points="{path}"/>')
            for p, t, v in zip(at, part["at"], part[side], strict=True):
                said = escape(f"{label}, {t}, {side.upper()}: {_number(v)}")
                out.append(
                    f'<circle class="{side}" cx="{p:.1f}" cy="{y(v):.1f}" r="2.8"><title>{said}</title></circle>'
                )
        out += [_text(x(0), top + 100, times[0], "middle"), _text(x(len(times) - 1), top + 100, times[-1], "middle")]
    return _svg("".join(out), ceil(len(labels) / across) * high + 4, figure)


def _heat(figure: Figure) -> Markup:
    """A square per row and column, darker where the value is further from the best of the drawing."""
    rows = figure.data["row"].unique(maintain_order=True).to_list()[:40]
    columns = figure.data["column"].unique(maintain_order=True).to_list()[:24]
    value = {(r["row"], r["column"]): float(r["value"]) for r in figure.data.iter_rows(named=True)}
    shown = [v for (r, c), v in value.items() if r in rows and c in columns]
    low, high, rising = min(shown), max(shown), max(shown) <= 1.0  # distances rise as tables part, scores fall
    left, top = 120, 86
    size = min(30.0, (_WIDE - left - 4) / max(len(columns), 1))
    out = []
    for j, c in enumerate(columns):
        x = left + (j + 0.6) * size
        out.append(f'<text transform="translate({x:.1f},{top - 6}) rotate(-50)">{escape(_short(str(c), 14))}</text>')
    for i, r in enumerate(rows):
        out.append(_text(left - 6, top + (i + 0.7) * min(size, 20), _short(str(r), 18), "end"))
        for j, c in enumerate(columns):
            if (r, c) in value:
                v = value[r, c]
                share = (v - low) / (high - low) if high > low else 0.0
                out.append(
                    f'<rect class="cell" x="{left + j * size:.1f}" y="{top + i * min(size, 20):.1f}" '
                    f'width="{size - 1:.1f}" height="{min(size, 20) - 1:.1f}" '
                    f'fill-opacity="{0.06 + 0.94 * (share if rising else 1 - share):.2f}">'
                    f"<title>{escape(f'{r}, {c}: {_number(v)}')}</title></rect>"
                )
    return _svg("".join(out), int(top + len(rows) * min(size, 20) + 6), figure)


def _curves(figure: Figure) -> Markup:
    """One small panel per series, with the line on which both agree."""
    names = figure.data["series"].unique(maintain_order=True).to_list()[:9]
    size, out = _WIDE / 3, []
    for i, name in enumerate(names):
        part = figure.data.filter(pl.col("series") == name)
        left, top = (i % 3) * size + 40, (i // 3) * size + 22
        x = _Axis.over([*part["x"], *part["y"]], left, left + size - 52)
        y = _Axis(x.low, x.high, top + size - 52, top)
        path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(part["x"], part["y"], strict=True))
        out += [_text(left, top - 8, _short(name, 22), "start"), _line("agree", x.start, y.start, x.end, y.end)]
        out.append(f'<polyline class="line b solid" points="{path}"/>')
        ticks = x.ticks[:: max(1, len(x.ticks) // 2)]
        out += [_text(x(t), top + size - 36, _number(t), "middle") for t in ticks]
    return _svg("".join(out), int(ceil(len(names) / 3) * size), figure)


def _grid(x: _Axis, y: _Axis, left: float, low: float) -> str:
    out = [_line("grid", x(t), 8, x(t), low) + _text(x(t), low + 16, _number(t), "middle") for t in x.ticks]
    out += [
        _line("grid", left, y(t), _WIDE - 12, y(t)) + _text(left - 6, y(t) + 4, _number(t), "end") for t in y.ticks
    ]
    return "".join(out)


def _svg(body: str, high: int, figure: Figure) -> Markup:
    return Markup(
        f'<svg viewBox="0 0 {_WIDE} {high}" role="img" aria-label="{escape(figure.title)}" '
        f'xmlns="http://www.w3.org/2000/svg">{body}</svg>'
    )


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(str(text))}</text>'


def _number(value: float | None) -> str:
    if value is None or not np.isfinite(value):
        return "?"
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:.1e}"


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
