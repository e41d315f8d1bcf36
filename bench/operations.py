"""How often the expensive things happen in a whole run: numbers that no other work on the machine can move.

    python -m bench.operations [--rows 20000] [--json]

One ``hedgerow run`` for each recipe on simulated personnel tables: how often the confidential file is read, how many
of its values are coded by the rule of their column, as a share of the rows (the most of all columns), how many
requests the gate answers, and how many public models are boosted and trees grown for a plan and its run together.
"""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from hedgerow.api.job import Job
from hedgerow.private import gate, local
from hedgerow.public.coding import CodedColumn
from hedgerow.public.files import Source
from hedgerow.recipes.trees import guided_tree
from hedgerow.simulate.personnel import personnel, personnel_schema

RECIPES = ("independent", "tree_blend", "public_blend", "guided_tree", "random_trees")
BARS = {"readings": 1, "codings of a column": 1, "boosted models": 1, "trees grown to ask by": 1}


@contextmanager
def watched(secret: Path, seen: Counter[str]) -> Iterator[None]:
    """Count what happens meanwhile."""
    read, code = Source.batches, local.encode
    boost, grow, answer = guided_tree.fit_boosted_trees, guided_tree.grow, gate.Gate.measure

    def told(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*given: Any, **named: Any) -> Any:
            seen[name] += 1
            return work(*given, **named)

        return instead

    def batches(source: Source, columns: Sequence[str], rows: int = 1 << 18) -> Iterator[pl.DataFrame]:
        seen["readings"] += source.name == str(secret)
        return read(source, columns, rows)

    def encode(rule: CodedColumn, column: pl.Series) -> Any:
        seen[f"coded {rule.name}"] += len(column)
        return code(rule, column)

    Source.batches, local.encode = batches, encode  # type: ignore[method-assign,assignment]
    guided_tree.fit_boosted_trees, guided_tree.grow = (
        told("boosted models", boost),
        told("trees grown to ask by", grow),
    )
    gate.Gate.measure = told("requests", answer)  # type: ignore[method-assign]
    try:
        yield
    finally:
        Source.batches, local.encode = read, code  # type: ignore[method-assign]
        guided_tree.fit_boosted_trees, guided_tree.grow = boost, grow
        gate.Gate.measure = answer  # type: ignore[method-assign]


def job_text(recipe: str) -> str:
    """A job on the tables in its folder."""
    attach = recipe in ("guided_tree", "random_trees")
    return (
        f'[job]\nrecipe = "{recipe}"\nseed = 1\nout = "{recipe}"\n[schema]\nfile = "schema.toml"\n'
        '[confidential]\ntable = "confidential.parquet"\nname = "personnel"\n'
        + ('relation = "label-change"\n' if attach else "")
        + '[public]\ntable = "public.parquet"\nprovenance = "simulated"\n'
        + ('[target]\ntable = "target.parquet"\n' if attach else "")
        + f'[budget]\nepsilon = 1\n[ledger]\nurl = "{recipe}.db"\n'
    )


def operations(recipe: str, folder: Path, rows: int) -> dict[str, float]:
    """What happened in one run, its plan included."""
    path, seen = folder / f"{recipe}.toml", Counter[str]()
    path.write_text(job_text(recipe), "utf-8")
    with watched(folder / "confidential.parquet", seen):
        Job.load(path).run(forecast=False)
    coded = max((n for name, n in seen.items() if name.startswith("coded ")), default=0)
    return {
        "readings": seen["readings"],
        "codings of a column": coded / rows,
        "requests": seen["requests"],
        "boosted models": seen["boosted models"],
        "trees grown to ask by": seen["trees grown to ask by"],
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    tables = personnel(asked.rows, 1)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in ("public", "confidential", "target"):
            getattr(tables, name).write_parquet(folder / f"{name}.parquet")
        (folder / "schema.toml").write_text(personnel_schema(), "utf-8")
        found = {recipe: operations(recipe, folder, len(tables.confidential)) for recipe in RECIPES}
    if asked.json:
        print(json.dumps({"rows": asked.rows, "found": found, "bars": BARS}, indent=1))
        return
    for recipe, counts in found.items():
        print(f"{recipe:14}", "  ".join(f"{name} {value:g}" for name, value in counts.items()))


if __name__ == "__main__":
    main()
