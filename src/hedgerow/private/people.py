"""People counted instead of rows: each once, by facts about all of their rows. A counter over another one.

The counter of rows gives all rows of a person together; here they become one row, by rules that look at nobody else's
(``by_person``), and that row is counted.  Whatever makes answers, prices and noise of it knows no difference.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

from hedgerow.counting.plan import UNIT, CountPlan
from hedgerow.private.local import LocalCounter
from hedgerow.private.rows import Counting
from hedgerow.public.coding import Codes, Coding
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Counts
from hedgerow.public.people import PeopleCoding

_ALL = 1 << 60  # rows of a person: facts are about all of them


@dataclass(frozen=True)
class _Facts:
    """Makes one row of all rows of a person: data, so that it can be sent to where rows are."""

    coding: PeopleCoding
    names: tuple[str, ...]

    def __call__(self, codes: Mapping[str, Codes]) -> Mapping[str, Codes]:
        """The facts ``names`` of the people whose rows these are."""
        return self.coding.reduce(codes[UNIT], codes, self.names)


def counting(coding: Coding, rows: Counting = LocalCounter) -> Counting:
    """Who counts what is coded so: ``rows``, or people by them."""
    return partial(PeopleCounter, counter=rows) if isinstance(coding, PeopleCoding) else rows


@final
class PeopleCounter:
    """Counts people where ``counter`` counts the rows of people, as ``Counter`` says."""

    __slots__ = ("_coding", "_rows", "columns")

    def __init__(self, source: Any, coding: Coding, guarantee: Guarantee, counter: Counting = LocalCounter) -> None:
        if not isinstance(coding, PeopleCoding) or not guarantee.person:
            raise TypeError("People are counted by facts, and told apart by a column.")
        self._coding = coding
        self._rows = counter(source, Coding(coding.columns), replace(guarantee, rows_per_person=_ALL))
        self.columns = self._rows.columns

    def count(self, plan: CountPlan) -> Counts:
        """The exact counts over all people."""
        facts = _Facts(self._coding, plan.columns)
        return self._rows.count(replace(plan, mapping=facts, looks=(*self._coding.needs(facts.names), UNIT)))

    def fingerprint(self, key: bytes) -> bytes:
        """The sum over all records, not people, of a keyed hash of each."""
        return self._rows.fingerprint(key)
