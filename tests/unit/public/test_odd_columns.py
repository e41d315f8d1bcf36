"""Columns that no reader can make text are told by the header, before anything is booked; no row is lost unseen."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from hedgerow.errors import TableMismatch
from hedgerow.public import files
from hedgerow.public.files import open_source

pd = pytest.importorskip("pandas")
ODD: dict[str, Any] = {
    "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["1", None, "2"])),
    "opaque": pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "t", "v"), pa.array([1, None, 2])),
    "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "large binary": pa.array([b"\xff", None, b"a"], pa.large_binary()),
    "wide decimal": pa.array([Decimal(1), Decimal(10) ** 60, None], pa.decimal256(76, 2)),
}


def written(kind: str, path: Path) -> Path:
    """A file with the column ``n`` and an odd one."""
    table = pa.table({"n": [1, 2, 3], "x": ODD[kind]})
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return path


def check(table: Any) -> None:
    source = open_source(table)
    assert source.columns == ("n",)
    with pytest.raises(TableMismatch, match="Only the header was read"):
        source.batches(["x"])
    assert pl.concat(source.batches(["n"]))["n"].to_list() == [1, 2, 3]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("kind", ODD)
def test_a_column_of_a_file_that_cannot_be_made_text_is_told_by_the_header(
    tmp_path: Path, kind: str, suffix: str
) -> None:
    """Else a run books its promise, and ends when it reads the first row."""
    check(written(kind, tmp_path / f"t.{suffix}"))


@pytest.mark.parametrize("kind", ["json", "opaque", "map", "large binary"])
def test_a_column_of_pandas_that_cannot_be_made_text_is_told_by_the_header(kind: str) -> None:
    check(pa.table({"n": [1, 2, 3], "x": ODD[kind]}).to_pandas(types_mapper=pd.ArrowDtype))


@pytest.mark.parametrize("kind", ["binary", "large_binary", "binary_view", "duration", "string", "int64"])
def test_of_a_dictionary_of_pandas_the_header_tells_whether_its_values_have_a_text(kind: str) -> None:
    """Bytes that are no text ended a run after it was booked, and only in tables that had them."""
    values = {"string": ["a", None], "int64": [1, None], "duration": [1, None]}.get(kind, [b"\xff", None])
    of = pa.duration("us") if kind == "duration" else pa.type_for_alias(kind)
    held = pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(values, of).dictionary_encode()]))
    source = open_source(pd.DataFrame({"n": [1, 2], "x": held}))
    assert source.columns == (("n", "x") if kind in ("string", "int64") else ("n",))
    assert sum(map(len, source.batches(source.columns))) == 2


def test_times_of_a_zone_that_polars_does_not_know_are_told_by_the_header() -> None:
    times = pd.to_datetime(["2000-01-01T00:00:00+05:30", "2000-01-02T00:00:00+05:30"])
    assert open_source(pd.DataFrame({"n": [1, 2], "t": times})).columns == ("n",)
    assert open_source(pd.DataFrame({"t": times.tz_convert("Asia/Kolkata")})).columns == ("t",)


def test_what_has_a_text_in_pandas_stays() -> None:
    periods, ranges = pd.period_range("2000-01", periods=2, freq="M"), pd.interval_range(0, 2)
    exact = pd.Series([Decimal("1.50"), None], dtype=pd.ArrowDtype(pa.decimal64(5, 2)))
    assert open_source(pd.DataFrame({"p": periods, "i": ranges, "d": exact})).columns == ("p", "i", "d")


def test_a_file_whose_rows_are_lost_to_a_panic_is_not_counted_as_an_empty_one(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Polars panics in a thread of its own on this file, and its batches end as if there were no rows."""
    lazy = pl.scan_ipc(written("wide decimal", tmp_path / "t.arrow"))
    assert [*lazy.collect_batches()] == [], "Polars says so now: this file shows nothing any more"
    with pytest.raises(ValueError, match="not as many rows"):
        list(files._slices(lazy, ["n", "x"], 2))
    capfd.readouterr()
