"""A keyed hash of a table that knows neither the order of its rows nor the file in which they stand.

Each value becomes a word of 64 bits: a whole number itself, another number its bits, each kind under a secret mask of
its own, and a text its keyed hash; so a number is the same however a file writes it, 1.50 or 1.5.  The words of a row
are hashed by SipHash-2-4 with 128 bits of output (Aumasson and Bernstein 2012), and the hashes of rows are added up.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.counting.encode import Lookup
from hedgerow.counting.kernel import compiled
from hedgerow.public.coding import as_text

WHOLE = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)  # all of a wider type may not fit
_Words = npt.NDArray[np.uint64]
_MISSING, _WHOLE, _NUMBER = range(3)  # the masks of kinds of values; texts are hashed under a key instead
_BLOCK = 256  # rows that are hashed at once: their state fits the first cache


class RowKey(NamedTuple):
    """What the columns called ``names`` are hashed with: two words for rows, two for texts, and three masks."""

    row: _Words
    text: _Words
    masks: _Words

    @classmethod
    def of(cls, key: bytes, names: Sequence[str]) -> "RowKey":
        """The key of a table with these columns, from that of the ledger."""
        held = hashlib.blake2b(json.dumps(list(names)).encode(), key=key, digest_size=56).digest()
        words = np.frombuffer(held, "<u8").astype(np.uint64)
        return cls(words[:2], words[2:4], words[4:])

    def words(self, values: pl.Series) -> _Words:
        """The word of every value. Those that differ in type, blanks or the writing of a number alone are equal."""
        out, kind = np.empty(len(values), np.uint64), values.dtype
        if kind in WHOLE:
            filled = values.fill_null(0) if values.null_count() else values
            np.bitwise_xor(filled.cast(pl.Int64).to_numpy().view(np.uint64), self.masks[_WHOLE], out=out)
            out[values.is_null().to_numpy() if values.null_count() else slice(0)] = self.masks[_MISSING]
            return out
        text = values if kind == pl.Float64 else as_text(values)
        number = text if kind == pl.Float64 else text.cast(pl.Float64, strict=False)
        numbers = (number.fill_null(float("nan")) if number.null_count() else number).to_numpy()
        number_words(numbers, numbers.view(np.uint64), self.masks, out)
        if kind != pl.Float64:
            whole = text.cast(pl.Int64, strict=False)  # beyond 2^53 a float is not exact
            out[whole.is_not_null().to_numpy()] = whole.drop_nulls().to_numpy().view(np.uint64) ^ self.masks[_WHOLE]
            named = (out == self.masks[_MISSING]) & text.is_not_null().to_numpy()
            out[named] = _hashed(text.filter(named), self.text)
        return out

    def total(self, words: _Words, times: _Words) -> _Words:
        """The sum over rows, each counted so many ``times``, of the hash of its words: a line for each column."""
        out = np.zeros(2, np.uint64)
        add_rows(words, times, self.row, out)
        return out


def hash_rows(batch: pl.DataFrame, key: bytes) -> _Words:
    """The sum over rows of a hash of each; the columns are those of the table, in the order of their names."""
    with_key, words = RowKey.of(key, batch.columns), np.empty((batch.width, batch.height), np.uint64)
    for line, column in zip(words, batch.iter_columns(), strict=True):
        Lookup(with_key.words).writer(column)(0, 0, line)
    return with_key.total(words, np.ones(batch.height, np.uint64))


def sealed(total: bytes, key: bytes) -> str:
    """What is kept of the sum of all rows: its keyed hash, and that it was made in this, the second, way."""
    return "2:" + hashlib.blake2b(total, key=key, digest_size=16).hexdigest()


def _hashed(texts: pl.Series, key: _Words, most: int = 1 << 13) -> _Words:
    out = np.empty(len(texts), np.uint64)
    for at in range(0, len(texts), most):  # not joined all at once: Polars makes no text of 4 GiB
        data = np.frombuffer(cast(str, (some := texts[at : at + most]).str.join("").item()).encode(), np.uint8)
        hash_texts(data, np.cumsum(some.str.len_bytes().to_numpy(), dtype=np.int64), key, out[at : at + most])
    return out


@compiled
def number_words(numbers: Any, bits: Any, masks: Any, out: Any) -> None:
    """The word of each number, given with its bits; that of a missing value for NaN."""
    for r in range(len(out)):
        x = numbers[r]
        if x != x:
            out[r] = masks[_MISSING]
        elif -(2.0**63) <= x < 2.0**63 and np.floor(x) == x:
            out[r] = np.uint64(np.int64(x)) ^ masks[_WHOLE]
        else:
            out[r] = bits[r] ^ masks[_NUMBER]


@compiled
def _rotated(x, by):  # type: ignore[no-untyped-def]  # annotations would be checked, and cannot be compiled
    return (x << by) | (x >> (np.uint64(64) - by))


@compiled
def _begun(key, wide):  # type: ignore[no-untyped-def]
    return (
        key[0] ^ np.uint64(0x736F6D6570736575),
        key[1] ^ np.uint64(0x646F72616E646F6D) ^ np.uint64(0xEE * wide),
        key[0] ^ np.uint64(0x6C7967656E657261),
        key[1] ^ np.uint64(0x7465646279746573),
    )


@compiled
def _rounds(a, b, c, d, many):  # type: ignore[no-untyped-def]
    for _ in range(many):
        a += b
        c += d
        b, d = _rotated(b, np.uint64(13)) ^ a, _rotated(d, np.uint64(16)) ^ c
        a = _rotated(a, np.uint64(32)) + d
        c += b
        d, b = _rotated(d, np.uint64(21)) ^ a, _rotated(b, np.uint64(17)) ^ c
        c = _rotated(c, np.uint64(32))
    return a, b, c, d


@compiled
def hash_texts(data: Any, ends: Any, key: Any, out: Any) -> None:
    """SipHash-2-4 of 64 bits of each text; text t ends before ends[t] and begins where the one before ends."""
    start = 0
    for t in range(len(ends)):
        a, b, c, d = _begun(key, 0)
        word, shift = np.uint64(0), np.uint64(0)
        for i in range(start, ends[t]):
            word |= np.uint64(data[i]) << shift
            shift += np.uint64(8)
            if shift == np.uint64(64):
                a, b, c, d = _rounds(a, b, c, d ^ word, 2)
                a ^= word
                word, shift = np.uint64(0), np.uint64(0)
        word |= np.uint64(ends[t] - start) << np.uint64(56)
        a, b, c, d = _rounds(a, b, c, d ^ word, 2)
        a, b, c, d = _rounds(a ^ word, b, c ^ np.uint64(0xFF), d, 4)
        out[t] = a ^ b ^ c ^ d
        start = ends[t]


@compiled
def add_rows(words: Any, times: Any, key: Any, out: Any) -> None:
    """Add times[r] x SipHash-2-4 of 128 bits of the words of row r, in both halves of ``out``."""
    state = np.empty((4, _BLOCK), np.uint64)
    for low in range(0, words.shape[1], _BLOCK):
        rows = min(_BLOCK, words.shape[1] - low)
        a, b, c, d = state[0, :rows], state[1, :rows], state[2, :rows], state[3, :rows]
        for r in range(rows):
            a[r], b[r], c[r], d[r] = _begun(key, 1)
        for line in range(words.shape[0] + 1):
            for r in range(rows):
                word = words[line, low + r] if line < words.shape[0] else np.uint64(words.shape[0]) << np.uint64(59)
                w, x, y, z = _rounds(a[r], b[r], c[r], d[r] ^ word, 2)
                a[r], b[r], c[r], d[r] = w ^ word, x, y, z
        for r in range(rows):
            w, x, y, z = _rounds(a[r], b[r], c[r] ^ np.uint64(0xEE), d[r], 4)
            out[0] += times[low + r] * (w ^ x ^ y ^ z)
            w, x, y, z = _rounds(w, x ^ np.uint64(0xDD), y, z, 4)
            out[1] += times[low + r] * (w ^ x ^ y ^ z)
