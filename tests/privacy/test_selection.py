"""``choose_run`` on neighbours, its planted bugs, the law of its number of runs, and its exact cost on examples."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hedgerow.errors import JobError
from hedgerow.experiment.choosing import expected_runs, gamma_for
from hedgerow.private import selection
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Counts, Marginal
from hedgerow.public.costs.spend import Spend
from hedgerow.public.costs.stopping import Choice, Stopping, plain
from tests.privacy.mutants import caught_by
from tests.privacy.selection_checks import FACTOR, check_selection
from tests.privacy.selection_mutants import MUTANTS, check_everything
from tests.privacy.world import GUARANTEES, neighbours

SOME = settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
ORACLE = Path(__file__).parents[3] / "shared" / "oracles" / "private_selection.json"


def all_runs_agree(stopping: Stopping, x: float) -> float:
    """The chance that all runs give what one run gives with chance ``x``: the law's generating function.

    With it the cost of a small example is worked out exactly: see ``docs/experiment.md``, "is it n x epsilon?".
    """
    g = float(stopping.gamma)
    return log(1 - (1 - g) * x) / log(g) if stopping.law == "logarithmic" else g * x / (1 - (1 - g) * x)


@pytest.mark.parametrize("law", FACTOR)
@pytest.mark.parametrize("kind", GUARANTEES)
@given(data=st.data())
@SOME
def test_equal_draws_give_the_same_best_run_and_no_run_is_worth_more_than_its_part(
    kind: str, law: str, data: st.DataObject
) -> None:
    check_selection(GUARANTEES[kind], law, data.draw(neighbours(GUARANTEES[kind])))


@pytest.mark.parametrize(
    "estimate", [np.array([-(1 << 63), 5]), np.full(2, 1 << 62), np.array([1 << 61, 0]), np.array([1, 2, 3])]
)
def test_a_score_never_wraps_around(estimate: Counts) -> None:
    """NaN becomes the least number of 64 bits, whose absolute value is negative: one row more would decide it all."""
    with pytest.raises(ValueError, match="one count per cell"):
        selection._distance(np.array([3, 4]), estimate)
    assert selection._distance(np.array([3, 4]), np.array([1, -1])) == 7


class _Cheap(Choice):  # type: ignore[misc]
    def price(self, guarantee: Guarantee, cost: Fraction) -> Spend:
        raise AssertionError("priced by code from outside")


class _Text(str):
    """A name that could be equal to whatever it likes."""


class _Lucky(Stopping):  # type: ignore[misc]
    @property
    def factor(self) -> int:
        return 1


PLAIN = Choice(("one", "two"), (Marginal(("sex",)),), Stopping("logarithmic", Fraction(1, 4)))


def test_a_choice_is_taken_as_data_and_nothing_else() -> None:
    lucky = replace(PLAIN, stopping=_Lucky("logarithmic", Fraction(1, 4)))
    object.__setattr__(lucky, "each", lambda cost: (cost, cost))  # an instance may hide its class's methods
    taken = plain(lucky)
    assert taken == PLAIN and type(taken.stopping) is Stopping and taken.stopping.factor == 2
    assert taken.each(Fraction(2)) == (Fraction(4, 5), Fraction(1, 5))


@pytest.mark.parametrize(
    "odd",
    [
        _Cheap(PLAIN.candidates, PLAIN.tables, PLAIN.stopping),
        replace(PLAIN, candidates=("one", _Text("two"))),
        replace(PLAIN, tables=(Marginal(("sex",), only="area"),)),
        replace(PLAIN, tables=(Marginal((_Text("sex"),)),)),
    ],
)
def test_a_choice_that_is_not_plain_is_refused_before_it_is_booked(odd: Choice) -> None:
    with pytest.raises(JobError, match="no choice among settings"):
        plain(odd)


def test_the_checks_pass_without_a_planted_bug() -> None:
    check_everything()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.__name__)
def test_every_planted_bug_is_caught(mutant: Callable[[pytest.MonkeyPatch], None]) -> None:
    assert caught_by(mutant, check_everything) is not None, f"nobody saw: {mutant.__doc__}"


@pytest.mark.parametrize("law", FACTOR)
def test_the_number_of_runs_has_exactly_its_law(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All ways the draws can fall, each with its exact chance, up to six draws of a geometric number."""
    stopping = Stopping(law, Fraction(1, 3))  # type: ignore[arg-type]
    found: Counter[int] = Counter()
    missed = Fraction(0)

    def walk(path: tuple[int, ...], chance: Fraction) -> None:
        nonlocal missed
        sizes: list[int] = []

        def below(n: int) -> int:
            at = len(sizes)
            sizes.append(n)
            if at < len(path):
                return path[at]
            raise StopIteration

        monkeypatch.setattr(selection.entropy, "below", below)
        try:
            found[selection.number_of_runs(stopping)] += chance  # type: ignore[assignment]
        except StopIteration:
            if chance < Fraction(1, 3000):
                missed += chance
                return
            n = sizes[-1]
            for value in range(n):
                walk((*path, value), chance / n)

    walk((), Fraction(1))
    weight = {k: Fraction(2, 3) ** k / (k if law == "logarithmic" else 1) for k in range(1, 60)}
    total = sum(weight.values())
    for k in range(1, 5):
        true = weight[k] / total
        assert found[k] <= float(true) + 1e-9
        assert float(true - found[k]) <= float(missed) + 1e-9
    assert missed < Fraction(1, 2)


@pytest.mark.skipif(not ORACLE.exists(), reason="the oracle is not on this machine")
def test_the_exact_cost_of_keeping_the_best_agrees_with_the_oracle() -> None:
    for row in json.loads(ORACLE.read_text("utf-8")):
        eps = row["eps"]
        low, high = 1 / (1 + exp(eps)), exp(eps) / (1 + exp(eps))
        for key, value in row.items():
            if key.startswith("geometric"):
                law = Stopping("geometric", Fraction(1, int(key.split("=")[1])))
            elif key.startswith("logarithmic"):
                law = Stopping("logarithmic", Fraction(key.split("=")[1]))
            else:
                continue
            cost = log(all_runs_agree(law, high) / all_runs_agree(law, low))
            assert cost == pytest.approx(value, rel=1e-9)
            assert cost <= law.factor * eps


def test_it_is_n_times_epsilon_for_a_fixed_number_and_not_for_a_random_one() -> None:
    """The example of docs/experiment.md: one run is ln 2-DP, and says 'bad' with chance 2/3 or 1/3."""
    for n in (1, 3, 32):
        assert Fraction(2, 3) ** n / Fraction(1, 3) ** n == 2**n
    law = Stopping("logarithmic", Fraction(1, 2))
    ratio = all_runs_agree(law, 2 / 3) / all_runs_agree(law, 1 / 3)
    assert ratio == pytest.approx(log(3 / 2) / log(6 / 5))
    assert round(ratio, 3) == 2.224
    assert ratio <= 4


@given(st.floats(0.01, 3), st.floats(0.001, 0.9), st.floats(0, 1), st.floats(0, 1))
def test_no_pair_of_chances_that_one_run_allows_costs_more_than_the_factor(
    eps: float, gamma: float, x: float, y: float
) -> None:
    """Of outcomes in order of score: chance below, chance of the outcome itself; both change by at most e^eps."""
    for law in (
        Stopping("logarithmic", Fraction(str(round(gamma, 4)))),
        Stopping("geometric", Fraction(str(round(gamma, 4)))),
    ):
        worse, at = x * 0.5, y * 0.5
        for a in (exp(-eps), 1.0, exp(eps)):
            for b in (exp(-eps), 1.0, exp(eps)):
                below, here = worse * a, at * b
                rest, other = 1 - worse - at, 1 - below - here
                if (
                    other < 0
                    or not exp(-eps) * rest - 1e-12 <= other <= exp(eps) * rest + 1e-12
                    or here <= 1e-9 >= at
                ):
                    continue
                p = all_runs_agree(law, min(worse + at, 1)) - all_runs_agree(law, worse)
                q = all_runs_agree(law, min(below + here, 1)) - all_runs_agree(law, below)
                if p > 1e-9 and q > 1e-9:
                    assert abs(log(p / q)) <= law.factor * eps + 1e-6


def test_gamma_gives_the_mean_that_is_asked_for() -> None:
    for law in FACTOR:
        for runs in (2, 10, 50):
            gamma = gamma_for(runs, law)
            assert expected_runs(Stopping(law, gamma)) == pytest.approx(runs, rel=0.02)  # type: ignore[arg-type]
    with pytest.raises(JobError, match="mean number of runs"):
        gamma_for(1, "geometric")
