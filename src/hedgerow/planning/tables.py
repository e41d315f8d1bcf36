"""What each recipe would make of one table of counts, side by side, before anything is read.

The errors are those of a table like the public one; without one, of an uneven table (1, 1/2, 1/3, ...).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import pi, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.model.simplex import project
from hedgerow.public.accounting import Budget, noise_for
from hedgerow.public.question import Marginal
from hedgerow.public.spend import Spend, Tariff
from hedgerow.recipes import AbstractRecipe, IntegerCounts, PublicData
from hedgerow.recipes.beta_binomial import BetaBinomial
from hedgerow.recipes.dirichlet_multinomial import DirichletMultinomial
from hedgerow.recipes.gamma_poisson import GammaPoisson
from hedgerow.recipes.integer_counts import public_counts
from hedgerow.recipes.urn_plan import UrnPlan

Floats = npt.NDArray[np.float64]
SMALL = 10
_RUNS = 40
_MOST_CELLS = 200_000


@dataclass(frozen=True)
class Fate:
    """How one recipe would fare on the table.

    Attributes:
        recipe: its name.
        prior_weight: the share of what it publishes that is prior; 0 when noise is added to counts instead.
        total_variation: half the expected summed difference of shares.
        small_cell_error: the expected relative error of a cell that holds 10 rows.
        chosen: whether it is the recipe of this job.
        warning: what must be said of it in plain words; empty when nothing.
    """

    recipe: str
    prior_weight: float
    total_variation: float
    small_cell_error: float
    chosen: bool
    warning: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def side_by_side(
    recipe: AbstractRecipe,
    requests: Sequence[Spend],
    public: PublicData,
    *,
    tariff: Tariff,
    budget: Budget,
    rows: int | None,
    rng: np.random.Generator,
) -> tuple[Fate, ...]:
    """The fates of the recipes for tables of counts; empty when the job is not one of them."""
    if not isinstance(recipe, IntegerCounts | DirichletMultinomial | BetaBinomial | GammaPoisson):
        return ()
    first = requests[0].asked[0]
    groups = requests[0].urn.groups if requests[0].urn else len(getattr(recipe, "groups", ()))
    true = _assumed(first.question, public, rows, first.cells)
    if true is None or first.cells > _MOST_CELLS:
        return ()
    fates = [_counted(tariff, budget, true, isinstance(recipe, IntegerCounts), rng)]
    urn = requests[0].urn
    if urn is None:  # what the urn would do at the same price, drawing as many as there are rows
        size = true.reshape(tariff.coding.cells(first.question.columns[:groups]), -1).sum(axis=1)
        plan = UrnPlan("dirichlet_multinomial", first.question, groups, [max(1, round(s)) for s in size])
        try:
            urn = plan.urn(tariff, budget.total, public)
        except ValueError:
            return tuple(fates)
    alphas = np.broadcast_to(np.array(urn.alphas, np.float64) / urn.grain, true.shape)
    blocks = len(np.broadcast_to(urn.sizes, tariff.coding.cells(first.question.columns[: urn.groups])))
    name = "dirichlet_multinomial" if isinstance(recipe, IntegerCounts) else recipe.name
    fates.append(_drawn(name, alphas, np.broadcast_to(urn.sizes, blocks), true, rng))
    return (*fates[:1], Fate(**{**asdict(fates[1]), "chosen": not isinstance(recipe, IntegerCounts)}))


def _assumed(question: Marginal, public: PublicData, rows: int | None, cells: int) -> Floats | None:
    """The counts that errors are worked out for: the public table's, or falling as 1, 1/2, 1/3, ..."""
    if public.relative is not None:
        counts = public_counts(public.relative, question)
        return np.asarray(counts * ((rows or counts.sum()) / max(counts.sum(), 1.0)))
    uneven = 1 / np.arange(1, cells + 1)
    return np.asarray(rows * uneven / uneven.sum()) if rows else None


def _counted(tariff: Tariff, budget: Budget, true: Floats, chosen: bool, rng: np.random.Generator) -> Fate:
    law = noise_for(
        budget.total, "laplace" if budget.measure == "pure" else "gaussian", budget.measure, tariff.guarantee
    )
    scale, total, off = float(law.scale), max(true.sum(), 1.0), 0.0
    for _ in range(_RUNS if len(true) < 10_000 else 3):
        noise = rng.laplace(0, scale, len(true)) if law.law == "laplace" else rng.normal(0, sqrt(scale), len(true))
        off += float(np.abs(project(true + np.rint(noise), total) - true).sum()) / 2 / total
    runs = _RUNS if len(true) < 10_000 else 3
    small = (scale if law.law == "laplace" else sqrt(2 / pi * scale)) / SMALL
    return Fate("integer_counts", 0.0, off / runs, small, chosen)


def _drawn(name: str, alphas: Floats, sizes: npt.NDArray[np.int64], true: Floats, rng: np.random.Generator) -> Fate:
    shares = true / max(true.sum(), 1.0)
    weights, off, runs = (true + alphas).reshape(len(sizes), -1), 0.0, _RUNS if len(true) < 10_000 else 3
    for _ in range(runs):
        drawn = np.concatenate([rng.multinomial(s, rng.dirichlet(w)) for s, w in zip(sizes, weights, strict=True)])
        off += float(np.abs(drawn / max(drawn.sum(), 1) - shares).sum()) / 2
    prior = float(alphas.sum() / (alphas.sum() + true.sum()))
    mean = float(alphas.mean())
    small = prior * abs(mean * true.sum() / max(alphas.sum(), 1e-12) - SMALL) / SMALL + sqrt(2 / pi / SMALL)
    return Fate(name, prior, off / runs, small, True, _warning(name, prior))


def _warning(name: str, prior: float) -> str:
    if prior < 0.1:
        return ""
    mostly = "mostly its prior" if prior > 0.5 else "a good part prior"
    return (
        f"{name} at this epsilon publishes {mostly}: {100 * prior:.0f} % of the weight behind each count is the "
        "public prior, only the rest is the confidential table. Take integer_counts, or a larger epsilon."
    )
