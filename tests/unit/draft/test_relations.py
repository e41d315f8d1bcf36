"""Suggestions hold in the rows, are beyond chance, and are fast."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hedgerow as hr
from hedgerow.public.schema import Schema, violations
from hedgerow.public.schema.drafting.draft import draft
from hedgerow.public.schema.drafting.relations import Relations, always_below, exclusions, thresholds
from hedgerow.recipes import RECIPES
from tests.unit.draft.drafting_tools import drafted, written

rng = np.random.default_rng(11)
N = 5_000
AREA = rng.integers(0, 30, N)


def codes(**columns: np.ndarray) -> Relations:
    return Relations(columns, {n: int(c.max()) + 1 for n, c in columns.items()}, tuple(columns))


def test_a_column_fixed_by_another_is_found_and_chains_have_one_head() -> None:
    found = codes(coast=AREA // 15, area=AREA, state=AREA // 5, sex=rng.integers(0, 2, N)).determined
    assert found == {"coast": "area", "state": "area"}


def test_two_names_for_the_same_thing_keep_the_first() -> None:
    assert codes(name=AREA, code=(AREA * 7) % 30).determined == {"code": "name"}


def test_one_exception_is_enough_to_stay_silent() -> None:
    state = AREA // 5
    state[0] = (state[0] + 1) % 6
    assert codes(area=AREA, state=state).determined == {}


def test_too_few_rows_to_tell_stay_silent() -> None:
    area = AREA.copy()
    area[:20] = 30
    assert codes(area=area, flag=(area == 30).astype(int)).determined == {}


def test_a_nearly_unique_column_fixes_nothing_by_accident() -> None:
    assert codes(row=np.arange(N), sex=rng.integers(0, 2, N)).determined == {}


def test_independent_columns_are_not_joined() -> None:
    wide = {f"c{i}": rng.integers(0, 2 + i, N) for i in range(8)}
    assert codes(**wide).joins == ()


def test_columns_that_rule_each_other_out_are_joined_with_their_count() -> None:
    any_, private = rng.integers(0, 2, N), rng.integers(0, 2, N)
    employer = rng.integers(0, 2, N)
    found = codes(any=any_, private=any_ * private, employer=any_ * private * employer, x=rng.integers(0, 3, N)).joins
    assert len(found) == 1 and found[0].columns == ("any", "private", "employer")
    assert (found[0].seen, found[0].possible) == (4, 8)


def test_order_is_found_and_implied_order_is_not_repeated() -> None:
    low = rng.uniform(0, 100, N)
    middle, high = low + rng.uniform(0, 30, N), low + rng.uniform(30, 90, N)
    assert always_below({"high": high, "low": low, "middle": middle}) == (("low", "middle"), ("middle", "high"))


def test_order_with_one_exception_is_no_rule() -> None:
    low = rng.uniform(0, 100, N)
    high = low + rng.uniform(0, 30, N)
    high[7] = low[7] - 1
    assert always_below({"low": low, "high": high}) == ()


def test_numbers_that_never_meet_are_no_rule() -> None:
    assert always_below({"share": rng.uniform(0, 1, N), "pay": rng.uniform(20_000, 90_000, N)}) == ()


def test_rows_without_both_numbers_do_not_count() -> None:
    a = rng.uniform(0, 100, N)
    b = np.where(np.arange(N) % 2, a + 1, np.nan)
    assert always_below({"a": a, "b": b}) == (("a", "b"),)


def test_a_value_bound_to_an_age_is_found() -> None:
    age = rng.integers(0, 80, N).astype(float)
    marital = np.where(age < 15, 0, rng.integers(1, 5, N))
    (found,) = thresholds({"marital": (marital, 5)}, {"age": age})
    assert found.codes == (0,) and (found.last, found.first) == (14.0, 15.0)
    assert thresholds({"band": (age.astype(int) // 20, 4)}, {"age": age}) == ()


def test_what_excludes_what_is_found_and_chance_is_not() -> None:
    hourly, other = rng.integers(0, 2, N), rng.integers(0, 5, N)
    overtime = hourly * rng.integers(0, 2, N)
    found = exclusions({"hourly": (hourly, 2), "overtime": (overtime, 2), "other": (other, 5)}, set())
    assert [(e.column, e.states, e.other, e.others) for e in found] == [("hourly", (0,), "overtime", (1,))]
    assert exclusions({"hourly": (hourly, 2), "overtime": (overtime, 2)}, {frozenset(("hourly", "overtime"))}) == ()


def payroll(rows: int, seed: int) -> pl.DataFrame:
    """Pay of a month never above that of the year to date; overtime for the hourly paid alone."""
    at = np.random.default_rng(seed)
    month = np.exp(at.normal(8.3, 0.4, rows)).round()
    hourly = at.random(rows) < 0.5
    return pl.DataFrame(
        {
            "regular_pay": month.astype(int),
            "ytd_pay": (month * at.integers(1, 13, rows) * at.uniform(1, 1.1, rows)).astype(int) + 1,
            "basis": np.where(hourly, "hourly", "salary"),
            "overtime": np.where(hourly & (at.random(rows) < 0.5), at.integers(1, 900, rows), 0),
        }
    )


@pytest.mark.parametrize("recipe", ["tree_blend", "public_blend"])
def test_orders_and_exclusions_of_a_payroll_are_suggested_and_kept_by_the_records(
    tmp_path: Path, recipe: str
) -> None:
    public = payroll(3000, 1)
    text = written(drafted(public, tmp_path))
    _, _, tail = text.partition("source = ")
    on = "\n".join(line.removeprefix("# ") if _is_suggestion(line) else line for line in tail.splitlines())
    schema = Schema.loads("source = " + on)
    assert [str(r) for r in schema.rules] == ["regular_pay <= ytd_pay"] and len(schema.zeros) == 1
    made = {}
    for name, declared in (("with", schema), ("without", replace(schema, rules=(), zeros=()))):
        release = hr.Job(
            confidential=hr.Confidential(payroll(3000, 2), name="payroll"),
            public=hr.Public(public) if recipe == "public_blend" else None,
            schema=declared,
            budget=hr.Budget(epsilon=1),
            recipe=RECIPES[recipe](),
            ledger=str(tmp_path / f"{name}.db"),
        ).run(tmp_path / name)
        made[name] = violations(schema, release.records).sum()
    assert made["with"] == 0 and made["without"] > 0, made


def test_every_suggestion_can_be_switched_on(tmp_path: Path) -> None:
    age = rng.integers(0, 80, N)
    table = pl.DataFrame(
        {
            "age": age,
            "marital": np.where(age < 15, "N", rng.choice(["single", "married", "widowed"], N)),
            "area": [f"AB{a:02}" for a in AREA],
            "state": [f"S{a // 5}" for a in AREA],
            "seen from": rng.integers(0, 3_000, N),
            "insured": (anyone := rng.integers(0, 2, N)) + 1,
            "employer": anyone * rng.integers(0, 2, N) + 1,
        }
    ).with_columns(total=pl.col("seen from") + rng.integers(0, 900, N))
    text = written(drafted(table, tmp_path))
    for word in ("determined_by", "[[joined]]", "[[zero]]", "[[rule]]"):
        assert f"# {word}" in text
    head, _, tail = text.partition("source = ")
    on = "\n".join(line.removeprefix("# ") if _is_suggestion(line) else line for line in tail.splitlines())
    schema = Schema.loads("source = " + on).resolved(table)
    assert schema.column("state").determined_by == ("area",)
    assert len(schema.joined) == 1 and len(schema.zeros) == 2 and len(schema.rules) == 1
    assert schema.rules[0].left == "seen from" and schema.rules[0].right == "total"


def _is_suggestion(line: str) -> bool:
    keys = ("determined_by", "[[", "name =", "columns =", "keep =", "where =", "left =", "right =")
    return line.startswith(tuple(f"# {k}" for k in keys))


def test_sixty_columns_that_have_nothing_to_do_with_each_other_suggest_nothing(tmp_path: Path) -> None:
    rows = 20_000
    codes = {f"c{i}": rng.integers(0, 2 + i, rows) for i in range(30)}
    numbers = {f"x{i}": rng.normal(50_000, 10_000, rows).round(i % 3) for i in range(30)}
    pl.DataFrame(codes | numbers).write_parquet(tmp_path / "wide.parquet")
    drawn = draft(str(tmp_path / "wide.parquet"))
    assert len(drawn.kept) == 60 and drawn.suggestions == ()
