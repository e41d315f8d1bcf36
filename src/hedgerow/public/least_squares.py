"""Least squares from sums of products, by a plain elimination that leaves out what is not determined.

No library routine is called that could add in another order on another day: the same sums always give the same
coefficients, bit by bit.  Whoever needs a coefficient as a fixed function of exact counts can rely on that.

    >>> x = np.array([[1.0, 0, 1], [1, 1, 3], [1, 2, 5]])  # a constant, a number, and the response 1 + 2 x
    >>> fit_sums(x.T @ x, rows=3, interest=2).coefficients.tolist()
    [1.0, 2.0]
"""

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_ALIASED = 1e-9  # of a column's own sum of squares: less is left when the others already say all that it says


@final
@dataclass(frozen=True, eq=False)
class Fit:
    """What least squares finds.

    Attributes:
        coefficients: in the order of the columns; NaN for one that the others leave undetermined.
        errors: their standard errors, under equal independent errors; NaN likewise, or without freedom.
        freedom: rows less coefficients.
    """

    coefficients: Floats
    errors: Floats
    freedom: int


def fit_sums(products: Floats, rows: int, interest: int) -> Fit:
    """The coefficients of the first ``interest`` columns, from the products of all columns and, last, the response.

    Columns of no interest come first, so that of two that say the same the one of interest is given up.
    """
    p = len(products) - 1
    left, size, held = np.array(products, np.float64), np.diagonal(products).copy(), []
    for k in (*range(interest, p), *range(interest)):
        pivot = left[k, k]
        if not pivot > _ALIASED * size[k]:
            continue
        held.append(k)
        row = left[k] / pivot  # sweep: afterwards row k holds what column k is worth to all others
        column = left[:, k].copy()
        left -= column[:, None] * row[None, :]
        left[k], left[:, k], left[k, k] = row, -column / pivot, 1 / pivot
    freedom = rows - len(held)
    coefficients, errors = np.full(interest, np.nan), np.full(interest, np.nan)
    variance = max(float(left[p, p]), 0.0) / freedom if freedom > 0 else float("nan")
    of_interest = [k for k in held if k < interest]
    coefficients[of_interest] = left[of_interest, p]
    errors[of_interest] = np.sqrt(np.maximum(left[of_interest, of_interest], 0) * variance)
    return Fit(coefficients, errors, freedom)
