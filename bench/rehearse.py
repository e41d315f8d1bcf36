"""Does a rehearsal foretell the error of the release? Rehearsed against real, on simulated tables with known truth.

    python bench/rehearse.py [--rows 8000] [--worlds 24] [--recipes independent,public_blend] [--epsilons 0.5,2]

A *good* relative follows the same law as the confidential table: same years, no drift. A *poor* one is from an
earlier period, with drift. The real error goes through the real gate (its noise has no seed) and is judged against
the confidential table itself. A single table may be lucky or not in its small groups, so errors are means over
several simulated worlds, each with tables of its own: two rehearsed runs and one real one in each. Printed: the
ratio rehearsed / real of mean errors; CPU seconds; peak memory.
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
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import RECIPES
from hedgerow.records import draw_one
from hedgerow.simulate.personnel import personnel, personnel_schema
from hedgerow.stand_in.rehearsal import rehearse
from hedgerow.stand_in.stand_in import StandIn
from hedgerow.uses import AbstractUse, Mean, Quantile, Rate, Table

PRIVATE = ("sex", "race")
USES = (
    Table(["race"], tolerance=0.01),
    Table(["occupation", "sex"], tolerance=0.05),
    Table(["agency"], relative=0.05, cell_size=500, name="agency, cells of 500"),
    Mean("pay", by=["sex"], relative=0.02, name="mean pay by sex"),
    Rate("supervisory", ["2", "4"], by=["race"], tolerance=0.02, name="supervisors by race"),
    Quantile("pay", 0.5, by=["education"], relative=0.05, group_size=200, name="median pay by education"),
)


def main() -> None:
    """Compare rehearsed and real errors, and print their ratios."""
    options = _options()
    print("relative  recipe        epsilon  use                        rehearsed       real   ratio")
    within: dict[str, list[bool]] = {r: [] for r in options.relatives.split(",")}
    for relative in within:
        for name in options.recipes.split(","):
            for epsilon in options.epsilons.split(","):
                began = time.process_time()
                both = [_errors(relative, options.rows, w, name, Budget(epsilon)) for w in range(options.worlds)]
                said, found = np.mean([b[0] for b in both], axis=0), np.mean([b[1] for b in both], axis=0)
                for use, s, f in zip(_uses(name), said, found, strict=True):
                    within[relative].append(bool(1 / 1.5 <= s / f <= 1.5))
                    line = f"{relative:<9} {name:<13} {epsilon:>7}  {use.name:<24} {s:>11.5f} {f:>10.5f}"
                    print(f"{line} {s / f:>7.2f}", flush=True)
                print(f"{'':9} {options.worlds} worlds, {time.process_time() - began:.0f} s of CPU", flush=True)
    for relative, held in within.items():
        print(f"{relative}: within a factor of 1.5 in {sum(held)} of {len(held)}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def _errors(relative: str, rows: int, world: int, name: str, budget: Budget) -> tuple[list[float], list[float]]:
    """The rehearsed and the real error of every use that is not right of itself, in one world."""
    years = (2008, 2009, 2010, 2011)
    same = {"public_years": years, "drift": 0.0} if relative == "good" else {}
    tables = personnel(rows, world, years=years, **same)  # type: ignore[arg-type]
    schema, recipe = Schema.loads(personnel_schema()), RECIPES[name]()
    attaches = recipe.relation == "label-change"
    bare = tables.confidential.drop("person", *PRIVATE)
    target = CodedTable.read(bare, schema, role="target") if attaches else None
    public = PublicData(schema, CodedTable.read(tables.public, schema), target)
    given = tuple(bare.columns) if attaches else ()
    guarantee = Guarantee("person", 4, recipe.relation, given, "person")
    stand_in = StandIn(
        recipe,
        public,
        Tariff(schema.coding, guarantee, budget.measure),
        _uses(name),
        rows,
        tables.public["person"].cast(pl.String),
        drift=0.0,
    )
    rng = np.random.default_rng([5, world])
    played = rehearse(stand_in, budget=budget, epsilons=[Fraction(budget.epsilon)], runs=2, workers=1, rng=rng)
    with tempfile.TemporaryDirectory() as folder:
        gate = open_gate(
            tables.confidential,
            schema,
            budget,
            ledger=Path(folder) / "ledger.db",
            name="bench",
            relation=recipe.relation,
            unit="person",
            person="person",
            rows_per_person=4,
            public_columns=given,
        )
        fitted = recipe.fit(gate, public)
    made = CodedTable(schema, draw_one(fitted, public, rng).frame)
    truth = CodedTable(schema, tables.confidential.drop("person"))
    found = [u.error(u.figures(made), u.figures(truth)).error for u in _uses(name)]
    return [v.error or float("nan") for v in played.here.verdicts], found


def _uses(name: str) -> tuple[AbstractUse, ...]:
    """The uses that a recipe can miss: those without a private column are right when columns are attached."""
    attaches = RECIPES[name].relation == "label-change"
    return tuple(u for u in USES if not attaches or set(u.groups) & set(PRIVATE))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--worlds", type=int, default=24)
    parser.add_argument("--relatives", default="good,poor")
    parser.add_argument("--recipes", default="independent,tree_blend,public_blend,guided_tree")
    parser.add_argument("--epsilons", default="0.5,2")
    return parser.parse_args()


if __name__ == "__main__":
    main()
