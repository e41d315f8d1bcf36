"""Exact noise in whole numbers (PROOFS.md; tests hold it to a slow, readable reference with the same law).

A random word is read as the first bits of a uniform number U: where does U fall among the cumulative sums of the law?
Each sum is held as a lower and an upper bound, rounded outwards.  A word between the two gets more bits,
and the bounds more digits, until it is certain.  Nothing is rounded to the nearest or cut off.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, isqrt

import numpy as np

from hedgerow.errors import JobError
from hedgerow.private import entropy
from hedgerow.public.costs.question import Counts, Noise

Below = Callable[[int], int]
Weights = Iterator[tuple[int, int, int]]  # of each weight a lower and an upper bound; of all that follow, an upper
Edges = tuple[list[int], list[int]]  # lower and upper bounds of 2^bits P(X <= k), k = 0, 1, ...
Curve = tuple[Fraction, Fraction, int]  # (a, c, b): P(h) proportional to exp(-(a h^2 + c h)), h = 0, 1, ...
_BITS = 31  # the first bits of a 32-bit word; the last one is the sign
_LARGEST = {"laplace": 1 << 40, "gaussian": 1 << 80}  # the scale up to which a law can be drawn
_GUARD = 64  # further bits in which bounds are computed: fewer would cost time, never exactness


def check(noise: Noise) -> None:
    """Refuse noise that 64 bits cannot hold; the gate asks before it books or reads anything."""
    largest = _LARGEST.get(noise.law, 0)
    if not (isinstance(noise.scale, Fraction) and 0 < noise.scale <= largest):
        raise JobError(
            f"Cannot draw {noise.law} noise of this scale: it must be a fraction above 0, at most {largest}.\n"
            "Give this step a larger share of the budget. No confidential row was read and nothing was spent."
        )


def bernoulli_exp(x: Fraction, below: Below = entropy.below, k: int = 1) -> bool:
    """True with probability exactly exp(-x), for x >= 0; from trial ``k`` on, if those before succeeded."""
    while x > 1:
        if not bernoulli_exp(Fraction(1), below):
            return False
        x -= 1
    while below(x.denominator * k) < x.numerator:
        k += 1
    return k % 2 == 1


def exponential_choice(scores: Sequence[int], rate: Fraction, below: Below = entropy.below) -> int:
    """An index i with probability exactly proportional to exp(rate * scores[i]), for rate >= 0."""
    order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    exp = lru_cache(maxsize=256)(_exp)

    def weights(p: int) -> Weights:
        small, large, left, last = 1 << p, 1 << p, len(order), order[0]
        for i in order:
            r, ratio = exp(rate * int(scores[last] - scores[i]), p)
            small, large, left, last = small * r >> p, -(-large * ratio >> p), left - 1, i
            yield small, large, left * large

    return order[_settle(lambda bits: _sums(weights(bits + _GUARD), bits), below(1 << 32), 32, below)]


def _exp(x: Fraction, bits: int) -> tuple[int, int]:
    """A lower and an upper bound of 2^bits exp(-x): the alternating series at x / 2^h, squared h times."""
    h = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 1)  # so that x / 2^h < 1
    p, k = bits + h + _GUARD, 0
    low = high = small = large = 1 << p
    while large > 1:
        k += 1
        small = small * x.numerator // (x.denominator * k << h)
        large = -(-large * x.numerator // (x.denominator * k << h))
        low, high = (low - large, high - small) if k % 2 else (low + small, high + large)
    low, high = max(low - large, 0), high + large  # the rest of the series is at most its last term
    for _ in range(h):
        low, high = low * low >> p, -(-high * high >> p)
    return low >> (p - bits), -(-high >> (p - bits))


def _sums(weights: Weights, bits: int) -> Edges:
    """The cumulative sums of a law, until less than 2^-(bits + 4) of it is left."""
    lows, highs, tail = [0], [0], 0
    for small, large, tail in weights:
        lows.append(lows[-1] + small)
        highs.append(highs[-1] + large)
        if tail < lows[-1] >> (bits + 4):
            break
    least, most = lows[-1], highs[-1] + tail
    return [(s << bits) // most for s in lows[1:]], [min(-((-s << bits) // least), 1 << bits) for s in highs[1:]]


def _settle(edges: Callable[[int], Edges], word: int, bits: int, below: Below) -> int:
    """The k with P(X < k) <= U < P(X <= k), where ``word`` is the first ``bits`` bits of U."""
    while True:
        lows, highs = edges(bits)
        k = bisect_right(highs, word)
        if word < lows[k]:
            return k
        word, bits = word << 32 | below(1 << 32), bits + 32


@lru_cache(maxsize=8)
def _curve(curve: Curve, bits: int) -> Edges:
    """The cumulative sums of a curve, zero weighing half when b = 0: it has one sign, all else two."""

    def weights(p: int) -> Weights:
        (a, c, b), small, large = curve, 1 << p, 1 << p
        (r, ratio), (s, step) = _exp(a + c, p), _exp(2 * a, p)
        many = large // (large - ratio) + 1  # the ratio only falls: no more follows than in a geometric series
        yield small >> (b == 0), large >> (b == 0), many * large
        while True:
            small, large = small * r >> p, -(-large * ratio >> p)
            r, ratio = r * s >> p, -(-ratio * step >> p)
            yield small, large, many * large

    return _sums(weights(bits + _GUARD), bits)


@lru_cache(maxsize=32)
def _table(curve: Curve, bits: int) -> tuple[Counts, Counts, Counts]:
    """Both edges, and what the first 15 bits of a word settle alone, or -1."""
    lows, highs = (np.array(edges, np.int64) for edges in _curve(curve, bits))
    first = np.arange(1 << 15) << (bits - 15)
    k = np.searchsorted(highs, first, side="right")
    return lows, highs, np.where(first + (1 << (bits - 15)) <= lows[k], k, -1)


def draw(noise: Noise, n: int) -> Counts:
    """``n`` independent draws of the noise."""
    check(noise)
    if noise.law == "laplace":
        b = max(0, int(noise.scale).bit_length() - 9)
        curve = Fraction(0), (1 << b) / noise.scale, b
    elif noise.law == "gaussian":
        b = max(0, isqrt(int(noise.scale)).bit_length() - 10)
        curve = (1 << 2 * b) / (2 * noise.scale), Fraction(0), b
    else:
        raise JobError(f"Nobody knows how to draw {noise.law} noise.")
    out, done = np.empty(n, np.int64), 0
    while done < n:
        kept = _propose(curve, min(n - done, 1 << 16))
        out[done : done + kept.size] = kept
        done += kept.size
    return out


def _propose(curve: Curve, n: int) -> Counts:
    """``n`` signed proposals h 2^b + low, low uniform, each kept with the probability exp(-x) its weight lacks."""
    (a, c, b), (lows, highs, guide), first = curve, _table(curve, _BITS), entropy.words(n)
    word, negative = first >> np.uint32(32 - _BITS), (first & 1).astype(np.bool_)
    size: Counts = guide[word >> (_BITS - 15)]
    rest = np.flatnonzero(size < 0)
    size[rest] = np.searchsorted(highs, word[rest], side="right")
    for i in rest[word[rest] >= lows[size[rest]]]:
        size[i] = _settle(partial(_curve, curve), int(word[i]), _BITS, entropy.below)
    if b == 0:
        return np.where(negative, -size, size)
    second = entropy.words(n) if b <= 10 else entropy.words(2 * n).view(np.uint64)
    bits = min(8 * second.itemsize - b, 32)
    low = (second & ((1 << b) - 1)).astype(np.int64)
    coin = (second >> (8 * second.itemsize - bits)).astype(np.int64)
    most = (low * ((2 * size + 1) * ceil(a * 2**bits) + ceil(c * 2**bits)) >> b) + 1  # above 2^bits x
    keep = coin >= most
    for i in np.flatnonzero(~keep):  # with chance most / 2^bits: here trial 1 of bernoulli_exp(x) may succeed
        f = Fraction(int(low[i]), 1 << b)
        x = f * (a * (2 * int(size[i]) + f) + c)
        failed = entropy.below(int(most[i]) * x.denominator) >= x.numerator << bits
        keep[i] = failed or bernoulli_exp(x, entropy.below, 2)
    size = size << b | low
    return np.compress(keep & ((size > 0) | ~negative), np.where(negative, -size, size))
