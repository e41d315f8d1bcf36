"""Rows' label shares drawn from a prior towards noisy counts: the part that is drift, then the part that is chance.

The prior is a share of each label for every row.  Evidence is noisy label counts of groups of these rows: the
leaves of a tree, the nodes above them, or the cells of a table.  The true count of a label in a group of n rows with
shares s is taken to have variance c + phi n c, with c the sum of s (1 - s): c because labels are drawn, phi n c
because the confidential table strays from the prior.  The noise adds v.

``follow`` estimates phi from the noisy counts themselves and moves the shares by what is drift; a prior that
resembles the confidential table keeps all its weight, one that does not loses it.  ``settle`` then moves them by
what chance did in these very rows: it is the s that minimises

    sum over rows of KL(s, prior)  +  sum over all counts of (count - sum of s)^2 / (2 v),

so several tables are weighed against each other and against the prior by their precision, and no count is fitted
more closely than its noise allows.  Beyond two scales of the noise the square goes on as a straight line: a count
with Laplace noise of scale b never moves a log share by more than 1 / b.  All of it is post-processing and costs
nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled

Shares = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
_CAUTION = 3.0  # standard errors taken off the drift of all labels together: noise must not pass for drift
_SURE = 30.0  # 5.5 standard errors, squared: a label's own drift is believed beyond that (as in model/shrinkage)
_FURTHEST = 9.0  # a squared difference tells at most this many times its variance: Laplace noise has long tails
_PASSES, _ROUNDS, _SWEEPS, _STEP = 3, 4, 8, 2.0
_TINY = 1e-30


@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """Noisy label counts of groups of rows, on the scale of these rows.

    Attributes:
        group: the group of each row.
        counts: for each group the noisy count of each label.
        variance: for each group that of the noise on one of its counts, as a column.
        label: for each share of a row the label it counts for; each for one of its own when None.
    """

    group: npt.NDArray[Any]
    counts: Floats
    variance: Floats
    label: npt.NDArray[np.int64] | None = None

    def label_of(self, kinds: int) -> npt.NDArray[np.int64]:
        """For each of ``kinds`` shares the label it counts for."""
        return np.arange(kinds) if self.label is None else self.label


def on_target(
    group: npt.NDArray[Any],
    counts: npt.ArrayLike,
    variance: float,
    label: npt.NDArray[np.int64] | None = None,
) -> Evidence:
    """Counts of confidential rows as evidence of target rows, which may be others, and more or fewer.

    The size of a group among the confidential rows is its noisy total, drawn towards the target's own group as
    far as noise explains the difference: for a target that is the confidential table's own rows it is exact.
    """
    noisy = np.asarray(counts, np.float64)
    rows = np.bincount(group, minlength=len(noisy)).astype(np.float64)
    held, noise = noisy.sum(axis=1), variance * noisy.shape[1]
    off, doubt = held.sum() - rows.sum(), noise * len(held)
    ratio = max(held.sum() / max(rows.sum(), 1.0), 1e-3) if off**2 > _FURTHEST * doubt else 1.0
    guess = ratio * rows
    excess = (held - guess) ** 2 - noise
    weight = guess**2 / max(noise, _TINY)
    strays = (excess * weight).sum() - _CAUTION * 2 * noise * np.sqrt((weight**2).sum())
    spread = max(float(strays / max((guess**2 * weight).sum(), _TINY)), 0.0) * guess**2
    size = np.maximum(guess + (held - guess) * spread / (spread + noise + _TINY), 0.5)
    scale = (rows / size)[:, None]
    return Evidence(group, noisy * scale, np.maximum(variance * scale**2, 1e-9), label)


def together(evidence: Sequence[Evidence]) -> Evidence:
    """One group of all rows: the label totals of all ``evidence``, weighed by their precision."""
    sums = np.stack([e.counts.sum(axis=0) for e in evidence])
    precision = 1 / np.array([float(e.variance.sum()) for e in evidence])
    mean = precision @ sums / precision.sum()
    return Evidence(np.zeros(len(evidence[0].group), np.int8), mean[None], np.array([[1 / precision.sum()]]))


def merged(leaves: Evidence, of_leaf: npt.NDArray[np.int64]) -> Evidence:
    """The evidence of leaves added up to larger groups: leaf i belongs to group ``of_leaf[i]``."""
    groups = int(of_leaf.max()) + 1
    counts, variance = np.zeros((groups, leaves.counts.shape[1])), np.zeros((groups, 1))
    np.add.at(counts, of_leaf, leaves.counts)
    np.add.at(variance, of_leaf, leaves.variance)
    return Evidence(of_leaf[leaves.group], counts, variance)


def follow(shares: Shares, evidence: Sequence[Evidence]) -> Shares:
    """``shares`` moved by the drift that all ``evidence`` together shows, label by label, until it shows no more."""
    for _ in range(_PASSES):
        phi = drift([(e, *_sums(shares, e)) for e in evidence])
        if not phi.any():
            break
        shares = _followed(shares, evidence, phi)
    return shares


def _followed(shares: Shares, evidence: Sequence[Evidence], phi: Floats) -> Shares:
    """``shares`` moved by the posterior mean of the drift ``phi``, on the scale of log shares."""
    out, moved = shares.copy(), [np.zeros(e.counts.shape) for e in evidence]
    for _ in range(_ROUNDS):
        for e, done in zip(evidence, moved, strict=True):
            held, spread = _sums(out, e)
            ready = phi * held.sum(axis=1, keepdims=True) / (e.variance + spread)
            step = (ready * (e.counts - held) - done) / (1 + ready * np.minimum(2 * spread, held))
            _move(out, e, done, step)
    return out


def drift(parts: Sequence[tuple[Evidence, Floats, Floats]]) -> Floats:
    """For each label phi: how far true shares stray from the prior, over all groups of all ``parts``.

    By moments, each group by how precisely it tells.  It is that of all labels together, less three standard
    errors, unless a label's own differs from it by more than the noise would make it.
    """
    top = bottom = error = np.zeros(parts[0][1].shape[1])
    for e, held, spread in parts:
        base, due = spread * held.sum(axis=1, keepdims=True), e.variance + spread
        weight = base / due**2
        top = top + ((np.minimum((e.counts - held) ** 2, _FURTHEST * due) - due) * weight).sum(axis=0)
        bottom = bottom + (base * weight).sum(axis=0)
        error = error + 4 * ((due * weight) ** 2).sum(axis=0)  # a squared Laplace variable has variance 5, not 2
    whole = max(float(top.sum() - _CAUTION * np.sqrt(error.sum())), 0.0) / max(float(bottom.sum()), _TINY)
    own = np.maximum(top, 0.0) / np.maximum(bottom, _TINY)
    chance = np.zeros(len(own))
    for e, held, spread in parts:
        base, due = spread * held.sum(axis=1, keepdims=True), e.variance + spread
        chance += 4 * ((due + whole * base) * base / due**2).__pow__(2).sum(axis=0)
    chance /= np.maximum(bottom, _TINY) ** 2
    trust = np.maximum(1 - _SURE * chance / np.maximum((own - whole) ** 2, _TINY), 0.0)
    return np.asarray(np.minimum(trust * own + (1 - trust) * whole, 1.0))


def settle(shares: Shares, evidence: Sequence[Evidence]) -> Shares:
    """``shares`` moved to where all ``evidence`` and they themselves, as a prior, are weighed by precision."""
    out, moved = shares.copy(), [np.zeros(e.counts.shape) for e in evidence]
    for _ in range(_SWEEPS):
        for e, done in zip(evidence, moved, strict=True):
            held, spread = _sums(out, e)
            step = ((e.counts - held) / e.variance - done) / (1 + np.minimum(2 * spread, held) / e.variance)
            most = np.sqrt(2 / e.variance)  # 1 / b for Laplace noise of this variance
            _move(out, e, done, np.clip(done + step, -most, most) - done)
    return out


def _sums(shares: Shares, e: Evidence) -> tuple[Floats, Floats]:
    """For each group the summed shares s of each label, and the sums of s (1 - s)."""
    held, spread = np.zeros(e.counts.shape), np.zeros(e.counts.shape)
    _add_up(shares, e.group, e.label_of(shares.shape[1]), held, spread)
    return held, spread


def _move(shares: Shares, e: Evidence, done: Floats, step: Floats) -> None:
    """Every row's log shares moved by the step of its group. 2 s (1 - s) bounds the curvature: no overshooting."""
    step = np.clip(step, -_STEP, _STEP)
    done += step
    _scale(shares, e.group, np.exp(step)[:, e.label_of(shares.shape[1])])


@compiled
def _add_up(shares: Any, group: Any, label: Any, held: Any, spread: Any) -> None:
    whole = np.zeros(held.shape[1])
    for r in range(len(group)):
        g = group[r]
        whole[:] = 0.0
        for k in range(shares.shape[1]):
            whole[label[k]] += shares[r, k]
        for k in range(len(whole)):
            held[g, k] += whole[k]
            spread[g, k] += whole[k] * (1 - whole[k])


@compiled
def _scale(shares: Any, group: Any, factor: Any) -> None:
    for r in range(len(group)):
        g, total = group[r], 0.0
        for k in range(shares.shape[1]):
            shares[r, k] *= factor[g, k]
            total += shares[r, k]
        for k in range(shares.shape[1]):
            shares[r, k] /= total
