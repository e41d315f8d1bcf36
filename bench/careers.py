"""Careers beside independent yearly rows, at equal epsilon for a person: what is kept of people's years.

    python -m bench.careers --seeds 11 12 --epsilons 0.3 1 3

Simulated personnel: the confidential table has five years, the public one the eight years before, of other people.
Four makers of a file: ``careers``; ``public_blend`` on rows, with at most five rows a person; the public careers as
they are; and other people of the same world and years, which no promise protects: as near as chance lets a table be.
Noise is seeded floating point in place of the gate's.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

from hedgerow.answers import StandInGate
from hedgerow.public import CodedTable, Guarantee, PublicData, Schema, Tariff, budget_for, coding_of
from hedgerow.recipes import AbstractRecipe
from hedgerow.recipes.blend.public_blend import PublicBlend
from hedgerow.recipes.careers import Careers
from hedgerow.records import draw_one
from hedgerow.simulate.personnel import personnel, personnel_schema

YEARS, BEFORE, MOST = range(2009, 2014), range(2001, 2009), 5
SHARES: Sequence[tuple[str, ...]] = (("year", "grade"), ("grade", "sex"), ("agency", "grade"), ("sex", "race"))


def made(
    recipe: AbstractRecipe, schema: Schema, tables: tuple[CodedTable, CodedTable], epsilon: str, seed: int
) -> pl.DataFrame:
    """The file of one run."""
    public, secret = tables
    promise = Guarantee("person", MOST, "add-remove", (), "person")
    budget = budget_for(epsilon, "0", recipe.accounting)
    tariff = Tariff(coding_of(schema, (), recipe.career_time), promise, budget.measure, budget.delta)
    gate = StandInGate(tariff, budget, secret, secret.rows, np.random.default_rng(seed))
    known = PublicData(schema, public, assumed_rows=secret.rows)
    return draw_one(recipe.fit(gate, known), known, np.random.default_rng(seed + 1)).frame


def counts(frame: pl.DataFrame, columns: Sequence[str]) -> Mapping[tuple[object, ...], int]:
    """How many rows each combination of values has."""
    return {row[:-1]: row[-1] for row in frame.group_by(columns).len().iter_rows()}


def apart(frame: pl.DataFrame, truth: pl.DataFrame, columns: Sequence[str]) -> float:
    """Total variation between two tables of shares."""
    one, other = counts(frame, columns), counts(truth, columns)
    n, m = max(sum(one.values()), 1), max(sum(other.values()), 1)
    return sum(abs(one.get(k, 0) / n - other.get(k, 0) / m) for k in {*one, *other}) / 2


def lengths(frame: pl.DataFrame) -> pl.DataFrame:
    """How many rows each person has."""
    return frame.group_by("person").len("rows")


def steps(frame: pl.DataFrame) -> pl.DataFrame:
    """Every row that has a next one of the same person, and the next one beside it."""
    names = ("year", "grade", "supervisory", "agency", "pay")
    later = [pl.col(c).shift(-1).over("person").alias(f"next {c}") for c in names]
    return frame.sort("person", "year").with_columns(later).drop_nulls("next year")


def given(frame: pl.DataFrame, truth: pl.DataFrame, column: str) -> float:
    """Total variation of what comes next given what was before, over the true mix of the latter: steps alone."""
    now, then = steps(frame), steps(truth)
    found = []
    for (value,), rows in then.group_by([column]):
        mine = now.filter(pl.col(column) == value)
        found.append(len(rows) * (apart(mine, rows, [f"next {column}"]) if len(mine) else 1.0))
    return sum(found) / max(len(then), 1)


def moved(frame: pl.DataFrame) -> float:
    """The share of steps to another agency."""
    return float(steps(frame).select((pl.col("next agency") != pl.col("agency")).mean()).item() or 0)


def within(frame: pl.DataFrame) -> tuple[float, float]:
    """What a grade and a year add to ln(pay) in a model with an effect for each person."""
    plain = frame.with_columns(pl.col("pay").log(), pl.col("year", "grade").cast(pl.Float64))
    names = ["grade", "year", "pay"]
    left = plain.select([pl.col(c) - pl.col(c).mean().over("person") for c in names]).to_numpy()
    return tuple(np.linalg.lstsq(left[:, :2], left[:, 2], rcond=None)[0].tolist())


def growth(frame: pl.DataFrame) -> tuple[float, float]:
    """Mean and standard deviation of the growth of ln(pay) from year to year."""
    each = steps(frame).select((pl.col("next pay") / pl.col("pay")).log()).to_series()
    return float(each.mean() or 0), float(each.std() or 0)  # type: ignore[arg-type]


def promoted(frame: pl.DataFrame) -> float:
    """The share of steps to a higher grade."""
    return float(steps(frame).select((pl.col("next grade") > pl.col("grade")).mean()).item() or 0)


PERSONS: Mapping[str, Callable[[pl.DataFrame, pl.DataFrame], float]] = {
    "length of careers": lambda f, t: apart(lengths(f), lengths(t), ["rows"]),
    "grade and next grade": lambda f, t: apart(steps(f), steps(t), ["grade", "next grade"]),
    "supervisory and next": lambda f, t: apart(steps(f), steps(t), ["supervisory", "next supervisory"]),
    "next grade, given grade": lambda f, t: given(f, t, "grade"),
    "next supervisory, given": lambda f, t: given(f, t, "supervisory"),
    "next agency, given agency": lambda f, t: given(f, t, "agency"),
    "share that changes agency": lambda f, t: abs(moved(f) - moved(t)),
    "share promoted a year": lambda f, t: abs(promoted(f) - promoted(t)),
    "growth of pay, mean": lambda f, t: abs(growth(f)[0] - growth(t)[0]),
    "growth of pay, deviation": lambda f, t: abs(growth(f)[1] - growth(t)[1]),
    "person effects: a grade": lambda f, t: abs(within(f)[0] - within(t)[0]),
    "person effects: a year": lambda f, t: abs(within(f)[1] - within(t)[1]),
}


def main() -> None:
    """Print the mean error of every figure over the seeds, a line for each maker and epsilon."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--seeds", type=int, nargs="+", default=[11, 12])
    asked.add_argument("--epsilons", nargs="+", default=["0.3", "1", "3"])
    asked.add_argument("--rows", type=int, default=20_000)
    asked.add_argument("--moving", type=float, default=0.0, help="the share that changes its agency in a year")
    asked.add_argument(
        "--public-moving", type=float, help="the same share in the public table, where it is another one"
    )
    said = asked.parse_args()
    schema = Schema.loads(personnel_schema(years=(*BEFORE, *YEARS)))
    found: dict[tuple[str, str], list[list[float]]] = {}
    names = [*PERSONS, *(" x ".join(c) for c in SHARES)]
    print("| file | epsilon | " + " | ".join(names) + " |", flush=True)
    for seed in said.seeds:
        world, earlier = (
            personnel(said.rows, seed, years=YEARS, public_years=BEFORE, labelled_target=True, moving=moving)
            for moving in (said.moving, said.moving if said.public_moving is None else said.public_moving)
        )
        tables = tuple(CodedTable.read(t, schema, "target") for t in (earlier.public, world.confidential))
        truth = world.confidential
        files = {("public careers", "-"): earlier.public, ("other people", "-"): world.target}
        for epsilon in said.epsilons:
            one = (schema, (tables[0], tables[1]), epsilon, seed)
            files["careers", epsilon] = made(Careers(time="year"), *one)
            files["public_blend, rows", epsilon] = made(PublicBlend(), *one)
        for key, file in files.items():
            own = [f(file, truth) if "person" in file.columns else float("nan") for f in PERSONS.values()]
            found.setdefault(key, []).append(own + [apart(file, truth, c) for c in SHARES])
            print(seed, *key, " ".join(f"{x:.4f}" for x in found[key][-1]), flush=True)
    for key, errors in found.items():
        means = np.mean(errors, axis=0)
        print(f"| {' | '.join(key)} | " + " | ".join("none" if np.isnan(x) else f"{x:.4f}" for x in means) + " |")


if __name__ == "__main__":
    main()
