"""A value that the schema does not know is never published as one that it knows."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hedgerow as hr
from hedgerow.errors import JobError, SchemaError, TableMismatch
from hedgerow.public.frames import open_public
from hedgerow.public.schema import Schema, decode
from hedgerow.public.schema.bins import Bins
from hedgerow.public.schema.column import Column
from hedgerow.public.schema.fit import ColumnFit, TableFit
from hedgerow.public.schema.structure import Declaration
from hedgerow.public.table import CodedTable
from tests.jobs import loads

STATES = ["CA", "NY", "OH", "TX", "WA"]
rng = np.random.default_rng(3)


def people(states: list[str], rows: int = 400) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "state": [states[i % len(states)] for i in range(rows)],
            "year": [2010 + i % 4 for i in range(rows)],
            "sex": ["FM"[i % 2] for i in range(rows)],
            "code": [1 + i % 7 for i in range(rows)],
            "member": [bool(i % 3) for i in range(rows)],
            "pay": [20_000 + 137 * (i % 300) for i in range(rows)],
        }
    )


def job(folder: Path, *, schema: str, more: str = "", public: bool = True) -> Path:
    """A job file in ``folder`` with its tables: the confidential and the target have two states more."""
    (folder / "schema.toml").write_text(schema, "utf-8")
    people(STATES).write_csv(folder / "public.csv")
    people([*STATES, "FL", "NV"]).write_csv(folder / "secret.csv")
    if not (folder / "target.csv").exists():
        people([*STATES, "FL", "NV"]).drop("sex").write_csv(folder / "target.csv")
    path = folder / "job.toml"
    path.write_text(
        f"""
[confidential]
table = "secret.csv"
{more}
[budget]
epsilon = 1
"""
        + ('[public]\ntable = "public.csv"\n' if public else ""),
        "utf-8",
    )
    return path


def prepared(path: Path) -> hr.Job:
    return hr.Job.load(path)


def test_every_column_of_a_draft_has_a_cell_that_is_no_value_for_what_it_does_not_know() -> None:
    drafted = hr.Schema.draft(people(STATES))
    strange = pl.DataFrame(
        {"state": ["FL"], "year": ["2020"], "sex": ["X"], "code": ["99"], "member": ["perhaps"], "pay": ["much"]}
    )
    gone = pl.DataFrame({n: [None] for n in strange.columns}, schema=dict.fromkeys(strange.columns, pl.String))
    known = {c: codes for c, codes in drafted.coding.encode(people(STATES), drafted.attributes).items()}
    for table in (strange, gone):
        for name, code in drafted.coding.encode(table, drafted.attributes).items():
            assert drafted.column(name).knows_unknown
            assert int(code[0]) not in set(known[name].tolist()), name


def test_what_is_unknown_is_decoded_to_what_reads_back_as_unknown() -> None:
    drafted = hr.Schema.draft(people(STATES))
    codes = {n: np.array([drafted.column(n).unknown]) for n in drafted.attributes}
    record = decode(drafted, codes, rng)
    assert record["state"].to_list() == ["other"] and record["year"].to_list() == [None]
    assert record["year"].dtype == pl.Int64 and record["member"].dtype == pl.Boolean
    again = drafted.coding.encode(record, drafted.attributes)
    assert {n: c.tolist() for n, c in again.items()} == {n: c.tolist() for n, c in codes.items()}


def test_the_word_for_what_is_unknown_is_never_a_value_of_the_column() -> None:
    frame = pl.DataFrame({"race": ["White", "Black", "Other", "not listed"] * 50, "n": ["a", "b"] * 100})
    race = hr.Schema.draft(frame).column("race")
    assert race.knows_unknown and race.other not in (*race.values, "other", None)


def test_a_year_that_is_not_listed_is_missing_and_a_larger_pay_is_in_the_last_bin() -> None:
    drafted = hr.Schema.draft(people(STATES))
    frame = pl.DataFrame({"year": [2009, 2014, 2011], "pay": [10**7, -5, 20_000]})
    codes = drafted.coding.encode(frame, ["year", "pay"])
    year, pay = drafted.column("year"), drafted.column("pay")
    assert codes["year"].tolist() == [year.unknown, year.unknown, 1]
    assert codes["pay"].tolist()[:2] == [pay.bin_count - 1, 0]


def test_a_schema_without_a_place_for_the_unknown_is_refused_before_a_row_is_read(tmp_path: Path) -> None:
    schema = '[columns.state]\nkind = "categorical"\nvalues = ["CA", "NY"]\n'
    bare = job(tmp_path, schema=schema, public=False)
    (tmp_path / "secret.csv").write_text("state\n", "utf-8")  # a header: no row can have been looked at
    for verb in (lambda: prepared(bare).plan(), lambda: prepared(bare).run(tmp_path / "out")):
        with pytest.raises(SchemaError, match="does not say where values go that it does not know.*state") as refused:
            verb()
        assert 'other = "other"' in str(refused.value)


def test_a_declared_value_for_the_unknown_is_taken_and_said() -> None:
    sex = Column("sex", "categorical", values=("F", "M"), other="M")
    fit = hr.Schema((sex,)).check(pl.DataFrame({"sex": ["F", "X", None, "F"]}), outside=0.5)
    assert fit.lines == (
        "1 of 4 rows have a value of sex that the schema does not know ('X'): counted under 'M', as the schema says",
        "1 of 4 rows have no sex, and the schema has no cell for that: counted under 'M', as the schema says",
    )
    age = Column("age", "integer", bins=hr.Schema.draft(people(STATES)).column("year").bins, other="2011")
    assert age.coded.encode(pl.Series(["x", None, "2013"])).tolist() == [1, 1, 3]


def test_plan_counts_and_shows_what_public_and_target_hold_outside(tmp_path: Path) -> None:
    schema = hr.Schema.draft(people(STATES)).dumps()
    made = job(tmp_path, schema=schema)
    text = made.read_text() + '[job]\nrecipe = "guided_tree"\n[target]\ntable = "target.csv"\n[guided_tree]\n'
    text += 'columns = ["sex"]\n[schema]\noutside = 0.3\n'
    text = text.replace(
        'table = "secret.csv"', 'table = "secret.csv"\npublic_columns = ["state", "year", "code", "member", "pay"]'
    )
    made.write_text(text)
    plan = prepared(made).plan()
    (line,) = [x for x in plan.outside if "state" in x]
    n = people([*STATES, "FL", "NV"])["state"].is_in(["FL", "NV"]).sum()
    assert line.startswith(
        f"target table: {n} of 400 rows have a value of state that the schema does not know ('FL',"
    )
    assert "counted under 'other'" in line
    said = {f["role"]: f for f in plan.to_json()["tables_and_schema"]}
    assert [c["outside"] for c in said["target"]["columns"] if c["column"] == "state"] == [n]
    assert all(c["outside"] == 0 for c in said["public"]["columns"])
    made.write_text(text.replace("outside = 0.3", "outside = 0.2"))
    with pytest.raises(TableMismatch, match="target table.*does not fit the schema") as refused:
        prepared(made).plan()
    assert f"{n} of 400 rows" in str(refused.value) and "nothing was spent" in str(refused.value)


def test_booleans_fit_a_schema_drafted_from_their_text_and_words_do_not_fit_numbers(tmp_path: Path) -> None:
    people(STATES).with_columns(pl.col("member").cast(pl.String).str.to_titlecase()).write_csv(tmp_path / "old.csv")
    drafted = hr.Schema.draft(tmp_path / "old.csv")
    assert drafted.column("member").yes == ("True",)
    table = CodedTable.read(people(STATES), drafted)
    assert table.codes(["member"])["member"].tolist() == people(STATES)["member"].cast(pl.Int64).to_list()
    words = people(STATES).with_columns(pay=pl.lit("twenty thousand"))
    assert not drafted.check(words).holds
    made = job(tmp_path, schema=drafted.dumps())
    words.write_csv(tmp_path / "public.csv")
    with pytest.raises(TableMismatch, match="400 of 400 rows have a value of pay") as refused:
        prepared(made).plan()
    assert "outside = 1 in [columns.pay]" in str(refused.value), "0.5, as it said, would be refused again"


def test_a_column_without_a_place_refuses_public_values_outside() -> None:
    schema = Schema.loads('[columns.sex]\nkind = "categorical"\nvalues = ["F", "M"]\n')
    for value, said in (("X", "has 'X'"), (None, "a missing value")):
        table = CodedTable.read(pl.DataFrame({"sex": ["F", value]}), schema)
        with pytest.raises(TableMismatch, match=said):
            table.codes(["sex"])


def test_a_combination_that_a_join_does_not_know_is_unknown_in_all_its_parts() -> None:
    schema = Schema.loads(
        '[columns.sex]\nkind = "categorical"\nvalues = ["F", "M"]\nother = "?"\n'
        '[columns.job]\nkind = "categorical"\nvalues = ["x", "y"]\nother = "other"\n'
        '[[joined]]\nname = "both"\ncolumns = ["sex", "job"]\ncombinations = [["F", "x"], ["M", "y"]]\n'
    )
    frame = pl.DataFrame({"sex": ["F", "M", "M", "X"], "job": ["x", "y", "x", "y"]})
    codes = schema.coding.encode(frame, ["both"])
    assert schema.cell_labels("both") == ("F, x", "M, y", "?, other") and codes["both"].tolist() == [0, 1, 2, 2]
    assert decode(schema, codes, rng).rows()[2:] == [("?", "other")] * 2
    assert "2 of 4 rows have a combination of both" in "\n".join(schema.check(frame).lines)


def test_the_share_is_of_the_job_or_of_the_column_and_a_list_cut_short_allows_its_own(tmp_path: Path) -> None:
    text = job(tmp_path, schema=hr.Schema.draft(people(STATES)).dumps()).read_text() + "[schema]\noutside = {}\n"
    assert loads(text.format(0.5), tmp_path / "j").outside == 0.5
    with pytest.raises(JobError, match="schema.outside: .* less than or equal to 1"):
        loads(text.format(2), tmp_path / "j")
    towns = pl.DataFrame({"town": [f"town {i % 40}" for i in range(3000)] + [f"only {i}" for i in range(2000)]})
    drafted = hr.Schema.draft(towns)
    assert drafted.column("town").outside == 0.45 and drafted.check(towns).holds
    assert hr.Schema.loads(drafted.dumps()) == drafted


def test_every_row_is_counted_and_strangers_stand_in_the_order_of_the_rows() -> None:
    column = Column("sex", "categorical", values=("F", "M"), other="other", missing_values=("-",))
    values = ["z", "F", " a", "z ", None, "-", "M", "a", *("F", "b") * 50]
    found = ColumnFit("sex").plus(column, pl.Series("sex", values))
    assert (found.rows, found.missing, found.outside) == (108, 2, 54) and found.strangers == ("z", "a", "b")
    pay = Schema.loads(
        '[columns.pay]\nkind = "integer"\nmissing = true\nbins = { low = 0, high = 100, width = 50 }'
    ).column("pay")
    numbers = ColumnFit("pay").plus(pay, pl.Series([5, 5, 200, 200, 200, None]))
    assert (numbers.rows, numbers.missing, numbers.clamped, numbers.outside) == (6, 1, 3, 0)


def test_whole_numbers_are_the_same_values_however_a_file_writes_them(tmp_path: Path) -> None:
    """One missing value makes 1 a 1.0 in one file and not in the other: all rows would have become unknown."""
    with_gap = pl.DataFrame({"race": [1.0, 2.0, None, 3.0] * 50, "member": [1.0, 0.0, 1.0, None] * 50,
                             "late": [0.0, 15.5, 20.25, 0.0] * 50})  # fmt: skip
    with_gap.write_csv(tmp_path / "gap.csv")
    with_gap.write_parquet(tmp_path / "gap.parquet")
    with_gap.fill_null(1).with_columns(pl.col("race", "member").cast(pl.Int64)).write_csv(tmp_path / "whole.csv")
    files = ("gap.csv", "gap.parquet", "whole.csv")
    for drafted in files:
        schema = Schema.draft(tmp_path / drafted).resolved(pl.read_parquet(tmp_path / "gap.parquet"))
        assert schema.column("race").values == ("1", "2", "3"), drafted
        for file in files:
            fit = TableFit.of(schema, open_public(str(tmp_path / file)))
            assert fit.holds and fit.lines == (), (drafted, file)
            typed = pl.read_csv(tmp_path / file) if file.endswith("csv") else pl.read_parquet(tmp_path / file)
            codes = schema.coding.encode(typed, ["race", "member"])
            assert codes["race"].tolist()[:2] == [0, 1] and codes["member"][0] != codes["member"][1], (drafted, file)


def test_a_schema_that_lists_both_writings_keeps_them_apart() -> None:
    version = Column("version", "categorical", values=("1", "1.0", "01", "2.50"), other="other")
    assert version.coded.encode(pl.Series(["1", "1.0", "01", "01.0", "2.50", "2.5"])).tolist() == [0, 1, 2, 4, 3, 4]
    gap = Column("age", "integer", bins=Bins(low=0, high=9, width=1), missing_values=("-9",), missing=True)
    fit = TableFit.of(Declaration((gap,)), pl.DataFrame({"age": ["-9.0", "3", "4.0"]}))
    assert fit.columns[0].missing == 1 and fit.lines == ()
