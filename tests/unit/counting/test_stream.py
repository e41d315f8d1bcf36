"""Frames, files and batches of any size give the same counts, within the memory allowed."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.counting import count, stream
from hedgerow.errors import JobError, TableMismatch
from hedgerow.public.costs.question import TOTAL, Marginal
from tests.unit.counting.worlds import World, coding_of, plainly, worlds


@settings(max_examples=60)
@given(world=worlds(), rows=st.integers(1, 12))
def test_batches_of_a_frame_give_the_counts_of_the_plain_way(world: World, rows: int) -> None:
    frame = world.table.with_columns(pl.col(pl.Datetime).cast(pl.Date))  # sources give the day
    codes = world.coding.encode(frame, world.coding.sizes)
    for question, counts in zip(
        world.questions, count(world.questions, world.table, world.coding, rows=rows), strict=True
    ):
        assert np.array_equal(counts, plainly(question, codes, world.coding)), question


@settings(max_examples=25)
@given(world=worlds(), suffix=st.sampled_from([".parquet", ".arrow"]), rows=st.integers(1, 12))
def test_files_give_the_counts_of_the_frame(
    tmp_path_factory: pytest.TempPathFactory, world: World, suffix: str, rows: int
) -> None:
    path = tmp_path_factory.mktemp("table") / f"table{suffix}"
    world.table.write_parquet(path) if suffix == ".parquet" else world.table.write_ipc(path)
    here = count(world.questions, world.table, world.coding)
    for mine, its in zip(here, count(world.questions, path, world.coding, rows=rows), strict=True):
        assert np.array_equal(mine, its)


@settings(max_examples=25)
@given(world=worlds(kinds=("text",)), rows=st.integers(1, 12))
def test_text_in_csv_gives_the_counts_of_the_frame(
    tmp_path_factory: pytest.TempPathFactory, world: World, rows: int
) -> None:
    path = tmp_path_factory.mktemp("table") / "table.csv"
    table = world.table.with_columns(pl.selectors.string().str.replace_all('[\r\n"]', ""))  # a row is a line
    table.write_csv(path, quote_style="non_numeric")
    here = count(world.questions, table, world.coding)
    for mine, its in zip(here, count(world.questions, path, world.coding, rows=rows), strict=True):
        assert np.array_equal(mine, its)


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"a": ["x", None] * 5000})
    for cores in (1, 2, 5):
        monkeypatch.setattr(stream.os, "cpu_count", lambda cores=cores: cores)
        assert count([TOTAL], frame, coding_of({"a": 2}), rows=100)[0].tolist() == [10_000]


def test_a_fault_while_counting_is_raised_and_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(stream.CountPlan, "count", broken)
    with pytest.raises(ValueError, match="broken"):
        count([TOTAL], pl.DataFrame({"a": ["x"] * 50}), coding_of({"a": 2}), rows=10)


def test_more_cells_than_memory_are_refused_before_the_table_is_read() -> None:
    frame = pl.LazyFrame({"a": ["x"]}).map_batches(lambda _: pytest.fail("a row was read"), schema={"a": pl.String})
    with pytest.raises(JobError) as refused:
        count([Marginal(("a", "b"))], frame, coding_of({"a": 5000, "b": 5000}), memory=1 << 29)
    for part in ("25,000,000 cells", "537 MB are allowed", "Allow more", "No row was read"):
        assert part in str(refused.value)


def test_an_absent_column_is_refused_from_the_header() -> None:
    with pytest.raises(TableMismatch, match="b"):
        count([Marginal(("b",))], pl.DataFrame({"a": ["x"]}), coding_of({"b": 2}))


@pytest.mark.parametrize("memory", [1 << 28, 1 << 29, 1 << 30, 1 << 33])
def test_what_is_planned_fits_what_is_allowed(memory: int) -> None:
    plan = stream.CountPlan([Marginal((n,)) for n in "abcdefghij"], coding_of(dict.fromkeys("abcdefghij", 9)))
    threads, rows = stream._within(memory, plan, 1 << 18)
    assert 1 <= threads <= 8 and 1 << 12 <= rows <= 1 << 18
    assert (threads + 2) * rows * 10 * stream._VALUE < memory - stream._READER


LARGE = """
import resource, sys
from itertools import combinations
import polars as pl
from hedgerow.counting import count
from hedgerow.public.coding import CodedColumn, Coding
from hedgerow.public.costs.question import Marginal

path, memory = sys.argv[1], int(sys.argv[2])
names = [f"c{i}" for i in range(5)]
values = tuple(f"a rather long label, number {i:04}" for i in range(100))
coding = Coding(tuple(CodedColumn(n, "text", 101, 100, 100, values, tuple(range(100))) for n in names))
questions = [Marginal(pair) for pair in combinations(names, 2)]
count(questions, pl.DataFrame({n: values for n in names}), coding, memory=memory)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
counts = count(questions, path, coding, memory=memory)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024, counts[0].sum())
"""


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_larger_than_the_limit_is_counted_within_it(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("resource", reason="peak memory cannot be measured here")
    memory, rows = 1 << 28, 1_700_000
    rng = np.random.default_rng(5)
    labels = pl.Series([f"a rather long label, number {i:04}" for i in range(150)])
    frame = pl.DataFrame({f"c{i}": labels.gather(rng.integers(0, 150, rows)) for i in range(5)})
    assert frame.estimated_size() > memory
    path = tmp_path / f"large{suffix}"
    frame.write_csv(path) if suffix == ".csv" else frame.write_parquet(path)
    if suffix == ".csv":
        assert path.stat().st_size > memory
    ran = subprocess.run(
        [sys.executable, "-c", LARGE, str(path), str(memory)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    peak, total = map(int, ran.stdout.split())
    assert total == rows
    assert peak < memory
