"""The confidential rows: capped, hidden, and silent about whatever goes wrong."""

import copy
import gzip
import pickle
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import xlsxwriter

from hedgerow.counting.fingerprint import hash_rows
from hedgerow.counting.plan import CountPlan
from hedgerow.errors import JobError, TableMismatch
from hedgerow.ledger.book import Ledger, RunAccount
from hedgerow.private.gate import Gate
from hedgerow.private.local import RowSource
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.question import TOTAL, Marginal
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.files import open_source
from hedgerow.public.schema import Schema
from tests.privacy.world import PERSON, SCHEMA, Row, frame

CODING = Schema.loads(SCHEMA).coding
ME: Row = ("F", "A", "5", "n", "me")


def rows(table: pl.DataFrame | RowSource, guarantee: Guarantee = PERSON) -> ConfidentialRows:
    source = table if not isinstance(table, pl.DataFrame) else open_source(table)
    return ConfidentialRows(source, CODING, guarantee)


def counted(table: pl.DataFrame | RowSource, question: Marginal = TOTAL, guarantee: Guarantee = PERSON) -> list[int]:
    return [int(x) for x in rows(table, guarantee).count(CountPlan([question], CODING))[0]]


def test_of_each_person_the_first_rows_count() -> None:
    table = frame(
        (
            ("F", "A", "5", "n", "me"),
            ("M", "B", "5", "n", "you"),
            ("F", "B", "5", "n", "me"),
            ("M", "C", "5", "n", "me"),
        )
    )
    assert counted(table) == [3]
    assert counted(table, Marginal(("sex",))) == [2, 1]
    assert counted(table, guarantee=Guarantee()) == [4]


def test_rows_that_name_no_person_do_not_count() -> None:
    nobody = (("F", "A", "5", "n", None), ("F", "A", "5", "n", ""), ("F", "A", "5", "n", " "))
    assert counted(frame(nobody * 3)) == [0]


def test_the_cap_holds_across_batches() -> None:
    class InPieces:
        columns = ("sex", "race", "pay", "area", "id")

        def batches(self, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
            for _ in range(50):
                yield frame((ME, ("M", "B", "5", "n", "you"))).select(list(dict.fromkeys(columns)))

    assert counted(InPieces()) == [4]


def test_a_run_reads_the_rows_once_to_code_them_so_that_no_two_requests_see_other_rows() -> None:
    class Shuffled:
        columns = ("sex", "race", "pay", "area", "id")
        times = 0

        def batches(self, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
            self.times += 1
            people = [ME, ("M", "B", "5", "n", "you")]
            yield frame(tuple(people[: self.times])).select(list(dict.fromkeys(columns)))

    held = rows(Shuffled())
    for question in (TOTAL, Marginal(("sex",)), TOTAL):
        assert sum(held.count(CountPlan([question], CODING))[0]) == 1


class _Secret(Exception):
    pass


def test_an_error_with_rows_in_hand_carries_nothing_along() -> None:
    class Broken:
        columns = ("sex", "race", "pay", "area", "id")

        def batches(self, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
            yield frame((ME,)).select(list(dict.fromkeys(columns)))
            raise _Secret("the pay of me is 5")

    with pytest.raises(TableMismatch) as counting:
        counted(Broken())
    with pytest.raises(TableMismatch) as hashing:
        rows(Broken()).fingerprint(b"key")
    for refusal in (counting.value, hashing.value):
        assert refusal.__context__ is None
        assert refusal.__cause__ is None
        assert "pay" not in str(refusal)


def test_rows_cannot_be_shown_copied_or_pickled() -> None:
    hidden = rows(frame((ME,)))
    assert repr(hidden) == "ConfidentialRows(hidden)"
    assert not hasattr(hidden, "__len__")
    assert not hasattr(hidden, "__dict__")
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            leak(hidden)


def test_the_fingerprint_knows_the_rows_in_any_order_and_format(tmp_path: Path) -> None:
    table = frame((ME, ("M", None, "12", "s", "you"), ("M", "Z", "x", None, "you")))
    table.write_csv(tmp_path / "t.csv")
    table.write_parquet(tmp_path / "t.parquet")
    shuffled = table.reverse().select("id", "pay", "sex", "area", "race")
    prints = {
        ConfidentialRows(open_source(t), CODING, PERSON).fingerprint(b"key")
        for t in (table, shuffled, tmp_path / "t.csv", tmp_path / "t.parquet")
    }
    assert len(prints) == 1
    other = {
        rows(table).fingerprint(b"other key"),
        rows(table.head(2)).fingerprint(b"key"),
        rows(pl.concat([table, table.head(1)])).fingerprint(b"key"),
        rows(table.with_columns(race=pl.lit("A"))).fingerprint(b"key"),
        rows(table.with_columns(pl.col("race").reverse())).fingerprint(b"key"),  # the same columns, other rows
    }
    assert len(other) == 5
    assert not other & prints


FAR = 700


def _lines(path: Path, table: pl.DataFrame, gap: int, more: pl.DataFrame) -> None:
    """Empty lines stand in the file whether or not a record follows them."""
    text = table.write_csv() + "\n" * FAR + (more.write_csv(include_header=False) if gap else "")
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def _sheet(path: Path, table: pl.DataFrame, gap: int, more: pl.DataFrame) -> None:
    """Empty rows stand in a sheet only if something follows them."""
    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet()
        for i, row in enumerate([table.columns, *table.rows()]):
            page.write_row(i, 0, row)
        if gap:
            page.write_row(FAR, 0, more.row(0))


def _columnar(path: Path, table: pl.DataFrame, gap: int, more: pl.DataFrame) -> None:
    whole = pl.concat([table, table.clear(FAR), *[more] * gap])
    whole.write_parquet(path) if path.suffix == ".parquet" else whole.write_ipc(path)


@pytest.mark.parametrize("question", [TOTAL, Marginal(("sex",)), Marginal(("race",))], ids=str)
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.csv", _lines),
        ("t.csv.gz", _lines),
        ("t.txt", _lines),
        ("t.xlsx", _sheet),
        ("t.parquet", _columnar),
        ("t.arrow", _columnar),
    ],
)
def test_a_record_far_below_the_others_moves_one_cell_by_one(
    name: str, write: Callable[[Path, pl.DataFrame, int, pl.DataFrame], None], question: Marginal, tmp_path: Path
) -> None:
    table, found = frame((ME, ("M", "B", "12", "s", "you"))), []
    for gap in (0, 1):
        write(tmp_path / name, table, gap, frame((("F", "C", "5", "w", "far"),)))
        found.append(np.array(counted(open_source(tmp_path / name), question, Guarantee())))
    assert np.abs(found[1] - found[0]).sum() == 1


def test_two_fingerprints_and_the_key_do_not_tell_the_row_that_was_added() -> None:
    """Someone who holds the ledger, key included, and knows the row to be one of a few thousand."""
    key, word = b"k" * 32, (1 << 64) - 1
    table, added = frame((("F", "A", "5", "n", "me"), ("M", "B", "12", "s", "you"))), ("M", "C", "38", "w", "x7")
    before, after = rows(table).fingerprint(key), rows(pl.concat([table, frame((added,))])).fingerprint(key)
    halves = [
        [int.from_bytes(bytes.fromhex(f.removeprefix("2:"))[i : i + 8], "little") for i in (0, 8)]
        for f in (before, after)
    ]
    moved = [(b - a) & word for a, b in zip(*halves, strict=True)]
    guesses = [(s, r, str(p), "w", "x7") for s in "FM" for r in "ABC" for p in range(400)]
    assert added in guesses
    fits = [g for g in guesses if hash_rows(frame((g,)).select(sorted(table.columns)), key).tolist() == moved]
    assert fits == [], "the sums were kept, and their difference is the hash of one row"


def test_what_is_coded_alike_has_one_fingerprint_whatever_its_type_or_blanks() -> None:
    table = pl.DataFrame({"sex": ["F"], "race": ["A"], "pay": [5], "area": ["n"], "id": [7]})
    as_float = table.with_columns(pl.col("pay", "id").cast(pl.Float64))
    as_text = table.cast(pl.String)
    blanks = as_text.with_columns(pay=pl.lit(" 5 "), area=pl.lit("n\t"))  # what is trimmed when it is coded
    assert len({rows(t).fingerprint(b"k") for t in (table, as_float, as_text, blanks)}) == 1
    missing = [as_text.with_columns(area=pl.lit(v, pl.String)) for v in (None, "", "  ")]
    assert len({rows(t).fingerprint(b"k") for t in missing}) == 1


def test_a_missing_column_is_told_from_the_header_without_listing_it() -> None:
    with pytest.raises(TableMismatch, match="no column area") as refusal:
        rows(frame((ME,)).drop("area"))
    assert "race" not in str(refusal.value), "the header of a file without one is a row"


def test_counts_do_not_depend_on_the_order_of_rows() -> None:
    table = frame((ME, ("M", "B", "5", "n", "you"), ("M", "C", "39", "s", "she")) * 7)
    shuffled = table[np.random.default_rng(0).permutation(len(table))]
    question = Marginal(("sex", "pay"))
    assert counted(table, question, Guarantee()) == counted(shuffled, question, Guarantee())


class Wide(Marginal):
    """Says one cell where it has many."""

    @property
    def leaves(self) -> int:
        return 0


def test_prices_and_promise_are_in_one_measure_and_questions_are_plain(tmp_path: Path) -> None:
    account = RunAccount(Ledger.open(str(tmp_path / "ledger.db")), table="toy", run="run")
    with pytest.raises(JobError, match="Prices in zcdp, a promise in pure"):
        Gate(open_source(frame((ME,))), Tariff(CODING, PERSON, "zcdp"), Budget("1"), account)
    gate = Gate(open_source(frame((ME,))), Tariff(CODING, PERSON, "pure"), Budget("1"), account)
    with pytest.raises(JobError, match="Nothing was read or spent"):
        gate.measure([Wide(("sex",))], Fraction(1, 2))
    with pytest.raises(JobError, match="Nothing was read or spent"):
        gate.select({Wide(("sex",)): np.array([0, 0])}, Fraction(1, 2))
    assert gate.left == 1


@pytest.mark.parametrize("wild", [-(2**63), 2**63 - 1, 2**62])
def test_an_estimate_so_large_that_a_score_would_overflow_is_refused_before_booking(
    tmp_path: Path, wild: int
) -> None:
    budget = Budget("1")
    account = RunAccount(Ledger.open(str(tmp_path / "ledger.db")), table="toy", run="run")
    gate = Gate(open_source(frame((ME,))), Tariff(CODING, PERSON, "pure"), budget, account)
    with pytest.raises(JobError, match="one count per cell"):
        gate.select({Marginal(("sex",)): np.array([wild, 0])}, Fraction(1, 2))
    assert gate.left == 1
