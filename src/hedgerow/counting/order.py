"""Which of a person's rows come first, where rows stand in no order: by the values of a declared column."""

from typing import Any

import polars as pl

from hedgerow.counting.plan import JobError
from hedgerow.public.coding import Coding, as_text

ALL = 1 << 60  # rows of a person: no cap


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


def must_be_public(guarantee: Any, order: str) -> None:
    """Refuse a cap by a column that label-change protects: a label would decide which rows count, in which cells."""
    capped = guarantee.person and order and guarantee.rows_per_person < ALL
    if capped and guarantee.relation == "label-change" and order not in guarantee.public_columns:
        raise JobError(
            f"Under label-change {order!r} is protected, and it would say which rows of a person count. Order by a\n"
            "public column of the schema (in Python: Person(..., order=...)), or choose relation = 'replace-one'.\n"
            "No confidential row was read and nothing was spent."
        )


def ties(coding: Coding, guarantee: Any) -> list[str]:
    """The columns whose codes say which rows of equal rank come first: public ones decide before any other.

    So under label-change the public codes of the rows that count do not hang on a label.
    """
    return sorted((c.name for c in coding.columns), key=lambda name: name not in guarantee.public_columns)
