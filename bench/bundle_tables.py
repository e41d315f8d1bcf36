"""The tables and schemas that the jobs of ``bench/bundle_jobs.py`` read.

    python bench/bundle_tables.py FOLDER

Simulated with a fixed seed by this file alone, without hedgerow: two checkouts are given the same bytes.  Four
schemas: ``plain``; ``zero`` with combinations that cannot occur; ``strict`` with every other kind of column, a join,
a determined column, other and missing values, a rule; ``rich`` takes bins, labels, values and combinations from the
public table.
"""

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl

AREAS, RACES, DEGREES = ("n", "s", "w", "e", "c", "x"), "ABCDE", (10, 12, 16, 18, 20)
GIVEN = ("year", "area", "age", "education", "pay")

PLAIN = """\
title = "Simulated staff"
source = "a code book that nobody wrote"
[columns.year]
kind = "ordered"
type = "integer"
values = ["2019", "2020", "2021"]
other = "2021"
[columns.area]
kind = "categorical"
values = ["n", "s", "w", "e", "c", "x"]
other = "x"
[columns.sex]
kind = "categorical"
labels = { F = "female", M = "male" }
other = "M"
[columns.race]
kind = "categorical"
labels = { A = "Native", B = "Asian", C = "Hispanic", D = "Black", E = "White" }
other = "E"
[columns.age]
kind = "integer"
bins = { low = 18, high = 78, width = 5 }
other = 77
[columns.education]
kind = "ordered"
type = "integer"
labels = { 10 = "some school", 12 = "high school", 16 = "bachelor", 18 = "master", 20 = "doctorate" }
other = "20"
[columns.pay]
kind = "integer"
bins = { low = 0, high = 120000, width = 10000 }
unit = 100
other = 119999
"""
ZERO = """\
[[zero]]
where = { education = ["20"], age = { below = 28 } }
"""
MORE = """\
[columns.service]
kind = "integer"
bins = { edges = [0, 1, 5, 10, 20, 40, 60] }
other = 60
[columns.hired]
kind = "date"
bins = { unit = "year", low = 1980-01-01, high = 2021-12-31 }
other = "2021-12-31"
[columns.part_time]
kind = "yes-no"
yes = ["Y"]
no = ["N"]
other = "Y"
[columns.region]
kind = "categorical"
values = ["north", "south"]
determined_by = ["area"]
REGION
other = "south"
[[joined]]
name = "sex_part"
columns = ["sex", "part_time"]
COMBINATIONS
[[rule]]
left = "service"
right = "age"
"""
MAP = "map = [" + ", ".join(f'["{a}", "{"north" if a in "nwe" else "south"}"]' for a in AREAS) + "]"
COMBINATIONS = 'combinations = [["F", "Y"], ["F", "N"], ["M", "N"]]'
RACE_OPEN = 'values = ["A", "B", "C", "D"]\nother = "other"\nmissing = true'
_RACE = PLAIN.split('[columns.race]\nkind = "categorical"\n')[1].split("\n[")[0]
_PAY = "bins = { low = 0, high = 120000, width = 10000 }\nunit = 100\nother = 119999"
STRICT = PLAIN.replace(_RACE, RACE_OPEN) + MORE.replace("REGION", MAP).replace("COMBINATIONS", COMBINATIONS) + ZERO
RICH = (
    STRICT.replace(
        _PAY, 'bins = { quantiles = 10 }\nspecial = { 999999 = "refused" }\ndecode = "public"\nmissing = true'
    )
    .replace(
        f'values = {json.dumps(list(AREAS))}\nother = "x"',
        f'values = {json.dumps(list(AREAS))}\ncollapse = {{ below = 150, into = "other" }}',
    )
    .replace(MAP, "")
    .replace(COMBINATIONS, 'keep = "public"')
)


def people(rows: int, seed: int, shift: float) -> pl.DataFrame:
    """``rows`` rows of persons who stay for one to three years, with pay that depends on nearly everything."""
    rng = np.random.default_rng(seed)
    stay = rng.choice(3, rows, p=[0.3, 0.3, 0.4]) + 1
    who = np.repeat(np.arange(rows), stay)[:rows]
    turn = np.arange(rows) - np.searchsorted(who, who)
    tilt = np.array([0.3, 0.22, 0.18, 0.15, 0.1, 0.05])
    area = rng.choice(6, rows, p=tilt)[who]
    female = rng.random(rows)[who] < 0.35 + 0.05 * area + shift
    race = np.minimum(rng.choice(5, rows, p=[0.05, 0.1, 0.15, 0.2, 0.5])[who] + (area == 5), 4)
    start = 20 + (45 * rng.beta(2, 3, rows)[who]).astype(int)
    degree = rng.choice(5, rows, p=[0.1, 0.35, 0.3, 0.2, 0.05])[who]
    degree = np.where(start < 28, np.minimum(degree, 3), degree)
    age = start + turn
    service = np.minimum((rng.random(rows)[who] * (age - 18)).astype(int), 40)
    pay = np.exp(
        9.6 + 0.02 * age + 0.15 * degree - 0.12 * female - 0.03 * (race < 4) + 0.05 * area + rng.normal(0, 0.2, rows)
    )
    part_time = female & (rng.random(rows) < 0.25)
    hired = (2021 - service - 1970) * 365.25 + rng.integers(0, 300, rows)
    return pl.DataFrame(
        {
            "id": np.char.add("p", who.astype(str)).tolist(),
            "year": np.minimum(2019 + turn + (stay[who] == 1) * (who % 3), 2021),
            "area": [AREAS[i] for i in area],
            "sex": np.where(female, "F", "M").tolist(),
            "race": [None if u < 0.01 else RACES[i] for i, u in zip(race, rng.random(rows), strict=True)],
            "age": age,
            "education": np.array(DEGREES)[degree],
            "pay": np.where(rng.random(rows) < 0.01, 999_999, np.minimum(pay, 119_000).astype(int) // 100 * 100),
            "service": service,
            "hired": pl.Series(hired.astype(np.int32)).cast(pl.Date),
            "part_time": np.where(part_time, "Y", "N").tolist(),
            "region": ["north" if AREAS[i] in "nwe" else "south" for i in area],
        }
    )


def write_tables(folder: Path) -> None:
    """The confidential table in several formats, its public relative, and targets."""
    import duckdb

    folder.mkdir(parents=True)
    secret, old, others = people(3000, 1, 0.0), people(2500, 2, 0.04), people(1200, 3, 0.0)
    secret.write_parquet(folder / "secret.parquet")
    secret.write_csv(folder / "secret.csv")
    secret.write_ipc(folder / "secret.arrow")
    old.write_csv(folder / "public.csv")
    old.drop("sex", "race").write_csv(folder / "unlabelled.csv")
    secret.select(GIVEN).write_csv(folder / "target.csv")
    secret.select(*GIVEN, "race").write_csv(folder / "with_race.csv")
    others.select(GIVEN).write_parquet(folder / "others.parquet")
    with duckdb.connect(str(folder / "secret.duckdb")) as db:
        db.execute(f"CREATE TABLE staff AS SELECT * FROM read_parquet('{folder / 'secret.parquet'}')")


def write_schemas(folder: Path) -> None:
    """Every schema as a file of its own."""
    for name, text in {"plain": PLAIN, "zero": PLAIN + ZERO, "strict": STRICT, "rich": RICH}.items():
        (folder / f"{name}.toml").write_text(text, "utf-8")


if __name__ == "__main__":
    write_tables(Path(sys.argv[1]))
    write_schemas(Path(sys.argv[1]))
