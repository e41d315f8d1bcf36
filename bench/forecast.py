"""Do real errors lie where a forecast says? Pairs of a public and a confidential table that have drifted apart.

    python -m bench.forecast --pairs 300-309 --recipes public_blend --drifts 0,0.5 [--out bench/forecast.csv]
    python -m bench.forecast --summary bench/forecast.csv

A pair is a number (the seed of a simulated world, ``personnel(20000, seed)``, whose public table is seven years
older and drifts) or the name of a real pair of ``bench/real_tables.py``.  For each pair and recipe the job goes
through the real gate at epsilon 1, ``--real`` times, and is rehearsed with each ``drift`` by the code of ``hedgerow
rehearse``.  A line per use: whether its part was ``moved`` to where the target lies, mean and band of the forecast,
and each real error.  The summary counts, for each recipe, kind of use and drift, how many real errors lie below the
top of the band (9 in 10 should), and the median ratio real / forecast.
"""

import argparse
import tempfile
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bench import real_tables
from hedgerow.pipeline import open_gate
from hedgerow.public import Budget, CodedTable, Guarantee, PublicData, Schema, Statistic, Tariff
from hedgerow.recipes import RECIPES
from hedgerow.records import draw_one
from hedgerow.simulate.personnel import personnel, personnel_schema
from hedgerow.stand_in import RUNS, StandIn, rehearse
from hedgerow.uses import AbstractUse, Coefficient, Mean, Table

ROWS = 20_000
GAP = "ln(pay) ~ sex + race + age + I(age^2) + education | agency + occupation"
PERSONNEL = (
    Table(["race"], tolerance=0.02, name="shares of race"),
    Mean("pay", by=["sex"], relative=0.03, name="mean pay by sex"),
    Coefficient(GAP, "sex[F]", tolerance=0.03, name="pay gap"),
)
REAL = {  # columns; the figure, the two groups and the control of its uses
    "acs_ma": ("PUMA AGEP SEX MSP RAC1P OWN_RENT INDP_CAT EDU PINCP_DECILE DVET", "PINCP_DECILE SEX RAC1P AGEP"),
    "acs_by_state": ("SEX AGE MARST RACE CITIZEN SPEAKENG HCOVANY EDUC EMPSTAT INCTOT", "INCTOT SEX RACE AGE"),
    "acs_by_year": ("SEX AGE MARST RACE CITIZEN SPEAKENG HCOVANY EDUC EMPSTAT INCTOT", "INCTOT SEX RACE AGE"),
    "census": (
        "age class_of_worker education marital_status major_industry race sex weeks_worked citizenship income",
        "weeks_worked sex race age",
    ),
    "opm": (real_tables.OPM, "BasicPay OccupationalCategory EducationYears Age"),
}


@dataclass(frozen=True)
class Pair:
    """A public and a confidential table, what is private in it, and what they are to be used for."""

    public: pl.DataFrame
    secret: pl.DataFrame
    schema: Schema
    uses: tuple[AbstractUse, ...]
    private: tuple[str, ...]
    outcome: str
    person: str = ""

    @property
    def rows(self) -> int:
        """Of the confidential table."""
        return len(self.secret)


def pair_of(name: str) -> Pair:
    """A simulated world by its seed, a real pair by its name."""
    if name.isdigit():
        made = personnel(ROWS, int(name))
        schema = Schema.loads(personnel_schema())
        return Pair(made.public, made.confidential, schema, PERSONNEL, ("sex", "race"), "pay", "person")
    kept, used = (part.split() for part in REAL[name])
    public, secret, domain = real_tables.load(name)
    assert public is not None
    figure, group, other, control = used
    text = real_tables.schema_of({c: domain[c] for c in kept}).dumps()
    schema = Schema.loads(text.replace('kind = "ordered"', 'kind = "ordered"\ntype = "integer"'))
    uses = (
        Table([other], tolerance=0.02, name=f"shares of {other}"),
        Table([group, other], tolerance=0.02, name=f"{group} x {other}"),
        Mean(figure, by=[group], tolerance=0.5, name=f"mean {figure} by {group}"),
        Coefficient(
            f"number({figure}) ~ C({group}, ref=0) + number({control})",
            f"{group}[1]",
            tolerance=0.3,
            name=f"gap of {group}",
        ),
    )
    return Pair(_some(public, kept), _some(secret, kept), schema, uses, (group, other), figure)


def _some(frame: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    return frame.select(columns).sample(min(ROWS, len(frame)), seed=1)


def measured(pair: Pair, name: str, drifts: list[float], real: int, epsilon: str) -> list[dict[str, Any]]:
    """A line for every use and drift."""
    attaches, schema, budget = RECIPES[name].attaches, pair.schema, Budget(epsilon)
    recipe = RECIPES[name](**({"outcomes": (pair.outcome,)} if attaches else {}))
    bare = pair.secret.drop(*pair.private, *([pair.person] if pair.person else []))
    given = tuple(bare.columns) if attaches else ()
    target = CodedTable.read(bare, schema, role="target") if attaches else None
    known = CodedTable.read(pair.public, schema)
    public = PublicData(schema, known, target, pair.rows, *_wanted(pair.uses))
    unit: dict[str, Any] = {"unit": "person", "rows_per_person": 4, "person": "person"} if pair.person else {}
    guarantee = Guarantee(relation=recipe.relation, public_columns=given, **unit)
    who = pair.public[pair.person].cast(pl.String) if pair.person else None
    tariff = Tariff(schema.coding, guarantee, budget.measure)
    stand_in = StandIn(recipe, public, tariff, pair.uses, pair.rows, who)
    found = [_real(pair, recipe, public, guarantee, budget) for _ in range(real)]
    lines = []
    for drift in drifts:
        played = rehearse(
            replace(stand_in, drift=drift),
            budget=budget,
            epsilons=[Fraction(epsilon)],
            runs=RUNS,
            workers=1,
            rng=np.random.default_rng(7),
        )
        for i, v in enumerate(played.here.verdicts):
            errors = " ".join(f"{f[i]:.5f}" for f in found)
            lines.append(
                {
                    "recipe": name,
                    "use": v.use.name,
                    "kind": v.use.kind,
                    "drift": drift,
                    "moved": replace(stand_in, drift=drift).moves,
                    "forecast": round(v.error or 0.0, 5),
                    "low": round(v.low or 0.0, 5),
                    "high": round(v.high or 0.0, 5),
                    "real": errors,
                }
            )
    return lines


def _wanted(uses: tuple[AbstractUse, ...]) -> tuple[tuple[tuple[str, ...], ...], tuple[Statistic, ...]]:
    """The tables and the figures that these uses are read from, as a job with them would say."""
    tables = tuple(dict.fromkeys(u.table for u in uses if u.table and u.statistic is None))
    return tables, tuple(dict.fromkeys(u.statistic for u in uses if u.statistic is not None))


def _real(pair: Pair, recipe: Any, public: PublicData, guarantee: Guarantee, budget: Budget) -> list[float]:
    """The errors of one run through the real gate."""
    with tempfile.TemporaryDirectory() as folder:
        gate = open_gate(
            pair.secret,
            pair.schema,
            budget,
            ledger=Path(folder) / "ledger.db",
            name="bench",
            relation=guarantee.relation,
            unit=guarantee.unit,
            person=guarantee.person,
            rows_per_person=guarantee.rows_per_person,
            public_columns=guarantee.public_columns,
        )
        fitted = recipe.fit(gate, public)
    made = CodedTable(pair.schema, draw_one(fitted, public, np.random.default_rng(1)).frame)
    truth = CodedTable.read(pair.secret, pair.schema)
    return [u.error(u.figures(made), u.figures(truth)).error for u in pair.uses]


def summary(file: Path) -> pl.DataFrame:
    """How many real errors lie below the top of the band, and how large they are beside the forecast."""
    lines = pl.read_csv(file, schema_overrides={"pair": pl.String, "real": pl.String})
    each = lines.with_columns(pl.col("real").str.split(" ")).explode("real").with_columns(pl.col("real").cast(float))
    below = (pl.col("real") <= pl.col("high")).sum().alias("below the top")
    ratio = (pl.col("real") / pl.col("forecast")).median().round(2).alias("real / forecast")
    return each.group_by("recipe", "kind", "drift", "moved", maintain_order=True).agg(
        pl.len().alias("errors"), below, ratio
    )


def main() -> None:
    """Measure pairs and append to the file, or sum it up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", default="300-309")
    parser.add_argument("--recipes", default="public_blend,guided_tree")
    parser.add_argument("--drifts", default="0,0.5")
    parser.add_argument("--real", type=int, default=1)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--out", type=Path, default=Path("bench/forecast.csv"))
    parser.add_argument("--summary", type=Path)
    options = parser.parse_args()
    if options.summary is None:
        first, _, last = options.pairs.partition("-")
        pairs = [str(s) for s in range(int(first), int(last) + 1)] if last.isdigit() else options.pairs.split(",")
        for name in pairs:
            for recipe in options.recipes.split(","):
                began = time.process_time()
                found = measured(
                    pair_of(name), recipe, [*map(float, options.drifts.split(","))], options.real, options.epsilon
                )
                frame = pl.DataFrame([{"pair": name, **line} for line in found])
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(frame.write_csv(include_header=file.tell() == 0))
                print(f"{name} {recipe}: {time.process_time() - began:.0f} s of CPU", flush=True)
    with pl.Config(tbl_rows=-1, tbl_hide_dataframe_shape=True):
        print(summary(options.summary or options.out))


if __name__ == "__main__":
    main()
