"""Every kind of use: read from a job file and built in Python it is the same; it judges what it says it judges."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import hedgerow.uses as room
from hedgerow.errors import HedgerowError, JobError
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable
from hedgerow.uses import (
    USES,
    AbstractUse,
    Coefficient,
    Mean,
    PersonRate,
    Prediction,
    Quantile,
    Rate,
    Table,
    Verdict,
)
from hedgerow.uses.base import like_sample
from hedgerow.uses.verdict import use_from_json, use_from_toml, use_mistakes

SCHEMA = Schema.loads(
    """
[columns.sex]
kind = "categorical"
values = ["F", "M"]
other = "M"
[columns.year]
kind = "ordered"
values = ["2001", "2002", "2003"]
type = "integer"
other = "2003"
[columns.pay]
kind = "integer"
bins = { low = 0, high = 1000, width = 1 }
other = 1000
"""
)
BUILT: dict[str, tuple[AbstractUse, ...]] = {
    "table": (Table(["sex", "year"], tolerance=0.01), Table(["sex"], relative=0.1, cell_size=20, over="worst")),
    "mean": (Mean("pay", by=["sex"], relative=0.03), Mean("pay", tolerance=5, name="all pay")),
    "person-rate": (
        PersonRate("pay", person="person", change="rises", time="year", by=["sex"], tolerance=0.02),
        PersonRate("sex", person="person", values=["F"], by=["year"], tolerance=0.02, name="ever a woman"),
    ),
    "prediction": (Prediction("sex", ["F"], tolerance=0.05), Prediction("sex", by=["year"], tolerance=0.05)),
    "rate": (Rate("sex", ["F"], by=["year"], tolerance=0.01, group_size=5),),
    "quantile": (Quantile("pay", 0.5, by=("sex",), relative=0.05), Quantile("pay", [0.1, 0.9], tolerance=3)),
    "coefficient": (
        Coefficient("ln(pay) ~ sex + number(year)", "sex[F]", tolerance=0.02, over="typical"),
        Coefficient("ln(pay) ~ sex | person", "sex[F]", person="person", tolerance=0.02, name="within people"),
    ),
}
EVERY = [u for uses in BUILT.values() for u in uses]
each = pytest.mark.parametrize("use", EVERY, ids=lambda u: u.name)


def frame(seed: int, gap: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    female, year = rng.random(900) < 0.4, rng.integers(2001, 2004, 900)
    pay = rng.integers(100, 200, 900) + np.where(female, gap, 0)
    person = rng.integers(0, 400, 900)
    return pl.DataFrame({"sex": np.where(female, "F", "M"), "year": year, "pay": pay, "person": person})


def table(seed: int = 0, gap: int = 0) -> CodedTable:
    return CodedTable(SCHEMA, frame(seed, gap))


def worse(seed: int = 0, gap: int = 0) -> CodedTable:
    """Half of the women are lost, and those that are left earn more."""
    return CodedTable(
        SCHEMA, frame(seed, 300 + gap).filter((pl.col("sex") == "M") | (pl.int_range(pl.len()) % 2 == 0))
    )


def test_every_kind_is_here_and_in_the_room() -> None:
    assert set(BUILT) == set(USES)
    for kind, uses in BUILT.items():
        assert all(isinstance(u, USES[kind]) and getattr(room, type(u).__name__) is type(u) for u in uses)


@each
def test_a_use_reads_back_from_a_job_file_and_from_json(use: AbstractUse) -> None:
    assert use_from_toml(use.to_toml()) == use
    assert repr(use_from_toml(use.to_toml())) == repr(use)
    assert use_from_json(use.to_json()) == use
    verdict = Verdict(use, 0.1, 0.4, "note", 0.05, 0.2, None, (("F", 0.3),))
    assert Verdict.from_json(verdict.to_json()) == verdict
    assert hash(use_from_toml(use.to_toml())) == hash(use)


@each
def test_a_table_has_no_error_against_itself_and_a_worse_one_has_more(use: AbstractUse) -> None:
    gap = 40 if use.kind == "prediction" else 0  # where nothing tells the sexes apart there is nothing to lose
    true = use.figures(table(0, gap))
    assert use.error(true, true).error == 0
    like, far = (use.error(use.figures(t), true) for t in (table(1, gap), worse(1, gap)))
    assert 0 < like.error < far.error
    assert len(far.parts) == len(true.values) == len(true.sizes)
    spread = use.half_sample_error(table(0, gap), true, np.random.default_rng(1))
    assert like_sample(like.error, spread) > like_sample(far.error, spread) > 0  # type: ignore[operator]


@each
def test_cells_and_groups_have_names(use: AbstractUse) -> None:
    true = use.figures(table())
    names = use.labels(SCHEMA, np.arange(len(true.values)))
    assert len(set(names)) == len(true.values)


@each
def test_a_use_says_what_it_is(use: AbstractUse) -> None:
    assert use.what and use.name and use.kind in BUILT
    assert all(c in use.what for c in use.groups)
    assert use.unit in ("cell", "group")
    use.check(SCHEMA)
    assert set(use.table) <= set(SCHEMA.attributes)


@each
def test_a_column_that_the_schema_lacks_is_refused(use: AbstractUse) -> None:
    data = use.to_toml()
    for key in ("columns", "by", "of", "formula", "term"):
        if key in data or key == "by" and "columns" not in data:
            other: Any = ["height"] if key in ("columns", "by") else {"formula": "pay ~ height"}.get(key, "height")
            with pytest.raises(JobError, match="height") as refusal:
                use_from_toml({**data, key: other}).check(SCHEMA)
            assert "spent" in str(refusal.value)


@each
def test_a_table_of_counts_gives_the_figures_of_its_rows_or_is_refused(use: AbstractUse) -> None:
    counted = frame(0).with_columns(pl.all().cast(pl.String)).group_by(pl.all()).len("count")
    cells = CodedTable.of_counts(SCHEMA, counted)
    if not use.works_on(cells):
        with pytest.raises(HedgerowError, match="records"):
            use.figures(cells)
        return
    assert use.figures(cells).values == pytest.approx(use.figures(table()).values, abs=0.51)


@each
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tolerance", -1.0),
        ("tolerance", "0.1"),
        ("tolerance", True),
        ("tolerance", float("nan")),
        ("within", "about"),
        ("over", "all"),
        ("name", 3),
        ("colums", ["sex"]),
        ("by", "sex"),
        ("columns", "sex"),
        ("group_size", -1),
        ("cell_size", 2.5),
        ("of", 5),
        ("values", "F"),
        ("at", 1.0),
        ("at", [0.5, "x"]),
        ("formula", ["pay ~ sex"]),
    ],
)
def test_a_wrong_value_or_key_is_refused_with_the_cure(use: AbstractUse, key: str, value: Any) -> None:
    data = {**use.to_toml(), key: value}
    ((where, said),) = use_mistakes(data)
    assert where == key or key in said
    with pytest.raises(JobError, match=rf"{key}.*[Nn]othing was spent"):
        use_from_toml(data)
    if key in use.allowed():
        arguments = {k: v for k, v in data.items() if k != "kind"}
        with pytest.raises(JobError, match=rf"(?s){key}.*nothing was spent"):
            type(use)(**arguments)


@each
def test_what_is_needed_must_be_there(use: AbstractUse) -> None:
    for key in (*use.needed(), "tolerance"):
        data = {k: v for k, v in use.to_toml().items() if k != key}
        ((where, said),) = use_mistakes(data)
        assert where == key or said == f"kind = {use.kind!r} needs {key}"


@each
def test_a_use_of_a_job_file_needs_no_name_as_in_python(use: AbstractUse) -> None:
    nameless = {k: v for k, v in use.to_toml().items() if k != "name"}
    assert use_from_toml(nameless) == replace(use, name="")


def test_lists_are_kept_as_tuples_and_a_tolerance_is_said_once() -> None:
    use = Mean("pay", by=["sex"], relative=0.03)
    assert use == Mean("pay", by=("sex",), tolerance=0.03, within="relative")
    assert (use.by, use.name, use.as_share) == (("sex",), "mean of pay by sex", True)
    assert Quantile("pay", 0.5, tolerance=1) == Quantile("pay", [0.5], tolerance=1)
    for wrong in ({}, {"tolerance": 0.1, "relative": 0.1}, {"within": "absolute", "relative": 0.1}):
        with pytest.raises(JobError, match=r"tolerance = \.\.\. or relative = \.\.\."):
            Mean("pay", **wrong)
    with pytest.raises(JobError, match=re.escape("relative: must be a number above 0 (got -0.1)")):
        Mean("pay", relative=-0.1)


def test_an_unknown_kind_is_refused_with_those_there_are() -> None:
    with pytest.raises(JobError, match="table, mean, rate, quantile, coefficient"):
        use_from_toml({"name": "x", "kind": "median", "tolerance": 0.1})
