"""What promises are worth, against laws that are known exactly: normal noise, and two answers at the edge of epsilon.

A run with a delta is played by normal noise of its whole rho, one without by the most telling epsilon-DP answer there
is (true with chance e^epsilon / (1 + e^epsilon)).  Losses of runs add, so the delta of all runs together at the cap's
epsilon is a sum over the ways in which the answers fall, of the delta of the normal part.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import erfc, exp, sqrt

import numpy as np

from hedgerow.errors import JobError
from hedgerow.ledger.book import BudgetExhausted, Ledger, RunAccount
from hedgerow.private import Gate, urns
from hedgerow.public.costs.accounting import Budget, Guarantee, noise_for, rho_for
from hedgerow.public.costs.gaussian import BasicBudget, GaussianBudget
from hedgerow.public.costs.question import Marginal
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.files import open_source
from hedgerow.public.schema import Schema
from hedgerow.public.table import PublicData
from hedgerow.recipes.counts.urns import UrnPlan
from tests.privacy.checks import quick_folder
from tests.privacy.world import SCHEMA, frame

CAPS = (("1.6", "1e-5"), ("0.5", "1e-9"), ("1", "0"))
_ROWS = (("F", "A", "5", "n", "me"),)
STREAMS: tuple[tuple[Budget, ...], ...] = (
    (Budget("0.5", "1e-6"),),
    (Budget("0.1", "1e-7"), Budget("0.3", "1e-6")),
    (Budget("0.1"), Budget("0.2", "1e-6")),
    (Budget("0.5"), Budget("0.5", "1e-6"), Budget("0.25")),
    (GaussianBudget("0.5", "1e-6"),),
    (BasicBudget("0.4", "1e-7"), Budget("0.1", "1e-6")),
    (GaussianBudget("0.1", "1e-7"), Budget("0.3", "1e-6"), Budget("0.1")),
)


def normal_delta(epsilon: float, rho: float) -> float:
    """The delta of normal noise of cost rho at epsilon (Balle and Wang 2018)."""
    if rho == 0:
        return max(0.0, 1 - exp(epsilon)) if epsilon < 0 else 0.0
    tail = erfc((epsilon + rho) / sqrt(4 * rho)) / 2
    return erfc((epsilon - rho) / sqrt(4 * rho)) / 2 - (exp(epsilon) * tail if tail else 0.0)


def exact_delta(epsilon: float, pure: Sequence[float], rho: float) -> float:
    """The least delta with which all runs together keep epsilon."""
    losses = {0.0: 1.0}
    for e in pure:
        true, fell = exp(e) / (1 + exp(e)), dict[float, float]()
        for loss, chance in losses.items():
            for moved, p in ((e, true), (-e, 1 - true)):
                at = round(loss + moved, 9)
                fell[at] = fell.get(at, 0.0) + chance * p
        losses = fell
    return sum(chance * normal_delta(epsilon - loss, rho) for loss, chance in losses.items())


def admitted(cap: tuple[str, str], stream: Sequence[Budget], most: int = 30) -> list[Budget]:
    """What a ledger promises when the stream is asked for again and again until all of it is refused."""
    made: list[Budget] = []
    with quick_folder() as folder:
        ledger = Ledger.open(f"{folder}/ledger.db")
        ledger.cap("pay", Budget(*cap))
        while len(made) < most:
            before = len(made)
            for budget in stream:
                try:
                    ledger.promise("pay", f"run{len(made)}", budget, Guarantee())
                    made.append(budget)
                except BudgetExhausted:
                    continue
            if len(made) == before:
                break
    return made


def check_accounting() -> None:
    """No run is worth more than its promise, and all runs that a ledger admits no more than the cap."""
    check_gaussian()
    check_basic()
    for stream in STREAMS:
        for budget in (b for b in stream if b.delta and b.measure != "basic"):
            own = normal_delta(float(budget.epsilon), float(budget.total))
            assert own <= float(budget.delta), f"one run at {budget} has delta {own}"
        for cap in CAPS:
            made = admitted(cap, stream)
            half = [b for b in made if b.measure == "basic"]  # half of it epsilon, half of it Gaussian noise
            pure = [float(b.epsilon) for b in made if not b.delta] + [float(b.epsilon) / 2 for b in half]
            rho = float(sum((b.total for b in made if b.delta and b not in half), Fraction(0)))
            rho += float(sum((rho_for(b.epsilon / 2, b.delta) for b in half), Fraction(0)))
            found = exact_delta(float(cap[0]), pure, rho)
            assert found <= float(cap[1]) + 1e-15, f"{len(made)} runs under the cap {cap} have delta {found}"


def check_gaussian() -> None:
    """A promise in gdp is kept by the whole-number noise that it buys, and by no other law."""
    for epsilon, delta in (("0.5", "1e-6"), ("3", "1e-3")):
        budget = GaussianBudget(epsilon, delta)
        own = normal_delta(float(epsilon), float(budget.total))
        assert own <= float(delta), f"normal noise of {budget} has delta {own}"
        variance = noise_for(budget.total, None, budget.measure, Guarantee()).scale
        normal = variance * Fraction(9_999, 10_000) - 1
        assert normal > 0 and 1 / (2 * normal) <= budget.total, "no allowance for whole numbers"
        with quick_folder() as folder:
            account = RunAccount(Ledger.open(f"{folder}/ledger.db"), table="toy", run="run")
            check_other_laws_are_refused(budget, account)


def check_basic() -> None:
    """Where epsilons add up and one request takes the delta, Laplace and Gaussian noise together keep the promise."""
    schema, budget = Schema.loads(SCHEMA), BasicBudget("0.8", "1e-6")
    sex, race = Marginal(("sex",)), Marginal(("race",))
    with quick_folder() as folder:
        account = RunAccount(Ledger.open(f"{folder}/ledger.db"), table="toy", run="run")

        def gate() -> Gate:  # as of a process that begins anew and goes on
            tariff = Tariff(schema.coding, Guarantee(), budget.measure, budget.delta)
            return Gate(open_source(frame(_ROWS)), tariff, budget, account)

        gate().measure([sex], Fraction(3, 10))
        both = gate().measure([sex, race], Fraction(2, 10), law="gaussian")
        rho = float(sum(1 / (2 * m.noise.scale) for m in both))
        found = exact_delta(0.5, [0.3], rho)
        assert found <= 1e-6, f"Laplace and Gaussian noise together have delta {found}"
        assert normal_delta(0.2, rho) > 1e-9, "the delta of the promise buys something"
        for other in (
            lambda: gate().measure([race], Fraction(2, 10), law="gaussian"),
            lambda: gate().select(
                {q: np.zeros(schema.coding.cells(q.columns), np.int64) for q in (sex, race)}, gate().left
            ),
        ):
            try:
                other()
            except (JobError, BudgetExhausted):
                assert account.spent() == Fraction(1, 2), "it was booked before it was refused"
            else:
                raise AssertionError("the delta was taken twice, or something else than counts was answered")
        gate().measure([race], Fraction(3, 10))
        assert gate().left == 0


def check_other_laws_are_refused(budget: Budget, account: RunAccount) -> None:
    """Laplace noise, a choice and an urn, before they are booked; Gaussian noise is answered."""
    schema, pair = Schema.loads(SCHEMA), Marginal(("sex", "race"))
    gate = Gate(open_source(frame(_ROWS)), Tariff(schema.coding, Guarantee(), budget.measure), budget, account)
    asked, part = [Marginal(("sex",)), Marginal(("race",))], budget.total / 3
    urn = UrnPlan("toy", pair, 0, 7).urn(Tariff(schema.coding, Guarantee(), "zcdp"), part, PublicData(schema))
    for other in (
        lambda: gate.measure(asked, part, law="laplace"),
        lambda: gate.select({q: np.zeros(schema.coding.cells(q.columns), np.int64) for q in asked}, part),
        lambda: urns.draw_urn(gate, pair, urn, part),
    ):
        try:
            other()
        except JobError:
            assert account.spent() == 0, "it was booked before it was refused"
        else:
            raise AssertionError("another law under a promise of Gaussian noise alone")
    gate.measure(asked, part)
    assert account.spent() == part
