"""Planted bugs in what promises are worth: each must be caught by ``check_accounting``."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from hedgerow.ledger.book import Ledger
from hedgerow.public.costs import accounting, composition
from hedgerow.public.costs.composition import Cap, Promised

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
    patch.setattr(Promised, "stated", lambda e, d, total: stated(e, d, total if d else total / 2))


def cap_ignores_the_deltas(patch: Patch) -> None:
    """Epsilons add up, whatever becomes of the deltas."""
    original = Cap.worth
    patch.setattr(Cap, "worth", lambda self, made: original(self, [p._replace(delta=Fraction(0)) for p in made]))


def cap_converts_at_the_sum_of_what_runs_and_cap_allow(patch: Patch) -> None:
    """Rhos are turned into epsilon at a delta that nobody promised."""
    original = composition.epsilon_of
    patch.setattr(composition, "epsilon_of", lambda rho, delta, *rest: original(rho, min(delta * 1000, 1), *rest))


def conversion_rounded_down(patch: Patch) -> None:
    """A rho is worth a tenth less than it is."""
    original = accounting.epsilon_of
    patch.setattr(accounting, "epsilon_of", lambda *given: original(*given) * 0.85)
    accounting.rho_for.cache_clear()


ACCOUNTING_MUTANTS: tuple[Callable[[Patch], None], ...] = (
    cap_adds_only_the_last_runs,
    cap_adds_rhos_as_if_they_were_epsilons_squared,
    cap_ignores_the_deltas,
    cap_converts_at_the_sum_of_what_runs_and_cap_allow,
    conversion_rounded_down,
)
