"""How many parts of the table bear out a claim: subsample and aggregate, with noise (PROOFS.md, ``verification``).

Neighbours: as the guarantee says, any relation, any unit.  Every unit (a record, or a person with all rows that
count) falls into one of M parts by a draw of its own that looks at no value.  Least squares is done in each part; a
part that does not determine the coefficient does not agree.  One unit changes one part, so it moves the count by at
most one, and whole-number noise worth that is added.  Nothing but the noisy count leaves.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from hedgerow.counting.plan import UNIT, CountPlan
from hedgerow.private import entropy, noise
from hedgerow.private.gate import Gate
from hedgerow.private.rows import ConfidentialRows, _in_fixed_words
from hedgerow.public.coding import CodedColumn, Codes, Coding, code_type
from hedgerow.public.costs.claim import Claim, plain
from hedgerow.public.costs.question import Counts, Marginal, Measurement

_PART = "\0part"  # no column of a file has this name


def verify_model(gate: Gate, claim: Claim, parts: int, cost: Fraction) -> Measurement:
    """The number of ``parts`` parts in which the claim holds, with noise. Order: as the gate's."""
    claim = plain(claim, gate.tariff.coding)
    spend = claim.price(gate.tariff, parts, cost)
    asked = spend.asked[0]
    noise.check(asked.noise)
    coding = Coding((*gate.tariff.coding.columns, CodedColumn(_PART, "text", parts, 0, 0)), gate.tariff.coding.joined)
    plan = CountPlan([Marginal((_PART, *q.columns)) for q in claim.questions], coding)  # known before a row is seen

    def noisy(true: Counts) -> Measurement:
        return Measurement(asked.question, true + noise.draw(asked.noise, 1), asked.noise)

    return gate._booked(spend, lambda: agreeing(gate._rows, plan, claim, parts), noisy)  # noqa: SLF001


def agreeing(rows: ConfidentialRows, plan: CountPlan, claim: Claim, parts: int) -> Counts:
    """The exact number of parts in which the claim holds. Confidential: add noise before it leaves this folder."""

    def in_parts(codes: Mapping[str, Codes]) -> Mapping[str, Codes]:
        lines = {**codes, _PART: parts_of(codes[UNIT], parts)}
        keep = np.logical_and.reduce([u[codes[c]] for c, u in zip(claim.columns, claim.usable, strict=True)])
        return {c: line[keep] for c, line in lines.items()}

    def total() -> int:
        tally = rows.add_up(replace(plan, mapping=in_parts, looks=(*claim.columns, UNIT)))
        tables = [t.reshape(parts, -1) for t in plan.split(tally)]
        with np.errstate(all="ignore"):
            return sum(claim.holds([t[part] for t in tables]) for part in range(parts))

    return np.array([_in_fixed_words(total)], np.int64)


def parts_of(units: Codes, parts: int) -> Codes:
    """The part of every row: one is drawn for each unit, and all its rows fall into it."""
    return draw_parts(int(units.max(initial=0)) + 1 if len(units) else 0, parts)[units]


def draw_parts(units: int, parts: int) -> Codes:
    """A part for each of so many units, from the operating system; any law that looks at no value will do."""
    return (entropy.words(units) % np.uint32(parts)).astype(code_type(parts))
