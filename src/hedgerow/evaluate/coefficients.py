"""Coefficients of one model from two tables: do their intervals overlap, is the sign kept, and the significance?"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.evaluate.least_squares import Estimates

Floats = npt.NDArray[np.float64]
Z = NormalDist().inv_cdf(0.975)
Rule = Literal["simple", "partial", "full"]


def interval_overlap(a: Floats, a_error: Floats, b: Floats, b_error: Floats) -> Floats:
    """The overlap of two 95 % intervals, as the mean of its shares of either; 0 when they do not touch.

    >>> one = np.ones(1)
    >>> round(float(interval_overlap(0 * one, one, one, one)[0]), 3)
    0.745
    """
    low, high = np.maximum(a - Z * a_error, b - Z * b_error), np.minimum(a + Z * a_error, b + Z * b_error)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.maximum(high - low, 0) / (4 * Z) * (1 / a_error + 1 / b_error))


def expected_overlap(a_error: Floats, b_error: Floats) -> Floats:
    """The overlap to expect of two samples of one population, whose estimates differ by their errors alone."""
    levels = (np.arange(200) + 0.5) / 200
    normal = np.array([NormalDist().inv_cdf(p) for p in levels])
    apart = np.sqrt(a_error**2 + b_error**2)[:, None] * normal
    each = interval_overlap(np.zeros_like(apart), a_error[:, None], apart, b_error[:, None])
    return np.asarray(each.mean(axis=1))


@final
@dataclass(frozen=True, eq=False)
class CoefficientAgreement:
    """The coefficients of one model from table A and from table B, one row each.

    ``table`` has: coefficient, a, a_error, b, b_error, difference, overlap, chance (the overlap to expect),
    same_sign, same_significance.
    """

    table: pl.DataFrame

    @classmethod
    def of(cls, a: Estimates, b: Estimates) -> "CoefficientAgreement":
        """Coefficients that both determine, in the model's order; names that only one has are left out."""
        place = {name: i for i, name in enumerate(b.names)}
        pairs = [(i, place[n]) for i, n in enumerate(a.names) if n in place]
        i, j = (np.array([p[k] for p in pairs], np.int64) for k in (0, 1))
        known = np.isfinite(a.values[i]) & np.isfinite(b.values[j]) & (a.errors[i] > 0) & (b.errors[j] > 0)
        i, j = i[known], j[known]
        one, other, e, f = a.values[i], b.values[j], a.errors[i], b.errors[j]
        significant = [np.abs(x) > Z * s for x, s in ((one, e), (other, f))]
        return cls(
            pl.DataFrame(
                {
                    "coefficient": [a.names[k] for k in i.tolist()],
                    "a": one,
                    "a_error": e,
                    "b": other,
                    "b_error": f,
                    "difference": other - one,
                    "overlap": interval_overlap(one, e, other, f),
                    "chance": expected_overlap(e, f),
                    "same_sign": np.sign(one) == np.sign(other),
                    "same_significance": significant[0] == significant[1],
                }
            )
        )

    @property
    def summary(self) -> dict[str, float]:
        """Means and extremes over the coefficients."""
        t = self.table
        away = t["difference"].abs() / (t["a_error"] ** 2 + t["b_error"] ** 2).sqrt()
        numbers = {
            "overlap": t["overlap"].mean(),
            "chance": t["chance"].mean(),
            "worst_overlap": t["overlap"].min(),
            "sign_kept": t["same_sign"].mean(),
            "significance_kept": t["same_significance"].mean(),
            "mean_difference": t["difference"].abs().mean(),
            "largest_difference": t["difference"].abs().max(),
            "errors_away": away.mean(),
        }
        return {name: float(v) for name, v in numbers.items() if isinstance(v, int | float)}


def combined(copies: Sequence[Estimates], rule: Rule, *, rows: int) -> Estimates:
    """One estimate from m synthetic copies: the mean, with a variance that counts how the copies were made.

    With u the mean of the copies' own variances, b the variance between them, k the rows of a copy and n (``rows``)
    those of the table it stands for:

    * ``simple`` (Raab, Nowok and Dibben 2016): copies drawn from one fitted model, as ``hedgerow sample`` draws them:
      u (k / n + 1 / m).
    * ``partial`` (Reiter 2003): some columns synthetic, parameters drawn anew for each copy: u + b / m.
    * ``full`` (Raghunathan, Reiter and Rubin 2003): all synthetic, parameters drawn anew: (1 + 1/m) b - u, which
      needs many copies (tens); where it is not positive, Reiter's bound u k / n.

    None of them counts the gate's noise, which all copies of one release share: see docs/metrics.md.
    """
    m = len(copies)
    values = np.mean([c.values for c in copies], axis=0)
    within = np.mean([c.errors**2 for c in copies], axis=0)
    size = float(np.mean([c.rows for c in copies])) / max(rows, 1)
    between = np.var([c.values for c in copies], axis=0, ddof=1) if m > 1 else np.zeros_like(within)
    if rule == "simple":
        variance = within * (size + 1 / m)
    elif rule == "partial":
        variance = within + between / m
    else:
        variance = (1 + 1 / m) * between - within
        variance = np.where(variance > 0, variance, within * size)
    return Estimates(copies[0].names, values, np.sqrt(variance), round(size * rows))
