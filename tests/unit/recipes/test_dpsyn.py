"""The dpsyn recipe on a public stand-in: group sizes, copies of groups, declared rows, and what a plan says of it."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.answers import StandInGate
from hedgerow.errors import JobError
from hedgerow.model.records.fitters import Exchange
from hedgerow.pipeline import draw_copies
from hedgerow.planning.forecast import outline
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.question import Marginal, Measurement, Noise
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import RECIPES, DPSyn

AREAS = [f"a{i}" for i in range(12)]
SCHEMA = Schema.loads(
    "\n".join(
        f'[columns.{name}]\nkind = "categorical"\nvalues = {values}'.replace("'", '"')
        for name, values in {"area": AREAS, "sex": ["F", "M"], "school": list("1234"), "work": list("abc")}.items()
    )
)


def rows(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    school = rng.integers(0, 4, n)
    return pl.DataFrame(
        {
            "area": np.array(AREAS)[np.minimum(rng.geometric(0.2, n) - 1, 11)],
            "sex": np.array(["F", "M"])[rng.integers(0, 2, n)],
            "school": np.array(list("1234"))[school],
            "work": np.array(list("abc"))[np.minimum(school, rng.integers(0, 3, n))],
        }
    )


RELATIVE = CodedTable.read(rows(2000, 1), SCHEMA)
OTHER = CodedTable.read(rows(2000, 2), SCHEMA)
PUBLIC = PublicData(SCHEMA, RELATIVE)


def drawn(recipe: DPSyn, budget: Budget, seed: int = 0) -> pl.DataFrame:
    tariff = Tariff(SCHEMA.coding, Guarantee(), budget.measure)
    gate = StandInGate(tariff, budget, RELATIVE, RELATIVE.rows, np.random.default_rng(seed))
    return draw_copies(recipe.fit(gate, PUBLIC), PUBLIC, copies=1, seed=seed).records[0]


def groups(records: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {str(k[0]): g.drop("area") for k, g in records.partition_by("area", as_dict=True).items()}


@pytest.mark.parametrize(("epsilon", "step"), [("0.02", 10), ("40", 100)])
@pytest.mark.parametrize("variant", ["paper", "repaired"])
def test_group_sizes_have_a_floor_and_are_multiples_of_k(variant: Any, epsilon: str, step: int) -> None:
    given: dict[str, Any] = {} if variant == "paper" else {"floor": 300, "round_public": 10, "round_measured": 100}
    recipe = DPSyn(groups=["area"], variant=variant, rounds=2, pool=500, **given)
    found = groups(drawn(recipe, Budget(epsilon, "1e-6")))
    assert set(found) == set(AREAS)
    assert all(len(g) >= 300 and len(g) % step == 0 for g in found.values())


def test_without_floor_and_steps_group_sizes_are_the_noisy_ones() -> None:
    found = groups(drawn(DPSyn(groups=["area"], floor=0, round_measured=1, high=0.1), Budget("400", "1e-6")))
    true = groups(rows(2000, 1))
    assert all(abs(len(found[a]) - len(true[a])) <= 5 for a in true)


def test_the_default_floor_follows_the_noise_and_keeps_the_number_of_records() -> None:
    """Every area has some records at any noise, and the file has as many as the table has rows, but for noise."""
    for epsilon in ("0.3", "20"):
        found = groups(drawn(DPSyn(groups=["area"]), Budget(epsilon, "1e-6")))
        assert set(found) == set(AREAS)
        assert abs(sum(map(len, found.values())) - 2000) < (1500 if epsilon == "0.3" else 700)
        assert any(len(g) % 10 for g in found.values()), "sizes are no multiples of the paper's K"


def test_a_plan_forecasts_group_sizes_and_the_number_of_records() -> None:
    remarks = plan(DPSyn(groups=["area"]), Guarantee()).remarks
    (line,) = [r for r in remarks if r.startswith("forecast, for groups as large as in the public table")]
    records = int(line.split("about ")[1].split(" ")[0].replace(",", ""))
    assert abs(records - 50_000) < 2000
    assert "12 groups (area)" in line
    assert "12 of the groups have public rows of their own, and are drawn near to them" in remarks
    (paper,) = [r for r in plan(DPSyn(groups=["area"], variant="paper"), Guarantee()).remarks if "300 at least" in r]
    assert "12 groups" in paper


def test_groups_are_near_to_public_rows_of_their_own_and_those_without_to_the_group_around() -> None:
    """Area a0 is all women in the public rows, a1 all men; by year, one of which has no public rows at all."""
    rng = np.random.default_rng(5)
    lines = "\n".join(
        f'[columns.{n}]\nkind = "categorical"\nvalues = {v}'.replace("'", '"')
        for n, v in {"year": ["1", "2"], "area": ["a0", "a1", "a2"], "sex": ["F", "M"], "work": ["a", "b"]}.items()
    )
    schema, n = Schema.loads(lines), 9000
    area = rng.integers(0, 3, n)
    women = np.where(area == 2, rng.random(n) < 0.5, area == 0)
    table = pl.DataFrame(
        {
            "year": np.array(["1", "2"])[rng.integers(0, 2, n)],
            "area": np.array(["a0", "a1", "a2"])[area],
            "sex": np.where(women, "F", "M"),
            "work": np.array(["a", "b"])[rng.integers(0, 2, n)],
        }
    )
    public = PublicData(schema, CodedTable.read(table.filter(pl.col("year") == "1"), schema))
    budget = Budget("5", "1e-6")
    gate = StandInGate(
        Tariff(schema.coding, Guarantee(), budget.measure), budget, CodedTable.read(table, schema), n, rng
    )
    model = DPSyn(groups=["year", "area"], pool=1000).fit(gate, public)
    found = draw_copies(model, public, copies=1, seed=1).records[0].group_by("year", "area")
    share = {(y, a): f for y, a, f in found.agg((pl.col("sex") == "F").mean()).iter_rows()}
    for year in ("1", "2"):
        assert share[year, "a0"] > 0.75, share
        assert share[year, "a1"] < 0.25, share
        assert 0.4 < share[year, "a2"] < 0.6, share
    told = model.expected(Marginal(("area", "sex"))).reshape(3, 2)
    assert told[0, 0] / told[0].sum() > 0.75
    assert told[1, 0] / told[1].sum() < 0.25
    assert model.expected(Marginal(())).sum() == pytest.approx(model.total)


def test_equal_groups_are_copies_only_when_asked_and_are_then_fitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[int] = []
    original = Exchange.fit

    def noted(self: Exchange, records: Any, *args: Any) -> Any:
        fitted.append(len(records))
        return original(self, records, *args)

    monkeypatch.setattr(Exchange, "fit", noted)
    for reuse in (False, True):
        fitted.clear()
        recipe = DPSyn(groups=["area"], reuse=reuse, floor=300, round_measured=100, round_public=100)
        found = list(groups(drawn(recipe, Budget("1", "1e-6"))).values())
        alike = [a.equals(b) for i, a in enumerate(found) for b in found[:i] if len(a) == len(b)]
        assert alike, "no two groups of a size: nothing is tested"
        assert all(alike) if reuse else not any(alike)
        assert len(fitted) == (len({len(g) for g in found}) if reuse else len(found))


def test_a_declared_number_of_records_is_met_and_no_group_column_means_one_group() -> None:
    assert len(drawn(DPSyn(groups=["area"], rows=1234), Budget("1", "1e-6"))) == 1234
    assert abs(len(drawn(DPSyn(), Budget("50", "1e-6"))) - 2000) < 100


def plan(recipe: DPSyn, guarantee: Guarantee, *, limit: int | None = None) -> Any:
    budget = Budget("5", "1e-6")
    tariff, rng = Tariff(SCHEMA.coding, guarantee, budget.measure), np.random.default_rng(0)
    public = replace(PUBLIC, assumed_rows=50_000)
    return outline(recipe, public, tariff=tariff, budget=budget, rows=50_000, rng=rng, limit=limit)


def joint(guarantee: Guarantee) -> float:
    (line,) = [r for r in plan(DPSyn(groups=["area"]), guarantee).remarks if r.startswith("joint accounting")]
    return float(line.split("epsilon ")[1].split(" ")[0])


def test_theta_is_what_the_relation_makes_of_rows_per_person() -> None:
    for relation, theta in (("add-remove", 4), ("replace-one", 8)):
        guarantee = Guarantee(unit="person", person="id", rows_per_person=4, relation=relation)  # type: ignore[arg-type]
        assert f"theta {theta}," in plan(DPSyn(groups=["area"]), guarantee).remarks[0]


def test_a_replaced_person_moves_a_table_by_root_two_not_by_two_in_the_joint_account() -> None:
    """The paper's noise for theta 2 protects a replaced record better than its own sum, and than an added one's."""
    assert joint(Guarantee(relation="replace-one")) < 0.8 * joint(Guarantee()) < 5


def test_a_refusal_for_memory_names_the_groups_when_the_floor_fills_them() -> None:
    many = DPSyn(groups=["area", "school"], floor=1_000_000)
    with pytest.raises(JobError, match=r"48 groups \(area x school\) gets at least 1,000,000 records"):
        plan(many, Guarantee(), limit=10**9)
    with pytest.raises(JobError, match="Give the widest columns") as refused:
        plan(DPSyn(groups=["area"]), Guarantee(), limit=10**6)
    assert "floor" not in str(refused.value)


def test_a_plan_forecasts_more_time_for_more_records_and_for_the_papers_rounds() -> None:
    few, many = (plan(DPSyn(groups=["area"], floor=floor), Guarantee()).seconds for floor in (0, 1_000_000))
    assert many > few + 1
    assert plan(DPSyn(groups=["area"], floor=1_000_000, variant="paper"), Guarantee()).seconds > many


@pytest.mark.parametrize("epsilon", [0.05, 0.2, 1.0, 20.0])
def test_group_sizes_are_drawn_towards_equal_or_public_ones_as_far_as_noise_recommends(epsilon: float) -> None:
    """Never much worse than the noisy sizes, far better where they are mostly noise; the paper's are left alone."""
    rng, scale = np.random.default_rng(3), 1 / epsilon
    true = np.array([groups(rows(2000, 1))[a].height for a in AREAS])
    lost = np.zeros(2)
    for _ in range(200):
        counts = np.rint(true + rng.laplace(0, scale, len(true))).astype(np.int64)
        noisy = Measurement(Marginal(("area",)), counts, Noise("laplace", Fraction(scale)))
        assert (DPSyn(groups=["area"], variant="paper")._nearer(noisy, RELATIVE) == counts).all()
        for i, sizes in enumerate((counts, DPSyn(groups=["area"])._nearer(noisy, OTHER))):
            lost[i] += np.abs(sizes - true).sum()
    assert lost[1] < 1.06 * lost[0] + 1
    assert epsilon > 0.1 or lost[1] < 0.8 * lost[0]


@pytest.mark.parametrize("name", ["dpsyn", "tree_blend", "public_blend", "independent"])
def test_a_budget_that_drowns_the_number_of_records_in_noise_is_refused_unless_it_is_declared(name: str) -> None:
    budget = Budget("0.00001")
    tariff = Tariff(SCHEMA.coding, Guarantee(), budget.measure)

    def planned(**settings: Any) -> Any:
        recipe = RECIPES[name](**settings)
        rng = np.random.default_rng(0)
        return outline(recipe, PUBLIC, tariff=tariff, budget=budget, rows=2000, rng=rng, limit=285_000_000)

    with pytest.raises(JobError, match=rf"noise alone may add .* records to 2,000(.|\n)*\[{name}\] rows = "):
        planned()
    assert planned(rows=2000).memory < 285_000_000
