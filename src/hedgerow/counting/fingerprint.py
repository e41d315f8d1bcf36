"""A keyed hash of a table that does not know the order of its rows, nor in which file they stand."""

import hashlib

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.public.coding import as_text

_MIX = np.uint64(0x9E3779B97F4A7C15)


def hash_rows(batch: pl.DataFrame, key: bytes) -> npt.NDArray[np.uint64]:
    """The sum over rows of a hash of each row: of the keyed hashes of its values, column by column."""
    row = np.zeros((len(batch), 2), np.uint64)
    for column in batch.iter_columns():
        text = (column if column.dtype == pl.String else as_text(column)).fill_null("")
        distinct = text.unique()  # trimmed only now: texts that differ in blanks alone are hashed alike
        salted = [f"{column.name}\0{value}".encode() for value in as_text(distinct).fill_null("")]
        words = b"".join(hashlib.blake2b(t, key=key, digest_size=16).digest() for t in salted)
        place = text.cast(pl.Enum(distinct)).to_physical()
        row = (row ^ np.frombuffer(words, np.uint64).reshape(-1, 2).take(place.to_numpy(), axis=0)) * _MIX
        row ^= row >> np.uint64(29)
    return np.asarray(row.sum(axis=0, dtype=np.uint64))
