"""Labels once per person against labels row by row, at the same epsilon for a person of up to 20 rows.

    python -m bench.people --seeds 0-4 --epsilons 0.1,0.3,1,3 [--rows 40000] [--out bench/people.csv]
    python -m bench.people --summary bench/people.csv

A world is ``personnel(rows, seed)`` with 20 years: people of 1 to 20 rows, public table of the 20 years before.  The
target has the confidential table's own rows without sex and race (label-change), so that all error comes from noise,
from the public table and from drawing.  ``people``: facts about people, each counted once.  ``rows``: each row by
itself with rows_per_person = 20.  Both are ``guided_tree`` with ``outcomes = ["pay"]``, through the real gate.

Errors, each against the confidential table: ``sex x agency`` and ``race x agency`` are the mean over years of
the total variation of that year's table; ``pay gap`` the mean over years of the error of the coefficient of
sex in GAP; ``two labels`` the share of people whose rows do not agree on sex.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hedgerow.pipeline import open_gate
from hedgerow.public import Budget, CodedTable, PublicData, Schema
from hedgerow.recipes import GuidedTree, person_facts
from hedgerow.records import draw_one
from hedgerow.simulate.personnel import personnel, personnel_schema
from hedgerow.uses import Coefficient

YEARS, PUBLIC_YEARS, MOST = tuple(range(1992, 2012)), tuple(range(1972, 1992)), 20
GAP = Coefficient(
    "ln(pay) ~ sex + race + age + education + grade | agency + occupation",
    "sex[F]",
    by=["year"],
    tolerance=0.02,
    reference="M",
)
PRIVATE = ("sex", "race")


def world(rows: int, seed: int) -> tuple[Schema, pl.DataFrame, CodedTable]:
    """The schema, the confidential table, and its public relative."""
    made = personnel(rows, seed, years=YEARS, public_years=PUBLIC_YEARS)
    schema = Schema.loads(personnel_schema(years=(*PUBLIC_YEARS, *YEARS)))
    return schema, made.confidential, CodedTable.read(made.public, schema, "target")


def attach(
    how: str, schema: Schema, secret: pl.DataFrame, relative: CodedTable, epsilon: str, seed: int
) -> pl.DataFrame:
    """The confidential table's own rows with synthetic sex and race, and the person of each."""
    target = CodedTable.read(secret.drop(PRIVATE), schema, "target")
    public, recipe = PublicData(schema, relative, target), GuidedTree(outcomes=("pay",))
    facts = person_facts(recipe, public, person="person", time="year") if how == "people" else ()
    given = tuple(c.name for c in schema.columns if c.name not in PRIVATE)
    with tempfile.TemporaryDirectory() as folder:
        gate = open_gate(
            secret,
            schema,
            Budget(epsilon),
            relation="label-change",
            ledger=Path(folder) / "ledger.db",
            name="personnel",
            facts=facts,
            unit="person",
            person="person",
            rows_per_person=1 if facts else MOST,
            public_columns=given,
        )
        made = draw_one(recipe.fit(gate, public), public, np.random.default_rng(seed)).frame
    return made if facts else made.with_columns(secret["person"])


def errors(schema: Schema, secret: pl.DataFrame, made: pl.DataFrame) -> dict[str, float]:
    """How far the rows with synthetic labels are from the confidential ones, year by year."""
    true, mine = CodedTable(schema, secret), CodedTable(schema, made)
    found = {f"{p} x agency": _tables(true, mine, (p, "agency")) for p in PRIVATE}
    found["pay gap"] = float(np.nanmean(np.abs(GAP.figures(mine).values - GAP.figures(true).values)))
    labels = made.group_by("person").agg(pl.n_unique("sex"))["sex"]
    return found | {"two labels": float((labels > 1).mean())}  # type: ignore[arg-type]


def _tables(true: CodedTable, mine: CodedTable, columns: tuple[str, ...]) -> float:
    size, years = true.schema.size(columns), len(true.schema.cell_labels("year"))
    counts = [
        np.bincount(t.cells(("year", *columns)), minlength=years * size).reshape(years, size) for t in (true, mine)
    ]
    there = counts[0].sum(axis=1) > 0
    shares = [c[there] / c[there].sum(axis=1, keepdims=True) for c in counts]
    return float(np.abs(shares[0] - shares[1]).sum(axis=1).mean() / 2)


def main() -> None:
    """Run the cells that are asked for, and print or keep a line for each."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--seeds", default="0-2")
    parse.add_argument("--epsilons", default="0.1,0.3,1,3")
    parse.add_argument("--rows", type=int, default=40_000)
    parse.add_argument("--out", type=Path)
    parse.add_argument("--summary", type=Path)
    said = parse.parse_args()
    if said.summary:
        print(summary(pl.read_csv(said.summary)))
        return
    first, _, last = said.seeds.partition("-")
    lines: list[dict[str, Any]] = []
    for seed in range(int(first), int(last or first) + 1):
        schema, secret, relative = world(said.rows, seed)
        for epsilon in said.epsilons.split(","):
            for how in ("people", "rows"):
                begun = time.process_time()
                made = attach(how, schema, secret, relative, epsilon, seed)
                found = errors(schema, secret, made)
                lines.append(
                    {
                        "seed": seed,
                        "rows": said.rows,
                        "epsilon": float(epsilon),
                        "how": how,
                        **found,
                        "seconds": time.process_time() - begun,
                    }
                )
                print({k: round(v, 4) if isinstance(v, float) else v for k, v in lines[-1].items()}, flush=True)
        if said.out:
            pl.DataFrame(lines).write_csv(said.out)
    print(summary(pl.DataFrame(lines)))


def summary(lines: pl.DataFrame) -> pl.DataFrame:
    """The mean of each error over worlds."""
    figures = [c for c in lines.columns if c not in ("seed", "rows", "epsilon", "how")]
    return lines.group_by("epsilon", "how").agg(pl.mean(*figures), pl.len().alias("worlds")).sort("epsilon", "how")


if __name__ == "__main__":
    with pl.Config(tbl_cols=-1, tbl_width_chars=160):
        main()
