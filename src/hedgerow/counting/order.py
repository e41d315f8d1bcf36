"""Whose rows are whose, and which of a person's come first: as they stand, or by the values of a declared column."""

from typing import Any

import numpy as np
import polars as pl

from hedgerow.counting.encode import group
from hedgerow.counting.fingerprint import WHOLE
from hedgerow.counting.kernel import compiled
from hedgerow.counting.plan import JobError
from hedgerow.public.coding import Coding, as_text

ALL = 1 << 60  # rows of a person, or bytes: no cap


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


def name_of(person: pl.Series, texts: Any) -> pl.Series:
    """What people are told apart by: ``as_text``, or whole numbers as they are, which is the same."""
    return person.cast(pl.Int64) if person.dtype in WHOLE else as_text(person).cast(texts)


def first_rows(people: pl.Series) -> pl.Series:
    """The row with which the person of each row begins; rows that name nobody are one person's here.

    >>> first_rows(pl.Series([7, 5, 7])).to_list(), first_rows(pl.Series(["b", None, "b", None])).to_list()
    ([0, 1, 0], [0, 1, 0, 1])
    """
    if people.dtype != pl.Int64 or people.null_count() or len(people) >= 1 << 31:  # more than ``group`` can number
        return people.to_frame("p").with_row_index("r").select(pl.col("r").min().over("p")).to_series()
    place, first = np.empty(len(people), np.uint32), np.empty(len(people), np.int64)
    many = group(people.to_numpy().view(np.uint64).reshape(-1, 1), place, first, 0)
    return pl.Series(first[:many].astype(np.uint32).take(place))


def within_cap(person: pl.Series, rows: int) -> pl.Series:
    """Which rows count, by ``person_cap``, where small numbers say whose each is (null: nobody's).

    >>> within_cap(pl.Series([0, 1, 0, None, 0], dtype=pl.UInt32), 2).to_list()
    [True, True, True, False, False]
    """
    seen, keep = np.zeros(int(person.max() or 0) + 2, np.uint32), np.empty(len(person), bool)  # type: ignore
    mark_first(person.fill_null(len(seen) - 1).to_numpy(), rows, seen, keep)
    return pl.Series(keep) & person.is_not_null()


@compiled
def mark_first(person: Any, rows: Any, seen: Any, keep: Any) -> None:
    """Keep the rows of a person while so many were not seen."""
    for r in range(len(keep)):
        keep[r] = seen[person[r]] < rows
        seen[person[r]] += 1
