"""What each recipe would make of one table of counts, side by side, before anything is read.

The errors are those of a table like the public one; without one, of an uneven table (1, 1/2, 1/3, ...) of as many
rows as the job assumes or draws.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from math import erf, exp, pi, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import HedgerowError
from hedgerow.model.tables import METHODS, likely_counts
from hedgerow.public import (
    Budget,
    Marginal,
    PublicData,
    Tariff,
    Urn,
    budget_for,
    law_of,
    noise_for,
    shares,
    total_variation,
)
from hedgerow.recipes import AbstractRecipe, IntegerCounts
from hedgerow.recipes.counts.integer_counts import public_counts
from hedgerow.recipes.counts.urns import BetaBinomial, DirichletMultinomial, GammaPoisson, Size, UrnPlan

Floats = npt.NDArray[np.float64]
SMALL = 10
_WORK = 400_000
_MOST_RUNS = 200
_MOST_CELLS = 2_000_000


@dataclass(frozen=True)
class RecipeForecast:
    """How one recipe would fare on the table.

    Attributes:
        recipe: its name.
        chosen: whether it is the recipe of this job.
        prior_weight: the share of what it publishes that is prior; 0 when noise is added to counts instead.
        total_variation: half the expected summed difference of shares.
        small_cell_error: the expected relative error of a cell that holds 10 rows.
        note: why there are no figures, or which other recipe has the same law here.
        warning: what must be said of it in plain words; empty when nothing.
    """

    recipe: str
    chosen: bool
    prior_weight: float | None = None
    total_variation: float | None = None
    small_cell_error: float | None = None
    note: str = ""
    warning: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Imagined:
    """A table of counts as it may be, and the promise under which it is to be published.

    Attributes:
        table: the question, groups first.
        groups: the first so many of its columns are groups.
        counts: the imagined counts.
        size: what urns draw.
        alpha: the prior weights of urns.
        copies: how many tables urns draw.
        tariff: how requests are priced.
        public: all that is public.
        actual: the counts are those of the table itself: for the steward, or where the table is public.
    """

    table: Marginal
    groups: int
    counts: Floats
    size: Size
    alpha: Any
    copies: int
    tariff: Tariff
    public: PublicData
    actual: bool = False

    @property
    def assumed(self) -> str:
        """Whose shares the counts have, in words: an expected error is that of this table, not of the true one."""
        rows = f"{round(float(self.counts.sum())):,} rows"
        if self.actual:
            return f"the actual table, {rows}"
        if self.public.relative is not None:
            return f"a table of {rows} with the shares of the public table"
        return f"a made-up table of {rows} with shares 1, 1/2, 1/3, ...: no public table says more"

    def noisy(self, budget: Budget, rng: np.random.Generator) -> tuple[float, float, float]:
        """For whole-number noise: prior weight 0, expected distance, expected relative error of a small cell."""
        own = budget_for(budget.epsilon, budget.delta, "gdp")
        law = law_of(noise_for(own.total, None, own.measure, self.tariff.guarantee))

        def noisy() -> Floats:
            return self.counts + law.sample_whole(rng, len(self.counts))

        method, _ = likely_counts(noisy(), law, self.tariff.coding.shape(self.table.columns))

        def drawn() -> Floats:
            return METHODS[method](noisy(), law)

        return 0.0, self._distance(drawn), law.mean_absolute / SMALL

    def drawn(self, budget: Budget, rng: np.random.Generator) -> tuple[float, float, float]:
        """For an urn at this budget: prior weight, expected distance, expected relative error of a small cell."""
        urn = self.urn(budget)
        groups = self.tariff.coding.cells(self.table.columns[: urn.groups])
        alphas = np.broadcast_to(np.array(urn.alphas, np.float64) / urn.grain, self.counts.shape)
        sizes, weights = np.broadcast_to(urn.sizes, groups), (self.counts + alphas).reshape(groups, -1)
        rows, prior, size = float(self.counts.sum()), float(alphas.sum()), int(sizes.sum())

        def one() -> Floats:
            drawn = rng.gamma(weights)
            parts = rng.multinomial(sizes, drawn / np.maximum(drawn.sum(axis=1, keepdims=True), 1e-300))
            return parts.ravel().astype(np.float64)

        share = min((SMALL + float(alphas.mean())) / (rows + prior), 1.0)
        spread = rows / max(size, 1) * sqrt(size * share * (1 - share) * (rows + prior + size) / (rows + prior + 1))
        small = _folded(rows * share - SMALL, spread) / SMALL
        return prior / (prior + rows), self._distance(one), small

    def urn(self, budget: Budget) -> Urn:
        """The urn that this budget allows."""
        plan = UrnPlan("dirichlet_multinomial", self.table, self.groups, self.size, self.alpha, self.copies)
        own = Budget(budget.epsilon, budget.delta)
        return plan.urn(replace(self.tariff, measure=own.measure), own.total, self.public)

    def _distance(self, one: Callable[[], Floats]) -> float:
        known = shares(self.counts)
        runs = max(1, min(_MOST_RUNS, _WORK // len(known)))
        made = (one() for _ in range(runs))
        return float(np.mean([total_variation(shares(z), known) for z in made]))


def imagined(
    recipe: AbstractRecipe, public: PublicData, *, tariff: Tariff, rows: int | None, table: Marginal
) -> Imagined | None:
    """The table that the plan is worked out for; None when the job is no table, or nothing is known of its size."""
    said = recipe.table_settings
    if said is None or tariff.coding.cells(table.columns) > _MOST_CELLS:
        return None
    size, blocks = said.size, tariff.coding.cells(table.columns[: said.groups])
    listed = [size] * blocks if isinstance(size, int) else [] if isinstance(size, str) else list(size)
    known = rows or said.rows or sum(listed)
    counts = _counts(table, public, known, tariff.coding.cells(table.columns))
    if counts is None or not counts.sum():
        return None
    if not listed and size != "public" or not any(listed):  # an urn in its place would draw as many as there are rows
        size = tuple(max(1, round(s)) for s in counts.reshape(blocks, -1).sum(axis=1))
    return Imagined(table, said.groups, counts, size, said.alpha, said.copies, tariff, public)


def side_by_side(
    recipe: AbstractRecipe, table: Imagined, budget: Budget, rng: np.random.Generator
) -> tuple[RecipeForecast, ...]:
    """The forecasts of all recipes for tables of counts, the job's own among them."""
    last = table.tariff.coding.cells(table.table.columns[-1:])
    rows = round(float(table.counts.sum()))
    found = [_expected(IntegerCounts.name, recipe, rows, lambda: table.noisy(budget, rng))]
    if isinstance(recipe, IntegerCounts) and recipe.prior == "public":
        found[0] = replace(found[0], note="without its prior")
    found.append(_expected(DirichletMultinomial.name, recipe, rows, lambda: table.drawn(budget, rng)))
    if last != 2:
        note = f"needs a column of two cells; {table.table.columns[-1]} has {last}"
        found.append(RecipeForecast(BetaBinomial.name, False, note=note))
    else:
        found.append(_same(BetaBinomial.name, recipe, found[1]))
    if table.groups:
        found.append(RecipeForecast(GammaPoisson.name, False, note="has no groups: its sum is that of all cells"))
    else:
        found.append(_same(GammaPoisson.name, recipe, found[1]))
    return tuple(found)


def _expected(
    name: str, recipe: AbstractRecipe, rows: int, figures: Callable[[], tuple[float, float, float]]
) -> RecipeForecast:
    chosen = recipe.name == name
    try:
        prior, distance, small = figures()
    except HedgerowError as refusal:
        return RecipeForecast(name, chosen, note=str(refusal).splitlines()[0])
    return RecipeForecast(name, chosen, prior, distance, small, warning=_warning(name, prior, rows))


def _same(name: str, recipe: AbstractRecipe, like: RecipeForecast) -> RecipeForecast:
    figures = (like.prior_weight, like.total_variation, like.small_cell_error)
    note = f"here the law of {like.recipe}"
    return RecipeForecast(name, recipe.name == name, *figures, note, like.warning.replace(like.recipe, name))


def _counts(question: Marginal, public: PublicData, rows: int | None, cells: int) -> Floats | None:
    if public.relative is not None:
        counts = public_counts(public.relative, question)
        return np.asarray(counts * ((rows or counts.sum()) / max(counts.sum(), 1.0)))
    uneven = 1 / np.arange(1, cells + 1)
    return np.asarray(rows * uneven / uneven.sum()) if rows else None


def _folded(mean: float, deviation: float) -> float:
    """The mean size of a normal variate."""
    if deviation <= 0:
        return abs(mean)
    tilt = mean / deviation
    return deviation * sqrt(2 / pi) * exp(-tilt * tilt / 2) + mean * erf(tilt / sqrt(2))


def _warning(name: str, prior: float, rows: int) -> str:
    if prior < 0.1:
        return ""
    mostly = "mostly its prior" if prior > 0.5 else "a good part prior"
    return (
        f"{name} at this epsilon publishes {mostly}: {100 * prior:.0f} % of the weight behind each count is the "
        f"public prior, only the rest is the confidential table, taken to have {rows:,} rows. Take integer_counts, "
        "or a larger epsilon."
    )


def error_curves(
    table: Imagined, budgets: Sequence[Budget], rng: np.random.Generator
) -> dict[str, list[tuple[float, float]]]:
    """For each way of making the table: (epsilon, expected distance), where it can be made at all."""
    curves: dict[str, list[tuple[float, float]]] = {IntegerCounts.name: [], DirichletMultinomial.name: []}
    for budget in budgets:
        for name, way in ((IntegerCounts.name, table.noisy), (DirichletMultinomial.name, table.drawn)):
            try:
                curves[name].append((float(budget.epsilon), way(budget, rng)[1]))
            except HedgerowError:
                continue
    return curves
