"""The figures of a release: noisy counts on synthetic ones, what was spent, and how far a guess can move."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10, sqrt

import numpy as np
from markupsafe import Markup, escape

from hedgerow.figures.svg import fitted, gutter, svg
from hedgerow.figures.svg import line as _line
from hedgerow.figures.svg import short as _short
from hedgerow.figures.svg import text as _text
from hedgerow.release.one_way_tables import OneWayTable
from hedgerow.release.words import Odds, of_100

_WIDTH = 520
_MOST_BARS = 30
_MOST_COLUMNS = 100
_UPRIGHT_FROM = 13


@dataclass(frozen=True)
class _Mark:
    """One cell as drawn: label, synthetic count, noisy count, half width of its 95 % band."""

    label: str
    synthetic: float
    noisy: float
    band: float

    @property
    def title(self) -> str:
        return f"{self.label}: synthetic {self.synthetic:,.0f}, noisy {self.noisy:,.0f} ± {self.band:,.0f}"


def noise_bars(one: OneWayTable) -> Markup:
    """Bars of synthetic counts with the noisy counts and their 95 % bands marked on them."""
    upright = one.ordered and len(one.labels) >= _UPRIGHT_FROM
    marks, left_out = _marks(one, upright)
    body, height = _upright(marks) if upright else _lying(marks)
    said = f"Synthetic and noisy counts of {one.name}" + (f"; {left_out}" if left_out else "")
    return svg(body, _WIDTH, height, said)


def omission_note(one: OneWayTable) -> str:
    """What the figure leaves out or puts together; empty when it shows every cell."""
    return _marks(one, one.ordered and len(one.labels) >= _UPRIGHT_FROM)[1]


def _marks(one: OneWayTable, upright: bool) -> tuple[list[_Mark], str]:
    every = [
        _Mark(label, float(s), float(n), one.plus_minus)
        for label, s, n in zip(one.labels, one.synthetic, one.noisy, strict=True)
    ]
    if upright and len(every) > _MOST_COLUMNS:
        together = ceil(len(every) / _MOST_COLUMNS)
        groups = [every[i : i + together] for i in range(0, len(every), together)]
        return [_joined(g) for g in groups], f"drawn with {together} neighbouring cells together"
    if not upright and len(every) > _MOST_BARS:
        kept = np.argsort(-np.maximum(one.synthetic, one.noisy), kind="stable")[:_MOST_BARS]
        order = sorted(kept.tolist()) if one.ordered else kept.tolist()
        return [every[i] for i in order], f"the {_MOST_BARS} largest of {len(every):,} cells"
    return every, ""


def _joined(group: Sequence[_Mark]) -> _Mark:
    label = group[0].label if len(group) == 1 else f"{group[0].label} … {group[-1].label}"
    band = group[0].band * sqrt(len(group))
    return _Mark(label, sum(m.synthetic for m in group), sum(m.noisy for m in group), band)


def _lying(marks: Sequence[_Mark]) -> tuple[str, int]:
    left, step, top = gutter(m.label for m in marks), 22, 2
    wide, height = _WIDTH - left - 64, top + step * len(marks) + 26
    ticks, scale = _scale(marks, wide)
    out = [_line("grid", left + t * scale, top, left + t * scale, height - 24) for t in ticks]
    out += [_text(left + t * scale, height - 8, f"{t:,}", "tick", "middle") for t in ticks]
    for i, m in enumerate(marks):
        y = top + i * step
        low, high = _clipped(m, wide / scale)
        out.append(
            f"<g><title>{escape(m.title)}</title>"
            + _text(left - 8, y + 16, fitted(m.label, left - 8), "label", "end")
            + f'<rect class="bar" x="{left}" y="{y + 4}" width="{m.synthetic * scale:.1f}" height="16"/>'
            + _line("band", left + low * scale, y + 12, left + high * scale, y + 12)
            + f'<circle class="dot" cx="{left + max(0.0, m.noisy) * scale:.1f}" cy="{y + 12}" r="3.5"/>'
            + _text(_WIDTH - 2, y + 16, f"{m.synthetic:,.0f}", "value", "end")
            + "</g>"
        )
    return "".join(out), height


def _upright(marks: Sequence[_Mark]) -> tuple[str, int]:
    left, top, high, height = 56, 8, 180, 218
    wide = _WIDTH - left - 8
    ticks, scale = _scale(marks, high)
    ground, step = top + high, wide / len(marks)
    out = [_line("grid", left, ground - t * scale, _WIDTH - 8, ground - t * scale) for t in ticks]
    out += [_text(left - 6, ground - t * scale + 4, f"{t:,}", "tick", "end") for t in ticks]
    every = ceil(len(marks) / 6)
    for i, m in enumerate(marks):
        x, bar = left + i * step, m.synthetic * scale
        low, up = (end * scale for end in _clipped(m, high / scale))
        middle, gap = x + step / 2, min(2.0, step * 0.12)
        out.append(
            f"<g><title>{escape(m.title)}</title>"
            f'<rect class="hit" x="{x:.1f}" y="{top}" width="{step:.1f}" height="{high}"/>'
            f'<rect class="bar" x="{x + gap:.1f}" y="{ground - bar:.1f}" '
            f'width="{step - 2 * gap:.1f}" height="{bar:.1f}"/>'
            + _line("band", middle, ground - low, middle, ground - up)
            + f'<circle class="dot" cx="{middle:.1f}" cy="{ground - max(0.0, m.noisy) * scale:.1f}" '
            f'r="{min(3.5, max(1.6, step / 3)):.1f}"/></g>'
        )
        if i % every == 0 and middle < _WIDTH - 30:
            out.append(_text(middle, ground + 18, _short(_beginning(m.label), 11), "tick", "middle"))
    return "".join(out), height


def spending(parts: Sequence[tuple[str, float]], left: float) -> Markup:
    """One bar: the share of the promise that each request took, and what was not spent."""
    out, x, wide = [], 0.0, float(_WIDTH)
    for i, (name, share) in enumerate(parts):
        out.append(
            f'<g><title>{escape(name)}: {100 * share:.1f} %</title><rect class="part{i % 3}" '
            f'x="{x:.1f}" y="2" width="{max(share * wide - 1, 0.5):.1f}" height="22"/></g>'
        )
        x += share * wide
    out.append(
        f'<g><title>not spent: {100 * left:.1f} %</title><rect class="unspent" x="{x:.1f}" y="2.5" '
        f'width="{max(wide - x - 0.5, 0):.1f}" height="21"/></g>'
    )
    return svg("".join(out), _WIDTH, 26, "The share of the promise each request took")


def chances(odds: Sequence[Odds]) -> Markup:
    """For each prior a bar of 100 guesses: right without the release, and at most with it."""
    out = []
    for i, o in enumerate(odds):
        y, before, after = 2 + 32 * i, 300 * o.before, 300 * o.after
        out.append(
            f'<rect class="rail" x="0.5" y="{y + 0.5}" width="299" height="21"/>'
            f'<rect class="after" x="0" y="{y}" width="{after:.1f}" height="22"/>'
            f'<rect class="before" x="0" y="{y}" width="{before:.1f}" height="22"/>'
            + _text(before - 6, y + 16, of_100(o.before), "inside", "end")
            + (
                _text(after - 6, y + 16, of_100(o.after), "inside", "end")
                if after - before >= 32
                else _text(after + 6, y + 16, of_100(o.after), "label", "start")
            )
            + _text(308, y + 16, "of 100", "tick", "start")
        )
    pairs = "; ".join(f"{of_100(o.before)} in 100 becomes at most about {of_100(o.after)} in 100" for o in odds)
    return svg("".join(out), 360, 32 * len(odds) - 6, pairs)


def _clipped(mark: _Mark, most: float) -> tuple[float, float]:
    """The ends of the band, as far as they are inside the drawing."""
    low, high = mark.noisy - mark.band, mark.noisy + mark.band
    return min(max(low, 0.0), most), min(max(high, 0.0), most)


def _scale(marks: Sequence[_Mark], room: float) -> tuple[list[int], float]:
    """Round whole ticks from 0, and how much of the drawing one row takes."""
    most = max([1.0, *(m.synthetic for m in marks), *(m.noisy + min(m.band, abs(m.noisy)) for m in marks)])
    rough = most / 4
    power = 10 ** floor(log10(rough))
    step = max(1, int(next(k * power for k in (1, 2, 2.5, 5, 10) if k * power >= rough)))
    return list(range(0, int(most) + 1, step)), room / most


def _beginning(label: str) -> str:
    """Where the span of a label begins: enough for a mark on an axis."""
    return label.split(" … ")[0].split(" to ")[0].lstrip("[").split(",")[0]
