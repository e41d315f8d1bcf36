"""Wherever the rows are, the counts are the same, and so is the fingerprint."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.counting import CountPlan
from hedgerow.counting.relabel import TICKETS, LabelLaw
from hedgerow.engines.duckdb import DuckDb
from hedgerow.engines.postgresql import PostgreSql
from hedgerow.engines.sql import SqlCounter
from hedgerow.errors import JobError
from hedgerow.private.careers import CareerCounter
from hedgerow.private.local import LocalCounter
from hedgerow.private.people import PeopleCounter
from hedgerow.private.relabel import counted
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public import TOTAL, CareerCoding, Fact, Guarantee, Marginal, PeopleCoding, Tree, open_source
from tests.engines import world

TABLE = world.table()
KEY = b"a key of 16 byte"
Make = Callable[[Guarantee, str], Any]


@pytest.fixture(scope="module")
def duckdb(tmp_path_factory: pytest.TempPathFactory) -> Make:
    pytest.importorskip("duckdb", reason="needs hedgerow[sql]")
    name = world.in_duckdb(TABLE, tmp_path_factory.mktemp("duckdb") / "it's a.db")
    return lambda promise, order: SqlCounter(DuckDb(name), world.CODING, promise, order)


@pytest.fixture(scope="module")
def postgresql(database: str) -> Make:
    name = world.in_postgresql(TABLE, database)
    return lambda promise, order: SqlCounter(PostgreSql(name), world.CODING, promise, order)


@pytest.fixture(scope="module")
def sparked(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Make:
    from hedgerow.engines.spark import SparkCounter

    frame = spark.read.parquet(str(world.in_folder(TABLE, tmp_path_factory.mktemp("spark") / "folder")))
    return lambda promise, order: SparkCounter(frame, world.CODING, promise, order)


@pytest.fixture(params=["duckdb", "postgresql", "sparked"])
def engine(request: pytest.FixtureRequest) -> Make:
    made: Make = request.getfixturevalue(request.param)
    return made


def local(promise: Guarantee, order: str = "", frame: pl.DataFrame | Path = TABLE) -> LocalCounter:
    return LocalCounter(open_source(frame), world.CODING, promise, order)


def agree(one: Any, other: Any, plan: Any = world.PLAN) -> bool:
    """Whether two counters count alike, and something."""
    mine, its = one.count(plan), other.count(plan)
    for question, a, b in zip(plan.questions, plan.split(mine), plan.split(its), strict=True):
        assert np.array_equal(a, b), question
    return bool(mine.any())


def test_records_are_counted_alike(engine: Make) -> None:
    counter = engine(world.RECORDS, "")
    assert agree(counter, local(world.RECORDS))
    assert agree(counter, local(world.RECORDS)), "the second time, of codes that were kept"
    assert counter.fingerprint(KEY) == local(world.RECORDS).fingerprint(KEY)


def test_a_folder_of_parquet_is_a_table(tmp_path: Path) -> None:
    assert agree(local(world.RECORDS, "", world.in_folder(TABLE, tmp_path / "folder")), local(world.RECORDS))


def test_lines_that_stand_for_several_records_are_counted_alike(engine: Make) -> None:
    assert agree(engine(world.COUNTS, ""), local(world.COUNTS))
    assert engine(world.COUNTS, "").fingerprint(KEY) == local(world.COUNTS).fingerprint(KEY)


@pytest.mark.parametrize("order", ["seen", "age", "note"])
def test_people_are_capped_alike_by_a_declared_order(engine: Make, order: str) -> None:
    promise = Guarantee(unit="person", person="name", rows_per_person=2)
    mine = local(promise, order)
    assert agree(engine(promise, order), mine)
    assert not np.array_equal(mine.count(world.PLAN), local(promise).count(world.PLAN)), "the order matters"


def test_under_label_change_people_are_capped_alike_by_public_columns(engine: Make) -> None:
    promise = Guarantee("person", 2, "label-change", ("age", "note", "yes"), "id")
    mine, free = local(promise, "note"), Guarantee("person", 2, "replace-one", (), "id")
    assert agree(engine(promise, "note"), mine)
    assert not np.array_equal(mine.count(world.PLAN), local(free, "note").count(world.PLAN)), (
        "public codes come first"
    )
    with pytest.raises(JobError, match="'pay' is protected"):
        engine(promise, "pay")


@pytest.mark.parametrize("nothing", [("", None), (float("nan"), None)])
def test_rows_that_say_nothing_of_their_order_are_tied_in_a_database(nothing: Any, tmp_path: Path) -> None:
    """Blanks and NaN stood before NULL there, so that other rows of a person counted than everywhere else."""
    pytest.importorskip("duckdb", reason="needs hedgerow[sql]")
    rows = TABLE[:2].with_columns(id=pl.lit(1), sex=pl.Series(["M", "F"]), by=pl.Series(nothing))
    promise = Guarantee(unit="person", person="id", rows_per_person=1)
    for i, table in enumerate((rows, rows.reverse())):
        there = DuckDb(world.in_duckdb(table, tmp_path / f"{i}.db"))
        assert agree(SqlCounter(there, world.CODING, promise, "by"), local(promise, "by", table))


def test_whole_people_are_mapped_alike(engine: Make) -> None:
    promise = Guarantee(unit="person", person="id", rows_per_person=3)
    assert agree(engine(promise, "seen"), local(promise, "seen"), world.BY_PERSON)


def test_first_records_and_steps_are_counted_alike(engine: Make) -> None:
    """Whatever order an engine hands rows over in: careers go by the codes of their rows."""
    ordered = tuple((c.name, c.size - 1) for c in world.COLUMNS if c.size > 2)
    coding = CareerCoding(world.COLUMNS, (), ordered[0][0], ordered)
    promise = Guarantee(unit="person", rows_per_person=3, person="id")
    asked = [TOTAL, *(Marginal((n,)) for n in coding.sizes)]
    plan = CountPlan(asked, coding)
    here = CareerCounter(open_source(TABLE), coding, promise)
    there = CareerCounter(None, coding, promise, lambda source, rows, promised: engine(promised, ""))
    found = plan.split(there.count(plan))
    assert [f.tolist() for f in found] == [f.tolist() for f in plan.split(here.count(plan))]
    steps = dict(zip(asked, found, strict=True))[Marginal(("gap",))]
    assert 0 < steps.sum() < TABLE.height and found[0].sum() > 1


def test_relabelled_rows_are_counted_alike(engine: Make) -> None:
    """Labels that the law settles are the same whatever bits are drawn, here or on a worker; others are drawn."""
    ones = np.eye(4, dtype=np.int64) * TICKETS
    by_note = Tree.of(("note",), 3, [0], [0], [-1, -2, -3, -3])
    settled = [
        LabelLaw("note", (world.TREE, world.TREE), (ones[[0, 1, 2, 3, 0]],) * 2),
        LabelLaw("yes", (by_note,), (ones[[2, 0, 1], :3],)),  # of the note that was drawn
    ]
    plan = CountPlan(
        [Marginal(("note", "sex")), Marginal(("yes", "note")), Marginal(("yes",), world.TREE)], world.CODING
    )

    def found(laws: list[LabelLaw], made: Any) -> list[list[int]]:
        rows = ConfidentialRows(None, world.CODING, world.RECORDS, lambda *given: made)
        return [counts.tolist() for counts in counted(rows, world.CODING, plan, laws)]

    there = engine(world.RECORDS, "")
    here = found(settled, local(world.RECORDS))
    assert found(settled, there) == here != [c.tolist() for c in plan.split(local(world.RECORDS).count(plan))]
    assert np.count_nonzero(np.reshape(here[1], (3, 4))) == 4, "a note has one answer"
    even = np.full((5, 4), TICKETS // 4)
    drawn = np.reshape(found([LabelLaw("note", (world.TREE,), (even,))], there)[0], (4, 3)).sum(axis=1)
    assert drawn.sum() == world.ROWS and np.abs(drawn - world.ROWS / 4).max() < 150  # six standard deviations
    assert len(set(drawn.tolist())) > 1


def test_people_are_counted_once_by_their_facts_alike(engine: Make) -> None:
    facts = (
        Fact("first sex", "first", "sex", "age"),
        Fact("last pay", "last", "pay", "age"),
        Fact("most grade", "most", "grade"),
        Fact("rows", "rows", cuts=(2, 3, 5)),
        Fact("mean", "mean", points=(("pay", tuple(range(12))), ("sex", (5, -5, 0))), cuts=(2, 5, 8)),
    )
    coding, promise = PeopleCoding(world.COLUMNS, (), facts), Guarantee(unit="person", person="id")
    asked = [TOTAL, *(Marginal((f.name,)) for f in facts), Marginal(("rows", "first sex", "mean"))]
    here = PeopleCounter(open_source(TABLE), coding, promise)
    there = PeopleCounter(None, coding, promise, lambda source, rows, promised: engine(promised, ""))
    assert agree(there, here, CountPlan(asked, coding))
    assert here.count(CountPlan([TOTAL], coding)).tolist() == [TABLE["id"].n_unique()]
    assert here.fingerprint(KEY) == there.fingerprint(KEY)


def test_the_order_of_the_table_is_no_part_of_a_declared_one() -> None:
    mixed = TABLE.sample(fraction=1, shuffle=True, seed=3)
    assert agree(local(world.PEOPLE, "age"), local(world.PEOPLE, "age", mixed))


def test_without_an_order_duckdb_goes_by_the_order_of_the_table(duckdb: Make) -> None:
    assert agree(duckdb(world.PEOPLE, ""), local(world.PEOPLE))


@pytest.mark.parametrize("kind", ["postgresql", "sparked"])
def test_without_an_order_others_refuse_a_cap(request: pytest.FixtureRequest, kind: str) -> None:
    with pytest.raises(JobError, match="order = "):
        request.getfixturevalue(kind)(world.PEOPLE, "")
