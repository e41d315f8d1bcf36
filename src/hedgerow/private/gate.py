"""The gate: price, book, count, draw, save and mark, answer. Nothing else touches the rows."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol, final, runtime_checkable

import numpy as np

from hedgerow.counting.plan import CountPlan
from hedgerow.errors import JobError
from hedgerow.private import noise
from hedgerow.private.local import LocalCounter
from hedgerow.private.rows import ConfidentialRows, Counting, T
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.question import Counts, Law, Marginal, Measurement, Shares
from hedgerow.public.costs.spend import Spend, Tariff


@runtime_checkable
class Account(Protocol):
    """One run's page in the ledger. What is booked is on disk when a call returns."""

    def promise(self, budget: Budget, guarantee: Guarantee) -> None:
        """Book all that this run may cost, or refuse; a promise that stands already is not booked twice."""

    def spent(self) -> Fraction:
        """What this run has booked so far."""

    def key(self) -> bytes:
        """The ledger's secret, under which rows are fingerprinted."""

    def book(self, spend: Spend) -> None:
        """Book one request, or refuse; a request that was booked and never marked is not booked twice."""

    def recognise(self, fingerprint: str) -> None:
        """Refuse if these rows are known under other names whose cap is used up."""

    def keep(self, spend: Spend, answer: T) -> T:
        """Save the answer, then mark its request: from here on it exists, and cannot be taken again for free."""


@final
class Gate:
    """Answers questions about confidential rows, with noise, until the budget is gone.

    Neighbours: two tables that differ in one unit in the way of ``guarantee.relation``.  All answers of
    one run together are epsilon-DP (pure) or rho-zCDP with the total of ``budget``, however each question
    depends on the answers before it.  Order of every request: the price is computed from public facts; it
    is booked; only then rows are read and counted, and noise is drawn; the answer is saved, then marked in
    the ledger; only then is it given out.  So a process killed at any moment leaves a paid request whose one
    answer is saved, or one whose answer nobody has seen and which may be taken again.
    """

    def __init__(
        self, source: Any, tariff: Tariff, budget: Budget, account: Account, counter: Counting = LocalCounter
    ) -> None:
        if tariff.measure != budget.measure or (tariff.measure == "basic" and tariff.delta != budget.delta):
            raise JobError(f"Prices in {tariff.measure}, a promise in {budget.measure}. Nothing was read or spent.")
        self._rows = ConfidentialRows(source, tariff.coding, tariff.guarantee, counter)
        account.promise(budget, tariff.guarantee)
        self._account, self.tariff, self.budget, self._recognised = account, tariff, budget, False

    @property
    def left(self) -> Fraction:
        """What may still be spent, in the measure of the budget."""
        return self.budget.total - self._account.spent()

    def measure(
        self, questions: Sequence[Marginal], cost: Fraction, *, weights: Shares = None, law: Law | None = None
    ) -> tuple[Measurement, ...]:
        """The counts of ``questions``, each cell with its own noise; ``weights`` divide the cost.

        One unit moves each table by at most l1 (l2), so whole-number Laplace noise of scale l1 / epsilon_q
        (Gaussian of variance l2^2 / (2 rho_q)) on *every* cell costs epsilon_q (rho_q), and the costs add.
        """
        spend = self.tariff.measure_all(questions, cost, weights=weights, law=law)
        for a in spend.asked:
            noise.check(a.noise)

        def noisy(counts: tuple[Counts, ...]) -> tuple[Measurement, ...]:
            return tuple(
                Measurement(a.question, true + noise.draw(a.noise, true.size), a.noise)
                for a, true in zip(spend.asked, counts, strict=True)
            )

        return self._answered(spend, [a.question for a in spend.asked], noisy)

    def select(self, estimates: Mapping[Marginal, Counts], cost: Fraction) -> Marginal:
        """The question whose estimate is furthest from the truth, chosen with noise.

        The score is the L1 distance between the given estimate and the true counts. One unit moves it by
        at most l1, up for some questions and down for others, so no monotonicity is claimed.
        """
        questions = list(estimates)
        spend = self.tariff.select_one(questions, cost)
        plain = [np.array(e, np.int64) for e in estimates.values()]  # copies of the plainest type: none looks on
        for q, e in zip(questions, plain, strict=True):
            cells = q.leaves * self.tariff.coding.cells(q.columns)
            if e.shape != (cells,) or max(int(e.max()), -int(e.min())) > (1 << 61) // cells:  # no sum overflows
                raise JobError(f"The estimate of {q} must be one count per cell. Nothing was read or spent.")

        def furthest(counts: tuple[Counts, ...]) -> Marginal:
            scores = [int(np.abs(true - e).sum()) for e, true in zip(plain, counts, strict=True)]
            return questions[noise.exponential_choice(scores, spend.rate)]

        return self._answered(spend, questions, furthest)

    def _answered(self, spend: Spend, questions: Sequence[Marginal], draw: Callable[..., T]) -> T:
        plan = CountPlan(questions, self.tariff.coding)
        return self._booked(spend, lambda: self._rows.count(plan), draw)

    def _booked(self, spend: Spend, count: Callable[[], object], draw: Callable[..., T]) -> T:
        """What ``draw`` makes of what ``count`` finds: booked before, saved and marked after."""
        if spend.verb != "measure" and self.budget.measure not in ("pure", "zcdp"):
            raise JobError(f"A promise in {self.budget.measure} is for noisy counts only. Nothing was read or spent.")
        self._account.book(spend)
        if not self._recognised:
            self._account.recognise(self._rows.fingerprint(self._account.key()))
            self._recognised = True
        return self._account.keep(spend, draw(count()))
