"""Promises every recipe keeps. Add a recipe to RECIPES and to SETTINGS, and these tests come for free."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from hedgerow.answers import RecordedAnswers, StandInGate
from hedgerow.errors import Refused
from hedgerow.inference import replicate
from hedgerow.pipeline import draw_copies
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.people_tables import coding_of
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import RECIPES, AbstractRecipe
from tests.privacy.world import SCHEMA, frame

SETTINGS: dict[str, dict[str, object]] = {
    "independent": {},
    "dpsyn": {"groups": ["pay"], "floor": 0, "pool": 50, "round_measured": 1},
    "tree_blend": {},
    "public_blend": {},
    "careers": {"time": "pay"},
    "integer_counts": {"columns": ["sex", "race"], "groups": ["area"], "margins": [["sex"], []], "prior": "public"},
    "dirichlet_multinomial": {"columns": ["sex", "race"], "size": 9, "copies": 2},
    "beta_binomial": {"column": "sex", "groups": ["area"], "size": "public", "copies": 2},
    "gamma_poisson": {"columns": ["area"], "size": 5, "exposures": [1, 2, 3], "copies": 2},
    "random_trees": {"columns": ["race"], "n_b": 3},
    "guided_tree": {"columns": ["race"]},
}
"""The settings each recipe is tried with on the toy table of tests/privacy/world.py."""

ROWS = (
    ("F", "A", "5", "n", "a"),
    ("M", "B", "12", "s", "b"),
    ("M", None, "39", "n", "c"),
    ("F", "C", "25", "s", "d"),
)
BUDGETS = {"pure": Budget("1"), "zcdp": Budget("1", "1e-6"), "hardly anything": Budget("0.001")}


def recipe_of(name: str) -> AbstractRecipe:
    assert name in SETTINGS, f"say in SETTINGS how to try {name!r}"
    return RECIPES[name](**SETTINGS[name])


def world(rows: int) -> PublicData:
    schema = Schema.loads(SCHEMA)
    known = frame((ROWS * rows)[:rows])
    target = CodedTable.read(known.drop("race"), schema, role="target")  # for the recipes that attach race
    relative = CodedTable.read(known, schema, role="target")  # with the column that names people
    return PublicData(schema, relative, target)


def pretend(public: PublicData, budget: Budget, time: str = "", seed: int = 0) -> RecordedAnswers:
    assert public.relative is not None
    guarantee = Guarantee("person", 3, "add-remove", (), "id") if time else Guarantee()
    tariff = Tariff(coding_of(public.schema, (), time), guarantee, budget.measure)
    live = StandInGate(tariff, budget, public.relative, public.relative.rows, np.random.default_rng(seed))
    return RecordedAnswers(tariff, budget, [], live=live, urns=live.draw_urn, relabel=live.measure_relabelled)


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
@pytest.mark.parametrize("rows", [1, 7, 400])
@pytest.mark.parametrize("name", RECIPES)
def test_any_size_and_budget_gives_a_release_inside_the_schema(name: str, rows: int, budget: Budget) -> None:
    public = world(rows)
    gate = pretend(public, budget, recipe_of(name).career_time)
    fitted = recipe_of(name).fit(gate, public)
    assert sum((a.spend.cost for a in gate.record), Fraction(0)) <= budget.total
    drawn = draw_copies(fitted, public, copies=2, seed=1)
    assert len(drawn.records) + len(drawn.counts) == 2
    for records in drawn.records:
        assert records.height >= 1
        outside = CodedTable.read(records, public.schema).outside()
        assert [c for c in outside if public.schema.column(c).other is None] == []  # "other" is outside, and allowed


@pytest.mark.parametrize("budget", [BUDGETS["pure"], BUDGETS["zcdp"]], ids=["pure", "zcdp"])
@pytest.mark.parametrize("name", RECIPES)
def test_replicates_ask_what_was_asked_and_come_out_otherwise(name: str, budget: Budget) -> None:
    public = world(60)
    gate = pretend(public, budget, recipe_of(name).career_time)
    recipe_of(name).fit(gate, public)
    made = []
    for seed in (1, 2):
        known = RecordedAnswers(gate.tariff, gate.budget, list(gate.record))  # any other question is refused
        if any(a.spend.verb == "draw" for a in gate.record):
            with pytest.raises(Refused, match="no replicates"):
                replicate(recipe_of(name), known, public, np.random.default_rng(seed))
            return
        fitted = replicate(recipe_of(name), known, public, np.random.default_rng(seed))
        drawn = draw_copies(fitted, public, copies=1, seed=1)
        made += [*drawn.records, *drawn.counts]
        outside = CodedTable.read(drawn.records[0], public.schema).outside() if drawn.records else []
        assert [c for c in outside if public.schema.column(c).other is None] == []
    assert not made[0].equals(made[1])


@pytest.mark.parametrize("name", RECIPES)
def test_what_is_forecast_is_what_is_asked_first(name: str) -> None:
    public, budget = world(100), BUDGETS["pure"]
    gate = pretend(public, budget, recipe_of(name).career_time)
    recipe_of(name).fit(gate, public)
    forecast = recipe_of(name).requests(gate.tariff, budget, public)
    assert forecast[0] == gate.record[0].spend


@pytest.mark.parametrize("name", RECIPES)
def test_the_same_answers_and_seed_give_the_same_records(name: str) -> None:
    public, budget = world(200), BUDGETS["pure"]
    gate = pretend(public, budget, recipe_of(name).career_time)
    drawn: list[list[pl.DataFrame]] = []
    for source in (gate, RecordedAnswers(gate.tariff, budget, gate.record)):
        copies = draw_copies(recipe_of(name).fit(source, public), public, copies=1, seed=5)
        drawn.append([*copies.records, *copies.counts])
    assert len(drawn[0]) == len(drawn[1])
    assert all(one.equals(two) for one, two in zip(*drawn, strict=True))
