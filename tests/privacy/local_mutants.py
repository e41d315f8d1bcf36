"""The local counter against the plainest code there is, on tables in many batches; and planted bugs for it."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.counting import encode, parts
from hedgerow.counting.fingerprint import WHOLE, RowKey
from hedgerow.counting.order import ALL
from hedgerow.counting.plan import CountPlan
from hedgerow.errors import TableMismatch
from hedgerow.private import local
from hedgerow.private.local import LocalCounter
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public import files
from hedgerow.public.coding import CodedColumn, Coding, as_text
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import TOTAL, Marginal
from hedgerow.public.files import open_source
from hedgerow.public.schema import Schema
from tests.privacy.world import COLUMNS, PERSON, SCHEMA, frame

Patch = pytest.MonkeyPatch
CODING = Schema.loads(SCHEMA).coding
ASKED = (
    TOTAL,
    Marginal(("sex",)),
    Marginal(("race", "pay")),
    Marginal(("sex_area",)),
    Marginal(("sex", "race", "area")),
)


class InPieces:
    """A table that comes in batches of so many rows."""

    def __init__(self, table: pl.DataFrame, rows: int) -> None:
        self._table, self._rows, self.columns = table, rows, tuple(table.columns)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
        yield from self._table.select(list(columns) or self.columns[:1]).iter_slices(min(rows, self._rows))


def people_of(rng: np.random.Generator, rows: int) -> pl.DataFrame:
    """Rows of people with more than they may have, of nobody, and with strange values."""
    values = (
        ["F", "M", " F", None, "?"],
        ["A", "B", "C", "Z", ""],
        ["5", "12", "39", "x", "38.0", None],
        ["n", "s", "w", "?"],
    )
    people = [None, " ", *(f"p{i}" for i in range(rows // 5 + 1))]
    lines = [[of[i] for i in rng.integers(0, len(of), rows)] for of in (*values, people)]
    return frame(tuple(zip(*lines, strict=True)))


def capped_plainly(table: pl.DataFrame, guarantee: Guarantee) -> pl.DataFrame:
    """The rows that count, found one by one."""
    if not guarantee.person:
        return table
    seen, keep = dict[str, int](), []
    for name in as_text(table[guarantee.person]):
        seen[name] = seen.get(name, 0) + 1
        keep.append(name is not None and seen[name] <= guarantee.rows_per_person)
    return table.filter(pl.Series(keep, dtype=pl.Boolean))


def check_local() -> None:
    """Counts, fingerprints, units and files of codes, with batches, parts and limits of many sizes."""
    rng = np.random.default_rng(11)
    tables = [people_of(rng, rows) for rows in (90, 47)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", folder)
        for part, limit in ((1 << 20, 1 << 30), (20, 1 << 30), (20, 0)):
            patch.setattr(parts, "_PART", part)
            patch.setattr(parts, "IN_MEMORY", limit)
            for guarantee in (Guarantee(), PERSON):
                held = [ConfidentialRows(InPieces(t, 13), CODING, guarantee) for t in tables]
                for table, rows in zip(tables, held, strict=True):
                    _check_counts(table, rows, guarantee)
                    assert not any(Path(folder).iterdir()), "codes lie in a folder under a name"
        _check_rights(folder)
        patch.setattr(local, "_HASHED", 5)
        _check_fingerprints(tables[0])
        _check_ranges()
        _check_missing()
        _check_wide()
        _check_people()
        _check_files(Path(folder))


def _check_counts(table: pl.DataFrame, rows: ConfidentialRows, guarantee: Guarantee) -> None:
    kept = CODING.encode(capped_plainly(table, guarantee), CODING.sizes)
    for questions in (ASKED, ASKED[2:4], ASKED[:1], ASKED[::-1]):
        for question, counts in zip(questions, rows.count(CountPlan(questions, CODING)), strict=True):
            due = np.zeros(counts.size, np.int64)
            lines = [kept[c].astype(int) for c in question.columns]
            cells = (
                np.ravel_multi_index(lines, CODING.shape(question.columns))
                if lines
                else np.zeros(len(kept["sex"]), int)
            )
            np.add.at(due, cells, 1)
            assert (counts == due).all(), f"{question} is not counted as its rows stand"


def _check_ranges() -> None:
    """Whole numbers of which every batch has others."""
    rule = CodedColumn("n", "number", 5, 4, 4, edges=(0.0, 10.0, 20.0))
    coding, table = Coding((rule,)), pl.DataFrame({"n": [5, 6, 5, 15, -3, 15, 5, 35, 5]})
    rows = ConfidentialRows(InPieces(table, 3), coding, Guarantee())
    (counts,) = rows.count(CountPlan([Marginal(("n",))], coding))
    assert counts.tolist() == [1, 5, 2, 1, 0], "numbers are not counted as they stand"


def _check_missing() -> None:
    """Nothing beside a label that is written like Python's nothing."""
    coding = Coding((CodedColumn("x", "text", 4, 3, 2, values=("None", "7"), codes=(0, 1)),))
    for values, due in ((["None", None, "7", " 7", "", "x"], [1, 2, 1, 2]), ([7, None, 7, 8], [0, 2, 1, 1])):
        rows = ConfidentialRows(InPieces(pl.DataFrame({"x": values}), 3), coding, Guarantee())
        (counts,) = rows.count(CountPlan([Marginal(("x",))], coding))
        assert counts.tolist() == due, "what is missing is counted as a label"


def _check_wide() -> None:
    """One number beyond 64 bits, as a value and as the name of a person: whether a run ends must not hang on it."""
    due = {"sex": ["F", "M"], "race": ["A", "B"], "pay": ["5", "12"], "area": ["n", "s"]}
    for kind in (pl.Int128, pl.UInt64):
        table = pl.DataFrame(due | {"id": pl.Series([1, 1 << 63], dtype=kind)})
        for guarantee in (Guarantee(), PERSON):
            rows = ConfidentialRows(InPieces(table, 3), CODING, guarantee)
            assert rows.fingerprint(b"k" * 32), "a number was refused"
            assert [c.tolist() for c in rows.count(CountPlan([TOTAL], CODING))] == [[2]]


def _check_people() -> None:
    """One person with more rows than a byte or two can count, and people whose names differ in a fraction."""
    promise = replace(PERSON, rows_per_person=1)
    for names, due in (([7] * 66_000, 1), (["p"] * 600, 1), ([0.25, 0.5, 0.25], 2)):
        table = pl.DataFrame({"id": names}).with_columns(sex=pl.lit("F"), race=pl.lit("A"), pay=pl.lit("5"))
        rows = ConfidentialRows(InPieces(table.with_columns(area=pl.lit("n")), 1 << 18), CODING, promise)
        assert [c.tolist() for c in rows.count(CountPlan([TOTAL], CODING))] == [[due]], "not one row of each person"


def _check_files(folder: Path) -> None:
    """Of a file no row is lost where a thread of Polars panics, none comes twice where another takes its place."""
    path, table, collect = folder / "t.arrow", people_of(np.random.default_rng(5), 40), pl.LazyFrame.collect_batches

    def broken(self: pl.LazyFrame, **given: Any) -> Iterator[pl.DataFrame]:
        yield from [*collect(self, **given)][:-1]

    def replaced(self: pl.LazyFrame, **given: Any) -> Iterator[pl.DataFrame]:
        yield from collect(self, **given)
        table.reverse().write_ipc(folder / "later.arrow")
        (folder / "later.arrow").replace(path)

    for fault, said in ((broken, "rows that were lost are not missed"), (replaced, "two files are read as one")):
        table.write_ipc(path)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pl.LazyFrame, "collect_batches", fault)
            try:
                ConfidentialRows(open_source(path), CODING, Guarantee()).count(CountPlan([TOTAL], CODING))
            except TableMismatch:
                continue
        raise AssertionError(said)
    path.unlink()


def _check_fingerprints(table: pl.DataFrame) -> None:
    def of(t: pl.DataFrame, rows: int = 13) -> str:
        return ConfidentialRows(InPieces(t, rows), CODING, Guarantee()).fingerprint(b"k" * 32)

    true = of(table)
    assert of(table, 1) == of(table.reverse(), 90) == true, "the same rows are not recognised"
    for column in table.columns:
        changed = table.with_columns(
            pl.when(pl.int_range(pl.len()) == 40).then(pl.lit("other")).otherwise(column).alias(column)
        )
        moved = table.with_columns(pl.concat([table[column][1:], table[column][:1]]))
        assert true not in (of(changed), of(moved)), f"a change in {column} is not seen"
    one, two = (table.with_columns(id=pl.lit(x)) for x in ("1", "2"))
    assert of(one) != of(two), "tables with other ids pass for the same"


def _check_rights(folder: str) -> None:
    """While codes are in a file, no file stands anywhere in the folder, and what is open is for the owner alone."""
    opened, real = list[int](), tempfile.TemporaryFile

    def watched(*args: Any, **kwargs: Any) -> Any:
        file = real(*args, **kwargs)
        opened.append(os.fstat(file.fileno()).st_mode & 0o777)
        assert not any(Path(folder).iterdir()), "a file of codes has a name"
        return file

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "TemporaryFile", watched)
        part = parts.in_file({"a": np.arange(9, dtype=np.uint16), "b": np.arange(9, dtype=np.uint8)})
    assert {n: x.tolist() for n, x in part.items()} == {"a": [*range(9)], "b": [*range(9)]}
    assert opened == [0o600], "others may read a file of codes, or it is somewhere else"
    assert not any(Path(folder).iterdir()), "codes were left behind"


def codes_of_another_request(patch: Patch) -> None:
    """What one request counted is given to the next that asks for as much."""
    original, known = LocalCounter.count, dict[int, Any]()

    def count(self: LocalCounter, plan: CountPlan) -> Any:
        return known.setdefault(plan.size, original(self, plan))

    patch.setattr(LocalCounter, "count", count)


def mask_of_the_batch_before(patch: Patch) -> None:
    """Which rows count is told of one batch and applied to another."""
    original = local.within_cap
    patch.setattr(local, "within_cap", lambda people, rows: original(people, rows).shift(13, fill_value=True))


def cap_by_batch(patch: Patch) -> None:
    """A person whose rows stand in two batches is capped in each."""
    original = local.within_cap

    def capped(people: pl.Series, rows: int) -> pl.Series:
        return pl.concat([original(people[low : low + 13], rows) for low in range(0, len(people), 13)])

    patch.setattr(local, "within_cap", capped)


def batches_out_of_order(patch: Patch) -> None:
    """Whoever of the threads is first is taken first, so that other rows of a person count."""
    original = local.in_order
    patch.setattr(local, "in_order", lambda threads, work, items: iter([*original(threads, work, items)][::-1]))


def codes_left_behind(patch: Patch) -> None:
    """The file of codes has a name, and stays."""

    def named(*_: Any, **__: Any) -> Any:
        return tempfile.NamedTemporaryFile(delete=False)  # noqa: SIM115

    patch.setattr("hedgerow.counting.parts.tempfile.TemporaryFile", named)


def codes_for_everyone(patch: Patch) -> None:
    """The file of codes may be read by others."""
    real = tempfile.TemporaryFile

    def open_to_all(*args: Any, **kwargs: Any) -> Any:
        file = real(*args, **kwargs)
        os.fchmod(file.fileno(), 0o644)
        return file

    patch.setattr("hedgerow.counting.parts.tempfile.TemporaryFile", open_to_all)


def lines_of_a_file_mixed_up(patch: Patch) -> None:
    """Of codes in a file two columns change places."""
    original = parts.in_file

    def in_file(part: Any) -> Any:
        found = original(part)
        return {**found, "sex": found["area"]} if "area" in found else found

    patch.setattr(parts, "in_file", in_file)


def a_column_is_not_hashed(patch: Patch) -> None:
    """The fingerprint ignores a column, so that tables with other values in it pass for the same."""
    original, line = RowKey.total, sorted([*COLUMNS, "id"]).index("id")

    def total(self: RowKey, words: Any, times: Any) -> Any:
        words[line] = 0
        return original(self, words, times)

    patch.setattr(RowKey, "total", total)


def columns_are_hashed_apart(patch: Patch) -> None:
    """The fingerprint adds up columns, not rows: a column may be shuffled by itself."""
    patch.setattr(RowKey, "total", lambda self, words, times: words.sum(axis=1, dtype=np.uint64)[:2] + words.sum())


def a_value_remembered_for_another_column(patch: Patch) -> None:
    """What was found for the values of one column is looked up for all."""
    shared: dict[Any, int] = {}
    original = encode.Lookup.__init__

    def init(self: Any, *functions: Any) -> None:
        original(self, *functions)
        self._known = shared

    patch.setattr(encode.Lookup, "__init__", init)


def people_told_apart_by_their_first_letter(patch: Patch) -> None:
    """Two people whose names begin alike are merged."""
    original = local.name_of
    patch.setattr(local, "name_of", lambda person, texts: original(person.str.slice(0, 2), texts))


def a_number_beside_what_was_met(patch: Patch) -> None:
    """A whole number beside the range of an earlier batch gets the code of the nearest in it."""
    original = encode.Lookup.writer

    def writer(self: Any, column: pl.Series) -> Any:
        low, tables = self._range
        met = bool(tables) and column.dtype == pl.Int64
        return original(self, column.clip(low, low + len(tables[0]) - 1) if met else column)

    patch.setattr(encode.Lookup, "writer", writer)


def rows_hashed_as_the_first_of_their_batch(patch: Patch) -> None:
    """The rows that are hashed at once are those with which their batch begins."""
    original = encode.Lookup.writer

    def writer(self: Any, column: pl.Series) -> Any:
        write = original(self, column)
        return lambda which, _, line: write(which, 0, line)

    patch.setattr(encode.Lookup, "writer", writer)


def batches_coded_over_each_other(patch: Patch) -> None:
    """The codes of every batch of a part are written from its first row on."""
    original = local.rooms
    patch.setattr(local, "rooms", lambda *given: ((batch, room, 0) for batch, room, _ in original(*given)))


def nothing_is_a_label(patch: Patch) -> None:
    """A missing value is looked up by how Python writes it."""
    original = local.encode
    patch.setattr(
        local, "encode", lambda rule, x: original(rule, x.cast(pl.String).fill_null("None").replace("", "None"))
    )


def wide_numbers_are_read_as_narrow_ones(patch: Patch) -> None:
    """Of whole numbers with 128 bits one that does not fit stops the run."""
    patch.setattr("hedgerow.counting.fingerprint.WHOLE", (*WHOLE, pl.Int128))


def rows_seen_are_counted_in_a_few_bits(patch: Patch) -> None:
    """How many rows of a person were seen is kept in 16 bits to save memory: after 65,536 the next counts again."""
    original = local.within_cap

    def capped(person: pl.Series, rows: int) -> pl.Series:
        place = pl.int_range(pl.len()).over("p").mod(1 << 16)
        return person.to_frame("p").select((place < rows) & original(person, ALL)).to_series()

    patch.setattr(local, "within_cap", capped)


def people_named_by_fractions_are_merged(patch: Patch) -> None:
    """Every number that names a person is taken for a whole one, so that one's rows displace another's."""
    original = local.name_of
    patch.setattr(
        local,
        "name_of",
        lambda who, texts: who.cast(pl.Int64) if who.dtype == pl.Float64 else original(who, texts),
    )


def rows_are_not_held_against_the_header(patch: Patch) -> None:
    """When the batches of a file end, it is taken to have ended."""

    def slices(lazy: pl.LazyFrame, names: list[str], rows: int) -> Iterator[pl.DataFrame]:
        return lazy.select(names).collect_batches(chunk_size=rows)

    patch.setattr(files, "_slices", slices)


def files_may_change_while_they_are_read(patch: Patch) -> None:
    """Nobody looks whether the file is still the one that was begun."""
    patch.setattr(files, "_written", lambda path: [])


LOCAL_MUTANTS = (
    codes_of_another_request,
    mask_of_the_batch_before,
    cap_by_batch,
    batches_out_of_order,
    codes_left_behind,
    codes_for_everyone,
    lines_of_a_file_mixed_up,
    a_column_is_not_hashed,
    columns_are_hashed_apart,
    a_value_remembered_for_another_column,
    people_told_apart_by_their_first_letter,
    a_number_beside_what_was_met,
    rows_hashed_as_the_first_of_their_batch,
    batches_coded_over_each_other,
    nothing_is_a_label,
    wide_numbers_are_read_as_narrow_ones,
    rows_seen_are_counted_in_a_few_bits,
    people_named_by_fractions_are_merged,
    rows_are_not_held_against_the_header,
    files_may_change_while_they_are_read,
)
