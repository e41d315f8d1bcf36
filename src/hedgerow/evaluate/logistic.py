"""Logistic regression by Newton's method on coded columns: the cost depends on rows and columns, not on levels."""

from dataclasses import dataclass
from typing import final

import numpy as np

from hedgerow.evaluate.base import DoesNotApply
from hedgerow.evaluate.least_squares import DesignMatrix, Estimates, Floats

_STEPS = 40
MOST_COEFFICIENTS = 3000


@final
@dataclass(frozen=True, eq=False)
class Logistic:
    """A fitted logistic regression.

    Attributes:
        estimates: the coefficients, intercept first.
        fitted: the probability of each row.
        converged: False when the maximum was not reached, as when some levels predict the label without error.
    """

    estimates: Estimates
    fitted: Floats
    converged: bool


def logistic(design: DesignMatrix, *, precision: float = 1e-8, ridge: float = 0.0) -> Logistic:
    """The maximum-likelihood fit of a response of 0 and 1, with an intercept; absorbed columns are not allowed.

    It ends when a step gains less than ``precision`` of the log likelihood without terms.  Levels that tell the label
    without error have no finite coefficient, and each step moves them on: predictions need not wait for these.
    With a ``ridge`` (half of it times the sum of squared coefficients, without the intercept, is taken off the log
    likelihood) they have one, so that they can be used for other rows.
    """
    if design.absorbed:
        raise DoesNotApply("a logistic model takes no absorbed columns: write them as terms")
    if len(design.names) > MOST_COEFFICIENTS:
        raise DoesNotApply(f"the model has {len(design.names):,} coefficients; {MOST_COEFFICIENTS:,} are the most")
    y = design.response
    centres = np.array([x.mean() for _, x in design.numbers])
    scales = np.array([x.std() or 1.0 for _, x in design.numbers])
    numbers = [(x - c) / s for (_, x), c, s in zip(design.numbers, centres, scales, strict=True)]
    wide = _Wide(design, numbers)
    beta, best = np.zeros(wide.size), -np.inf
    share = min(max(float(y.mean()), 1e-6), 1 - 1e-6)
    beta[0] = np.log(share / (1 - share))
    least = precision * (1 - design.rows * (share * np.log(share) + (1 - share) * np.log1p(-share)))
    hessian, settled, penalty = np.eye(wide.size), False, np.full(wide.size, ridge)
    penalty[0] = 0.0
    for _ in range(_STEPS):
        eta = wide.times(beta)
        p = 1 / (1 + np.exp(-np.clip(eta, -35, 35)))
        likelihood = float(np.sum(y * eta - np.logaddexp(0, eta)) - (penalty * beta**2).sum() / 2)
        hessian = wide.gram(p * (1 - p)) + np.diag(penalty)
        if settled:
            break
        step = _solve(hessian, wide.sums(y - p) - penalty * beta)
        beta = beta + step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        settled = abs(likelihood - best) < least  # one step more then doubles the digits
        best = likelihood
    covariance = _inverse(hessian)
    unused = wide.sums(np.ones(design.rows)) == 0
    unused[wide.size - len(numbers) :] = False  # a centred number sums to 0 and is used all the same
    beta[unused] = 0.0
    estimates = _unscaled(design, beta, covariance, centres, scales)
    estimates.values[unused] = estimates.errors[unused] = np.nan  # a level without rows has no coefficient
    return Logistic(estimates, p, bool(settled and np.abs(beta).max() < 12))


def _unscaled(design: DesignMatrix, beta: Floats, covariance: Floats, centres: Floats, scales: Floats) -> Estimates:
    """The coefficients in the units of the terms; the intercept takes up the centring."""
    k, q = len(beta), len(scales)
    back = np.eye(k)
    for j in range(q):
        place = k - q + j
        back[place, place] = 1 / scales[j]
        back[0, place] = -centres[j] / scales[j]
    values = back @ beta
    errors = np.sqrt(np.maximum(np.diag(back @ covariance @ back.T), 0))
    return Estimates(("intercept", *design.names), values, errors, design.rows)


@final
class _Wide:
    """The model matrix, intercept first, kept as codes: products with it are sums over levels."""

    def __init__(self, design: DesignMatrix, numbers: list[Floats]) -> None:
        self._numbers = [np.ones(design.rows), *numbers]
        self._factors = [(f.codes, f.kept, len(f.labels)) for f in design.factors]
        sizes = [len(kept) for _, kept, _ in self._factors]
        starts = 1 + np.cumsum([0, *sizes])
        self._slots = [np.arange(s, s + n) for s, n in zip(starts, sizes, strict=False)]
        last = int(starts[-1])
        self._places = [0, *range(last, last + len(numbers))]
        self.size = last + len(numbers)

    def times(self, beta: Floats) -> Floats:
        """The linear predictor of each row."""
        total = sum((x * beta[i] for x, i in zip(self._numbers, self._places, strict=True)), np.zeros(1))
        for (codes, kept, levels), slot in zip(self._factors, self._slots, strict=True):
            effect = np.zeros(levels)
            effect[kept] = beta[slot]
            total = total + effect[codes]
        return np.asarray(total, np.float64)

    def sums(self, weight: Floats) -> Floats:
        """The sum of each column, rows weighted."""
        out = np.zeros(self.size)
        out[self._places] = [float(np.dot(x, weight)) for x in self._numbers]
        for (codes, kept, levels), slot in zip(self._factors, self._slots, strict=True):
            out[slot] = np.bincount(codes, weight, levels)[kept]
        return out

    def gram(self, weight: Floats) -> Floats:
        """The cross-products of all columns, rows weighted."""
        out = np.zeros((self.size, self.size))
        for x, i in zip(self._numbers, self._places, strict=True):
            out[i] = self.sums(weight * x)
        for a, ((codes, kept, levels), slot) in enumerate(zip(self._factors, self._slots, strict=True)):
            out[slot, slot] = np.bincount(codes, weight, levels)[kept]
            here = slice(slot[0], slot[-1] + 1) if len(slot) else slice(0)
            out[here, self._places] = out[self._places, here].T
            for (other, also, many), place in zip(self._factors[:a], self._slots[:a], strict=True):
                table = np.bincount(codes * many + other, weight, levels * many).reshape(levels, many)
                there = slice(place[0], place[-1] + 1) if len(place) else slice(0)
                out[here, there] = table[kept][:, also]
                out[there, here] = out[here, there].T
        return out


def _solve(hessian: Floats, score: Floats) -> Floats:
    return np.asarray(np.linalg.solve(hessian + _ridge(hessian), score), np.float64)


def _inverse(hessian: Floats) -> Floats:
    return np.asarray(np.linalg.inv(hessian + _ridge(hessian)), np.float64)


def _ridge(hessian: Floats) -> Floats:
    """A trace of a ridge, so that levels that the rows do not determine stand still instead of failing."""
    return np.eye(len(hessian)) * (1e-10 * max(float(np.diag(hessian).max()), 1e-300))
