"""The simulated tables: believable, repeatable, and with the truth they claim."""

import time
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.errors import JobError
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable
from hedgerow.simulate.personnel import Personnel, effects_in, personnel, personnel_schema

CONTROLS = ("year", "education", "agency", "occupation")


@cache
def simulated(**options: Any) -> Personnel:
    return personnel(30_000, 3, **options)


def least_squares(table: pl.DataFrame, controls: tuple[str, ...]) -> dict[str, float]:
    """The effects of sex and race on ln(pay), with age, its square and a term for every value of ``controls``."""
    names = {"F": ("sex", "F"), **{r: ("race", r) for r in "ABCD"}}
    age = table["age"].to_numpy().astype(float)
    terms = [np.ones(len(table)), age, age**2]
    terms += [(table[c] == v).to_numpy() for c in controls for v in table[c].unique().sort()[1:]]
    wanted = [(table[c] == v).to_numpy() for c, v in names.values()]
    found = np.linalg.lstsq(np.column_stack([*wanted, *terms]).astype(float), np.log(table["pay"].to_numpy()))[0]
    return dict(zip(names, found[:5].tolist(), strict=True))


def test_tables_have_the_rows_and_columns_that_are_asked_for() -> None:
    made = personnel(rows=1_234, seed=1)
    assert [len(t) for t in (made.public, made.confidential, made.target)] == [1_234] * 3
    assert made.public.columns == made.confidential.columns == [*made.target.columns, "sex", "race"]
    columns = "person year agency occupation age education grade supervisory pay sex race"
    assert made.confidential.columns == columns.split(" ")
    assert personnel(100, labelled_target=True).target.columns == made.public.columns


def test_the_seed_decides_everything() -> None:
    one, same, other = personnel(2_000, 5), personnel(2_000, 5), personnel(2_000, 6)
    assert one.public.equals(same.public) and one.target.equals(same.target)
    assert not one.public.equals(other.public)


def test_no_person_is_in_two_tables() -> None:
    made = simulated()
    ids = [t["person"].unique() for t in (made.public, made.confidential, made.target)]
    assert len(pl.concat(ids).unique()) == sum(map(len, ids))


def test_public_is_the_earlier_period() -> None:
    made = simulated()
    assert made.public["year"].unique().sort().to_list() == [2001, 2002, 2003, 2004]
    assert made.confidential["year"].unique().sort().to_list() == [2008, 2009, 2010, 2011]


def test_people_have_careers() -> None:
    table = simulated().confidential
    people = table.group_by("person", maintain_order=True)
    lasting = people.agg(pl.col("sex", "race", "agency", "occupation", "education").n_unique())
    assert lasting.drop("person").max().row(0) == (1,) * 5
    years = people.agg(pl.len(), pl.col("year").n_unique())
    assert (years["len"] == years["year"]).all()
    assert years["len"].max() == 4
    assert years.filter(pl.col("len") > 1).height > 0.7 * len(years)
    moved = table.with_columns(pl.col("year", "age", "grade").diff().over("person").name.suffix("_more")).drop_nulls()
    assert (moved["year_more"] == moved["age_more"]).all()
    assert moved["grade_more"].min() == 0
    assert 0.03 < moved.filter(pl.col("grade_more") > 0).height / len(moved) < 0.25


def test_people_change_their_agency_if_asked_to_mostly_within_the_department() -> None:
    plain, moving = personnel(6_000, 1).confidential, personnel(6_000, 1, moving=0.1).confidential
    same = [c for c in plain.columns if c not in ("agency", "pay")]
    assert moving.select(same).equals(plain.select(same)), "everything else is as it was"
    steps = moving.with_columns(before=pl.col("agency").shift().over("person")).drop_nulls("before")
    changed = steps.filter(pl.col("agency") != pl.col("before"))
    assert 0.05 < len(changed) / len(steps) < 0.3
    alike = changed["agency"].str.head(2) == changed["before"].str.head(2)
    chance = (plain["agency"].str.head(2) == plain["agency"].shuffle(1).str.head(2)).mean()
    assert alike.mean() > 1.5 * chance  # type: ignore[operator]


def test_careers_also_span_years_that_are_far_apart() -> None:
    table = personnel(5_000, 1, years=(1988, 1996, 2003, 2011)).confidential
    moved = table.with_columns(pl.col("year", "age").diff().over("person").name.suffix("_more")).drop_nulls()
    assert (moved["year_more"] == moved["age_more"]).all()
    assert set(moved["year_more"].unique()) == {7, 8}


def test_codes_are_hierarchical_and_as_many_as_asked_for() -> None:
    table = personnel(60_000, 0, agencies=500, occupations=800).confidential
    agencies, occupations = table["agency"].unique(), table["occupation"].unique()
    assert 450 < len(agencies) <= 500 and 700 < len(occupations) <= 800
    assert agencies.str.contains(r"^[A-Z]{2}\d\d$").all() and occupations.str.contains(r"^\d{4}$").all()
    assert (agencies.str.slice(0, 2).n_unique(), occupations.str.slice(0, 2).n_unique()) == (24, 23)


def test_least_squares_finds_the_true_effects() -> None:
    made, table = simulated(), personnel(60_000, 3).confidential
    truth = np.mean([list(made.effects_in(y).values()) for y in table["year"]], axis=0)
    for controls, near in ((("grade", *CONTROLS), 0.004), (CONTROLS, 0.012)):
        found = least_squares(table, controls)
        assert found["F"] == pytest.approx(truth[0], abs=near)
        assert list(found.values()) == pytest.approx(truth.tolist(), abs=3 * near)


def test_the_public_gap_is_wider_and_equal_without_drift() -> None:
    assert effects_in(2002)["F"] < 1.2 * effects_in(2010)["F"] < 0
    early = least_squares(simulated().public, ("grade", *CONTROLS))["F"]
    assert early == pytest.approx(effects_in(2002)["F"], abs=0.006)
    still = least_squares(simulated(drift=0.0).public, ("grade", *CONTROLS))["F"]
    assert still == pytest.approx(simulated(drift=0.0).effects_in(2002)["F"], abs=0.006)
    assert simulated(drift=0.0).effects_in(2002) == effects_in(2010)


def test_occupations_are_segregated_so_the_raw_gap_is_wider() -> None:
    table = simulated().confidential
    assert least_squares(table, ("year", "education"))["F"] < effects_in(2010)["F"] - 0.04
    women = table.group_by("occupation").agg(pl.len(), (pl.col("sex") == "F").mean()).filter(pl.col("len") > 300)
    assert min(women["sex"].to_list()) < 0.25 and max(women["sex"].to_list()) > 0.7


def test_pay_follows_grade_and_grade_follows_schooling_and_age() -> None:
    table = simulated().confidential.with_columns(pl.col("pay").log())
    related = {pair: table.select(pl.corr(*pair)).item() for pair in (("pay", "grade"), ("grade", "education"))}
    assert related["pay", "grade"] > 0.85
    assert related["grade", "education"] > 0.25
    young, old = table.filter(pl.col("age") < 28), table.filter(pl.col("age") > 45)
    assert young["grade"].to_numpy().mean() < old["grade"].to_numpy().mean() - 0.8
    led = table.with_columns(high=pl.col("grade") > 11).group_by("high").agg((pl.col("supervisory") != "8").mean())
    assert led.sort("high")["supervisory"].to_list()[1] > 2 * led.sort("high")["supervisory"].to_list()[0]


def test_the_world_drifts_between_the_periods_and_only_if_asked_to() -> None:
    def change(made: Personnel) -> float:
        return float(
            np.log(made.confidential["pay"].to_numpy()).mean() - np.log(made.public["pay"].to_numpy()).mean()
        )

    assert change(simulated()) > 0.08
    assert abs(change(simulated(drift=0.0))) < 0.02


@pytest.mark.parametrize(("agencies", "occupations"), [(24, 46), (500, 800), (1, 1)])
def test_the_schema_fits_all_three_tables(agencies: int, occupations: int) -> None:
    schema = Schema.loads(personnel_schema(agencies, occupations))
    made = personnel(5_000, 2, agencies=agencies, occupations=occupations)
    for role in ("public", "confidential", "target"):
        table = CodedTable.read(getattr(made, role), schema, role="target" if role == "target" else "public")
        assert table.outside() == {}
        assert table.frame["pay"].dtype == pl.Int64
    assert schema.shape(["agency", "occupation", "pay", "grade"]) == (agencies, occupations, 100, 15)


def test_the_suggestions_in_the_schema_work() -> None:
    text = personnel_schema().replace("# prefix", "prefix")
    table = CodedTable.read(simulated().public, Schema.loads(text))
    assert table.schema.shape(["occupation", "agency"]) == (23, 8)
    text = text.replace("# collapse", "collapse").replace('other = "AG03"', 'other = "other"')
    table = CodedTable.read(simulated().public, Schema.loads(text))
    assert table.schema.shape(["agency"]) <= (9,)  # eight departments, and the rest


def test_two_hundred_thousand_rows_take_a_moment() -> None:
    began = time.process_time()
    personnel(200_000)
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": 0},
        {"drift": float("nan")},
        {"years": ()},
        {"years": (2010, 2009)},
        {"agencies": 0},
        {"agencies": 5_000},
        {"moving": 1.0},
        {"moving": 0.1, "agencies": 1},
    ],
)
def test_what_cannot_be_simulated_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(JobError):
        personnel(**{"rows": 10, **wrong})
