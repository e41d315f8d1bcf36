"""The counter of files and frames: read once, capped once, codes that nobody else can read, nothing left behind."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.counting import fingerprint, parts
from hedgerow.counting.plan import UNIT, CountPlan
from hedgerow.errors import TableMismatch
from hedgerow.private import local
from hedgerow.private.local import LocalCounter
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public.coding import CodedColumn, Codes
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import TOTAL, Marginal
from hedgerow.public.files import open_source
from tests.privacy.local_mutants import CODING, InPieces, capped_plainly, check_local, people_of
from tests.privacy.world import PERSON, frame
from tests.unit.counting.worlds import World, plainly, worlds


def counted(source: Any, guarantee: Guarantee, *questions: Marginal) -> list[list[int]]:
    rows = ConfidentialRows(source, CODING, guarantee)
    return [c.tolist() for c in rows.count(CountPlan(questions, CODING))]


def test_the_checks_pass_without_a_planted_bug() -> None:
    check_local()


@settings(max_examples=60)
@given(world=worlds(), rows=st.integers(1, 12))
def test_batches_of_any_size_give_the_counts_of_the_plain_way(world: World, rows: int) -> None:
    table = world.table.with_columns(pl.col(pl.Datetime).cast(pl.Date))  # sources give the day
    codes = world.coding.encode(table, world.coding.sizes)
    counter = ConfidentialRows(InPieces(table, rows), world.coding, Guarantee())
    for question, counts in zip(
        world.questions, counter.count(CountPlan(world.questions, world.coding)), strict=True
    ):
        assert np.array_equal(counts, plainly(question, codes, world.coding)), question


@pytest.mark.parametrize("values", [[1, 2, 1], [0.5, None, 2.0], ["a", None, " b "], [True, False, None]])
def test_columns_outside_the_schema_may_have_names_that_are_patterns_to_polars(values: list[Any]) -> None:
    """All are hashed, and one may name people: such names ended a run when it had been booked."""
    three = frame((("F", "A", "5", "n", "x"),) * 3)
    named, plain = (
        LocalCounter(open_source(three.with_columns(pl.Series(name, values))), CODING, guarantee)
        for name, guarantee in (("^s.*$", replace(PERSON, person="^s.*$")), ("who", replace(PERSON, person="who")))
    )
    plan = CountPlan([TOTAL], CODING)
    assert len(named.fingerprint(b"k" * 32)) == 16
    assert len(fingerprint.hash_rows(pl.DataFrame({"^s.*$": values}), b"k" * 32)) == 2, "as engines do"
    assert named.count(plan).tolist() == plain.count(plan).tolist()


@settings(max_examples=25)
@given(world=worlds(), suffix=st.sampled_from([".parquet", ".arrow"]))
def test_files_give_the_counts_of_the_frame(
    tmp_path_factory: pytest.TempPathFactory, world: World, suffix: str
) -> None:
    path = tmp_path_factory.mktemp("table") / f"table{suffix}"
    world.table.write_parquet(path) if suffix == ".parquet" else world.table.write_ipc(path)
    plan = CountPlan(world.questions, world.coding)
    here, there = (
        ConfidentialRows(open_source(t), world.coding, Guarantee()).count(plan) for t in (world.table, path)
    )
    assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))


class Reading:
    """A source that notes what is read of it."""

    def __init__(self, table: pl.DataFrame) -> None:
        self._source, self.columns, self.read = open_source(table), tuple(table.columns), list[list[str]]()

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
        self.read.append(list(columns))
        return self._source.batches(columns, rows)


@pytest.mark.parametrize("guarantee", [Guarantee(), PERSON], ids=["record", "person"])
def test_a_run_reads_the_file_once_and_codes_every_value_once(
    guarantee: Guarantee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fingerprint, cap, and nine requests: one reading, and each column is coded once, by its distinct values."""
    coded = list[tuple[str, int]]()
    plain = local.encode

    def watched(rule: CodedColumn, column: pl.Series) -> Codes:
        coded.append((rule.name, len(column)))
        return plain(rule, column)

    monkeypatch.setattr(local, "encode", watched)
    source = Reading(people_of(np.random.default_rng(3), 5000))
    rows = ConfidentialRows(source, CODING, guarantee)
    rows.fingerprint(b"k" * 32)
    for _ in range(3):
        for question in (TOTAL, Marginal(("sex", "pay")), Marginal(("sex_area",))):
            rows.count(CountPlan([question], CODING))
    assert len(source.read) == 1
    assert sorted(name for name, _ in coded) == sorted(c.name for c in CODING.columns), "a column was coded again"
    assert max(rows for _, rows in coded) < 100, "values were coded row by row"


def test_what_is_counted_are_the_rows_that_were_fingerprinted() -> None:
    class Growing:
        columns = ("sex", "race", "pay", "area", "id")
        rows = 0

        def batches(self, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
            self.rows += 1
            yield frame((("F", "A", "5", "n", "me"),) * self.rows).select(list(columns))

    held = ConfidentialRows(Growing(), CODING, Guarantee())
    for rows in (1, 2, 3):
        held.fingerprint(b"k" * 32)
        assert held.count(CountPlan([TOTAL], CODING))[0].tolist() == [rows]


def test_units_are_whole_numbered_and_in_the_order_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_PART", 50)
    monkeypatch.setattr(local, "THREADS", 1)  # or parts come in any order
    table, seen = people_of(np.random.default_rng(4), 400), list[Any]()
    plan = CountPlan([TOTAL], CODING)

    def looked(codes: Any) -> Any:
        seen.append({c: x.copy() for c, x in codes.items()})
        return codes

    asked = replace(plan, mapping=looked, looks=("sex", "pay", UNIT))
    for guarantee in (PERSON, Guarantee()):
        seen.clear()
        LocalCounter(InPieces(table, 37), CODING, guarantee).count(asked)
        assert len(seen) > 2
        units, kept = 0, capped_plainly(table, guarantee)
        for part in seen:
            assert (np.diff(part[UNIT].astype(int), prepend=-1) <= 1).all() and (np.diff(part[UNIT]) >= 0).all()
            units += int(part[UNIT][-1]) + 1
        assert units == (kept["id"].n_unique() if guarantee.person else len(kept))
        order = kept
        if guarantee.person:
            first = {p: i for i, p in enumerate(kept["id"].unique(maintain_order=True))}
            order = kept[np.argsort([first[p] for p in kept["id"]], kind="stable")]
        due = CODING.encode(order, ("sex", "pay"))
        for name in due:
            assert np.concatenate([p[name] for p in seen]).tolist() == due[name].tolist()


def test_people_in_numbers_are_those_in_text() -> None:
    rng = np.random.default_rng(8)
    table = people_of(rng, 600).with_columns(id=pl.Series(rng.integers(-40, 40, 600)))
    due = counted(open_source(table.cast(pl.String)), PERSON, Marginal(("sex", "pay")))
    for kind in (pl.Int8, pl.Int64, pl.Float64, pl.Float32):
        assert (
            counted(open_source(table.with_columns(pl.col("id").cast(kind))), PERSON, Marginal(("sex", "pay"))) == due
        )


def test_codes_beyond_the_limit_are_in_files_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = people_of(np.random.default_rng(5), 3000)
    due = counted(open_source(table), PERSON, Marginal(("sex", "pay")), TOTAL)
    monkeypatch.setattr(parts, "IN_MEMORY", 100)
    monkeypatch.setattr(parts, "_PART", 500)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rows = ConfidentialRows(InPieces(table, 300), CODING, PERSON)
    asked = CountPlan([Marginal(("sex", "pay")), TOTAL], CODING)
    for _ in range(2):
        assert [c.tolist() for c in rows.count(asked)] == due
        assert rows.add_up(replace(asked, mapping=lambda codes: codes, looks=("sex", "pay", UNIT))).sum() > 0
    assert [*tmp_path.iterdir()] == [], "codes lie in a folder under a name"
    kept = rows._counter._kept  # type: ignore[attr-defined]
    assert sum(not line.flags.owndata for part in kept for line in part.values()) > 10, "nothing was written out"


def test_a_counter_keeps_no_more_codes_in_memory_than_it_is_allowed() -> None:
    table, plan = people_of(np.random.default_rng(5), 3000), CountPlan([Marginal(("sex", "pay"))], CODING)
    free, bound = (LocalCounter(open_source(table), CODING, Guarantee(), most=m) for m in (1 << 20, 100))
    assert free.count(plan).tolist() == bound.count(plan).tolist()
    inside, outside = ([isinstance(_root(part["sex"]), np.ndarray) for part in c._kept or ()] for c in (free, bound))
    assert inside and all(inside)
    assert outside and not any(outside), "more codes are in memory than were allowed"


def _root(line: Any) -> Any:
    """What holds the numbers of an array: an array, or a file in the place of memory."""
    while isinstance(line, np.ndarray) and line.base is not None:
        line = line.base
    return line


HELD = """
import polars as pl
from hedgerow.counting.encode import distinct
def held():
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("RssAnon")) / 1024
for i in range(60):
    assert distinct(pl.Series([f"somebody whose number is {i} and {j}" for j in range(40_000)])) is None
    before = held() if i == 9 else before if i > 9 else 0
print(held() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_texts_that_are_all_different_are_given_back() -> None:
    """Fifty batches of 2 MB: Polars kept each for good, because what it had handed over was never returned."""
    ran = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, check=True)
    assert float(ran.stdout) < 40, "102 were measured while they were kept"


KILLED = """
import os, signal, sys, tempfile
from hedgerow.counting import fingerprint, parts
parts.IN_MEMORY, tempfile.tempdir = 0, sys.argv[1]
import numpy as np
part = parts.in_file({"a": np.arange(1000, dtype=np.uint8)})
maps = [line for line in open("/proc/self/maps") if sys.argv[1] in line]
assert part["a"].sum() == sum(i % 256 for i in range(1000))
assert maps and all("(deleted)" in line for line in maps), maps
print(len(os.listdir(sys.argv[1])), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks at the process from outside")
def test_a_killed_process_leaves_no_codes(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert ran.stdout == "0\n", ran.stderr
    assert ran.returncode == -9
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_told_in_the_fixed_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> Any:
        raise OSError(28, "No space left on device: 5 of me")

    monkeypatch.setattr(parts, "IN_MEMORY", 0)
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(TableMismatch, match="could not be read to its end") as refused:
        counted(open_source(people_of(np.random.default_rng(5), 30)), PERSON, TOTAL)
    assert refused.value.__context__ is None and "space" not in str(refused.value)


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    table, found = people_of(np.random.default_rng(6), 2000), list[Any]()
    for threads in (1, 2, 5):
        monkeypatch.setattr(local, "THREADS", threads)
        rows = ConfidentialRows(InPieces(table, 100), CODING, PERSON)
        found.append((rows.fingerprint(b"k" * 32), counted(InPieces(table, 100), PERSON, Marginal(("sex", "pay")))))
    assert found[0] == found[1] == found[2]


LARGE = """
import resource, sys
from itertools import combinations
import polars as pl
from hedgerow.counting import CountPlan
from hedgerow.private.local import LocalCounter
from hedgerow.public.coding import CodedColumn, Coding
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Marginal
from hedgerow.public.files import open_source

names = [f"c{i}" for i in range(5)]
values = tuple(f"a rather long label, number {i:04}" for i in range(100))
coding = Coding(tuple(CodedColumn(n, "text", 101, 100, 100, values, tuple(range(100))) for n in names))
plan = CountPlan([Marginal(pair) for pair in combinations(names, 2)], coding)

def run(table):
    counter = LocalCounter(open_source(table), coding, Guarantee())
    counter.fingerprint(b"k" * 32)
    return counter.count(plan)

run(pl.DataFrame({n: values for n in names}))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
counts = run(sys.argv[1])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024, plan.split(counts)[0].sum())
"""


@pytest.mark.parametrize("suffix", [pytest.param(".csv", marks=pytest.mark.thorough), ".parquet"])
def test_a_large_table_is_counted_within_the_memory_of_a_few_batches(tmp_path: Path, suffix: str) -> None:
    """Also when a Parquet file is one row group."""
    pytest.importorskip("resource", reason="peak memory cannot be measured here")
    rows, memory = 3_000_000, 1 << 29
    rng = np.random.default_rng(5)
    labels = pl.Series([f"a rather long label, number {i:04}" for i in range(150)])
    table = pl.DataFrame({f"c{i}": labels.gather(rng.integers(0, 150, rows)) for i in range(5)})
    path = tmp_path / f"large{suffix}"
    table.write_csv(path) if suffix == ".csv" else table.write_parquet(path, row_group_size=rows)
    ran = subprocess.run([sys.executable, "-c", LARGE, str(path)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    peak, total = map(int, ran.stdout.split())
    assert total == rows
    assert peak < memory, f"{peak / 1e6:.0f} MB"


def test_a_cap_that_fails_leaves_no_rows_over_it(monkeypatch: pytest.MonkeyPatch) -> None:
    table = frame((("F", "A", "5", "n", "me"),) * 50)
    rows, plan = ConfidentialRows(open_source(table), CODING, PERSON), CountPlan([TOTAL], CODING)

    def fails(people: pl.Series) -> pl.Series:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(local, "first_rows", fails)
        with pytest.raises((MemoryError, TableMismatch)):
            rows.count(plan)
    assert rows.count(plan)[0].tolist() == [2]


def test_texts_are_hashed_alike_however_many_are_joined() -> None:
    texts, key = pl.Series([f"{i} {'x' * (i % 7)}" for i in range(1000)]), np.arange(2, dtype=np.uint64)
    assert np.array_equal(fingerprint._hashed(texts, key, 3), fingerprint._hashed(texts, key))
