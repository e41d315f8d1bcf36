"""The readable reference is exact: every run that a source of choices can give, weighed."""

from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pytest

from hedgerow.private import noise
from hedgerow.public.costs.question import Noise
from tests.privacy import reference_noise

F = Fraction


def weight(law: Noise, k: int) -> Decimal:
    """The weight of k under the law, to the precision of the context."""
    up = F(abs(k)) / law.scale if law.law == "laplace" else F(k * k) / (2 * law.scale)
    return (-Decimal(up.numerator) / Decimal(up.denominator)).exp()


@lru_cache
def exact(law: Noise) -> dict[int, Decimal]:
    """The probabilities of a law of small scale, by summing weights with forty digits."""
    with localcontext() as context:
        context.prec = 60
        weights = {0: Decimal(1)}
        while (last := weight(law, len(weights))) > Decimal(10) ** -45:
            weights[len(weights)] = last
        total = 2 * sum(weights.values()) - 1
        return {s * k: w / total for k, w in weights.items() for s in (1, -1)}


class Fork(Exception):
    """A choice that the tape does not hold yet; carries the probabilities of what may be chosen."""


class Again(Exception):
    """A proposal was thrown away; what follows is another round of the same."""


class Source:
    """A source of choices that reads a tape, and stops at the first choice beyond its end."""

    def __init__(self, tape: list[int]) -> None:
        self.rest, self.rounds = iter(tape), 0

    def __call__(self, n: int) -> int:
        if n != 2:  # nothing but a sign is chosen among two
            self.start()
        return self.choose([1 / n] * n)

    def start(self) -> None:
        self.rounds += 1
        if self.rounds == 2:
            raise Again

    def choose(self, chances: list[float]) -> int:
        for choice in self.rest:
            return choice
        raise Fork(chances)


def one_round(run: Callable[[Any], int]) -> tuple[dict[int, float], float]:
    """The probability of each result, given that it came in the first round; and all that was too rare to follow."""
    mass: dict[int, float] = defaultdict(float)
    left, again = 0.0, 0.0
    stack: list[tuple[list[int], float]] = [([], 1.0)]
    while stack:
        tape, chance = stack.pop()
        try:
            mass[run(Source(tape))] += chance
        except Again:
            again += chance
        except Fork as fork:
            for i, p in enumerate(fork.args[0]):
                if chance * p >= 1e-10:
                    stack.append(([*tape, i], chance * p))
                else:
                    left += chance * p
    return {k: p / (1 - again) for k, p in mass.items()}, left / (1 - again)


def trials(x: Fraction, k: int) -> float:
    """The probability that ``bernoulli_exp`` is true from trial k on, summed over the trial that fails."""
    seen: list[int] = []

    def below(n: int, stop: int) -> int:
        seen.append(n)
        return n - 1 if len(seen) == stop else 0

    total, chance = 0.0, 1.0
    for stop in range(1, 30):
        seen.clear()
        true = noise.bernoulli_exp(x, partial(below, stop=stop), k)
        assert seen == [x.denominator * i for i in range(k, k + stop)], "trial i must have chance x / i"
        fail = 1 - float(x) / (k + stop - 1)
        total, chance = total + true * chance * fail, chance * (1 - fail)
    return total


@pytest.mark.parametrize("x", [F(1, 50), F(1, 4), F(1, 2), F(2, 3), F(99, 100)], ids=str)
def test_bernoulli_exp_is_exact(x: Fraction) -> None:
    p = np.exp(-float(x))
    assert trials(x, 1) == pytest.approx(p, abs=1e-14)
    assert trials(x, 2) == pytest.approx(1 - (1 - p) / float(x), abs=1e-13), (
        "given that trial 1, of chance x, succeeded"
    )


def test_bernoulli_exp_beyond_one_is_a_product() -> None:
    calls = [noise.bernoulli_exp(F(0)), noise.bernoulli_exp(F(10**4))]
    assert calls == [True, False]
    yes = sum(noise.bernoulli_exp(F(7, 3)) for _ in range(4000))
    assert abs(yes - 4000 * np.exp(-7 / 3)) < 5 * 20


@pytest.mark.parametrize("scale", [F(1, 3), F(1), F(3, 2), F(5)], ids=str)
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_reference_draws_are_exact(law: Any, scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """What each of them calls has its own test, and is a single choice here."""

    def coin(x: Fraction, below: Source) -> bool:
        return below.choose([1 - np.exp(-float(x)), np.exp(-float(x))]) == 1

    def laplace(scale: Fraction, below: Source) -> int:
        below.start()
        law = exact(Noise("laplace", scale))
        return list(law)[below.choose([float(p) for p in law.values()])]

    run: Any = reference_noise.discrete_laplace
    monkeypatch.setattr(reference_noise, "bernoulli_exp", coin)
    if law == "gaussian":
        monkeypatch.setattr(reference_noise, "discrete_laplace", laplace)
        run = reference_noise.discrete_gaussian
    mass, left = one_round(lambda below: run(scale, below))
    assert left < 1e-7
    for k, p in exact(Noise(law, scale)).items():
        assert mass.get(k, 0.0) == pytest.approx(float(p), abs=1e-12 + left)


def test_choice_is_exact_for_every_first_word() -> None:
    scores, rate = [3, 7, 7, 0, 6, -40], F(2, 3)
    best_first = [1, 2, 4, 0, 3, 5]
    with localcontext() as context:
        context.prec = 50
        weights = [(Decimal(2 * (scores[i] - 7)) / 3).exp() for i in best_first]
        running = [sum(weights[: k + 1]) / sum(weights) for k in range(6)]
        for k, true in enumerate(running[:-2]):
            edge = min(int(true * 2**32), 2**32 - 3)
            here = [noise.exponential_choice(scores, rate, tape(w)) for w in (edge - 2, edge + 2)]
            assert best_first.index(here[0]) <= k < best_first.index(here[1])


def tape(*words: int) -> noise.Below:
    """A source that gives these words and then stops."""
    rest = iter(words)
    return lambda n: next(rest)
