"""One table with every kind of column, put wherever an engine can count it; and what to ask about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hedgerow.counting.plan import UNIT, CountPlan
from hedgerow.public import TOTAL, CodedColumn, Codes, Coding, Guarantee, JoinedColumn, Marginal, Tree

ROWS = 3000
RECORDS = Guarantee()
PEOPLE = Guarantee(unit="person", person="id", rows_per_person=2)
COUNTS = Guarantee(count="n")


def table(rows: int = ROWS, seed: int = 1) -> pl.DataFrame:
    """People with several rows; values that the coding knows, does not know, or that are missing."""
    rng = np.random.default_rng(seed)

    def pick(*values: Any) -> list[Any]:
        return [values[i] for i in rng.integers(0, len(values), rows)]

    days = [date(1960, 1, 1) + timedelta(int(d)) for d in rng.integers(0, 20_000, rows)]
    return pl.DataFrame(
        {
            "id": rng.integers(0, rows // 3, rows),
            "name": [f" {i} " if i % 7 else None for i in rng.integers(0, rows // 3, rows)],
            "sex": pick("F", "M", " F", "x", "", None),
            "age": pl.Series(pick(*range(-1, 99), None), dtype=pl.Int64),
            "pay": pl.Series(np.where(rng.random(rows) < 0.1, 0, rng.normal(50, 20, rows))),
            "born": pl.Series([None if d.day == 9 else d for d in days], dtype=pl.Date),
            "seen": pl.Series(
                [datetime(2000, 1, 1) + timedelta(hours=int(h)) for h in rng.integers(0, 90_000, rows)]
            ),
            "note": pick("1", "02", "3.0", "z", None),
            "day": pick("1999-12-31", "2020-02-29", "no day", None),
            "yes": pick(True, False, None),
            "grade": pick(1.0, 2.0, 2.5, float("nan"), None),
            "n": pl.Series(pick(0, 1, 2, 5, None), dtype=pl.Int64),
        }
    ).with_columns(
        pay=pl.when(pl.col("age") == 3).then(None).when(pl.col("age") == 4).then(float("nan")).otherwise("pay")
    )


COLUMNS = (
    CodedColumn("sex", "text", 3, 2, 2, ("F", "M"), (0, 1)),
    CodedColumn("age", "number", 6, 5, 4, edges=(18.0, 30.0, 60.0), bins=(0, 1, 2, 3)),
    CodedColumn("pay", "number", 12, 11, 11, ("0",), (10,), edges=tuple(10.0 * i for i in range(1, 9))),
    CodedColumn("born", "date", 5, 4, 4, edges=(0.0, 3000.0, 9000.0)),
    CodedColumn("seen", "date", 4, 3, 3, edges=(11_000.0, 12_000.0)),
    CodedColumn("note", "text", 4, 3, 2, ("1", "3.0"), (0, 1)),
    CodedColumn("day", "date", 4, 3, 2, edges=(18_000.0,)),
    CodedColumn("yes", "text", 3, 2, 2, ("true", "false"), (1, 0)),
    CodedColumn("grade", "text", 4, 3, 2, ("1", "2"), (0, 1)),
)
CROSS = tuple((7 * i) % 11 % 7 for i in range(18))
CODING = Coding(COLUMNS, (JoinedColumn("sex and age", ("sex", "age"), (3, 6), CROSS, 7),))
TREE = Tree.of(("sex", "age"), 5, [0, 1, 1], [0, 3, 9], [1, 2, -1, -1, -2, -3, -4, -5, -1, -2, -2, -3, -3, -4, -4])
QUESTIONS = [
    TOTAL,
    *(Marginal((c.name,)) for c in COLUMNS),
    Marginal(("sex", "age")),
    Marginal(("pay", "born", "note")),
    Marginal(("note", "sex and age")),
    Marginal(("sex", "pay", "born", "seen", "note", "day")),  # a wide block
    Marginal(("pay",), TREE),
    Marginal((), TREE, "sex"),
    Marginal(("age",), None, "yes"),
    Marginal(("yes",), Tree.of(("sex",), 1, [], [], [])),
    TOTAL,
]
PLAN = CountPlan(QUESTIONS, CODING)


@dataclass(frozen=True)
class FirstOfPerson:
    """A mapping that looks at whole people: of each, the first row in the order of the codes of age."""

    def __call__(self, codes: Mapping[str, Codes]) -> Mapping[str, Codes]:
        """The row of each person with the least age."""
        by = np.lexsort((codes["age"], codes[UNIT]))
        first = by[np.flatnonzero(np.diff(codes[UNIT][by].astype(np.int64), prepend=-1))]
        return {
            "age": codes["age"][first],
            "sex": np.minimum(np.bincount(codes[UNIT])[codes[UNIT][first]] - 1, 2).astype(np.uint8),
        }


BY_PERSON = CountPlan([Marginal(("age", "sex"))], CODING, mapping=FirstOfPerson(), looks=("age", UNIT))


def in_duckdb(frame: pl.DataFrame, path: Path) -> str:
    """The address of the table in a new DuckDB file."""
    import duckdb

    with duckdb.connect(str(path)) as db:
        db.register("rows", frame.to_arrow())
        db.execute('CREATE TABLE "the table" AS SELECT * FROM rows')
    return f"duckdb:{path}#the table"


def in_postgresql(frame: pl.DataFrame, url: str, name: str = "The table") -> str:
    """The address of the table in a PostgreSQL database; its rows are put there in another order."""
    import psycopg

    kinds = {"Int64": "bigint", "Float64": "double precision", "Date": "date", "Boolean": "boolean", "String": "text"}
    types = ", ".join(f'"{n}" {kinds.get(str(k), "timestamp")}' for n, k in frame.schema.items())
    listed = ", ".join(f'"{c}"' for c in frame.columns)
    lines = frame.sample(fraction=1, shuffle=True, seed=5).write_csv(include_header=False)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f'DROP TABLE IF EXISTS "{name}"'.encode())  # a file's tests may come to one process in two parts
        db.execute(f'CREATE TABLE "{name}" ({types})'.encode())
        with db.cursor().copy(f'COPY "{name}" FROM STDIN (FORMAT csv, FORCE_NULL ({listed}))'.encode()) as copy:
            copy.write(lines)
    return f"{url}#{name}"


def in_folder(frame: pl.DataFrame, folder: Path, files: int = 3) -> Path:
    """A folder of Parquet files, rows in another order."""
    folder.mkdir()
    mixed = frame.sample(fraction=1, shuffle=True, seed=6)
    for i in range(files):
        mixed[i::files].write_parquet(folder / f"part-{i}.parquet")
    return folder
