"""Which of a person's rows come first, where rows stand in no order: by the values of a declared column."""

import polars as pl

from hedgerow.public.coding import as_text


def keys(values: pl.Series) -> pl.DataFrame:
    """What values are ordered by: ``number``, then ``text``, missing ones last. What reads alike is alike."""
    text = as_text(values).alias("text")
    number = text.cast(pl.Float64, strict=False).fill_nan(None) + 0.0  # one zero, not two
    return pl.DataFrame([number.alias("number"), text])


def ranks(values: pl.Series) -> pl.Series:
    """The place of each value among all of them, from 1 on.

    >>> ranks(pl.Series(["10", "9", "2020-01-01", None, " 9 ", "2019-12-31"])).to_list()
    [2, 1, 4, 5, 1, 3]
    """
    parts = [part for c in ("number", "text") for part in (pl.col(c).is_null().alias(f"no {c}"), pl.col(c))]
    return keys(values).select(pl.struct(parts).rank("dense").cast(pl.Int64)).to_series()
