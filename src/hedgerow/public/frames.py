"""Public tables as sources: frames too whose columns have no one type, which are refused of a confidential table."""

from typing import Any, TypeVar

from hedgerow.errors import NOTHING, JobError
from hedgerow.public.files import Source, is_loose, open_source

T = TypeVar("T")


def must_be_here(table: T) -> T:
    """The table; refused if it is on a server or in Spark, whose rows are counted there and not read by this process.

    Its address is not shown: it may hold a password.
    """
    name = str(table) if isinstance(table, str) else ""
    if name.startswith("spark:") or "://" in name or type(table).__module__.startswith("pyspark."):
        raise JobError(
            "A table on a server or in Spark is counted where it is; here rows are read into this process. Name a\n"
            "file, a folder of Parquet files or duckdb:FILE#TABLE, or in Python hand over a frame of pandas, Polars\n"
            f"or PyArrow. {NOTHING}"
        )
    return table


def open_public(table: Any) -> Source:
    """A public table as a source; a pandas column without one type (dates, decimals, a mixture) as text.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": pd.Series([1, "a", 2.0, None], dtype=object)})
    >>> next(open_public(frame).batches(["x"]))["x"].to_list()
    ['1', 'a', '2', None]
    """
    must_be_here(table)
    if type(table).__module__.partition(".")[0] == "pandas" and table.columns.is_unique:
        loose = [n for n, kind in table.dtypes.items() if is_loose(kind)]
        if loose:
            table = table.assign(**{n: table[n].astype(object).map(_text).astype("string") for n in loose})
    return open_source(table)


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    text = str(int(value) if isinstance(value, float) and value.is_integer() else value)
    return None if text in ("None", "nan", "NaN", "NaT", "<NA>") else text.removesuffix(" 00:00:00")
