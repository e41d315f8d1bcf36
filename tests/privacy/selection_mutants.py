"""Planted bugs in ``choose_run``: each must be caught by its replay on neighbours, or by the law of its draws."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hedgerow.private import Gate, noise, selection
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public.costs import stopping
from hedgerow.public.costs.accounting import Guarantee, noise_for
from hedgerow.public.costs.question import Counts, Noise
from hedgerow.public.costs.spend import Spend
from hedgerow.public.costs.stopping import Choice, Stopping
from tests.privacy.mutants import pairs
from tests.privacy.selection_checks import FACTOR, check_selection
from tests.privacy.world import GUARANTEES

Patch = pytest.MonkeyPatch


def check_everything() -> None:
    """Every relation and unit, both laws, on fixed pairs, several times; and that the number of runs is drawn."""
    for guarantee in GUARANTEES.values():
        for law in FACTOR:
            for pair in pairs(guarantee):
                for _ in range(3):
                    check_selection(guarantee, law, pair)
    for law in FACTOR:
        drawn = [selection.number_of_runs(Stopping(law, Fraction(1, 4))) for _ in range(400)]  # type: ignore[arg-type]
        expected = 4.0 if law == "geometric" else 3 / np.log(4)
        assert abs(np.mean(drawn) - expected) < 1.2 and len(set(drawn)) > 3, "the number of runs has another law"


def fixed_number_of_runs(patch: Patch) -> None:
    """Always five runs: that costs five times one run."""
    patch.setattr(selection, "number_of_runs", lambda stopping: 5)


def number_of_runs_from_the_data(patch: Patch) -> None:
    """As many runs as there are rows."""
    original, seen = ConfidentialRows.count, [1]

    def count(self: ConfidentialRows, plan: Any) -> Any:
        found = original(self, plan)
        seen[0] = int(found[0].sum())
        return found

    patch.setattr(ConfidentialRows, "count", count)
    patch.setattr(selection, "number_of_runs", lambda stopping: 1 + seen[0])


def priced_as_one_run(patch: Patch) -> None:
    """Every run may spend what all of them cost together."""
    patch.setattr(Stopping, "factor", property(lambda self: 1))


def geometric_at_the_price_of_logarithmic(patch: Patch) -> None:
    """Twice one run is booked where three times is right."""
    patch.setattr(Stopping, "factor", property(lambda self: 2))


def exact_score(patch: Patch) -> None:
    """The best run is the one that is really best."""

    class Quiet:
        """Noise that is none."""

        check = staticmethod(noise.check)

        @staticmethod
        def draw(law: Noise, n: int) -> Counts:
            """Nothing."""
            return np.zeros(n, np.int64)

    patch.setattr(selection, "noise", Quiet)


def score_as_if_of_one_table(patch: Patch) -> None:
    """The score is a sum over tables, its noise that of one."""

    def price(self: Choice, guarantee: Guarantee, cost: Fraction) -> Spend:
        spend = original(self, guarantee, cost)
        law = noise_for(self.each(cost)[1], "laplace", "pure", guarantee)
        return replace(spend, asked=(replace(spend.asked[0], noise=law),))

    original = Choice.price
    patch.setattr(Choice, "price", price)


def score_moves_by_one_under_every_relation(patch: Patch) -> None:
    """The rows of a person, and both sides of a replacement, are forgotten."""
    patch.setattr(stopping, "noise_for", lambda cost, law, measure, g: noise_for(cost, law, measure, Guarantee()))


def purse_without_a_bottom(patch: Patch) -> None:
    """A run may ask for more than its part."""

    def book(self: Any, spend: Spend) -> None:
        self._spent = Fraction(0)

    patch.setattr(selection._Purse, "book", book)


def all_runs_leave(patch: Patch) -> None:
    """The runs that were not best are kept beside the best one."""
    original = selection.choose_run

    def choose_run(gate: Gate, choice: Choice, trial: Any, cost: Fraction) -> selection.Chosen:
        made: list[Any] = []

        def kept(which: int, inner: Gate) -> Any:
            found = trial(which, inner)
            made.append(found[1])
            return found

        best = original(gate, choice, kept, cost)
        return selection.Chosen(best.candidate, best.score, made)

    patch.setattr(selection, "choose_run", choose_run)


def failure_of_a_run_leaves(patch: Patch) -> None:
    """That some run failed is told, though another one was best."""
    original = selection.choose_run

    def choose_run(gate: Gate, choice: Choice, trial: Any, cost: Fraction) -> selection.Chosen:
        failed: list[int] = []

        def kept(which: int, inner: Gate) -> Any:
            try:
                return trial(which, inner)
            except Exception:
                failed.append(which)
                raise

        best = original(gate, choice, kept, cost)
        if failed:
            raise ValueError(f"{len(failed)} runs failed")
        return best

    patch.setattr(selection, "choose_run", choose_run)


def answered_without_a_mark(patch: Patch) -> None:
    """A choice is answered without being saved and marked: a kill afterwards gives a second one for free."""

    def booked(gate: Gate, spend: Any, count: Any, draw: Any) -> Any:
        gate._account.book(spend)
        return draw(count())

    patch.setattr(Gate, "_booked", booked)


MUTANTS = (
    fixed_number_of_runs,
    number_of_runs_from_the_data,
    priced_as_one_run,
    geometric_at_the_price_of_logarithmic,
    exact_score,
    score_as_if_of_one_table,
    score_moves_by_one_under_every_relation,
    purse_without_a_bottom,
    all_runs_leave,
    failure_of_a_run_leaves,
    answered_without_a_mark,
)
