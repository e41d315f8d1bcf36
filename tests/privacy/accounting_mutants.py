"""Planted bugs in what promises are worth: each must be caught by ``check_accounting``."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from hedgerow.ledger.book import Ledger
from hedgerow.private import Gate
from hedgerow.public.costs import accounting, composition, gaussian, spend
from hedgerow.public.costs.composition import Cap, Promised
from hedgerow.public.costs.spend import Spend

Patch = pytest.MonkeyPatch


def cap_adds_only_the_last_runs(patch: Patch) -> None:
    """Runs of long ago are forgotten."""
    original = Ledger._account

    def account(self: Ledger, tab: str) -> Any:
        cap, made = original(self, tab)
        return cap, made[-5:]

    patch.setattr(Ledger, "_account", account)


def cap_adds_rhos_as_if_they_were_epsilons_squared(patch: Patch) -> None:
    """A run without a delta weighs an eighth of its square, as a choice does, and not half."""
    stated = Promised.stated
    patch.setattr(Promised, "stated", lambda m, e, d, total: stated(m, e, d, total if d else total / 2))


def cap_ignores_the_deltas(patch: Patch) -> None:
    """Epsilons add up, whatever becomes of the deltas."""
    original = Cap.worth
    patch.setattr(Cap, "worth", lambda self, made: original(self, [p._replace(delta=Fraction(0)) for p in made]))


def cap_converts_at_the_sum_of_what_runs_and_cap_allow(patch: Patch) -> None:
    """Rhos are turned into epsilon at a delta that nobody promised."""
    original = composition.epsilon_in
    patch.setattr(composition, "epsilon_in", lambda way, rho, delta: original(way, rho, min(delta * 1000, 1)))


def conversion_rounded_down(patch: Patch) -> None:
    """A rho is worth a tenth less than it is."""
    original = accounting.epsilon_of
    patch.setattr(accounting, "epsilon_of", lambda *given: original(*given) * 0.85)
    accounting.rho_for.cache_clear()


def normal_conversion_rounded_down(patch: Patch) -> None:
    """The delta of normal noise is taken for a tenth less than it is."""
    original = gaussian.normal_delta
    patch.setattr(gaussian, "normal_delta", lambda *given: original(*given) * 0.9)
    gaussian.normal_rho.cache_clear()


def other_laws_under_a_gaussian_promise(patch: Patch) -> None:
    """Choices and urns are priced as in zCDP, and the gate does not look."""

    def booked(self: Gate, asked: Spend, count: Callable[[], Any], draw: Callable[..., Any]) -> Any:
        self._account.book(asked)
        return self._account.keep(asked, draw(count()))

    patch.setattr(Gate, "_booked", booked)


def no_allowance_for_whole_numbers(patch: Patch) -> None:
    """Whole-number noise as if it were normal."""
    original = accounting.noise_for

    def noise_for(cost: Fraction, law: Any, measure: Any, guarantee: Any) -> Any:
        return original(cost, law, "zcdp" if measure == "gdp" else measure, guarantee)

    patch.setattr(spend, "noise_for", noise_for)
    patch.setattr("tests.privacy.accounting_checks.noise_for", noise_for)


def the_delta_is_taken_twice(patch: Patch) -> None:
    """A second request with Gaussian noise where epsilons add up has the whole delta again."""
    original = Ledger.spend

    def spend(self: Ledger, run: str, request: str, cost: Fraction, what: str, *delta: Fraction) -> None:
        original(self, run, request, cost, what)

    patch.setattr(Ledger, "spend", spend)


def gaussian_noise_at_all_of_epsilon(patch: Patch) -> None:
    """Where epsilons add up, Gaussian noise is drawn for twice what it is charged."""
    original = accounting.priced
    patch.setattr(spend, "priced", lambda cost, law, *rest: original(2 * cost if law else cost, law, *rest))


ACCOUNTING_MUTANTS: tuple[Callable[[Patch], None], ...] = (
    cap_adds_only_the_last_runs,
    cap_adds_rhos_as_if_they_were_epsilons_squared,
    cap_ignores_the_deltas,
    cap_converts_at_the_sum_of_what_runs_and_cap_allow,
    conversion_rounded_down,
    normal_conversion_rounded_down,
    other_laws_under_a_gaussian_promise,
    no_allowance_for_whole_numbers,
    the_delta_is_taken_twice,
    gaussian_noise_at_all_of_epsilon,
)
