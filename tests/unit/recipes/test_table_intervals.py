"""The intervals of noisy counts hold the true count 95 times in 100, exactly where they say so."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from hedgerow.public.costs.noise_laws import Laplace
from hedgerow.public.costs.question import Marginal, Measurement, Noise
from hedgerow.public.schema import Schema
from hedgerow.public.table import PublicData
from hedgerow.recipes import IntegerCounts

SCHEMA = Schema.loads(
    "\n".join(
        f'[columns.{c}]\nkind = "categorical"\nvalues = [{", ".join(repr(str(i)) for i in range(60))}]' for c in "xy"
    )
)


@pytest.mark.parametrize("scale", [0.05, 0.2, 0.5, 1.0, 2.0, 7.3, 20.0, 1000.0])
def test_the_reach_of_laplace_noise_is_the_least_that_holds_95_in_100(scale: float) -> None:
    q, k = np.exp(-1 / scale), np.arange(0, int(40 * scale) + 50)
    mass = np.cumsum(np.where(k == 0, 1.0, 2.0) * (1 - q) / (1 + q) * q**k)
    reach = int(Laplace(Fraction(scale)).half_width())
    assert mass[reach] >= 0.95 - 1e-12
    assert reach == 0 or mass[reach - 1] < 0.95


@pytest.mark.parametrize(("law", "margins"), [("laplace", []), ("laplace", [["x"], []]), ("gaussian", [])])
def test_intervals_hold_the_true_count_as_often_as_they_say(law: str, margins: list[list[str]]) -> None:
    rng = np.random.default_rng(4)
    true = rng.poisson(300, 3600)
    noise = Noise(law, Fraction(9))  # type: ignore[arg-type]
    answers = []
    for columns in (("x", "y"), *map(tuple, margins)):
        counts = np.atleast_1d({2: true, 1: true.reshape(60, 60).sum(axis=1), 0: true.sum()}[len(columns)])
        q = np.exp(-1 / 9)
        added = (
            rng.geometric(1 - q, len(counts)) - rng.geometric(1 - q, len(counts))
            if law == "laplace"
            else np.rint(rng.normal(0, 3, len(counts))).astype(np.int64)
        )
        answers.append(Measurement(Marginal(columns), counts + added, noise))
    table = IntegerCounts(columns=("x", "y"), margins=margins).made(PublicData(SCHEMA), tuple(answers))
    frame = table.counts(rng)
    held = ((frame["low"].to_numpy() <= true) & (true <= frame["high"].to_numpy())).mean()
    assert 0.94 < held < (0.975 if law == "laplace" else 0.98)
    assert frame["standard_error"][0] == pytest.approx(table.deviation[0], abs=1e-3)  # type: ignore[index]
    summed = table.margins(frame).filter((pl.col("x") != "(all)") & (pl.col("y") == "(all)"))
    rows = true.reshape(60, 60).sum(axis=1)
    inside = ((summed["low"].to_numpy() <= rows) & (rows <= summed["high"].to_numpy())).mean()
    assert inside > 0.85
