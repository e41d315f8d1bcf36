"""Tables of every format come out as the same batches, and no error depends on a row."""

import csv
import datetime as dt
import gzip
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from hedgerow.errors import HedgerowError, JobError, TableMismatch
from hedgerow.public import files as csv_text
from hedgerow.public.coding import as_text
from hedgerow.public.files import Source, open_source
from hedgerow.public.views import open_confidential

PEOPLE = pl.DataFrame(
    {
        "sex": ["F", "M", None, "F", "M"],
        "pay": [52_000, None, 61_500, 48_000, 48_000],
        "hired": [dt.date(2001, 2, 3), None, dt.date(1999, 12, 31), dt.date(2010, 1, 1), dt.date(2010, 1, 1)],
    }
)
pd = pytest.importorskip("pandas")
reuse_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def write_duckdb(frame: pl.DataFrame, path: Path) -> str:
    with duckdb.connect(str(path)) as db:
        db.register("frame", frame.to_arrow())
        db.execute('CREATE TABLE "the people" AS SELECT * FROM frame')
    return f"duckdb:{path}#the people"


def write_gzip(frame: pl.DataFrame, path: Path) -> None:
    path.write_bytes(gzip.compress(frame.write_csv().encode()))


WRITERS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "csv": lambda f, p: f.write_csv(p),
    "tsv": lambda f, p: f.write_csv(p, separator="\t"),
    "csv.gz": write_gzip,
    "parquet": lambda f, p: f.write_parquet(p, row_group_size=2),
    "arrow": lambda f, p: f.write_ipc(p, compression="zstd"),
    "feather": lambda f, p: f.write_ipc(p),
    "dta": lambda f, p: pyreadstat.write_dta(f, p),
    "sav": lambda f, p: pyreadstat.write_sav(f, p),
    "zsav": lambda f, p: pyreadstat.write_sav(f, p, compress=True),
    "por": lambda f, p: pyreadstat.write_por(f, p),
    "xpt": lambda f, p: pyreadstat.write_xport(f, p),
    "duckdb": write_duckdb,
}
FRAMES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda f: f,
    "lazy": lambda f: f.lazy(),
    "pandas": lambda f: f.to_pandas(),
    "pyarrow": lambda f: f.to_arrow(),
}


def gathered(source: Source, columns: list[str], rows: int) -> dict[str, list[str]]:
    """All values as text, written the same way whatever the format."""
    parts = list(source.batches(columns, rows))
    assert all(0 < len(p) <= rows and p.columns == columns for p in parts)
    texts: dict[str, list[str]] = {c: [] for c in columns}
    for part in parts:
        for column in part.iter_columns():
            values = column.cast(pl.String).str.strip_suffix(".0").fill_null("")
            texts[column.name] += ["" if v == "NaN" else v for v in values]
    return texts


def expected(columns: list[str]) -> dict[str, list[str]]:
    return {c: PEOPLE[c].cast(pl.String).fill_null("").to_list() for c in columns}


@pytest.mark.parametrize("rows", [1, 2, 100])
@pytest.mark.parametrize("kind", WRITERS)
def test_every_file_format_gives_the_same_rows(kind: str, rows: int, tmp_path: Path) -> None:
    path = tmp_path / f"People.{kind}"
    frame = PEOPLE.rename(str.upper) if kind == "por" else PEOPLE
    source = open_source(WRITERS[kind](frame, path) if kind == "duckdb" else (WRITERS[kind](frame, path), path)[1])
    assert [c.lower() for c in source.columns] == PEOPLE.columns
    picked = ["HIRED", "SEX"] if kind == "por" else ["hired", "sex"]
    assert {k.lower(): v for k, v in gathered(source, picked, rows).items()} == expected(["hired", "sex"])


@pytest.mark.parametrize("kind", ["csv", "arrow", "dta", "sav", "parquet"])
def test_a_file_that_is_written_to_while_it_is_read_is_not_read_to_its_end(kind: str, tmp_path: Path) -> None:
    """Its readers open it for every few batches: of the table and of the same in another order rows came twice."""
    path, table = tmp_path / f"t.{kind}", pl.DataFrame({"id": [f"person {i:03}" for i in range(200)]})
    for of in (path, tmp_path / "later" / path.name):
        of.parent.mkdir(exist_ok=True)
        WRITERS[kind](table if of == path else table.reverse(), of)
    batches = open_source(path).batches(["id"], 10)
    next(batches)
    (tmp_path / "later" / path.name).replace(path)
    with pytest.raises(TableMismatch, match="cannot be read to its end"):
        list(batches)


def test_a_folder_in_which_a_file_appears_while_it_is_read_is_not_read_to_its_end(tmp_path: Path) -> None:
    (folder := tmp_path / "t.parquet").mkdir()
    for name in "ab":
        PEOPLE.write_parquet(folder / f"{name}.parquet")
    assert sum(map(len, open_source(folder).batches(["sex"], 1))) == 2 * len(PEOPLE)
    batches = open_source(folder).batches(["sex"], 1)
    next(batches)
    PEOPLE.write_parquet(folder / "c.parquet")
    with pytest.raises(TableMismatch, match="cannot be read to its end"):
        list(batches)


@pytest.mark.parametrize("rows", [1, 2, 100])
@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_gives_the_same_rows(kind: str, rows: int) -> None:
    source = open_source(FRAMES[kind](PEOPLE))
    assert (source.name, source.columns) == ("frame", tuple(PEOPLE.columns))
    assert gathered(source, ["pay", "sex"], rows) == expected(["pay", "sex"])


@pytest.mark.parametrize("kind", FRAMES)
def test_rows_can_be_counted_without_asking_for_a_column(kind: str) -> None:
    assert sum(map(len, open_source(FRAMES[kind](PEOPLE)).batches([], 2))) == len(PEOPLE)


@pytest.mark.parametrize("kind", [k for k in WRITERS if k not in ("por", "duckdb")])
def test_a_table_without_rows_is_a_table(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"empty.{kind}"
    WRITERS[kind](PEOPLE.clear(), path)
    assert sum(map(len, open_source(path).batches(["sex", "pay"]))) == 0


def test_pandas_columns_of_mixed_things_are_refused_for_one_row_would_decide_how_all_are_read() -> None:
    mixed = pd.DataFrame({"x": pd.Series([1, "a", 2.5, None], dtype=object), "y": [1, 2, 3, 4]})
    with pytest.raises(TableMismatch, match="convert_dtypes"):
        open_source(mixed)


def test_pandas_categories_are_taken_as_text() -> None:
    frame = pd.DataFrame({"y": pd.Categorical(["1", "b", None, "1"])})
    (batch,) = open_source(frame).batches(["y"])
    assert batch["y"].to_list() == ["1", "b", None, "1"]


def test_columns_that_are_lists_or_bytes_are_not_offered() -> None:
    frame = pl.DataFrame({"a": [1], "b": [[1, 2]], "c": [{"x": 1}], "d": [b"x"], "e": [dt.timedelta(1)]})
    for table in (frame, frame.lazy(), frame.drop("e").to_arrow()):
        assert open_source(table).columns == ("a",)


@pytest.mark.parametrize("kind", [pl.Date(), pl.Datetime("ms"), pl.Datetime("us"), pl.Datetime("us", "Asia/Tokyo")])
def test_dates_no_calendar_holds_are_moved_to_the_first_or_last_that_it_does(kind: pl.DataType) -> None:
    huge = 2**31 - 1 if kind == pl.Date else 2**58
    physical = pl.Int32 if kind == pl.Date else pl.Int64
    frame = pl.DataFrame({"d": pl.Series([huge, -huge, 0, None]).cast(physical).cast(kind)})
    (batch,) = open_source(frame).batches(["d"])
    assert batch["d"].dtype == pl.Date
    assert batch["d"].cast(pl.String).to_list()[2:] == ["1970-01-01", None]
    assert all(v is None or v in ("9999-12-31", "0001-01-01") for v in batch["d"].cast(pl.String).to_list()[:2])


def test_decimals_are_numbers() -> None:
    frame = pl.DataFrame({"x": pl.Series(["1.00", "2.50"]).str.to_decimal(scale=2)})
    (batch,) = open_source(frame).batches(["x"])
    assert batch["x"].to_list() == [1.0, 2.5]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_separator_mark_and_line_ends_are_recognised(
    separator: str, mark: bytes, end: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    lines = end.join(separator.join(cells) for cells in (["a", "b b", "c"], ["1", "x y", "3"], ["", "é", "0003"]))
    path.write_bytes(mark + lines.encode())
    assert pl.concat(open_source(path).batches(["b b", "c", "a"])).rows() == [("x y", "3", "1"), ("é", "0003", None)]


def rows_of(path: Path, block: int) -> list[tuple[str, ...]]:
    header = csv_text.read_header(str(path))[0]
    frames = list(csv_text.read_rows(str(path), header, block))
    assert all(f.dtypes == [pl.String] * len(header) for f in frames)
    return [tuple(v or "" for v in row) for f in frames for row in f.rows()]


@reuse_folder
@given(body=st.lists(st.sampled_from(b'ab,\n\r"; \x00\xff\xc31'), max_size=80), block=st.integers(1, 100))
def test_no_bytes_but_unmatched_quotes_are_refused(tmp_path: Path, body: list[int], block: int) -> None:
    path = tmp_path / "any.csv"
    body = [c for line in bytes(body).split(b"\n") for c in (*line, *(b'"' * (line.count(b'"') % 2)), *b"\n")]
    path.write_bytes(b"a,b,c\n" + bytes(body))
    assert all(len(row) == 3 for row in rows_of(path, block))


@reuse_folder
@given(
    rows=st.lists(st.lists(st.text('x," é1', max_size=4), min_size=3, max_size=3), max_size=30),
    block=st.integers(1, 200),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_well_formed_csv_reads_as_the_standard_library_reads_it(
    tmp_path: Path, rows: list[list[str]], block: int, quoting: Any
) -> None:
    path, text = tmp_path / "good.csv", io.StringIO(newline="")
    csv.writer(text, quoting=quoting, lineterminator="\n").writerows([["a", "b", "c"], *rows])
    path.write_text(text.getvalue(), "utf-8", newline="")
    assert rows_of(path, block) == [tuple(r) for r in rows]


@reuse_folder
@given(
    lines=st.lists(st.lists(st.sampled_from(b'a1,;"\r \xc3\xa9\xff\x00'), max_size=12), min_size=1, max_size=20),
    block=st.integers(1, 60),
)
def test_a_line_is_read_the_same_whatever_stands_in_others(
    tmp_path: Path, lines: list[list[int]], block: int
) -> None:
    """Without this no bound holds on what one person can move."""
    path = tmp_path / "lines.csv"
    lines = [line for line in lines if line.count(ord('"')) % 2 == 0] or [[]]
    alone = []
    for line in lines:
        path.write_bytes(b"a,b,c\n" + bytes(line) + b"\n")
        alone += rows_of(path, 1 << 20)
    path.write_bytes(b"a,b,c\n" + b"\n".join(map(bytes, lines)) + b"\n")
    assert len(alone) == len(lines)
    assert rows_of(path, block) == alone


def test_odd_quotes_within_a_line_cost_that_line_only(tmp_path: Path) -> None:
    path = tmp_path / "stray.csv"
    path.write_text('a,b\n1,"Smith, J"\n2,5" or 6" pipe\n3,"x"y\n4,"Doe, J"\n5,six,seven\n6\n')
    assert rows_of(path, 1 << 20) == [
        ("1", "Smith, J"), ("2", '5" or 6" pipe'), ("3", "xy"), ("4", "Doe, J"), ("5", "six"), ("6", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("line", ['2,5" pipe', '2,"a note\nin two lines"'])
def test_a_quote_that_its_line_does_not_match_stops_the_reading(tmp_path: Path, line: str) -> None:
    """Read as lines, the second note would be two rows of one person; read as one value, quotes reach over lines."""
    path = tmp_path / "stray.csv"
    path.write_text(f"a,b\n1,x\n{line}\n3,y\n")
    with pytest.raises(TableMismatch, match="CSV with line ends"):
        list(open_source(path).batches(["a"]))


@pytest.mark.parametrize("kind", [k for k in WRITERS if k not in ("por", "duckdb")])
def test_types_are_the_same_in_every_batch(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"i": [1, None, None], "f": [None, 1.5, None], "d": [None, None, dt.date(2020, 1, 1)]})
    WRITERS[kind](frame, tmp_path / f"x.{kind}")
    batches = list(open_source(tmp_path / f"x.{kind}").batches(["i", "f", "d"], 1))
    assert len({tuple(b.dtypes) for b in batches}) == 1
    assert len(pl.concat(batches)) == 3


def test_csv_values_are_never_given_a_type(tmp_path: Path) -> None:
    path = tmp_path / "types.csv"
    path.write_text("a,b\n" + "1,2020-01-01\n" * 500 + "x,y\n")
    for batch in open_source(path).batches(["a", "b"], 100):
        assert batch.dtypes == [pl.String, pl.String]


@pytest.mark.parametrize(
    ("table", "error", "said"),
    [
        ("nowhere.csv", JobError, "There is no file"),
        ("duckdb:nowhere.db#t", JobError, "There is no file nowhere.db"),
        (".", JobError, "There is no file"),
        (42, JobError, "not <class 'int'>"),
    ],
)
def test_what_cannot_be_opened_is_said_in_one_paragraph(
    table: Any, error: type[HedgerowError], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a folder without a Parquet file
    with pytest.raises(error, match=said):
        open_source(table)


def test_an_unknown_suffix_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "people.ods").write_bytes(b"x")
    with pytest.raises(JobError, match=r"\.csv .*\.parquet .*\.dta .*Nothing was read"):
        open_source(tmp_path / "people.ods")


@pytest.mark.parametrize("kind", [k for k in WRITERS if k != "duckdb"])
@pytest.mark.parametrize("content", [b"", b"\x89SECRET nonsense"])
def test_a_header_that_cannot_be_read_is_a_mismatch(kind: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"bad.{kind}"
    path.write_bytes(content)
    if kind in ("csv", "tsv") and content:
        assert len(open_source(path).columns) == 1
        return
    with pytest.raises(TableMismatch, match="header .* cannot be read.*\n.*No row was read") as caught:
        open_source(path)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


def test_two_columns_of_one_name_are_a_mismatch(tmp_path: Path) -> None:
    (tmp_path / "twice.csv").write_text("a,b,a\n1,2,3\n")
    with pytest.raises(TableMismatch, match="names a column twice"):
        open_source(tmp_path / "twice.csv")


def test_a_missing_duckdb_table_is_a_mismatch(tmp_path: Path) -> None:
    write_duckdb(PEOPLE, tmp_path / "x.db")
    with pytest.raises(TableMismatch, match="header"):
        open_source(f"duckdb:{tmp_path / 'x.db'}#other")


def test_an_absent_column_is_named_and_no_other_is(tmp_path: Path) -> None:
    path = tmp_path / "headless.csv"
    path.write_text("Smith,52000\nDoe,48000\n")
    with pytest.raises(TableMismatch, match="no column .* named sex, pay") as caught:
        open_source(path).batches(["sex", "pay"])
    assert "Smith" not in str(caught.value)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "dta", "sav", "csv.gz"])
def test_a_damaged_page_gives_a_fixed_sentence_whatever_is_in_it(kind: str, tmp_path: Path) -> None:
    path, rng, seen = tmp_path / f"torn.{kind}", np.random.default_rng(5), set()
    WRITERS[kind](
        pl.DataFrame({"name": [f"SECRET{i % 77}" for i in range(4000)], "x": rng.integers(0, 9, 4000)}), path
    )
    whole = path.read_bytes()
    for trial in range(30):
        torn = bytearray(whole[: len(whole) // 2] if trial == 0 and kind != "parquet" else whole)
        for at in rng.integers(len(torn) // 10, len(torn) * 9 // 10, 20):
            torn[at] = rng.integers(256)
        path.write_bytes(torn)
        try:
            source = open_source(path)
            list(source.batches(source.columns, 1000))
        except TableMismatch as error:
            seen.add(str(error))
            assert error.__context__ is None
    assert any("cannot be read to its end" in s for s in seen)
    assert len(seen) <= 2
    assert not any("SECRET" in s for s in seen)


@pytest.mark.parametrize("rows", [1, 1000, 1 << 18])
def test_a_large_row_group_is_read_by_pages_and_gives_the_same(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, n = np.random.default_rng(6), 3000 if rows > 1 else 7
    some = pl.Series(["a", "é b", "", None, "much longer than twelve bytes"]).gather(rng.integers(0, 5, n))
    whole = pl.Series(rng.integers(-9, 9, n)).set(pl.Series(rng.random(n) < 0.1), None)
    table = pl.DataFrame({"t": some, "i": whole, "f": rng.random(n), "own": [f"name {i}" for i in range(n)]})
    table = table.with_columns(
        b=pl.col("i") > 0, d=pl.col("i").cast(pl.Int32).cast(pl.Date), s=pl.col("i").cast(pl.Int32)
    )
    path = tmp_path / "large.parquet"
    table.write_parquet(path)
    by_groups = pl.concat(open_source(path).batches(table.columns, rows))
    monkeypatch.setattr(csv_text, "_GROUP", 0)
    met = list[int]()
    made = csv_text._by_reference

    def watched(page: Any) -> pl.DataFrame:
        met.append(len(page))
        return made(page)

    monkeypatch.setattr(csv_text, "_by_reference", watched)
    by_pages = pl.concat(open_source(path).batches(["d", *table.columns], rows)).select(table.columns)
    assert sum(met) == n and max(met) <= rows
    assert_frame_equal(by_pages, by_groups)
    assert_frame_equal(by_groups, table)


def test_a_page_with_bytes_that_are_no_text_gives_a_fixed_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bad.parquet"
    pl.DataFrame({"t": ["SECRET", "SECRET", "other"]}).write_parquet(path, compression="uncompressed")
    path.write_bytes(path.read_bytes().replace(b"SECRET", b"SE\xff\xfeET"))
    monkeypatch.setattr(csv_text, "_GROUP", 0)
    with pytest.raises(TableMismatch, match="cannot be read to its end") as caught:
        list(open_source(path).batches(["t"]))
    assert caught.value.__context__ is None


PEAK = """
import sys
from hedgerow.public.files import open_source
def held():  # memory of the process's own, without pages of files, which the system can take back
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("RssAnon")) / 1024
source = open_source(sys.argv[1])
next(iter(source.batches(source.columns, 1000)))
before, rows, most = held(), 0, 0
for batch in source.batches(source.columns, 1 << 16):
    rows, most = rows + len(batch), max(most, held())
print(rows, most - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize("kind", ["csv", "parquet", "one.parquet", "arrow"])
def test_a_large_file_is_never_in_memory_as_a_whole(kind: str, tmp_path: Path) -> None:
    path, rows = tmp_path / f"large.{kind}", 4_000_000
    if kind == "csv":
        chunk = "0.123456789012345,1234567890123456,ABCDEFGHIJKLMNOPQRSTUV\n" * (rows // 40)
        with path.open("w") as file:
            file.writelines(["x,y,z\n", *[chunk] * 40])
    else:
        x = np.arange(rows)
        frame = pl.DataFrame({"x": x, "y": x * 0.37, "z": pl.Series(x * 7).cast(pl.String) + "ABCDEFGHIJKLMNOP"})
        groups = rows if kind == "one.parquet" else 1 << 16  # a large row group is read by pages
        frame.write_ipc(path) if kind == "arrow" else frame.write_parquet(path, row_group_size=groups)
    ran = subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True)
    read, more = ran.stdout.split()
    assert int(read) == rows
    assert float(more) < 100, "the whole table is some 200 MB; 33 to 75 were measured"


def test_batches_can_be_read_again(tmp_path: Path) -> None:
    WRITERS["csv"](PEOPLE, tmp_path / "a.csv")
    source = open_source(tmp_path / "a.csv")
    assert gathered(source, ["sex"], 2) == gathered(source, ["sex"], 3)
    assert open_source(source) is source


def test_pyarrow_strings_stay_as_they_are() -> None:
    table = pa.table({"s": pa.array(["a", None]).dictionary_encode(), "n": pa.array([1, 2], pa.uint8())})
    (batch,) = open_source(table).batches(["s", "n"])
    assert batch["s"].cast(pl.String).to_list() == ["a", None]
    assert batch["n"].to_list() == [1, 2]


def test_a_column_may_be_called_anything(tmp_path: Path) -> None:
    odd = pl.DataFrame({"*": ["a"], "^b.*$": ["c"], "bee": ["d"]})
    odd.write_parquet(tmp_path / "odd.parquet")
    for table in (odd, odd.lazy(), tmp_path / "odd.parquet"):
        (batch,) = open_source(table).batches(["^b.*$", "*"])
        assert batch.to_dict(as_series=False) == {"^b.*$": ["c"], "*": ["a"]}


def test_a_view_is_not_read_as_confidential_because_its_rows_may_be_made_of_others(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(tmp_path / "d.duckdb") as db:
        db.execute("CREATE TABLE pay AS SELECT i % 2 AS sex, i AS pay FROM range(9) t(i)")
        db.execute("CREATE VIEW ranked AS SELECT sex, rank() OVER (ORDER BY pay) AS place FROM pay")
        db.execute("CREATE SCHEMA s; CREATE VIEW s.joined AS SELECT a.sex FROM pay a JOIN pay b USING (sex)")
    for view in ("ranked", "RANKED", "main.ranked", "s.joined"):
        name = f"duckdb:{tmp_path / 'd.duckdb'}#{view}"
        assert open_source(name).columns, "as a public table it may be read"
        with pytest.raises(TableMismatch, match="is a view: it may join rows.*\none row of what is read"):
            open_confidential(name)
    assert open_confidential(f"duckdb:{tmp_path / 'd.duckdb'}#pay").columns == ("sex", "pay")


def in_folders(rows: list[tuple[str, int]], place: Path) -> Path:
    """Rows as engines write them: a folder for each value of a column."""
    for state in {state for state, _ in rows}:
        (place / f"state={state}").mkdir(parents=True)
        pl.DataFrame({"n": [n for s, n in rows if s == state]}).write_parquet(place / f"state={state}" / "p.parquet")
    return place


def states(table: Path) -> list[str | None]:
    """The states of all rows but those of the one person, n = 0, who may be there or not."""
    rows = pl.concat(open_confidential(str(table)).batches(["state", "n"])).filter(pl.col("n") > 0)
    return as_text(rows.sort("n")["state"]).to_list()


@pytest.mark.parametrize("odd", ["XX", "1.5", "2020-01-01", "__HIVE_DEFAULT_PARTITION__"])
def test_one_row_in_a_folder_of_its_own_does_not_change_how_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    """The planted bug: types by what all folders are called, so that "01" is 1 unless somebody is in "XX"."""
    one = in_folders([("01", 1), ("02", 2), ("01", 3)], tmp_path / "one")
    other = in_folders([("01", 1), ("02", 2), ("01", 3), (odd, 0)], tmp_path / "other")
    assert states(one) == states(other) == ["01", "02", "01"]
    monkeypatch.setattr(csv_text, "_named_by_folders", lambda name: None)
    assert (states(one) != states(other)) == (odd in ("XX", "2020-01-01")) and states(one) == ["1", "2", "1"]


def test_the_last_line_is_a_line_whatever_follows_it(tmp_path: Path) -> None:
    for text, rows in (("a\n1\n\r", 2), ("a\n1\n\r\n", 2), ("a\n1\n", 1), ("a\n1", 1), ('a\n"1"\n\r', 2)):
        (tmp_path / "t.csv").write_text(text, newline="")
        assert pl.concat(open_source(tmp_path / "t.csv").batches(["a"])).height == rows, repr(text)
