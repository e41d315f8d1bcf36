"""The gate: price, book, count, mark, add noise, answer. Nothing else touches the rows."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import final

import numpy as np

from hedgerow.counting.plan import CountPlan
from hedgerow.errors import JobError
from hedgerow.private import noise
from hedgerow.private.ledger import Ledger
from hedgerow.private.rows import ConfidentialRows, Source
from hedgerow.public.accounting import Budget, Guarantee
from hedgerow.public.coding import Coding
from hedgerow.public.question import Counts, Law, Marginal, Measurement
from hedgerow.public.spend import Spend, Tariff


@final
class Gate:
    """Answers questions about confidential rows, with noise, until the budget is gone.

    Neighbours: two tables that differ in one unit in the way of ``guarantee.relation``.  All answers of
    one gate together are epsilon-DP (pure) or rho-zCDP with the total of ``budget``, however each
    question depends on the answers before it: the ledger refuses what would pass the total.

    Order of every request: the price is computed from public facts; it is booked; only then rows are
    read and counted; the draw is marked; only then noise is drawn.  So a process killed at any moment
    leaves either a booked request without an answer, which may be taken once more, or a paid one.
    """

    def __init__(self, rows: ConfidentialRows, tariff: Tariff, budget: Budget, account: "Account") -> None:
        self._rows, self._account = rows, account
        self.tariff, self.budget = tariff, budget

    @property
    def left(self) -> Fraction:
        """What may still be spent, in the measure of the budget."""
        return self.budget.total - self._account.spent()

    def measure(
        self,
        questions: Sequence[Marginal],
        cost: Fraction,
        *,
        weights: Sequence[Fraction] | None = None,
        law: Law | None = None,
    ) -> tuple[Measurement, ...]:
        """The counts of ``questions``, each cell with its own noise; ``weights`` divide the cost.

        One unit moves each table by at most l1 (l2), so whole-number Laplace noise of scale l1 / epsilon_q
        (Gaussian of variance l2^2 / (2 rho_q)) on *every* cell costs epsilon_q (rho_q), and the costs add.
        """
        spend = self.tariff.measure_all(questions, cost, weights=weights, law=law)
        for a in spend.asked:
            noise.check(a.noise)
        counts = self._counted(spend, questions)
        return tuple(
            Measurement(a.question, true + noise.draw(a.noise, a.cells), a.noise)
            for a, true in zip(spend.asked, counts, strict=True)
        )

    def select(self, estimates: Mapping[Marginal, Counts], cost: Fraction) -> Marginal:
        """The question whose estimate is furthest from the truth, chosen with noise.

        The score is the L1 distance between the given estimate and the true counts. One unit moves it by
        at most l1, up for some questions and down for others, so no monotonicity is claimed.
        """
        questions = list(estimates)
        spend = self.tariff.select_one(questions, cost)
        for q in questions:
            if estimates[q].shape != (self.tariff.coding.cells(q.columns),) or estimates[q].dtype != np.int64:
                raise JobError(f"The estimate of {q} must be one whole number per cell. Nothing was read or spent.")
        counts = self._counted(spend, questions)
        scores = [int(np.abs(true - estimates[q]).sum()) for q, true in zip(questions, counts, strict=True)]
        return questions[noise.exponential_choice(scores, spend.rate)]

    def _counted(self, spend: Spend, questions: Sequence[Marginal]) -> tuple[Counts, ...]:
        plan = CountPlan(questions, self.tariff.coding)
        self._account.book(spend, self._rows)
        counts = self._rows.count(plan)
        self._account.mark_drawn(spend)
        return counts


@final
class Account:
    """One run's page in the ledger: its promise, booked before anything is read, and its requests."""

    def __init__(self, ledger: Ledger, table: str, run: str) -> None:
        self._ledger, self._table, self._run, self._recognised = ledger, table, run, False

    def spent(self) -> Fraction:
        """What this run has booked so far."""
        return self._ledger.spent(self._run)

    def book(self, spend: Spend, rows: ConfidentialRows) -> None:
        """Book one request; with the first, see whether these rows are known under another name."""
        self._ledger.spend(self._run, spend.digest, spend.cost, str(spend))
        if not self._recognised:
            self._ledger.recognise(self._table, rows.fingerprint(self._ledger.fingerprint_key()))
            self._recognised = True

    def mark_drawn(self, spend: Spend) -> None:
        """From here on an answer may exist: this request cannot be taken again for free."""
        self._ledger.mark_drawn(self._run, spend.digest)


def open_gate(
    source: Source,
    coding: Coding,
    *,
    guarantee: Guarantee,
    budget: Budget,
    ledger: Ledger,
    table: str,
    run: str,
) -> Gate:
    """A gate in front of ``source``, its whole promise booked under ``table``. No row is read yet.

    A ``run`` that is already in the ledger goes on with what it has left.
    """
    rows = ConfidentialRows(source, coding, guarantee)
    ledger.promise(table, run, budget, guarantee)
    return Gate(rows, Tariff(coding, guarantee, budget.measure), budget, Account(ledger, table, run))
