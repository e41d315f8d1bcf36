"""Small tables by exhaustion, recipe by recipe: the largest ratio over neighbours is the epsilon that is stated."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest

from hedgerow.errors import JobError, Refused
from hedgerow.public.costs.accounting import Budget, Guarantee, Relation
from hedgerow.public.costs.question import Marginal
from hedgerow.public.costs.spend import Spend, Tariff
from hedgerow.public.costs.urn import Urn, exp_floor, price_urn
from hedgerow.public.schema import Schema
from hedgerow.public.table import PublicData
from hedgerow.recipes import BetaBinomial, DirichletMultinomial, GammaPoisson, IntegerCounts
from tests.oracles import dirichlet_multinomial as dm
from tests.oracles import gamma_poisson as gp

SCHEMA = Schema.loads("""
[columns.area]
kind = "categorical"
values = ["n", "s"]
other = "s"
[columns.sex]
kind = "categorical"
values = ["F", "M"]
other = "M"
[columns.race]
kind = "categorical"
values = ["a", "b", "c"]
other = "c"
""")
PUBLIC = PublicData(SCHEMA)
EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(3))
Table = tuple[int, ...]


def tariff(relation: Relation, **more: object) -> Tariff:
    return Tariff(SCHEMA.coding, Guarantee(relation=relation, **more), "pure")  # type: ignore[arg-type]


def neighbours(cells: int, rows: int, relation: Relation) -> Iterator[tuple[Table, Table]]:
    for y in dm.tables(cells, rows):
        for i in range(cells):
            if y[i] and relation == "add-remove":
                yield y, tuple(n - (j == i) for j, n in enumerate(y))
            for k in range(cells):
                if y[i] and i != k and relation != "add-remove":
                    yield y, tuple(n - (j == i) + (j == k) for j, n in enumerate(y))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_integer_counts(relation: Relation, epsilon: Fraction) -> None:
    total = [()] if relation == "add-remove" else []  # a row replaced does not change the number of rows
    recipe = IntegerCounts(columns=("area", "sex"), margins=[("sex",), *total])
    (spend,) = recipe.requests(tariff(relation), Budget(epsilon), PUBLIC)
    worst = Fraction(0)
    for y, x in neighbours(4, 3, relation):
        lost = Fraction(0)
        for a in spend.asked:  # P(z | y) / P(z | x) of discrete Laplace noise is exp of this, over the scale
            one, two = (_summed(t, a.question) for t in (y, x))
            outcomes = product(range(-1, 5), repeat=len(one))
            gaps = (sum(abs(z - b) - abs(z - c) for z, b, c in zip(o, two, one, strict=True)) for o in outcomes)
            lost += max(gaps) / a.noise.scale
        worst = max(worst, lost)
    assert worst == spend.cost == epsilon, "the largest log-ratio is the stated epsilon, exactly"


def _summed(table: Table, question: Marginal) -> tuple[int, ...]:
    axes = tuple(i for i, c in enumerate(("area", "sex")) if c not in question.columns)
    return tuple(np.atleast_1d(np.array(table).reshape(2, 2).sum(axis=axes)).ravel().tolist())


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("copies", [1, 2])
def test_dirichlet_multinomial(epsilon: Fraction, copies: int) -> None:
    recipe = DirichletMultinomial(columns=("race",), size=3, copies=copies)
    for relation in ("add-remove", "replace-one"):
        (spend,) = recipe.requests(tariff(relation), Budget(epsilon), PUBLIC)
        alphas = _alphas(spend, 3)
        worst, _ = dm.worst_neighbours(alphas, 3 * copies, 2)
        assert exp(epsilon) * (1 - 1e-5) < worst <= exp_floor(epsilon), "reached, but for the rounding of alpha"
        added, _ = dm.worst_neighbours(alphas, 3 * copies, 2, relation="add-remove")
        assert added <= exp_floor(epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_gamma_poisson_with_exposures(epsilon: Fraction) -> None:
    recipe = GammaPoisson(columns=("race",), size=3, exposures=[1, 4, 2])
    (spend,) = recipe.requests(tariff("replace-one"), Budget(epsilon), PUBLIC)
    alphas = _alphas(spend, 3)
    pis = [gp.pi_of(m, 3 * m) for m in (1, 4, 2)]  # b proportional to the exposures, whatever the factor
    worst = max(
        gp.probability(z, y, alphas, pis) / gp.probability(z, x, alphas, pis)
        for y, x in neighbours(3, 2, "replace-one")
        for z in dm.tables(3, 3)
    )
    assert exp(epsilon) * (1 - 1e-5) < worst <= exp_floor(epsilon)
    assert gp.bound(alphas, pis, 3) <= float(epsilon)


def test_gamma_poisson_with_unequal_odds_is_refused_with_advice() -> None:
    recipe = GammaPoisson(columns=("race",), size=3, exposures=[1, 4, 2], b=[1, 4, 3])
    with pytest.raises(JobError, match="proportional to the exposures"):
        recipe.requests(tariff("replace-one"), Budget(1), PUBLIC)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one", "label-change"])
def test_beta_binomial_by_group(relation: Relation, epsilon: Fraction) -> None:
    known = {"public_columns": ("area",)} if relation == "label-change" else {}
    recipe = BetaBinomial(column="sex", groups=("area",), size=[2, 3])
    (spend,) = recipe.requests(tariff(relation, **known), Budget(epsilon), PUBLIC)
    alphas = _alphas(spend, 4)
    worst = Fraction(1)
    for rows in (1, 2, 3):
        for y, x in neighbours(4, rows, relation):
            if relation != "label-change" or y[0] + y[1] == x[0] + x[1]:
                worst = max(worst, _by_group(y, x, alphas), _by_group(x, y, alphas))
    assert worst <= exp_floor(epsilon)
    if relation == "label-change":  # groups are public: each pays on its own, and the bound is reached
        assert worst > exp(epsilon) * (1 - 1e-5)


def _by_group(y: Table, x: Table, alphas: list[Fraction]) -> Fraction:
    ratio = Fraction(1)
    for g, size in enumerate((2, 3)):
        part = slice(2 * g, 2 * g + 2)
        ratio *= max(
            dm.probability(z, y[part], alphas[part]) / dm.probability(z, x[part], alphas[part])
            for z in dm.tables(2, size)
        )
    return ratio


def _alphas(spend: Spend, cells: int) -> list[Fraction]:
    urn = Urn.loads(spend.detail)
    weights = urn.alphas if len(urn.alphas) > 1 else urn.alphas * cells
    return [Fraction(a, urn.grain) for a in weights]


def test_alphas_below_what_the_budget_allows_are_refused_before_anything_is_read() -> None:
    recipe = DirichletMultinomial(columns=("race",), size=10, alpha=["5.8", 9, 9])
    with pytest.raises(Refused, match="No confidential row was read"):
        recipe.requests(tariff("replace-one"), Budget(1), PUBLIC)
    (spend,) = DirichletMultinomial(columns=("race",), size=10, alpha=["5.82", 9, 9]).requests(
        tariff("replace-one"), Budget(1), PUBLIC
    )
    assert Urn.loads(spend.detail).alphas == (5_820_000, 9_000_000, 9_000_000)


def test_a_person_in_several_groups_pays_for_each_of_the_rows_that_count() -> None:
    one = tariff("add-remove")
    three = tariff("add-remove", unit="person", person="id", rows_per_person=3)
    table, recipe = Marginal(("area", "sex")), BetaBinomial(column="sex", groups=("area",), size=5)
    for epsilon in EPSILONS:
        (single,) = recipe.requests(one, Budget(epsilon), PUBLIC)
        (person,) = recipe.requests(three, Budget(3 * epsilon), PUBLIC)
        assert single.detail == person.detail, "three rows cost three times as much for the same urn"
        with pytest.raises(Refused):
            price_urn(three, table, Urn.loads(single.detail), 3 * epsilon - Fraction(1, 100))
        noisy = IntegerCounts(columns=("sex",), groups=("area",))
        scales = [noisy.requests(t, Budget(epsilon), PUBLIC)[0].asked[0].noise.scale for t in (one, three)]
        assert scales[1] == 3 * scales[0]


def test_groups_cost_nothing_extra_when_a_row_is_in_one_of_them() -> None:
    grouped = IntegerCounts(columns=("sex",), groups=("area",)).requests(tariff("add-remove"), Budget(1), PUBLIC)
    flat = IntegerCounts(columns=("sex",)).requests(tariff("add-remove"), Budget(1), PUBLIC)
    assert grouped[0].asked[0].noise == flat[0].asked[0].noise
