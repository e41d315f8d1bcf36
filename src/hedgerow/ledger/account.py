"""One run's page in the ledger, as the gate sees it."""

from fractions import Fraction
from typing import final

from hedgerow.ledger.book import Ledger
from hedgerow.public import Budget, Guarantee, Spend


@final
class RunAccount:
    """The account of the run called ``run`` on the table that the steward calls ``table``."""

    def __init__(self, ledger: Ledger, *, table: str, run: str) -> None:
        self._ledger, self._table, self._run = ledger, table, run

    def promise(self, budget: Budget, guarantee: Guarantee) -> None:
        """Book all that this run may cost, or refuse; a promise that stands already is not booked twice."""
        self._ledger.promise(self._table, self._run, budget, guarantee)

    def spent(self) -> Fraction:
        """What this run has booked so far."""
        return self._ledger.spent(self._run)

    def key(self) -> bytes:
        """The ledger's secret, under which rows are fingerprinted."""
        return self._ledger.fingerprint_key()

    def book(self, spend: Spend) -> None:
        """Book one request, or refuse; a request that was booked and never marked is not booked twice."""
        self._ledger.spend(self._run, spend.digest, spend.cost, str(spend))

    def recognise(self, fingerprint: str) -> None:
        """Refuse if these rows are known under other names whose cap is used up."""
        self._ledger.recognise(self._table, fingerprint)

    def anchor(self) -> str:
        """The hash of this run's promise in the ledger: booked before a row was read, so it tells nothing of them."""
        return next(e.hash for e in self._ledger.entries() if e.kind == "promise" and e.facts["run"] == self._run)

    def mark_drawn(self, spend: Spend) -> None:
        """From here on an answer may exist: this request cannot be taken again for free."""
        self._ledger.mark_drawn(self._run, spend.digest)
