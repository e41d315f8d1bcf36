"""A small world for privacy tests: a schema, tables, neighbours under every relation, and a job."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st

from hedgerow.public.costs.accounting import Guarantee

SCHEMA = """
title = "Toy"
[columns.sex]
kind = "categorical"
values = ["F", "M"]
other = "M"
[columns.race]
kind = "categorical"
values = ["A", "B", "C"]
other = "other"
missing = true
[columns.pay]
kind = "integer"
bins = { low = 0, high = 40, width = 10 }
other = 39
[columns.area]
kind = "categorical"
values = ["n", "s", "w"]
other = "w"
[[joined]]
name = "sex_area"
columns = ["sex", "area"]
combinations = [["F", "n"], ["M", "n"], ["F", "s"], ["M", "s"]]
"""
COLUMNS = ("sex", "race", "pay", "area")
PRIVATE = ("sex", "race")

PERSON = Guarantee(unit="person", rows_per_person=2, relation="add-remove", person="id")
GUARANTEES = {
    "record, add-remove": Guarantee(),
    "record, replace-one": Guarantee(relation="replace-one"),
    "record, label-change": Guarantee(relation="label-change", public_columns=("pay", "area")),
    "person, add-remove": PERSON,
    "person, replace-one": Guarantee("person", 2, "replace-one", (), "id"),
    "person, label-change": Guarantee("person", 2, "label-change", ("pay", "area"), "id"),
}

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Pair:
    """Two neighbouring tables: rows of (sex, race, pay, area, id)."""

    here: tuple[Row, ...]
    there: tuple[Row, ...]


def frame(rows: tuple[Row, ...]) -> pl.DataFrame:
    """The rows as a table of text, as a CSV file would give them."""
    columns = [*COLUMNS, "id"]
    return pl.DataFrame([list(r) for r in rows], schema=dict.fromkeys(columns, pl.String), orient="row")


_VALUES = (
    st.sampled_from(["F", "M", "?", None]),  # also outside the schema, and missing
    st.sampled_from(["A", "B", "C", "Z", None]),
    st.sampled_from(["0", "5", "12", "39", "40", "-3", "1e9", "x", None]),
    st.sampled_from(["n", "s", "w", "?", None]),
)


def rows_of(person: st.SearchStrategy[Any], *, most: int, least: int = 0) -> st.SearchStrategy[list[Row]]:
    """Rows whose person is drawn from ``person``."""
    return st.lists(st.tuples(*_VALUES, person), min_size=least, max_size=most)


@st.composite
def neighbours(draw: st.DrawFn, guarantee: Guarantee) -> Pair:
    """Two tables that differ in one unit, as the relation of ``guarantee`` allows; order is mixed."""
    base = draw(rows_of(st.sampled_from(["a", "b", "c"]), most=14))
    most = 5 if guarantee.unit == "person" else 1  # a person may hold more rows than are counted
    mine = draw(rows_of(st.just("me"), most=most, least=1))
    if guarantee.relation == "add-remove":
        other: list[Row] = []
    elif guarantee.relation == "replace-one":
        other = draw(rows_of(st.just("me"), most=most, least=1))
    else:
        labels = draw(st.lists(st.tuples(*_VALUES[:2]), min_size=len(mine), max_size=len(mine)))
        other = [(*new, *old[2:]) for new, old in zip(labels, mine, strict=True)]
    places = draw(st.lists(st.integers(0, len(base)), min_size=most, max_size=most))
    return Pair(_mixed(base, mine, places), _mixed(base, other, places))


def _mixed(base: list[Row], mine: list[Row], places: list[int]) -> tuple[Row, ...]:
    out = list(base)
    for row, place in zip(mine, places, strict=False):
        out.insert(place, row)
    return tuple(out)


_SETTINGS = {
    "integer_counts": '[integer_counts]\ncolumns = ["sex", "race"]\ngroups = ["area"]\nmargins = [["sex"], []]',
    "dirichlet_multinomial": '[dirichlet_multinomial]\ncolumns = ["sex", "race"]\nsize = 12\ncopies = 2',
    "beta_binomial": '[beta_binomial]\ncolumn = "sex"\ngroups = ["area"]\nsize = [5, 6, 2]',
    "gamma_poisson": '[gamma_poisson]\ncolumns = ["sex"]\nsize = 8\nexposures = [2, 3]\nb = [4, 6]',
}


def write_job(folder: Path, guarantee: Guarantee, *, delta: str = "0", recipe: str = "independent") -> Path:
    """A job file and a schema in ``folder``; the confidential table goes to ``folder / secret.csv``."""
    (folder / "schema.toml").write_text(SCHEMA, "utf-8")
    public = ", ".join(repr(c) for c in guarantee.public_columns)
    job = folder / "job.toml"
    job.write_text(
        f"""
[job]
recipe = "{recipe}"
formats = ["csv"]
{_SETTINGS.get(recipe, "")}
[schema]
file = "schema.toml"
[confidential]
table = "secret.csv"
name = "toy"
unit = "{guarantee.unit}"
person = "{guarantee.person}"
rows_per_person = {guarantee.rows_per_person}
relation = "{guarantee.relation}"
public_columns = [{public}]
count = "{guarantee.count}"
[budget]
epsilon = 1.5
delta = {delta}
[[use]]
name = "sex"
columns = ["sex"]
tolerance = 0.05
""",
        "utf-8",
    )
    return job
