"""Public tables as sources: frames too whose columns have no one type, which are refused of a confidential table."""

from typing import Any

from hedgerow.public.files import Source, is_loose, open_source


def open_public(table: Any) -> Source:
    """A public table as a source; a pandas column without one type (dates, decimals, a mixture) as text.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": pd.Series([1, "a", 2.0, None], dtype=object)})
    >>> next(open_public(frame).batches(["x"]))["x"].to_list()
    ['1', 'a', '2', None]
    """
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
