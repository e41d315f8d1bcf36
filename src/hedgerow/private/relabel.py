"""Counting rows whose label was drawn by a public law first (PROOFS.md, ``relabel``).

Neighbours: as the guarantee says, any relation, any unit.  Every row draws for itself, with bits of its own, by a law
that is public before a row is read.  For fixed bits the table is one more coding of each row by itself, so it has the
sensitivity of any table of counts and is priced as one.  The drawn labels never leave this folder.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from hedgerow.counting.plan import CountPlan
from hedgerow.counting.relabel import LabelLaw, columns_of, price, relabelled
from hedgerow.private import entropy, noise
from hedgerow.private.gate import Gate
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public.coding import Codes, Coding
from hedgerow.public.costs.question import Counts, Marginal, Measurement


def measure_relabelled(
    gate: Gate, questions: Sequence[Marginal], laws: Sequence[LabelLaw], cost: Fraction
) -> tuple[Measurement, ...]:
    """The counts of ``questions`` over rows relabelled by ``laws``, each cell with its own Laplace noise."""
    coding, questions = gate.tariff.coding, tuple(questions)
    (laws, spend), plan = price(gate.tariff, questions, laws, cost), CountPlan(questions, coding)
    for a in spend.asked:
        noise.check(a.noise)

    def noisy(counts: tuple[Counts, ...]) -> tuple[Measurement, ...]:
        return tuple(
            Measurement(a.question, true + noise.draw(a.noise, true.size), a.noise)
            for a, true in zip(spend.asked, counts, strict=True)
        )

    return gate._booked(spend, lambda: counted(gate._rows, coding, plan, laws), noisy)  # noqa: SLF001


def counted(rows: ConfidentialRows, coding: Coding, plan: CountPlan, laws: Sequence[LabelLaw]) -> tuple[Counts, ...]:
    """The exact counts. Confidential: add noise before they leave this folder."""
    names = columns_of(laws, plan.columns)

    def drawn(codes: Mapping[str, Codes]) -> Mapping[str, Codes]:
        words = [entropy.words(2 * len(codes[names[0]])) for _ in laws]
        if any((codes[c] >= coding.sizes[c]).any() for c in names):  # trees are walked before the plan looks
            raise ValueError("A code must be below the size of its column.")
        return relabelled(laws, codes, words)

    return plan.split(rows.add_up(replace(plan, mapping=drawn, looks=names)))
