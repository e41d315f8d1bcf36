"""What the other columns leave unexplained of an outcome, in bands: a question that trees can ask.

The coefficient of a private label in a least-squares model of the outcome y given the columns X is decided by how
often the label occurs where y is above, or below, what X alone predicts (Frisch and Waugh 1933).  The table of y and
the label does not say it when X explains most of y; the table of bands of that residual and the label does.

The residual is a sum of one whole number for each column's code, found from public rows.  A tree whose splits are
shared by all paths with the same sum so far leads every row to the band of its sum: it asks about any table, and
reads no row to be made.

    >>> left = unexplained(np.array([[0, 0, 1, 1], [0, 1, 1, 2]]), (2, 3), outcome=1, scores=np.arange(3.0))
    >>> left.of(np.array([[0, 0], [0, 1]])) < 0
    array([ True, False])
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.public.costs.question import Tree

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_SWEEPS, _FINE, _LLOYD = 30, 16, 40
_ROWS = 400_000  # more of them would not change an effect by a hundredth of what is left
_MOST = 4_000_000  # numbers in a tree: 16 MB


@final
@dataclass(frozen=True, eq=False)
class Residual:
    """A whole number for each code of each column; a row's residual is the sum of its own, in steps of equal size."""

    points: tuple[Ints, ...]

    def of(self, lines: npt.NDArray[Any]) -> Ints:
        """The residual of each row."""
        out = np.zeros(lines.shape[1], np.int64)
        for p, codes in zip(self.points, lines, strict=True):
            out += p[codes]
        return out

    def tree(self, columns: tuple[str, ...], cuts: Sequence[int]) -> Tree:
        """The tree whose leaf is the number of ``cuts`` that are at or below a row's residual."""
        look, wide, child, sums, splits = [], [], [], np.zeros(1, np.int64), 1
        order = sorted(range(len(columns)), key=lambda a: -len(self.points[a]))  # wide columns while sums are few
        for place, a in enumerate(order):
            after = sums[:, None] + self.points[a]
            if place + 1 == len(order):
                child.append((-1 - np.searchsorted(cuts, after, side="right")).ravel())
            else:
                nexts = np.unique(after)
                child.append((splits + np.searchsorted(nexts, after)).ravel())
            look += [a] * len(sums)
            wide += [len(self.points[a])] * len(sums)
            if place + 1 < len(order):
                sums, splits = nexts, splits + len(nexts)
        return Tree.of(columns, len(cuts) + 1, look, np.cumsum(wide) - wide, np.concatenate(child))


def unexplained(lines: npt.NDArray[Any], sizes: Sequence[int], *, outcome: int, scores: Floats) -> Residual | None:
    """The residual of ``scores`` of the codes in line ``outcome``, given the other lines: one effect for each code.

    None when nothing is left.  A code's effect is the mean of what the other columns leave of its rows.
    """
    lines = lines[:, :: max(lines.shape[1] // _ROWS, 1)]
    y = scores[lines[outcome]]
    left, mean = y - y.mean(), y.mean()
    others = [a for a in range(len(sizes)) if a != outcome]
    effects = [np.zeros(s) for s in sizes]
    held = [np.maximum(np.bincount(line, minlength=s), 1) for line, s in zip(lines, sizes, strict=True)]
    for _ in range(_SWEEPS):
        for a in others:
            step = np.bincount(lines[a], weights=left, minlength=sizes[a]) / held[a]
            effects[a] += step
            left -= step[lines[a]]
    if left.std() <= 1e-3 * max(y.std(), 1e-12):
        return None
    effects[outcome] = mean - scores
    unit = left.std() / _FINE
    while _numbers([np.rint(e / unit) for e in effects]) > _MOST:
        unit *= 2
    return Residual(tuple(np.asarray(-np.rint(e / unit), np.int64) for e in effects))


def _numbers(points: Sequence[Floats]) -> float:
    """At most how many numbers the tree of these points has."""
    reach = np.cumsum([0.0, *(np.ptp(p) for p in sorted(points, key=len, reverse=True))])
    return float(sum((r + 1) * len(p) for r, p in zip(reach, sorted(points, key=len, reverse=True), strict=False)))


def cuts_of(values: Ints, many: Ints, bands: int) -> list[int]:
    """Cuts that part ``many`` rows of each of ``values`` in at most so many bands, each as like itself as can be.

    Lloyd's rounds from equal parts; a value at a cut belongs to the upper band.
    """
    middle = np.interp((np.arange(bands) + 0.5) / bands, (np.cumsum(many) - many / 2) / many.sum(), values)
    for _ in range(_LLOYD):
        band = np.searchsorted((middle[1:] + middle[:-1]) / 2, values)
        rows = np.bincount(band, weights=many, minlength=bands)
        mean = np.bincount(band, weights=many * values, minlength=bands) / np.maximum(rows, 1)
        middle = np.where(rows > 0, mean, middle)
    return sorted({int(np.floor(c)) + 1 for c in (middle[1:] + middle[:-1]) / 2})


def unknown(values: Ints, many: Ints, cuts: Sequence[int], mix: Floats, noise: float) -> tuple[float, float]:
    """How far the sums of residual x label are unknown when bands are counted with ``noise``, and when nothing is.

    ``mix`` has the share q of each label.  In a band of n rows chance gives its count the variance c = n q (1 - q),
    of which a count with noise v leaves c v / (c + v); the band's mean residual m makes it m^2 of the sum's.  How
    the label lies within the band stays unknown.  Standard deviations, added up over labels.
    """
    band = np.searchsorted(cuts, values, side="right")
    rows = np.bincount(band, weights=many, minlength=len(cuts) + 1)
    away = values - float(many @ values) / float(many.sum())
    mean = np.bincount(band, weights=many * away, minlength=len(rows)) / np.maximum(rows, 1)
    within = np.bincount(band, weights=many * (away - mean[band]) ** 2, minlength=len(rows)) / np.maximum(rows, 1)
    chance = rows[:, None] * mix * (1 - mix)
    kept = chance * noise / np.maximum(chance + noise, 1e-12)
    square = mean[:, None] ** 2
    left, whole = ((square * v + within[:, None] * chance).sum(axis=0) for v in (kept, chance))
    return float(np.sqrt(left).sum()), float(np.sqrt(whole).sum())
