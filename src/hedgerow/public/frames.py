"""Public tables as sources: frames too whose columns have no one type, and tables on servers, brought here.

A confidential table is none of these: the first are refused, and the second are counted where they are.
"""

from typing import Any, TypeVar

from hedgerow.errors import NOTHING, JobError
from hedgerow.public.files import Source, is_loose, open_source
from hedgerow.public.servers import brought, brought_source, is_address, is_spark

T = TypeVar("T")


def must_be_here(table: T) -> T:
    """The table; refused if it is on a server or in Spark, whose rows are counted there and not read by this process.

    Its address is not shown: it may hold a password.
    """
    if is_address(table) or is_spark(table):
        raise JobError(
            "A table on a server or in Spark is counted where it is; here rows are read into this process. Name a\n"
            "file, a folder of Parquet files or duckdb:FILE#TABLE, or in Python hand over a frame of pandas, Polars\n"
            f"or PyArrow. {NOTHING}"
        )
    return table


def open_public(table: Any) -> Source:
    """A public table as a source; a pandas column without one type (dates, decimals, a mixture) as text.

    A Spark frame, and a table at an address, is brought into this process (``servers.py``).

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": pd.Series([1, "a", 2.0, None], dtype=object)})
    >>> next(open_public(frame).batches(["x"]))["x"].to_list()
    ['1', 'a', '2', None]
    """
    if is_address(table):
        return brought_source(brought(table), table)
    if is_spark(table):
        return open_source(brought(table))
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
