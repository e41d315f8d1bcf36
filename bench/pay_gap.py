"""The pay gap in logs: what records do to a coefficient, with tails that end where chance does and without.

    python -m bench.pay_gap [ROWS] [SEEDS] [EPSILON ...]

On the demo's simulated personnel: ln(pay) is regressed on sex, race, year, age, education and grade, on the
confidential rows and on the records of each recipe; shown is how far the coefficients of sex and race are off (mean
absolute difference), the share of records that earn less than anybody does, and the correlation of ln(pay) and grade.
A record of pay 500 is an outlier of five logs.  Lines: the public rows as they are, and a half of the confidential
ones.  "tails on" is without ``quiet_tails``: what noise puts into bins where nobody is stays there.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl

from hedgerow.answers import StandInGate
from hedgerow.public import Budget, CodedTable, Guarantee, PublicData, Schema, Tariff
from hedgerow.public.frames import open_public
from hedgerow.recipes import RECIPES
from hedgerow.recipes.blend.noisy_tables import NoisyTables
from hedgerow.records import draw_copies
from hedgerow.simulate.personnel import personnel, personnel_schema

EPSILONS = ("0.3", "1", "3")
GRADES, RACES = range(2, 16), ("A", "B", "C", "D")


def coefficients(frame: pl.DataFrame) -> Any:
    """The coefficients of sex and race in ln(pay)."""
    number = {c: frame[c].cast(pl.Float64, strict=False).fill_null(0).to_numpy() for c in ("pay", "age", "grade")}
    year, school = (
        frame[c].cast(pl.String).cast(pl.Float64, strict=False).fill_null(0) for c in ("year", "education")
    )
    dummies = [frame["sex"] == "F", *(frame["race"] == r for r in RACES)]
    design = [np.ones(len(frame)), *(d.fill_null(False).to_numpy() for d in dummies)]
    design += [year.to_numpy() - 2000, number["age"], number["age"] ** 2 / 100, school.to_numpy()]
    design += [number["grade"] == g for g in GRADES]
    found = np.linalg.lstsq(np.stack(design, 1).astype(float), np.log(np.maximum(number["pay"], 1)), rcond=None)[0]
    return found[1 : 1 + len(dummies)]


def figures(frame: pl.DataFrame, truth: pl.DataFrame) -> tuple[float, float, float, float]:
    """How far sex is off, how far all five are, the share that earns less than anybody, and a correlation."""
    off = np.abs(coefficients(frame) - coefficients(truth))
    pay = frame["pay"].cast(pl.Float64).to_numpy()
    grade = frame["grade"].cast(pl.Float64, strict=False).fill_null(0).to_numpy()
    below = float((pay < float(truth["pay"].min())).mean())  # type: ignore[arg-type]
    return float(off[0]), float(off.mean()), below, float(np.corrcoef(np.log(np.maximum(pay, 1)), grade)[0, 1])


@contextmanager
def tails_on() -> Iterator[None]:
    """As before tails were looked at: every noisy count of a column is taken as it is."""
    with patch.object(NoisyTables, "quiet_margins", lambda self, *_: [c for c, _ in self.noisy_margins]):
        yield


def made(recipe: str, epsilon: str, seed: int, truth: pl.DataFrame, public: pl.DataFrame) -> pl.DataFrame:
    """The records of one run; noise is pretended, as in a rehearsal."""
    written, budget = Schema.loads(personnel_schema()), Budget(epsilon, "1e-6")
    schema = written.completed(open_public(public)) if recipe == "public_blend" else written
    known = PublicData(schema, CodedTable.read(public, schema) if recipe == "public_blend" else None)
    secret, tariff = CodedTable.read(truth, schema, role="target"), Tariff(schema.coding, Guarantee(), budget.measure)
    gate: Any = StandInGate(tariff, budget, secret, secret.rows, np.random.default_rng([13, seed]))
    return draw_copies(RECIPES[recipe]().fit(gate, known), known, copies=1, seed=seed).records[0]


def shown(label: str, found: list[tuple[float, float, float, float]]) -> None:
    """The means over the seeds."""
    sex, every, below, tie = np.mean(found, axis=0)
    print(f"  {label:<32} sex {sex:.4f}  sex and race {every:.4f}  below all {below:.2%}  r {tie:.3f}", flush=True)


def main(rows: int, seeds: int, epsilons: tuple[str, ...]) -> None:
    """Lines, then every recipe at every epsilon, with tails on and off."""
    tables = [personnel(rows, seed) for seed in range(seeds)]
    pairs = [(t.confidential.drop("person"), t.public.drop("person")) for t in tables]
    truth = pairs[0][0]
    print(f"{len(truth):,} rows; sex {coefficients(truth)[0]:.4f}; {figures(truth, truth)[3]:.3f} is r", flush=True)
    shown("public as it is", [figures(p, t) for t, p in pairs])
    shown("half of the rows", [figures(t.sample(fraction=0.5, seed=1), t) for t, _ in pairs])
    for recipe in ("public_blend", "tree_blend"):
        for epsilon in epsilons:
            shown(f"{recipe} {epsilon}", [figures(made(recipe, epsilon, s, *p), p[0]) for s, p in enumerate(pairs)])
            with tails_on():
                found = [figures(made(recipe, epsilon, s, *p), p[0]) for s, p in enumerate(pairs)]
            shown(f"{recipe} {epsilon}, tails on", found)


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["20000"])[0]), int((sys.argv[2:] or ["3"])[0]), tuple(sys.argv[3:]) or EPSILONS)
