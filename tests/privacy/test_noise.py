"""The noise follows the law it claims, at every scale, by chi-square; and no float is on its way."""

import ast
import os
import sys
import time
import warnings
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hedgerow.errors import JobError
from hedgerow.private import entropy, noise
from hedgerow.public.costs.question import Counts, Noise
from tests.privacy import reference_noise

F = Fraction
UGLY = F(10**12 + 39, 7 * 10**10 + 3)
LAPLACE = [F(1, 100), F(1, 4), F(1, 2), F(2, 3), F(1), F(4), UGLY, F(40), F(500), F(1000), F(10**4), F(10**5)]
GAUSSIAN = [F(9, 100), F(1, 4), F(1), UGLY, F(25), F(1000), F(10**4), F(10**6), F(10**7), F(10**8)]
NOISES = [Noise("laplace", s) for s in LAPLACE] + [Noise("gaussian", v) for v in GAUSSIAN]
HUGE = [
    Noise("laplace", F(10**9)),
    Noise("gaussian", F(10**18)),
    Noise("laplace", F(1 << 40)),
    Noise("gaussian", F(1 << 80)),
]
ALMOST_NEVER = 1e-6


def name(law: Noise) -> str:
    return f"{law.law}-{float(law.scale):.4g}"


def cdf(law: Noise, k: Counts) -> np.ndarray[Any, np.dtype[np.float64]]:
    """P(X <= k), in floating point."""
    scale = float(law.scale)
    if law.law == "laplace":
        q = np.exp(-1 / scale)
        return np.asarray(np.where(k < 0, q ** np.maximum(-k, 0), 1 + q - q ** np.maximum(k + 1, 0)) / (1 + q))
    if scale > 10**6:
        return np.asarray(stats.norm.cdf((k + 0.5) / scale**0.5))
    span = int(12 * scale**0.5) + 2
    pmf = np.exp(-(np.arange(-span, span + 1) ** 2) / (2 * scale))
    return np.asarray((np.cumsum(pmf) / pmf.sum())[np.clip(k + span, 0, 2 * span)])


def chi_square(law: Noise, draws: Counts) -> float:
    """The p-value of the draws under the law, in about eighty cells of equal probability."""
    ordered = np.sort(draws)
    cuts = np.unique(ordered[np.linspace(0, draws.size - 1, 80).astype(int)])
    cuts = np.unique(np.concatenate([cuts, -cuts]))
    edges = np.concatenate([[0.0], cdf(law, cuts), [1.0]])
    seen = np.diff(np.concatenate([[0], np.searchsorted(ordered, cuts, side="right"), [draws.size]]))
    wanted = np.diff(edges) * draws.size
    few = wanted < 10
    seen, wanted = np.append(seen[~few], seen[few].sum()), np.append(wanted[~few], wanted[few].sum())
    if wanted[-1] < 10:
        seen[0], wanted[0] = seen[0] + seen[-1], wanted[0] + wanted[-1]
        seen, wanted = seen[:-1], wanted[:-1]
    if seen.size == 1:
        return 1.0
    return float(stats.chisquare(seen, wanted * draws.size / wanted.sum()).pvalue)


# ---- The reference ----


@pytest.mark.parametrize(
    "law", [Noise("laplace", UGLY), Noise("gaussian", UGLY), Noise("gaussian", F(9, 100))], ids=name
)
def test_reference_draws_follow_the_law(law: Noise) -> None:
    run = reference_noise.discrete_laplace if law.law == "laplace" else reference_noise.discrete_gaussian
    assert chi_square(law, np.array([run(law.scale) for _ in range(6000)])) > ALMOST_NEVER


# ---- The fast path ----


@pytest.mark.parametrize("law", NOISES, ids=name)
def test_draws_follow_the_law(law: Noise) -> None:
    draws = noise.draw(law, 400_000)
    assert chi_square(law, draws) > ALMOST_NEVER


def test_the_chi_square_can_fail() -> None:
    draws = noise.draw(Noise("laplace", F(100)), 400_000)
    assert chi_square(Noise("laplace", F(103)), draws) < ALMOST_NEVER
    assert chi_square(Noise("laplace", F(100)), draws + 3) < ALMOST_NEVER
    assert chi_square(Noise("gaussian", F(1)), noise.draw(Noise("gaussian", F(103, 100)), 400_000)) < ALMOST_NEVER


@pytest.mark.parametrize("law", HUGE, ids=name)
def test_huge_scales_follow_the_law_down_to_their_last_bits(law: Noise) -> None:
    draws = noise.draw(law, 200_000)
    assert chi_square(law, draws) > ALMOST_NEVER
    for shift in (0, 6, 12):
        assert stats.chisquare(np.bincount(np.abs(draws) >> shift & 63)).pvalue > ALMOST_NEVER


@pytest.mark.parametrize("bits", [15, 17])
@pytest.mark.parametrize(
    "law", [Noise("laplace", F(60)), Noise("laplace", F(3, 2)), Noise("gaussian", F(10**4))], ids=name
)
def test_words_that_need_more_bits_follow_the_law_too(law: Noise, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    below = entropy.below

    def counted(n: int) -> int:
        asked.append(n)
        return below(n)

    monkeypatch.setattr(noise, "_BITS", bits)
    monkeypatch.setattr(entropy, "below", counted)
    draws = noise.draw(law, 200_000)
    assert len(asked) > 5, "the slow path was not forced"
    assert chi_square(law, draws) > ALMOST_NEVER


@pytest.mark.parametrize("b", [2, 10, 12, 32])
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_splitting_off_the_last_bits_keeps_the_law(law: str, b: int) -> None:
    """With a curve far coarser than any that ``draw`` uses, so that a proposal is often thrown away."""
    if law == "laplace":
        curve, whole = (F(0), F(1, 2), b), Noise("laplace", F(2 << b))
    else:
        curve, whole = (F(1, 200), F(0), b), Noise("gaussian", F(100 << 2 * b))
    draws = np.concatenate([noise._propose(curve, 1 << 16) for _ in range(4)])
    assert draws.size < (0.9 if law == "laplace" else 0.97) * (4 << 16)
    assert chi_square(whole, draws) > ALMOST_NEVER
    if b == 2:
        top = np.abs(draws) < 8
        wanted = [cdf(whole, np.array([k]))[0] - cdf(whole, np.array([k - 1]))[0] for k in range(-7, 8)]
        seen = np.bincount(draws[top] + 7, minlength=15)
        assert stats.chisquare(seen, np.array(wanted) / sum(wanted) * seen.sum()).pvalue > ALMOST_NEVER


@pytest.mark.parametrize(
    "law", [Noise("laplace", F(7, 2)), Noise("laplace", F(3000)), Noise("gaussian", F(50))], ids=name
)
def test_draws_agree_with_the_reference(law: Noise) -> None:
    run = reference_noise.discrete_laplace if law.law == "laplace" else reference_noise.discrete_gaussian
    assert same_law(np.array([run(law.scale) for _ in range(5000)]), noise.draw(law, 100_000))


@pytest.mark.parametrize("law", [Noise("laplace", F(1)), Noise("laplace", F(40)), Noise("gaussian", F(16))], ids=name)
def test_draws_agree_with_opendp(law: Noise) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    make = dp.m.make_laplace
    if law.law == "gaussian":
        space, make = (space[0], dp.l2_distance(T=float)), dp.m.make_gaussian
    scale = float(law.scale) if law.law == "laplace" else float(law.scale) ** 0.5
    theirs = np.array(make(*space, scale=scale)([0] * 40_000))
    assert same_law(theirs, noise.draw(law, 200_000))


def same_law(one: Counts, other: Counts) -> bool:
    """Whether two samples may come from one law: two-sample chi-square in at most forty cells."""
    cuts = np.unique(np.quantile(one, np.linspace(0.01, 0.99, 40)).astype(int))
    table = np.array([np.bincount(np.searchsorted(cuts, x), minlength=cuts.size + 1) for x in (one, other)])
    return bool(stats.chi2_contingency(table[:, table.sum(axis=0) > 20]).pvalue > ALMOST_NEVER)


@pytest.mark.parametrize("law", [Noise("laplace", F(20)), Noise("gaussian", F(10**9))], ids=name)
def test_signs_balance_and_neighbours_are_unrelated(law: Noise) -> None:
    draws = noise.draw(law, 500_000)
    signs = np.sign(draws)[draws != 0]
    assert abs(signs.sum()) < 5 * signs.size**0.5
    for lag in (1, 2, 3, 1 << 16):
        assert abs(np.corrcoef(draws[lag:], draws[:-lag])[0, 1]) < 5 / draws.size**0.5
        assert abs(np.corrcoef(np.abs(draws[lag:]), np.abs(draws[:-lag]))[0, 1]) < 5 / draws.size**0.5
    assert abs(np.corrcoef(np.abs(draws[draws != 0]), signs)[0, 1]) < 5 / signs.size**0.5


@given(
    st.fractions(min_value=F(1, 10**6), max_value=10**12),
    st.sampled_from(["laplace", "gaussian"]),
    st.integers(0, 50),
)
@settings(max_examples=60, deadline=None)
def test_any_allowed_scale_gives_as_many_whole_numbers_as_asked(scale: Fraction, law: Any, n: int) -> None:
    draws = noise.draw(Noise(law, scale), n)
    assert draws.shape == (n,)
    assert draws.dtype == np.int64
    assert (np.abs(draws) <= 200 * (scale + 1)).all()


def test_a_million_draws_of_each_law_take_less_than_two_seconds() -> None:
    for law in (
        Noise("laplace", F(10)),
        Noise("laplace", F(10**4)),
        Noise("gaussian", F(100)),
        Noise("gaussian", F(10**8)),
    ):
        start = time.process_time()
        noise.draw(law, 10**6)
        assert time.process_time() - start < 2


# ---- Private choice ----


def test_choice_follows_the_law() -> None:
    scores, rate = [0, 5, 5, 9, -100, 8], F(1, 4)
    weights = np.exp(np.array(scores) / 4)
    seen = np.bincount([noise.exponential_choice(scores, rate) for _ in range(3000)], minlength=6)
    assert seen[4] == 0
    wanted = np.delete(weights, 4) / np.delete(weights, 4).sum() * 3000
    assert stats.chisquare(np.delete(seen, 4), wanted).pvalue > ALMOST_NEVER


def test_choice_among_many_does_not_take_for_ever() -> None:
    start = time.process_time()
    many = [0] * 100_000
    assert noise.exponential_choice([*many, 10**9], F(1)) == 100_000
    assert 0 <= noise.exponential_choice(many, F(1)) < 100_000
    assert 0 <= noise.exponential_choice(range(100_000), F(1, 10**7)) < 100_000
    assert noise.exponential_choice([5], F(0)) == 0
    assert time.process_time() - start < 10


# ---- What may be asked, and what the code is made of ----


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [F(0), F(-1), F(10**30), 1.5, float("nan"), float("inf")], ids=str)
def test_noise_that_cannot_be_drawn_is_refused_before_anything_is_read(law: Any, scale: Any) -> None:
    for act in (noise.check, partial(noise.draw, n=3)):
        with pytest.raises(
            JobError, match="(?s)at most 1.*larger share.*No confidential row was read and nothing was spent"
        ):
            act(unchecked(law, scale))


def test_an_unknown_law_is_refused() -> None:
    with pytest.raises(JobError, match="Cannot draw cauchy noise"):
        noise.check(unchecked("cauchy", F(1)))


def unchecked(law: Any, scale: Any) -> Noise:
    """Noise as a caller makes it who ignores its types."""
    out = object.__new__(Noise)
    object.__setattr__(out, "law", law)
    object.__setattr__(out, "scale", scale)
    return out


@pytest.mark.parametrize("module", [noise, entropy], ids=lambda m: m.__name__)
def test_the_source_holds_no_float_and_no_other_randomness(module: Any) -> None:
    tree = ast.parse(Path(module.__file__).read_text())
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Constant) or not isinstance(node.value, float | complex)
        words = [getattr(node, field, "") for field in ("id", "attr", "module", "name", "arg")]
        assert not {"float", "float64", "random", "default_rng", "seed", "numba"} & set(map(str, words))


def test_no_float_appears_on_the_way_from_entropy_to_noise() -> None:
    seen: set[type] = set()

    def look(value: object) -> None:
        if isinstance(value, np.ndarray | np.generic):
            seen.add(value.dtype.type)
        elif isinstance(value, tuple | list):
            for x in value[:50]:
                look(x)
        else:
            seen.add(type(value))

    def trace(frame: Any, event: str, arg: object) -> Any:
        if frame.f_code.co_filename == noise.__file__:
            frame.f_trace_lines = False
            for value in (*frame.f_locals.values(), arg):
                look(value)
            return trace
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for law in (Noise("laplace", F(1234567, 89)), Noise("gaussian", F(10**9, 7)), Noise("gaussian", F(1, 3))):
            noise.draw(law, 3000)
        noise.exponential_choice([1, 2, 3], F(1, 2))
    finally:
        sys.settrace(before)
    assert np.int64 in seen
    assert Fraction in seen
    assert not [t for t in seen if issubclass(t, float | complex | np.inexact)]


def test_a_forked_process_draws_other_noise() -> None:
    law, (read, write) = Noise("laplace", F(10**6)), os.pipe()
    noise.draw(law, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        os.write(write, noise.draw(law, 10).tobytes())
        os._exit(0)
    theirs = np.frombuffer(os.read(read, 80), np.int64)
    os.waitpid(child, 0)
    os.close(read)
    os.close(write)
    assert theirs.size == 10
    assert (theirs != noise.draw(law, 10)).any()


@pytest.mark.parametrize("n", [1, 2, 3, 8, 200, 256, 257])
def test_whole_numbers_below_a_bound_are_uniform(n: int) -> None:
    seen = np.bincount([entropy.below(n) for _ in range(20_000)])
    assert seen.size == n
    assert n == 1 or stats.chisquare(seen).pvalue > ALMOST_NEVER


def test_whole_numbers_below_a_huge_bound_reach_everywhere() -> None:
    drawn = [entropy.below(3 << 200) >> 200 for _ in range(3000)]
    assert stats.chisquare(np.bincount(drawn, minlength=3)).pvalue > ALMOST_NEVER
    for n in (0, -5):
        with pytest.raises(ValueError, match="nothing to choose from"):
            entropy.below(n)


def test_words_are_fair_in_every_bit() -> None:
    words = entropy.words(200_000)
    assert words.dtype == np.uint32
    for bit in range(32):
        ones = int((words >> np.uint32(bit) & 1).sum())
        assert abs(ones - 100_000) < 5 * 224
