"""Does a rehearsal foretell the error of the release? Rehearsed against real, on simulated tables with known truth.

    python bench/rehearse.py [--rows 20000] [--runs 5] [--recipes independent,public_blend] [--epsilons 0.5,2]

A *good* relative follows the same law as the confidential table: same years, no drift. A *poor* one is from an
earlier period, with drift. The real error goes through the real gate (its noise has no seed) and is judged against
the confidential table itself. Printed: the ratio rehearsed / real of mean errors; CPU seconds; peak memory.
"""

import argparse
import resource
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

from hedgerow.pipeline import open_gate
from hedgerow.planning.drawing import draw_one
from hedgerow.planning.judging import judge
from hedgerow.planning.quantities import Judged, quantity
from hedgerow.planning.rehearsal import rehearse
from hedgerow.planning.stand_in import Stage
from hedgerow.planning.uses import Use
from hedgerow.public.accounting import Budget, Guarantee
from hedgerow.public.schema import Schema
from hedgerow.public.spend import Tariff
from hedgerow.public.table import PublicTable
from hedgerow.recipes import RECIPES, PublicData
from hedgerow.simulate.personnel import Personnel, personnel, personnel_schema

USES = (
    Use("race", ("race",), 0.01),
    Use("occupation x sex", ("occupation", "sex"), 0.05),
    Use("agency, cells of 500", ("agency",), 0.05, "relative", 500),
    Use("mean pay by sex", ("sex",), 0.02, "relative", kind="mean", of="pay"),
    Use("supervisors by race", ("race",), 0.02, "absolute", kind="rate", of="supervisory", values=("2", "4")),
    Use("median pay by education", ("education",), 0.05, "relative", 200, kind="quantile", of="pay", at=(0.5,)),
)


def main() -> None:
    """Compare rehearsed and real errors, and print their ratios."""
    options = _options()
    print("relative  recipe        epsilon  use                        rehearsed       real   ratio")
    within: dict[str, list[bool]] = {"good": [], "poor": []}
    for relative in ("good", "poor"):
        tables, schema = _tables(relative, options.rows)
        for name in options.recipes.split(","):
            for epsilon in options.epsilons.split(","):
                began = time.process_time()
                ratios = _ratios(tables, schema, name, Budget(epsilon), options.runs)
                for use, (said, found) in ratios.items():
                    ratio = said / found
                    within[relative].append(1 / 1.5 <= ratio <= 1.5)
                    line = f"{relative:<9} {name:<13} {epsilon:>7}  {use:<24} {said:>11.5f} {found:>10.5f}"
                    print(f"{line} {ratio:>7.2f}")
                print(f"{'':9} {options.runs} runs each way, {time.process_time() - began:.0f} s of CPU here")
    for relative, held in within.items():
        print(f"{relative}: within a factor of 1.5 in {sum(held)} of {len(held)}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def _tables(relative: str, rows: int) -> tuple[Personnel, Schema]:
    years = (2008, 2009, 2010, 2011)
    if relative == "good":
        made = personnel(rows, 1, years=years, public_years=years, drift=0.0)
    else:
        made = personnel(rows, 1, years=years)
    return made, Schema.loads(personnel_schema())


def _ratios(
    tables: Personnel, schema: Schema, name: str, budget: Budget, runs: int
) -> dict[str, tuple[float, float]]:
    guarantee = Guarantee("person", 4, "add-remove", (), "person")
    public = PublicData(schema, PublicTable.read(tables.public, schema))
    tariff = Tariff(schema.coding, guarantee, budget.measure)
    rows, person = tables.confidential.height, tables.public["person"].cast(pl.String)
    stage = Stage(RECIPES[name](), public, tariff, USES, rows, person)
    played = rehearse(
        stage, budget=budget, epsilons=[Fraction(budget.epsilon)], runs=runs, rng=np.random.default_rng(5)
    )
    said = [v.error for v in played.here.verdicts]
    truth = Judged(schema, tables.confidential.drop("person"))
    found = np.zeros((runs, len(USES)))
    for r in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            gate = open_gate(
                tables.confidential,
                schema,
                budget,
                ledger=Path(folder) / "ledger.db",
                name=f"bench {r}",
                unit="person",
                person="person",
                rows_per_person=4,
            )
            fitted = RECIPES[name]().fit(gate, public)
        made = Judged(schema, draw_one(fitted, public, np.random.default_rng(r)).frame)
        found[r] = [judge(u, quantity(u, made), quantity(u, truth)).error for u in USES]
    return {u.name: (s or float("nan"), f) for u, s, f in zip(USES, said, found.mean(axis=0).tolist(), strict=True)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--recipes", default="independent,tree_blend,public_blend")
    parser.add_argument("--epsilons", default="0.5,2")
    return parser.parse_args()


if __name__ == "__main__":
    main()
