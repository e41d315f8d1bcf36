"""Careers counted: everybody once by the first record, and by a limited number of steps. A counter over another one.

The counter of rows gives all rows of a person together; here they become one row, or one for each step that counts,
by rules that look at nobody else's (``CareerCoding.reduce``), and these are counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final, get_args

import numpy as np

from hedgerow.counting.plan import UNIT, CountPlan
from hedgerow.private.local import LocalCounter
from hedgerow.private.rows import Counting
from hedgerow.public.careers import CareerCoding, Part, asked_of
from hedgerow.public.coding import Codes, Coding
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Counts, Marginal

_ALL = 1 << 60  # rows of a person: which of them count is decided here


@dataclass(frozen=True)
class Reduction:
    """Makes people or steps of all rows of some people: data, so that it can be sent to where rows are."""

    coding: CareerCoding
    names: tuple[str, ...]
    most: int

    def __call__(self, codes: Mapping[str, Codes]) -> Mapping[str, Codes]:
        """The codes ``names`` of the people whose rows these are."""
        return self.coding.reduce(codes[UNIT], codes, self.names, self.most)


def counting(coding: Coding, rows: Counting = LocalCounter) -> Counting:
    """Who counts what is coded so: ``rows``, or careers by them."""
    return partial(CareerCounter, counter=rows) if isinstance(coding, CareerCoding) else rows


@final
class CareerCounter:
    """Counts people and steps where ``counter`` counts the rows of people, as ``Counter`` says."""

    __slots__ = ("_coding", "_most", "_rows", "columns")

    def __init__(self, source: Any, coding: Coding, guarantee: Guarantee, counter: Counting = LocalCounter) -> None:
        if not isinstance(coding, CareerCoding) or not guarantee.person or guarantee.rows_per_person < 2:
            raise TypeError("Careers are counted by people and their steps, and told apart by a column.")
        self._coding, self._most = coding, guarantee.rows_per_person
        self._rows = counter(source, Coding(coding.columns), replace(guarantee, rows_per_person=_ALL))
        self.columns = self._rows.columns

    def count(self, plan: CountPlan) -> Counts:
        """The exact counts over all people, or over all steps that count, as each question asks."""
        found, parts = dict[Marginal, Counts](), get_args(Part)
        for part in parts:
            asked = [q for q in plan.questions if self._coding.kind(asked_of(q)) == part]
            if asked:
                coding, most = self._coding.only(part), self._coding.most(asked_of(asked[0]), self._most)
                own = replace(plan, questions=asked, coding=coding)
                reduction = Reduction(coding, own.columns, most)
                own = replace(own, mapping=reduction, looks=(*coding.needs(()), UNIT))
                found |= dict(zip(asked, own.split(self._rows.count(own)), strict=True))
        return np.concatenate([found[q] for q in plan.questions])

    def fingerprint(self, key: bytes) -> bytes:
        """The sum over all records, not people, of a keyed hash of each."""
        return self._rows.fingerprint(key)
