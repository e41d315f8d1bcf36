"""What both blends must have: groups, declared tables, rules, determined columns, copies, a declared size."""

from collections import Counter
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from hedgerow.answers import RecordedAnswers, StandInGate
from hedgerow.errors import JobError
from hedgerow.model.constants import PUBLIC_BLEND
from hedgerow.model.records import SupportModel
from hedgerow.pipeline import draw_copies
from hedgerow.public.costs.accounting import Budget, Guarantee, Measure
from hedgerow.public.costs.gaussian import budget_of
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema, violations
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import RECIPES, PublicBlend, TreeBlend
from hedgerow.recipes.blend.whole_rows import evened

BLENDS = ("tree_blend", "public_blend")
SCHEMA = """
[columns.town]
kind = "categorical"
values = ["t0", "t1", "t2", "t3", "t4", "t5"]
[columns.year]
kind = "categorical"
values = ["2001", "2002"]
[columns.county]
kind = "categorical"
values = ["north", "south"]
determined_by = ["town"]
map = [["t0", "north"], ["t1", "north"], ["t2", "north"], ["t3", "south"], ["t4", "south"], ["t5", "south"]]
[columns.age]
kind = "integer"
bins = { low = 15, high = 69, width = 5 }
[columns.service]
kind = "integer"
bins = { low = 0, high = 50, width = 5 }
[columns.job]
kind = "categorical"
values = ["clerk", "driver", "chief"]
[columns.pay]
kind = "integer"
bins = { low = 0, high = 100, width = 20 }
[[zero]]
where = { job = ["chief"], age = { below = 30 } }
[[rule]]
left = "service"
right = "age"
"""
TOWNS = np.array([0.4, 0.3, 0.15, 0.1, 0.04, 0.01])


def people(n: int, seed: int, *, towns: tuple[int, ...] = (0, 1, 2, 3, 4, 5)) -> pl.DataFrame:
    """Towns differ in jobs; pay depends on job and, only for chiefs, on the year."""
    rng = np.random.default_rng(seed)
    town = rng.choice(towns, n, p=TOWNS[list(towns)] / TOWNS[list(towns)].sum())
    year = rng.integers(2001, 2003, n)
    age = rng.integers(15, 65, n)
    job = np.where(rng.random(n) < 0.15 + 0.12 * town, "driver", "clerk")
    job = np.where((age >= 30) & (rng.random(n) < 0.3), "chief", job)
    chief = job == "chief"
    pay = 20 + 30 * chief + 25 * (chief & (year == 2002)) + rng.normal(0, 8, n)
    return pl.DataFrame(
        {
            "town": [f"t{t}" for t in town],
            "year": year,
            "county": np.where(town < 3, "north", "south"),
            "age": age,
            "service": np.clip(age - 15 - rng.integers(0, 20, n), 0, 49),
            "job": job,
            "pay": np.clip(pay, 0, 99).astype(int),
        }
    )


def gate_of(schema: Schema, secret: pl.DataFrame, budget: Budget, seed: int = 5) -> RecordedAnswers:
    tariff = Tariff(schema.coding, Guarantee(), budget.measure)
    live = StandInGate(tariff, budget, CodedTable.read(secret, schema), secret.height, np.random.default_rng(seed))
    return RecordedAnswers(tariff, budget, [], live=live)


def released(
    name: str, secret: pl.DataFrame, relative: pl.DataFrame, epsilon: str = "3", copies: int = 1, **settings: Any
) -> tuple[pl.DataFrame, ...]:
    schema, budget = Schema.loads(SCHEMA), Budget(epsilon, "1e-6")
    public = PublicData(schema, CodedTable.read(relative, schema) if name == "public_blend" else None)
    gate = gate_of(schema, secret, budget)
    model = RECIPES[name](**settings).fit(gate, public)
    assert gate.left >= 0
    return tuple(draw_copies(model, public, copies=copies, seed=3).records)


def shares(frame: pl.DataFrame, columns: list[str]) -> dict[tuple[Any, ...], float]:
    """The share of each combination; pay in its bins."""
    binned = frame.with_columns(pl.col("pay") // 20, pl.col("year").cast(pl.String))
    return {tuple(r[:-1]): r[-1] / frame.height for r in binned.group_by(columns).len().rows()}


def apart(here: pl.DataFrame, there: pl.DataFrame, columns: list[str]) -> float:
    a, b = shares(here, columns), shares(there, columns)
    return sum(abs(a.get(k, 0.0) - b.get(k, 0.0)) for k in a.keys() | b.keys())


@pytest.mark.parametrize("name", BLENDS)
@pytest.mark.parametrize("groups", [(), ("town", "year")], ids=["plain", "groups"])
def test_zeros_rules_and_determined_columns_hold_on_every_record_of_every_copy(
    name: str, groups: tuple[str, ...]
) -> None:
    schema = Schema.loads(SCHEMA)
    copies = released(name, people(6_000, 1), people(6_000, 2), epsilon="1", copies=3, groups=groups)
    assert len(copies) == 3
    for made in copies:
        assert made.columns == [c.name for c in schema.columns]
        assert not violations(schema, made).any()
        assert (made["county"] == "north").equals(made["town"].is_in(["t0", "t1", "t2"]))
    assert not copies[0].sort(pl.all()).equals(copies[1].sort(pl.all()))


@pytest.mark.parametrize("name", BLENDS)
def test_the_number_of_records_is_the_declared_one_or_the_noisy_total(name: str) -> None:
    secret, relative = people(4_000, 1), people(3_000, 2)
    assert released(name, secret, relative, rows=1_234)[0].height == 1_234
    assert abs(released(name, secret, relative)[0].height - 4_000) < 200


@pytest.mark.parametrize(
    "settings", [{}, {"groups": ["town", "year"]}, {"tables": [["job", "year", "pay"]], "triples": 1}]
)
@pytest.mark.parametrize("name", BLENDS)
def test_the_same_answers_and_seed_give_the_same_records(name: str, settings: dict[str, Any]) -> None:
    schema, budget = Schema.loads(SCHEMA), Budget("1", "1e-6")
    public = PublicData(schema, CodedTable.read(people(1_000, 2), schema))
    gate = gate_of(schema, people(2_000, 1), budget)
    made = [
        draw_copies(RECIPES[name](**settings).fit(source, public), public, copies=1, seed=9).records[0]
        for source in (gate, RecordedAnswers(gate.tariff, budget, gate.record))
    ]
    assert made[0].equals(made[1])


@pytest.mark.parametrize("name", BLENDS)
def test_a_large_group_keeps_its_own_jobs_and_sizes_are_measured(name: str) -> None:
    secret, relative = people(30_000, 1), people(30_000, 2, towns=(0, 1, 2))
    made = released(name, secret, relative, groups=["town", "year"])[0]
    assert apart(secret, made, ["town", "year"]) < 0.03
    for town in ("t0", "t3"):  # t3 is in no public row
        own, there = (f.filter(pl.col("town") == town) for f in (secret, made))
        pooled = apart(own, secret, ["job"])
        assert apart(own, there, ["job"]) < 0.5 * pooled


@pytest.mark.parametrize("name", BLENDS)
def test_a_declared_table_is_nearer_than_without_being_declared(name: str) -> None:
    secret, relative = people(20_000, 1), people(20_000, 2).with_columns(pl.lit(2001).alias("year"))
    table = ["job", "year", "pay"]
    plain, declared = (released(name, secret, relative, tables=t)[0] for t in ((), [table]))
    assert apart(secret, declared, table) < 0.5 * apart(secret, plain, table)


@pytest.mark.parametrize("name", BLENDS)
def test_the_table_of_a_use_is_measured_and_nearer_unless_that_is_turned_off(name: str) -> None:
    secret, relative = people(20_000, 1), people(20_000, 2).with_columns(pl.lit(2001).alias("year"))
    schema, budget, wanted = (
        Schema.loads(SCHEMA),
        Budget("3", "1e-6"),
        (("job", "year", "pay"), ("county", "year", "pay")),
    )
    public = PublicData(schema, CodedTable.read(relative, schema), wanted=wanted)
    far, counts = {}, {}
    for uses in (True, False):
        gate = gate_of(schema, secret, budget)
        recipe = cast(Any, RECIPES[name])(uses=uses)
        made = draw_copies(recipe.fit(gate, public), public, copies=1, seed=3).records[0]
        far[uses] = apart(secret, made, ["job", "year", "pay"])
        counts[uses] = [set(q.question.columns) for a in gate.record for q in a.spend.asked]
        assert any("town x year x pay" in line for line in recipe.remarks(gate.tariff, budget, public)) == uses
    for table in ({"job", "year", "pay"}, {"town", "year", "pay"}):  # town: what fixes the county, in its place
        assert table in counts[True]
        assert table not in counts[False]
    assert far[True] < 0.7 * far[False]


@pytest.mark.parametrize("name", BLENDS)
def test_a_use_that_predicts_a_column_buys_less_noise_in_its_pairs(name: str) -> None:
    """Decided by public knowledge and noisy answers: what is asked is the same pairs, each at another price."""
    secret, relative = people(20_000, 1), people(20_000, 2)
    schema, budget = Schema.loads(SCHEMA), Budget("1", "1e-6")
    spent: dict[tuple[str, ...], float] = {}
    for predicted in ((), ("job",)):
        public = PublicData(schema, CodedTable.read(relative, schema), predicted=predicted)
        gate = gate_of(schema, secret, budget)
        recipe = cast(Any, RECIPES[name])()
        recipe.fit(gate, public)
        pairs = [q for a in gate.record for q in a.spend.asked if len(q.question.columns) == 2]
        spent[predicted] = float(
            sum(q.cost for q in pairs if "job" in q.question.columns) / sum(q.cost for q in pairs)
        )
        said = recipe.remarks(gate.tariff, budget, public)
        assert ("for prediction, more of the budget goes to the pairs of: job" in said) == bool(predicted)
    assert spent[("job",)] > 1.2 * spent[()], spent


@pytest.mark.parametrize("name", BLENDS)
def test_the_table_of_a_use_that_would_be_all_noise_is_not_measured(name: str) -> None:
    schema, budget = Schema.loads(SCHEMA), Budget("0.1", "1e-6")
    wanted = (("town", "year", "age", "service", "job", "pay"),)
    public = PublicData(schema, CodedTable.read(people(500, 2), schema), wanted=wanted)
    gate = gate_of(schema, people(500, 1), budget)
    RECIPES[name]().fit(gate, public)
    assert max(len(q.question.columns) for a in gate.record for q in a.spend.asked) < 6


def test_triples_along_the_tree_are_chosen_through_the_gate() -> None:
    schema, budget = Schema.loads(SCHEMA), Budget("30", "1e-6")
    gate = gate_of(schema, people(20_000, 1), budget)
    TreeBlend(triples=2).fit(gate, PublicData(schema))
    verbs = [a.spend.verb for a in gate.record]
    assert verbs.count("select") == 2
    measured = [len(q.question.columns) for a in gate.record for q in a.spend.asked]
    assert measured.count(3) == 2


@pytest.mark.parametrize("measure", ["gdp", "zcdp", "pure"])
def test_a_plan_says_where_the_triples_of_the_job_have_no_effect(measure: Measure) -> None:
    schema = Schema.loads(SCHEMA)
    budget = budget_of("1", "0" if measure == "pure" else "1e-6", measure)
    tariff = Tariff(schema.coding, Guarantee(), measure)
    for recipe, named in ((TreeBlend(), False), (TreeBlend(triples=0), False), (TreeBlend(triples=3), True)):
        said = recipe.remarks(tariff, budget, PublicData(schema))
        assert any(s.startswith("triples = 3 has no effect") for s in said) == (named and measure == "gdp")
    gate = gate_of(schema, people(2_000, 1), budget)
    TreeBlend(triples=3).fit(gate, PublicData(schema))
    assert measure != "gdp" or {a.spend.verb for a in gate.record} == {"measure"}, "it had an effect"


@pytest.mark.parametrize("epsilon, asked", [("0.3", False), ("30", True)])
def test_triples_turn_themselves_on_where_their_noise_is_small(epsilon: str, asked: bool) -> None:
    schema, budget = Schema.loads(SCHEMA), Budget(epsilon, "1e-6")
    gate = gate_of(schema, people(20_000, 1), budget)
    TreeBlend().fit(gate, PublicData(schema))
    assert any(a.spend.verb == "select" for a in gate.record) == asked
    assert gate.left < budget.total / 100 or asked, "what triples do not take goes to the pairs"


@pytest.mark.parametrize("name", BLENDS)
def test_unknown_groups_and_tables_are_refused_before_anything_is_asked(name: str) -> None:
    schema, budget = Schema.loads(SCHEMA), Budget("1", "1e-6")
    public = PublicData(schema, CodedTable.read(people(100, 2), schema))
    for settings in ({"groups": ["village"]}, {"tables": [["village", "job", "pay"]]}):
        gate = gate_of(schema, people(100, 1), budget)
        with pytest.raises(JobError, match="village"):
            RECIPES[name](**settings).fit(gate, public)
        assert gate.record == []


def test_pairs_with_the_groups_are_measured_more_exactly_when_groups_are_named() -> None:
    schema, budget = Schema.loads(SCHEMA), Budget("1", "1e-6")
    public, noise = PublicData(schema, CodedTable.read(people(6_000, 2), schema)), {}
    for groups in ((), ("town",)):
        recipe = PublicBlend(groups=groups)
        asked, doubt = recipe._asked(gate_of(schema, people(6_000, 1), budget), public)
        assert doubt == "" and asked.noisy.axes.names[0] == "town"
        pairs = {k: v for k, (_, v) in asked.noisy.pooled.items() if len(k) == 2}
        noise[groups] = [
            float(np.mean([v for k, v in pairs.items() if (0 in k) == named])) for named in (True, False)
        ]
    assert noise["town",][0] < 0.8 * noise[()][0]
    assert noise["town",][1] > noise[()][1]


@pytest.mark.parametrize("groups", [(), ("town",)])
def test_records_are_fitted_group_by_group_where_groups_are_named(groups: tuple[str, ...]) -> None:
    schema, budget = Schema.loads(SCHEMA), Budget("1", "1e-6")
    public = PublicData(schema, CodedTable.read(people(6_000, 2), schema))
    model = PublicBlend(groups=groups).fit(gate_of(schema, people(6_000, 1), budget), public)
    assert isinstance(model, SupportModel) and (model.by_group is not None) == bool(groups)


def test_a_column_by_which_uses_are_read_counts_as_if_groups_named_it() -> None:
    schema, budget = Schema.loads(SCHEMA), Budget("1", "1e-6")
    relative, secret = CodedTable.read(people(6_000, 2), schema), people(6_000, 1)
    by_job = PublicData(schema, relative, read_by=("job", "year"))
    model = PublicBlend().fit(gate_of(schema, secret, budget), by_job)
    named = PublicBlend(groups=("job",)).fit(gate_of(schema, secret, budget), PublicData(schema, relative))
    assert isinstance(model, SupportModel) and isinstance(named, SupportModel)
    assert model.attributes[0] == "job" and model.by_group is not None
    assert np.array_equal(model.weights, named.weights)
    tariff = Tariff(schema.coding, Guarantee(), budget.measure)
    assert "read by job" in " ".join(PublicBlend().remarks(tariff, budget, by_job))
    for recipe, first in ((PublicBlend(uses=False), "town"), (PublicBlend(groups=("year",)), "year")):
        assert recipe._axes(by_job).names[0] == first, "uses that do not count, and named groups, go first"


def test_at_a_tiny_budget_most_records_are_public_rows_as_they_are() -> None:
    schema, relative = Schema.loads(SCHEMA), people(6_000, 2)
    public = PublicData(schema, CodedTable.read(relative, schema))
    kept = {}
    for epsilon in ("0.05", "3"):
        model = PublicBlend(rows=6_000).fit(gate_of(schema, people(6_000, 1), Budget(epsilon, "1e-6")), public)
        assert isinstance(model, SupportModel)
        rows = Counter(map(tuple, model.rows[: relative.height].tolist()))
        drawn = model.draw(6_000, np.random.default_rng(1))
        made = Counter(zip(*(drawn[a].tolist() for a in model.attributes), strict=True))
        kept[epsilon] = (rows & made).total() / 6_000
        assert isinstance(model.stay, tuple) and (min(model.stay) > PUBLIC_BLEND.stay) == (epsilon == "0.05")
    assert kept["0.05"] > 0.9 > kept["3"]


def test_a_row_counts_like_others_unless_it_is_worth_much_more_or_less() -> None:
    schema = Schema.loads(SCHEMA)
    public = PublicData(schema, CodedTable.read(people(300, 2), schema))  # few rows are there twice
    model = PublicBlend(rows=300).fit(gate_of(schema, people(300, 1), Budget("1", "1e-6")), public)
    assert isinstance(model, SupportModel)
    _, many = np.unique(model.weights[:300].round(9), return_counts=True)
    assert many.max() > 100


def test_small_differences_of_weight_go_and_large_ones_and_those_of_equal_rows_stay() -> None:
    rng, rows = np.random.default_rng(1), np.arange(100, dtype=np.uint16)[:, None]
    weights = np.exp(rng.normal(0, 0.1, 100))
    assert np.allclose(evened(rows, weights), weights.mean())
    weights[0] = 5.0
    assert evened(rows, weights)[0] > 4.5 and evened(rows, weights).sum() == pytest.approx(weights.sum())
    assert np.allclose(evened(rows * 0, weights), weights, rtol=0.01), "equal rows are one row, worth all of them"
    assert np.allclose(evened(rows, 0.01 * weights), 0.01 * weights, rtol=0.01), "few of many rows: rounded anyway"
