"""``public_blend``: a column of other places or years, and what it leaves of the rest of the public table."""

from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.answers import RecordedAnswers, StandInGate
from hedgerow.public import CodedTable, Guarantee, PublicData, Schema, Tariff, budget_for
from hedgerow.recipes import PublicBlend, TreeBlend
from hedgerow.records import draw_one

SIZES = {"year": 20, "pay": 60, "school": 16, "sex": 2, "trade": 6}
ORDERED = ("year", "pay", "school")
SCHEMA = Schema.loads(
    "".join(
        f'[columns.{name}]\nkind = "{"ordered" if name in ORDERED else "categorical"}"\n'
        f"values = {[*map(str, range(size))]}\n"
        for name, size in SIZES.items()
    ).replace("'", '"')
)


def people(years: range, seed: int, yearly: float = -1.6, rows: int = 8000) -> CodedTable:
    """Who went to school for longer is paid more, trades and sexes differ, and pay moves with ``years``."""
    rng = np.random.default_rng(seed)
    codes = {"year": rng.choice(years, rows), "sex": rng.integers(0, 2, rows)}
    codes["trade"] = (rng.random(rows) * (3 + 3 * codes["sex"])).astype(int)
    codes["school"] = np.clip(np.rint(rng.normal(6 + 0.8 * codes["trade"], 2.5)), 0, 15).astype(int)
    level = 30 + 1.5 * (codes["school"] - 8) + yearly * (codes["year"] - np.mean(years)) + rng.normal(0, 7, rows)
    codes["pay"] = np.clip(np.rint(level), 0, 59).astype(int)
    return CodedTable.read(pl.DataFrame({c: codes[c].astype(str) for c in SIZES}), SCHEMA)


SECRET = people(range(10, 20), 1)
EARLIER = people(range(10), 0, yearly=0.8)  # pay rose then


def made(
    recipe: PublicBlend | TreeBlend,
    public: CodedTable,
    epsilon: str,
    seed: int = 2,
    secret: CodedTable | None = None,
) -> tuple[pl.DataFrame, RecordedAnswers, PublicData]:
    """The records of a run in codes, what it asked, and what is public."""
    budget, target = budget_for(epsilon, "1e-6", "gdp"), secret or SECRET
    tariff, known = Tariff(SCHEMA.coding, Guarantee(), budget.measure), PublicData(SCHEMA, public)
    gate = StandInGate(tariff, budget, target, target.rows, np.random.default_rng(seed))
    answers = RecordedAnswers(tariff, budget, [], live=gate)
    records = draw_one(recipe.fit(answers, known), known, np.random.default_rng(3)).frame
    assert gate.left == 0
    return records.cast(pl.Int64), answers, known


def cells(table: pl.DataFrame, pair: tuple[str, str]) -> npt.NDArray[np.float64]:
    first, second = (table[c].cast(pl.Int64).to_numpy() for c in pair)
    return np.bincount(first * SIZES[pair[1]] + second, minlength=SIZES[pair[0]] * SIZES[pair[1]]) / len(table)


def off(table: pl.DataFrame, secret: CodedTable) -> float:
    """How far pairs without the year are from the truth, on average."""
    pairs = list(combinations([c for c in SIZES if c != "year"], 2))
    return float(np.mean([np.abs(cells(table, p) - cells(secret.frame, p)).sum() for p in pairs]))


def test_years_of_which_the_public_table_has_none_do_not_put_all_of_it_aside() -> None:
    """The other columns are those of a good relative; the year alone is further off than even shares of all are."""
    public, secret = people(range(8, 10), 0, yearly=0.8), people(range(10, 12), 1)
    records, answers, known = made(PublicBlend(), public, "0.3", secret=secret)
    said = PublicBlend().findings(answers, known)
    assert said[0].startswith("In year the answers do not bear the public table out")
    assert off(records, secret) < 0.8 * off(made(TreeBlend(), public, "0.3", secret=secret)[0], secret)


def test_a_table_of_which_most_columns_are_of_other_people_is_put_aside() -> None:
    frame = EARLIER.frame.with_columns(pl.lit("59").alias("pay"), pl.lit("15").alias("school"))
    _, answers, known = made(PublicBlend(), CodedTable.read(frame, SCHEMA), "0.3")
    (said,) = PublicBlend().findings(answers, known)
    assert "it is no relative, it was put aside" in said
