"""Least squares by the library pyfixest: the same design, the same names, for whoever trusts it more than us."""

import warnings
from typing import Any

import numpy as np

from hedgerow.errors import MissingExtra
from hedgerow.evaluate.design import Design, Places
from hedgerow.evaluate.least_squares import Errors, Estimates


def fit(design: Design, *, errors: Errors = "hetero", cluster: Places | None = None) -> Estimates:
    """The coefficients of ``design``, as ``least_squares`` gives them."""
    try:
        import pandas as pd
        import pyfixest as pf
    except ImportError:
        raise MissingExtra(needed_for="A model fitted by pyfixest", extra="models") from None
    terms = [f"x{j}" for j in range(len(design.names))]
    matrix = design.block(slice(0, design.rows))
    data = pd.DataFrame(matrix, columns=terms).assign(response=design.response)
    for i, codes in enumerate(design.absorbed):
        data[f"f{i}"] = codes
    law: Any = errors
    if errors == "cluster":
        data["cluster"] = cluster
        law = {"CRV1": "cluster"}
    varying = [t for j, t in enumerate(terms) if np.ptp(matrix[:, j]) > 0]
    values, spread = np.full(len(terms), np.nan), np.full(len(terms), np.nan)
    if varying and design.rows > len(varying) + 1:
        fixed = " + ".join(f"f{i}" for i in range(len(design.absorbed)))
        formula = f"response ~ {' + '.join(varying)}" + (f" | {fixed}" if fixed else "")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the library's own use of pandas; what is collinear shows as NaN
            found = pf.feols(formula, data=data, vcov=law, fixef_rm="none", fixef_tol=1e-12)
        got, error = found.coef(), found.se()
        for j, term in enumerate(terms):
            if term in got.index:
                values[j], spread[j] = float(got[term]), float(error[term])
    return Estimates(design.names, values, spread, design.rows)
