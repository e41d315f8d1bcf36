"""Label shares of rows corrected by noisy label counts of groups of these rows: first for drift, then for chance.

The prior is a share of each label for every row.  The data are noisy label counts of groups of these rows: the
leaves of a tree, the nodes above them, or the cells of a table.  The true count of a label in a group of n rows with
shares s is taken to have variance c + phi n c, with c the sum of s (1 - s): c because labels are one draw (chance),
phi n c because the confidential table strays from the prior (drift).  The noise adds v.

``apply_drift`` is parametric empirical Bayes (Efron and Morris 1973; Morris 1983): phi is estimated by moments from
the noisy counts themselves, and the shares move by the posterior mean of the drift, on the scale of log shares.  A
prior that resembles the confidential table keeps all its weight, one that does not loses it.  Our twist: one phi for
all labels, less some standard errors, unless a label's own differs from it by more than noise can explain.

``posterior_mode`` then moves them by what chance did in these very rows.  It is maximum-entropy calibration with soft
constraints (penalised raking: Deville and Sarndal 1992): the s that minimises

    sum over rows of KL(s, prior)  +  sum over all counts of (count - sum of s)^2 / (2 v),

so several tables are weighed against each other and against the prior by their precision, and no count is fitted
more closely than its noise allows.  Beyond two scales of Laplace noise the square goes on linearly (Huber
1964): a count with noise of scale b never moves a log share by more than 1 / b, the slope of its log density.

``expected_error`` says how far the tables of such labels will be off, before anything is asked.  All of it is
post-processing or public knowledge, and costs nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled
from hedgerow.model.constants import GUIDED_TREE
from hedgerow.model.trees.lanes import scale_line, settle_line, sum_line
from hedgerow.model.trees.regression_tree import Shares

Floats = npt.NDArray[np.float64]
Sums = tuple[Floats, Floats]
_TINY = 1e-30
_DENSE = 1 << 25  # cells that are counted in an array of all of them; more are sorted
_BLOCK = 1 << 14  # rows that several tables are summed up of while they are in the second cache
_HALF_NORMAL = float(np.sqrt(2 / np.pi))  # the mean distance of a normal variable of variance 1


@final
@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Noisy label counts of groups of rows, on the scale of these rows.

    Attributes:
        group: the group of each row, in 32 bits: compiled loops know no other kind.
        counts: for each group the noisy count of each label.
        variance: for each group that of the noise on one of its counts, as a column.
        label: for each share of a row the label it counts for; each for one of its own when None.
        many: how many rows each stands for that are like it; one when None.
    """

    group: npt.NDArray[Any]
    counts: Floats
    variance: Floats
    label: npt.NDArray[np.int64] | None = None
    many: Floats | None = None

    @property
    def weight(self) -> Floats:
        """How many rows each stands for, whether they are written out or all one."""
        return np.broadcast_to(1.0, len(self.group)) if self.many is None else self.many

    def label_of(self, label_count: int) -> npt.NDArray[np.int64]:
        """For each of ``label_count`` shares the label it counts for."""
        return np.arange(label_count) if self.label is None else self.label


def to_target(
    group: npt.NDArray[Any],
    counts: npt.ArrayLike,
    variance: float,
    label: npt.NDArray[np.int64] | None = None,
    many: Floats | None = None,
) -> LabelCounts:
    """Counts of confidential rows brought to target rows, which may be others, and more or fewer.

    The size of a group among the confidential rows is its noisy total, shrunk to the size of the target's own group
    as far as noise explains the difference: for a target that is the confidential table's own rows it is exact.
    """
    noisy = np.asarray(counts, np.float64)
    rows = np.bincount(group, many, minlength=len(noisy)).astype(np.float64)
    totals, noise = noisy.sum(axis=1), variance * noisy.shape[1]
    off, doubt = totals.sum() - rows.sum(), noise * len(totals)
    ratio = max(totals.sum() / max(rows.sum(), 1.0), 1e-3) if off**2 > GUIDED_TREE.widest_square * doubt else 1.0
    guess = ratio * rows
    excess = (totals - guess) ** 2 - noise
    weight = guess**2 / max(noise, _TINY)
    strays = (excess * weight).sum() - GUIDED_TREE.drift_caution * 2 * noise * np.sqrt((weight**2).sum())
    spread = max(float(strays / max((guess**2 * weight).sum(), _TINY)), 0.0) * guess**2
    size = np.maximum(guess + (totals - guess) * spread / (spread + noise + _TINY), 0.5)
    scale = (rows / size)[:, None]
    return LabelCounts(group.astype(np.int32), noisy * scale, np.maximum(variance * scale**2, 1e-9), label, many)


def label_totals(counts: Sequence[LabelCounts]) -> LabelCounts:
    """One group of all rows: the label totals that all ``counts`` give, weighed by their precision."""
    sums = np.stack([e.counts.sum(axis=0) for e in counts])
    precision = 1 / np.array([float(e.variance.sum()) for e in counts])
    mean = precision @ sums / precision.sum()
    one, many = np.zeros(len(counts[0].group), np.int32), counts[0].many
    return LabelCounts(one, mean[None], np.array([[1 / precision.sum()]]), many=many)


def trusted(start: Shares, counts: Sequence[LabelCounts]) -> tuple[Shares, float]:
    """``start`` trusted as far as noisy counts tell, and that power: 1 is all of it, 0 nothing but equal shares.

    A public model of other people, or of labels that were exchanged, is sure of what is not so.  Its shares are
    raised to smaller powers, raked to the label totals, and held against all counts, as long as the misfit (squared
    differences over what noise and chance give) is beyond noise and falls by more than noise might make it.  All of
    the way to the totals: else a power that makes shares flatter passes for better where rare labels have grown.
    """
    cells = sum(e.counts.size for e in counts)
    totals, found = [label_totals([e for e in counts if e.label is None])], list[tuple[float, Shares, float]]()
    for power in GUIDED_TREE.trust_powers:
        made = _tempered(start, power)
        moved = raked(made, totals)
        misfit = 0.0
        for e, (fitted, spread) in zip(counts, _all_sums(moved, counts), strict=True):
            misfit += float(((e.counts - fitted) ** 2 / (e.variance + spread)).sum())
        doubt = GUIDED_TREE.trust_caution * np.sqrt(cells)
        if found and misfit > found[-1][0] - doubt:
            break
        found.append((misfit, made, power))
        if misfit < cells + doubt:
            break
    return found[-1][1:]


def _tempered(shares: Shares, power: float) -> Shares:
    """Each row's shares to this power, made to sum to 1."""
    if power == 1:
        return shares
    made = np.power(np.maximum(shares, 1e-6), power, dtype=np.float32)
    return np.asarray(made / made.sum(axis=1, keepdims=True), np.float32)


def merge_groups(leaves: LabelCounts, of_leaf: npt.NDArray[np.int64]) -> LabelCounts:
    """The counts of leaves added up to larger groups: leaf i belongs to group ``of_leaf[i]``."""
    groups = int(of_leaf.max()) + 1
    counts, variance = np.zeros((groups, leaves.counts.shape[1])), np.zeros((groups, 1))
    np.add.at(counts, of_leaf, leaves.counts)
    np.add.at(variance, of_leaf, leaves.variance)
    return LabelCounts(of_leaf.astype(np.int32)[leaves.group], counts, variance, many=leaves.many)


def apply_drift(shares: Shares, *parts: Sequence[LabelCounts], least: float = 0.0) -> Shares:
    """``shares`` moved by the drift that the counts of a part together show, label by label, until they show no more.

    Part after part; what is given stays as it is, and is copied once for all of them.  ``least`` is a drift known
    beforehand: shares that m rows tell are off by 1 / m of s (1 - s), whatever the counts show.
    """
    out = shares
    for counts in parts:
        sums = _all_sums(out, counts)
        for left in reversed(range(GUIDED_TREE.drift_passes)):
            phi = drift([(e, *s) for e, s in zip(counts, sums, strict=True)])
            phi = np.maximum(phi, least) if left == GUIDED_TREE.drift_passes - 1 else phi  # it is moved by once
            if not phi.any():
                break
            out = shares.copy() if out is shares else out
            first = _drift_step(out, counts, phi, sums[0])
            sums = [first, *_all_sums(out, counts[1:])] if left else []
    return out


def _drift_step(shares: Shares, counts: Sequence[LabelCounts], phi: Floats, sums: Sums) -> Sums:
    """Move ``shares`` by the posterior mean of the drift ``phi``, on the scale of log shares.

    ``sums`` are those of the first of ``counts``, and so is what is given back, after all moves.
    """
    moved = [np.zeros(e.counts.shape) for e in counts]
    for _ in range(GUIDED_TREE.drift_rounds):
        for e, done, then in zip(counts, moved, (*counts[1:], counts[0]), strict=True):
            fitted, spread = sums
            ready = phi * fitted.sum(axis=1, keepdims=True) / (e.variance + spread)
            step = (ready * (e.counts - fitted) - done) / (1 + ready * np.minimum(2 * spread, fitted))
            sums = _move(shares, e, done, step, then)
    return sums


def drift(parts: Sequence[tuple[LabelCounts, Floats, Floats]]) -> Floats:
    """For each label phi: how far true shares stray from the prior, over all groups of all ``parts``.

    By moments, each group by how precisely it tells.  It is that of all labels together, less three standard
    errors, unless a label's own differs from it by more than the noise would make it.
    """
    top = bottom = error = np.zeros(parts[0][1].shape[1])
    for e, fitted, spread in parts:
        base, due = spread * fitted.sum(axis=1, keepdims=True), e.variance + spread
        weight = base / due**2
        square = np.minimum((e.counts - fitted) ** 2, GUIDED_TREE.widest_square * due)
        top = top + ((square - due) * weight).sum(axis=0)
        bottom = bottom + (base * weight).sum(axis=0)
        error = error + 4 * ((due * weight) ** 2).sum(axis=0)  # a squared Laplace variable has variance 5, not 2
    sure = float(top.sum() - GUIDED_TREE.drift_caution * np.sqrt(error.sum()))
    whole = max(sure, 0.0) / max(float(bottom.sum()), _TINY)
    own = np.maximum(top, 0.0) / np.maximum(bottom, _TINY)
    chance = np.zeros(len(own))
    for e, fitted, spread in parts:
        base, due = spread * fitted.sum(axis=1, keepdims=True), e.variance + spread
        chance += 4 * ((due + whole * base) * base / due**2).__pow__(2).sum(axis=0)
    chance /= np.maximum(bottom, _TINY) ** 2
    trust = np.maximum(1 - GUIDED_TREE.own_drift_doubt * chance / np.maximum((own - whole) ** 2, _TINY), 0.0)
    return np.asarray(np.minimum(trust * own + (1 - trust) * whole, 1.0))


def posterior_mode(shares: Shares, counts: Sequence[LabelCounts]) -> Shares:
    """The posterior mode of the shares, ``shares`` being their prior: dual coordinate ascent, table by table."""
    out, moved = shares.copy(), [np.zeros(e.counts.shape) for e in counts]
    fitted, spread = _sums(out, counts[0])
    for _ in range(GUIDED_TREE.mode_sweeps):
        for e, done, then in zip(counts, moved, (*counts[1:], counts[0]), strict=True):
            step = ((e.counts - fitted) / e.variance - done) / (1 + np.minimum(2 * spread, fitted) / e.variance)
            most = np.sqrt(2 / e.variance)  # 1 / b for Laplace noise of this variance
            fitted, spread = _move(out, e, done, np.clip(done + step, -most, most) - done, then)
    return out


def raked(shares: Shares, counts: Sequence[LabelCounts]) -> Shares:
    """``shares`` moved until they agree with noisy counts as they are, however far that is: iterative raking.

    The noise stays in them.  For replicates: what the prior kept of itself against the counts shows there.
    """
    out = shares.copy()
    fitted = _sums(out, counts[0])[0] if counts else np.zeros(0)
    for _ in range(GUIDED_TREE.mode_sweeps):
        for e, then in zip(counts, (*counts[1:], *counts[:1]), strict=True):
            step = np.log(np.maximum(e.counts, 0.5) / np.maximum(fitted, 0.5))
            limit = GUIDED_TREE.largest_step
            fitted, _ = _scaled(out, e, np.exp(np.clip(step, -limit, limit)), then)
    return out


def _sums(shares: Shares, e: LabelCounts) -> Sums:
    """For each group the summed shares s of each label, and the sums of s (1 - s)."""
    return _all_sums(shares, [e])[0]


def _all_sums(shares: Shares, counts: Sequence[LabelCounts]) -> list[Sums]:
    """The same for several: rows pass through the processor once for all of them."""
    found = [(np.zeros(e.counts.shape), np.zeros(e.counts.shape)) for e in counts]
    for low in range(0, len(shares), _BLOCK):
        some = slice(low, low + _BLOCK)
        for e, sums in zip(counts, found, strict=True):
            if e.label is None:
                _add_up(shares[some], e.group[some], e.weight[some], *sums)
            else:
                _add_up_labels(shares[some], e.group[some], e.weight[some], e.label, *sums)
    return found


def _move(shares: Shares, e: LabelCounts, done: Floats, step: Floats, then: LabelCounts) -> Sums:
    """Every row's log shares moved by the step of its group. 2 s (1 - s) bounds the curvature: no overshooting.

    Gives the sums of ``then``, the counts that are looked at next.
    """
    step = np.clip(step, -GUIDED_TREE.largest_step, GUIDED_TREE.largest_step)
    done += step
    return _scaled(shares, e, np.exp(step), then)


def _scaled(shares: Shares, e: LabelCounts, factor: Floats, then: LabelCounts) -> Sums:
    """Every row's shares times the factors of its group, made to sum to 1; gives the sums of ``then``.

    Rows pass through the processor once for both.
    """
    factor = factor if e.label is None else np.ascontiguousarray(factor[:, e.label])
    if then.label is not None:
        _scale(shares, e.group, factor)
        return _sums(shares, then)
    fitted, spread = np.zeros(then.counts.shape), np.zeros(then.counts.shape)
    _scale_and_add_up(shares, e.group, factor, then.group, then.weight, fitted, spread)
    return fitted, spread


@compiled
def _add_up(shares: Any, group: Any, many: Any, fitted: Any, spread: Any) -> None:
    n, row, up, apart = np.uint64(shares.shape[1]), shares.reshape(-1), fitted.reshape(-1), spread.reshape(-1)
    for r in range(len(group)):
        sum_line(row, np.uint64(r) * n, many[r], up, apart, np.uint64(group[r]) * n, n)


@compiled
def _add_up_labels(shares: Any, group: Any, many: Any, label: Any, fitted: Any, spread: Any) -> None:
    whole = np.zeros(fitted.shape[1])
    for r in range(len(group)):
        g, n = group[r], many[r]
        whole[:] = 0.0
        for k in range(shares.shape[1]):
            whole[label[k]] += shares[r, k]
        for k in range(len(whole)):
            fitted[g, k] += n * whole[k]
            spread[g, k] += n * (whole[k] * (1 - whole[k]))


@compiled
def _scale(shares: Any, group: Any, factor: Any) -> None:
    for r in range(len(group)):
        g, total = group[r], 0.0
        for k in range(shares.shape[1]):
            shares[r, k] *= factor[g, k]
            total += shares[r, k]
        one = 1 / total  # to divide every share takes twice as long
        for k in range(shares.shape[1]):
            shares[r, k] *= one


@compiled
def _scale_and_add_up(shares: Any, group: Any, factor: Any, then: Any, many: Any, fitted: Any, spread: Any) -> None:
    """Rows in fours: four totals grow at once, where one would wait for itself at every label."""
    n, row, by = np.uint64(shares.shape[1]), shares.reshape(-1), factor.reshape(-1)
    up, apart, fours = fitted.reshape(-1), spread.reshape(-1), len(group) // 4 * 4
    for r in range(0, fours, 4):
        a = np.uint64(r) * n
        b, c, d = a + n, a + n + n, a + n + n + n
        scale_line(row, a, by, np.uint64(group[r]) * n, n)
        scale_line(row, b, by, np.uint64(group[r + 1]) * n, n)
        scale_line(row, c, by, np.uint64(group[r + 2]) * n, n)
        scale_line(row, d, by, np.uint64(group[r + 3]) * n, n)
        ta, tb, tc, td = 0.0, 0.0, 0.0, 0.0
        for k in range(n):
            ta += row[a + k]
            tb += row[b + k]
            tc += row[c + k]
            td += row[d + k]
        settle_line(row, a, 1 / ta, many[r], up, apart, np.uint64(then[r]) * n, n)
        settle_line(row, b, 1 / tb, many[r + 1], up, apart, np.uint64(then[r + 1]) * n, n)
        settle_line(row, c, 1 / tc, many[r + 2], up, apart, np.uint64(then[r + 2]) * n, n)
        settle_line(row, d, 1 / td, many[r + 3], up, apart, np.uint64(then[r + 3]) * n, n)
    for r in range(fours, len(group)):
        a, total = np.uint64(r) * n, 0.0
        scale_line(row, a, by, np.uint64(group[r]) * n, n)
        for k in range(n):
            total += row[a + k]
        settle_line(row, a, 1 / total, many[r], up, apart, np.uint64(then[r]) * n, n)


@final
@dataclass(frozen=True, eq=False)
class LeafRows:
    """Target rows by leaf.

    Attributes:
        leaf: of each row.
        shares: of each leaf, of each label, from the public table.
        variance: of the noise on one of its counts.
        many: how many rows each stands for; one when None.
    """

    leaf: npt.NDArray[Any]
    shares: Floats
    variance: float
    many: Floats | None = None


@final
@dataclass(frozen=True, eq=False)
class LeafCells:
    """How many target rows have a code, by leaf: the (leaf, code) pairs of one attribute that occur."""

    leaf: npt.NDArray[np.int64]
    code: npt.NDArray[np.int64]
    many: npt.NDArray[Any]

    @classmethod
    def of(
        cls, leaf: npt.NDArray[Any], leaves: int, codes: npt.NDArray[Any], size: int, many: Floats | None = None
    ) -> "LeafCells":
        """Of rows with these leaves and codes; each counts as ``many``, or once."""
        pair, held = count_cells(leaf.astype(np.int64) * size + codes, leaves * size, many)
        return cls(pair // size, pair % size, held)

    def merged(self, of_leaf: npt.NDArray[np.int64], leaves: int, size: int) -> "LeafCells":
        """The same of larger leaves: leaf i belongs to ``of_leaf[i]``."""
        return LeafCells.of(of_leaf[self.leaf], leaves, self.code, size, self.many.astype(np.float64))


def count_cells(
    cells: npt.NDArray[np.int64], size: int, many: Floats | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """The cells that occur among ``size``, in order, and how often; each counts as ``many``, or once."""
    if size > _DENSE and many is None:
        return np.unique(cells, return_counts=True)
    if size > _DENSE:
        found, place = np.unique(cells, return_inverse=True)
        return found, np.bincount(place, many)
    held = np.bincount(cells, many, minlength=size)
    found = np.flatnonzero(held)
    return found, held[found]


def expected_error(
    rows: LeafRows, code_rows: npt.NDArray[Any], sizes: Sequence[int], tables: Sequence[float | None]
) -> float:
    """The mean total-variation distance expected of (attribute, labels) tables, one for each of ``code_rows``.

    ``tables`` has for each attribute the noise variance of its own table, or None when it is not asked.  With a
    prior that resembles the confidential table, what is unknown is what chance did in its rows: a label of share q
    in a leaf of n rows has variance c = n q (1 - q).  A noisy count of variance v tells c^2 / (c + v) of it.  A table
    cell that holds the part f of a leaf gains f^2 of that; a noisy table of its own, of variance w, brings what is
    left of its variance, p, to p w / (p + w).  As the labels of a group add up to a known number of rows, noise
    counts for one label less.
    """
    leaves = len(rows.shares)
    cells = [LeafCells.of(rows.leaf, leaves, c, n, rows.many) for c, n in zip(code_rows, sizes, strict=True)]
    return cells_error(cells, rows.shares, rows.variance, sizes, tables)


def cells_error(
    cells: Sequence[LeafCells], shares: Floats, variance: float, sizes: Sequence[int], tables: Sequence[float | None]
) -> float:
    """``expected_error`` of rows that were counted: in all ``cells``, each of one attribute, they are the same."""
    rows_in = np.bincount(cells[0].leaf, cells[0].many, minlength=len(shares)).astype(np.float64)
    chance = rows_in[:, None] * shares * (1 - shares)
    one_less = 1 - 1 / chance.shape[1]
    learnt = chance**2 / np.maximum(chance + one_less * variance, 1e-12)
    off = []
    for held, size, noise in zip(cells, sizes, tables, strict=True):
        part = (held.many / rows_in[held.leaf])[:, None]
        left = np.zeros((size, chance.shape[1]))
        np.add.at(left, held.code, part * chance[held.leaf] - part**2 * learnt[held.leaf])
        left = np.maximum(left, 0.0)
        if noise is not None:
            left = left * one_less * noise / np.maximum(left + one_less * noise, 1e-12)
        off.append(float(np.sqrt(left).sum()))
    return _HALF_NORMAL * float(np.mean(off)) / 2 / max(float(rows_in.sum()), 1.0)
