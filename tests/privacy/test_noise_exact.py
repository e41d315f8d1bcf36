"""The fast path is exact: its bounds hold, every word is counted, every proposal thrown away when it should be."""

import json
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.private import entropy, noise

F = Fraction
UGLY = F(10**12 + 39, 7 * 10**10 + 3)
ORACLE = Path(__file__).parents[3] / "shared" / "oracles" / "noise.json"


@given(st.fractions(min_value=0, max_value=3000, max_denominator=10**30), st.integers(1, 300))
@settings(max_examples=150, deadline=None)
def test_bounds_of_the_exponential_hold_and_are_tight(x: Fraction, bits: int) -> None:
    low, high = noise._exp(x, bits)
    with localcontext() as context:
        context.prec = 200
        true = (-Decimal(x.numerator) / Decimal(x.denominator)).exp() * 2**bits
    assert low <= true <= high
    assert high - low <= 2


@given(st.fractions(min_value=0, max_value=60, max_denominator=1000), st.integers(1, 40))
@settings(max_examples=300, deadline=None)
def test_bounds_of_the_exponential_hold_without_any_guard_bits(x: Fraction, bits: int) -> None:
    with pytest.MonkeyPatch.context() as patch, localcontext() as context:
        patch.setattr(noise, "_GUARD", 0)
        low, high = noise._exp(x, bits)
        context.prec = 60
        assert low <= (-Decimal(x.numerator) / Decimal(x.denominator)).exp() * 2**bits <= high


def sums(curve: noise.Curve, count: int, digits: int = 50) -> list[Decimal]:
    """P(h <= k), k = 0, 1, ..., count - 1, of a curve."""
    a, c, b = curve
    with localcontext() as context:
        context.prec = digits + 10
        total, out, k = Decimal(0), [], 0
        while True:
            up = a * k * k + c * k
            w = (-Decimal(up.numerator) / Decimal(up.denominator)).exp()
            total += w / 2 if k == 0 and b == 0 else w
            out.append(total)
            k += 1
            if k >= count and w < Decimal(10) ** -digits:
                return [s / total for s in out[:count]]


CURVES: list[noise.Curve] = [
    (F(0), F(100), 0),
    (F(0), F(2), 0),
    (F(0), F(1, 3), 0),
    (F(0), 1 / UGLY, 5),
    (F(1, 2), F(0), 0),
    (F(50, 9), F(0), 0),
    (F(1, 18), F(0), 3),
]


@pytest.mark.parametrize("bits", [1, 2, 3, 5, 8, 16, 31, 63, 95])
@pytest.mark.parametrize("curve", CURVES, ids=str)
def test_edges_enclose_the_cumulative_sums(curve: noise.Curve, bits: int) -> None:
    lows, highs = noise._curve(curve, bits)
    assert highs[-1] == 1 << bits, "every word must fall somewhere"
    assert lows == sorted(lows)
    assert highs == sorted(highs)
    with localcontext() as context:
        context.prec = 100
        for low, high, true in zip(lows, highs, sums(curve, len(lows)), strict=True):
            assert low <= true * 2**bits <= high
            assert high - low <= 2


@given(st.fractions(F(1, 20), 3, max_denominator=50), st.booleans(), st.sampled_from([0, 3]), st.integers(4, 20))
@settings(max_examples=80, deadline=None)
def test_edges_hold_with_hardly_any_guard_bits(x: Fraction, bell: bool, b: int, bits: int) -> None:
    """So the outward rounding is what makes them hold, not the width of the numbers."""
    curve = (x / 4, F(0), b) if bell else (F(0), x, b)
    with pytest.MonkeyPatch.context() as patch, localcontext() as context:
        patch.setattr(noise, "_GUARD", 12)
        lows, highs = noise._curve.__wrapped__(curve, bits)
        context.prec = 60
        for low, high, true in zip(lows, highs, sums(curve, len(lows), 25), strict=True):
            assert low <= true * 2**bits <= high


def breaks(edges: Callable[[int], noise.Edges], bits: int) -> Iterator[tuple[int, int, int]]:
    """Every k, and of all words of bits + 32 bits the first beyond k, found by running ``_settle`` on them."""

    class Undecided(Exception):
        pass

    def settled(word: int) -> int:
        tape = iter([word & 0xFFFFFFFF])

        def below(n: int) -> int:
            assert n == 1 << 32
            try:
                return next(tape)
            except StopIteration:
                raise Undecided from None

        return noise._settle(edges, word >> 32, bits, below)

    def certainly(word: int, least: int, most: int) -> bool:
        try:
            return least <= settled(word) <= most
        except Undecided:
            return False

    top = 1 << (bits + 32)
    for k in range(len(edges(bits)[0]) - 1):
        sure, low, high = 0, 0, top
        while low < high:  # the first word not certainly at most k
            sure = (low + high) // 2
            low, high = (sure + 1, high) if certainly(sure, 0, k) else (low, sure)
        first, high = low, top
        while low < high:  # the first word certainly above k
            sure = (low + high) // 2
            low, high = (low, sure) if certainly(sure, k + 1, top) else (sure + 1, high)
        yield k, first, low


@pytest.mark.parametrize("curve", CURVES[:6], ids=str)
def test_all_words_of_forty_bits_settle_with_the_right_frequency(curve: noise.Curve) -> None:
    true = sums(curve, len(noise._curve(curve, 8)[0]))
    with localcontext() as context:
        context.prec = 60
        for k, first, last in breaks(partial(noise._curve, curve), 8):
            assert first <= true[k] * 2**40 <= last
            assert last - first <= 2, "words remain undecided that forty bits decide"


def test_the_vectorised_search_settles_every_short_word_as_the_reference_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Asked(Exception):
        pass

    def refuse(n: int) -> int:
        raise Asked

    words = np.arange(1 << 16, dtype=np.uint32)
    for curve in [c for c in CURVES if c[2] == 0] + [(F(0), F(1, 400), 0), (F(1, 2 * 150**2), F(0), 0)]:
        slow: list[int] = []

        def zero(n: int, slow: list[int] = slow) -> int:
            slow.append(n)
            return 0

        monkeypatch.setattr(noise, "_BITS", 16)
        monkeypatch.setattr(entropy, "words", lambda n: words << 16)
        monkeypatch.setattr(entropy, "below", zero)
        found = noise._propose(curve, words.size)
        edges = partial(noise._curve, curve)
        undecided = 0
        for word, value in zip(words.tolist(), found.tolist(), strict=True):
            try:
                assert noise._settle(edges, word, 16, refuse) == value
            except Asked:
                undecided += 1
        assert undecided <= len(slow) <= 2 * len(edges(16)[0])
        monkeypatch.setattr(entropy, "words", lambda n: (words << 16) | np.uint32(1))
        assert (noise._propose(curve, words.size) == -found).all(), "the last bit is the sign"


def test_the_sign_is_a_bit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two words that differ in the last bit give x and -x, also where an edge lies between them."""
    curve = (F(0), F(1, 100), 0)
    edges = np.array([e for e in noise._curve(curve, 32)[1] if e < 1 << 32], np.uint32)
    monkeypatch.setattr(entropy, "below", lambda n: 0)
    monkeypatch.setattr(entropy, "words", lambda n: edges & ~np.uint32(1))
    plus = noise._propose(curve, edges.size)
    monkeypatch.setattr(entropy, "words", lambda n: edges | np.uint32(1))
    assert (noise._propose(curve, edges.size) == -plus).all()


class Proposal:
    """One proposal from words of our choosing, which remembers what was asked of ``below``."""

    def __init__(self, curve: noise.Curve, first: int, low: int) -> None:
        self.curve, self.first, self.low = curve, first, low
        self.word = 64 if curve[2] > 10 else 32
        self.bits = min(self.word - curve[2], 32)
        self.asked: list[int] = []

    def kept(self, coin: int, trial: int = 0) -> list[int]:
        self.asked.clear()
        second = coin << (self.word - self.bits) | self.low
        reads = iter([[self.first], [second & 0xFFFFFFFF, second >> 32][: self.word // 32]])

        def below(n: int) -> int:
            self.asked.append(n)
            return trial if len(self.asked) == 1 else n - 1

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(entropy, "words", lambda n: np.array(next(reads), np.uint32))
            patch.setattr(entropy, "below", below)
            return list(map(int, noise._propose(self.curve, 1)))

    def kept_at_once(self, coin: int) -> bool:
        return bool(self.kept(coin)) and not self.asked

    def kept_by_the_first_trial(self, trial: int) -> bool:
        return bool(self.kept(0, trial)) and len(self.asked) == 1


@pytest.mark.parametrize("b", [1, 9, 10, 11, 20, 32])
@pytest.mark.parametrize("curve", [(F(0), F(1, 3)), (F(0), 1 / UGLY), (F(1, 200), F(0)), (F(3, 7001), F(0))], ids=str)
def test_a_proposal_is_thrown_away_with_exactly_the_right_probability(
    curve: tuple[Fraction, Fraction], b: int
) -> None:
    """A proposal of size h 2^b + low must pass ``bernoulli_exp`` of what its weight lacks."""
    a, c = curve
    for first, low in [(1 << 30, 1), (3 << 30, (1 << b) - 1), ((1 << 32) - 4096, 1 << (b - 1)), (1 << 31, 0)]:
        one = Proposal((a, c, b), first, low)
        (size,) = one.kept((1 << one.bits) - 1)
        assert size & ((1 << b) - 1) == low
        up, down = F(size, 1 << b), F(size >> b)  # in units of 2^b, with and without the last bits
        x = a * (up**2 - down**2) + c * (up - down)
        safe = first_true(one.kept_at_once, 1 << one.bits)
        one.kept(0)
        trial = one.asked[0]
        passes = first_true(one.kept_by_the_first_trial, trial)
        assert F(safe, 1 << one.bits) * F(passes, trial) == x, "the chance that the first trial succeeds"
        if x:
            assert not one.kept(0)
            assert one.asked == [trial, 2 * x.denominator], "the second trial has chance x / 2; failing it is the end"


def first_true(test: Callable[[int], bool], top: int) -> int:
    """The least number below ``top`` that passes a test which all above it pass too, or ``top``."""
    low, high = 0, top
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if test(middle) else (middle + 1, high)
    return low


@pytest.mark.skipif(not ORACLE.exists(), reason="the reference values are not at hand")
def test_probabilities_and_variances_agree_with_the_reference_values() -> None:
    oracle = json.loads(ORACLE.read_text())
    cases = [(F(x["sigma2"]).limit_denominator(1000), x, "gaussian") for x in oracle["discrete_gaussian"].values()]
    cases += [(F(k.split("=")[1]), x, "laplace") for k, x in oracle["discrete_laplace"].items()]
    for scale, x, law in cases:
        a, c = (F(0), 1 / scale) if law == "laplace" else (1 / (2 * scale), F(0))
        lows, _ = noise._curve((a, c, 0), 95)
        size = [F(high - low, 1 << 95) for low, high in pairwise([0, *lows])]
        pmf = [size[0], *[p / 2 for p in size[1:]]]
        assert [float(p) for p in pmf[: min(6, len(pmf))]] == pytest.approx(x["pmf0_5"][: len(pmf)], abs=1e-12)
        assert float(sum(k * k * p for k, p in enumerate(size))) == pytest.approx(x["variance"], rel=1e-9)
