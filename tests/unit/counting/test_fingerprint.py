"""The hash of rows is SipHash as its authors wrote it down, and what it takes for equal is said here."""

import numpy as np
import polars as pl
import pytest

from hedgerow.counting.fingerprint import RowKey, add_rows, hash_rows, hash_texts

KEY, WORD = bytes(range(16)), (1 << 64) - 1


def reference(data: bytes, key: bytes, *, wide: bool) -> bytes:
    """SipHash-2-4 from the paper, one message at a time; with ``wide`` the variant of 128 bits."""
    k0, k1 = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    v[1] ^= 0xEE * wide

    def turned(x: int, b: int) -> int:
        return ((x << b) | (x >> (64 - b))) & WORD

    def rounds(n: int) -> None:
        for _ in range(n):
            v[0] = (v[0] + v[1]) & WORD
            v[1] = turned(v[1], 13) ^ v[0]
            v[0] = turned(v[0], 32)
            v[2] = (v[2] + v[3]) & WORD
            v[3] = turned(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & WORD
            v[3] = turned(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & WORD
            v[1] = turned(v[1], 17) ^ v[2]
            v[2] = turned(v[2], 32)

    padded = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) % 256])
    for i in range(0, len(padded), 8):
        m = int.from_bytes(padded[i : i + 8], "little")
        v[3] ^= m
        rounds(2)
        v[0] ^= m
    v[2] ^= 0xEE if wide else 0xFF
    rounds(4)
    out = (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")
    if wide:
        v[1] ^= 0xDD
        rounds(4)
        out += (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")
    return out


def test_the_reference_gives_the_vectors_of_the_authors() -> None:
    assert reference(bytes(range(15)), KEY, wide=False)[::-1].hex() == "a129ca6149be45e5"
    assert reference(b"", KEY, wide=True).hex() == "a3817f04ba25a8e66df67214c7550293"


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 15, 16, 63, 64, 65, 300])
def test_texts_are_hashed_by_siphash(size: int) -> None:
    texts = [bytes(range(256)) * 2][0][:size], b"", b"another"
    out, ends = np.empty(3, np.uint64), np.cumsum([len(t) for t in texts])
    hash_texts(np.frombuffer(b"".join(texts), np.uint8), ends, np.frombuffer(KEY, np.uint64), out)
    assert [x.tobytes() for x in out] == [reference(t, KEY, wide=False) for t in texts]


@pytest.mark.parametrize("columns", [1, 2, 15, 40])
def test_rows_are_hashed_by_siphash_and_added_up(columns: int) -> None:
    words = np.random.default_rng(columns).integers(0, 1 << 63, (columns, 700)).astype(np.uint64)
    times, out = np.arange(700, dtype=np.uint64), np.zeros(2, np.uint64)
    add_rows(words, times, np.frombuffer(KEY, np.uint64), out)
    each = [reference(words[:, r].tobytes(), KEY, wide=True) for r in range(700)]
    halves = [[int.from_bytes(h[i : i + 8], "little") for h in each] for i in (0, 8)]
    assert out.tolist() == [sum(r * h for r, h in enumerate(half)) & WORD for half in halves]


def test_values_that_read_alike_have_one_word_and_others_have_not() -> None:
    words = RowKey.of(b"k" * 32, ["a"]).words
    alike = [
        pl.Series([1500, None, -7]),
        pl.Series([1500.0, float("nan"), -7.0]),
        pl.Series(["1500", "", "-7"]),
        pl.Series([" 1500.00", "  ", "-7.0"]),
        pl.Series(["1.5e3", None, "-07"]),
        pl.Series([1500, None, -7], dtype=pl.Int16),
        pl.Series(["1500", None, "-7"], dtype=pl.Categorical),
    ]
    assert len({words(s).tobytes() for s in alike}) == 1
    assert (words(pl.Series([0.1, 2.5], dtype=pl.Float32)) == words(pl.Series(["0.1", "2.5"]))).all()
    assert (words(pl.Series([2**53 + 1, 2**63 - 1])) == words(pl.Series([f"{2**53 + 1}", f"{2**63 - 1}"]))).all()
    apart = pl.Series(
        ["0", "1", "-1", "0.5", "1e300", "inf", "-inf", "nan", "a", "A", "a b", "true", "2020-01-01", ""]
    )
    assert len(set(words(apart).tolist())) == len(apart)
    assert len(set(words(pl.Series([2**53, 2**53 + 1, 2**62, 2**62 + 1])).tolist())) == 4


def test_a_table_is_told_by_its_columns_names_and_rows_together() -> None:
    table = pl.DataFrame({"a": [1, 2], "b": [3, 4]})
    others = [
        table.rename({"b": "c"}),
        table.with_columns(b=pl.Series([4, 3])),
        table.head(1),
        table.with_columns(a="b", b="a"),
        pl.concat([table, table]),
    ]
    prints = [hash_rows(t, b"k" * 32).tobytes() for t in (table, *others)]
    assert len(set(prints)) == 6
    assert hash_rows(table.reverse(), b"k" * 32).tobytes() == prints[0]
    assert hash_rows(table, b"l" * 32).tobytes() != prints[0]
    assert (hash_rows(table.head(1), b"k" * 32) + hash_rows(table.tail(1), b"k" * 32)).tobytes() == prints[0]
