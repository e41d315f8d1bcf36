"""Planted bugs in ``verify_model``: each must be caught by its replay on fixed neighbours."""

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hedgerow.private import Gate, local, noise, verification
from hedgerow.public.costs import claim as claims
from hedgerow.public.costs.accounting import Guarantee, noise_for
from hedgerow.public.costs.claim import Claim
from hedgerow.public.costs.question import Counts, Measurement, Noise
from tests.privacy.verification_checks import check_verification, claim_of
from tests.privacy.world import GUARANTEES, Pair, Row

Patch = pytest.MonkeyPatch
_REST: tuple[Row, ...] = (
    ("F", "A", "5", "n", "a"),
    ("M", "A", "25", "n", "b"),
    ("F", "B", "12", "s", "c"),
    ("M", "B", "39", "s", "a"),
    ("F", "B", "5", "s", "b"),
    ("M", "C", "39", "w", "c"),
)
_ME: tuple[Row, ...] = (("M", "A", "0", "n", "me"), ("F", "A", "39", "n", "me"))
_YOU: tuple[Row, ...] = (("M", "A", "39", "n", "me"), ("F", "A", "0", "n", "me"))
_RELABELLED: tuple[Row, ...] = (("F", "B", "0", "n", "me"), ("M", "B", "39", "n", "me"))
_TWICE: tuple[Row, ...] = (("M", "A", "0", "n", "me"), ("M", "A", "0", "s", "me"))
_APART: tuple[Row, ...] = (("F", "A", "0", "n", "me"), ("F", "A", "0", "s", "me"))
TAPES = ([0, 1, 2, 0, 1, 2, 0, 1], [0, 0, 1, 2, 2, 1, 0, 1])


def pairs(guarantee: Guarantee) -> list[Pair]:
    """Fixed neighbours, the unit at the front, where it moves every position behind it."""
    other = {"add-remove": (), "replace-one": _YOU, "label-change": _RELABELLED}[guarantee.relation]
    most = 2 if guarantee.unit == "person" else 1
    spread = {"add-remove": (), "replace-one": _APART, "label-change": _APART}[guarantee.relation]
    return [
        Pair(_ME[:most] + _REST, other[:most] + _REST),
        Pair(_REST + _ME[-most:], _REST + other[-most:]),
        Pair(_REST + _TWICE[:most], _REST + spread[:most]),
    ]


def check_everything() -> None:
    """Every relation and unit, pure and zCDP, on fixed pairs and parts."""
    for guarantee in GUARANTEES.values():
        for pair in pairs(guarantee):
            for tape in TAPES:
                for text in ("sex[M] > 0", "sex[M] > 18"):
                    for delta in ("0", "1e-6"):
                        claim = claim_of("pay ~ sex | area", text)
                        check_verification(guarantee, delta, pair, claim, tape, split=tape is TAPES[1])


def parts_by_position(patch: Patch) -> None:
    """The part is the row's number modulo the parts: whoever comes first moves everybody behind."""
    patch.setattr(verification, "parts_of", lambda units, parts: (np.arange(len(units)) % parts).astype(np.uint8))


def a_person_in_several_parts(patch: Patch) -> None:
    """Rows are put into parts one by one, though the unit is a person."""
    patch.setattr(verification, "parts_of", lambda units, parts: verification.draw_parts(len(units), parts))


def parts_drawn_anew_for_each_batch(patch: Patch) -> None:
    """A person whose rows stand in two batches falls into two parts."""
    whole = local.whole_units
    patch.setattr(local, "whole_units", lambda parts: [p for part in parts for p in whole([part])])


def half_the_noise(patch: Patch) -> None:
    """The noise is worth twice what is booked."""
    patch.setattr(claims, "noise_for", lambda cost, *rest: noise_for(cost * 2, *rest))


def share_of_the_parts_that_are_determined(patch: Patch) -> None:
    """Parts without an answer are left out and the count is scaled up: one unit moves all of it."""
    original = verification.agreeing

    def agreeing(rows: Any, plan: Any, claim: Claim, parts: int) -> Counts:
        known: list[bool] = []
        coefficient = Claim.coefficient

        def looked(self: Claim, counts: Any) -> float:
            found = coefficient(self, counts)
            known.append(bool(np.isfinite(found)))
            return found

        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(Claim, "coefficient", looked)
            true = original(rows, plan, claim, parts)
        return np.array([round(int(true[0]) * 10 * parts / max(sum(known), 1)) // 10], np.int64)

    patch.setattr(verification, "agreeing", agreeing)


def more_weight_for_large_parts(patch: Patch) -> None:
    """Every part counts as often as it has rows."""
    patch.setattr(
        Claim,
        "holds",
        lambda self, counts: int(counts[-1].sum()) * (self.low < self.coefficient(counts) < self.high),
    )


def error_on_an_undetermined_part(patch: Patch) -> None:
    """A part that does not determine the coefficient ends the run."""
    original = Claim.coefficient

    def coefficient(self: Claim, counts: Any) -> float:
        found = original(self, counts)
        if not np.isfinite(found):
            raise ValueError("singular")
        return found

    patch.setattr(Claim, "coefficient", coefficient)


def warning_on_an_undetermined_part(patch: Patch) -> None:
    """A part that does not determine the coefficient is warned of."""
    original = Claim.coefficient

    def coefficient(self: Claim, counts: Any) -> float:
        found = original(self, counts)
        if not np.isfinite(found):
            warnings.warn("a part is singular", stacklevel=2)
        return found

    patch.setattr(Claim, "coefficient", coefficient)


def exact_count(patch: Patch) -> None:
    """No noise at all."""
    original = verification.verify_model

    def verify_model(gate: Gate, claim: Claim, parts: int, cost: Fraction) -> Measurement:
        found = original(gate, claim, parts, cost)
        return Measurement(found.question, found.counts, Noise("laplace", Fraction(1, 100)))

    patch.setattr(verification, "verify_model", verify_model)


def coefficients_beside_the_count(patch: Patch) -> None:
    """A coefficient leaves with the count."""
    original = noise.draw
    patch.setattr(noise, "draw", lambda law, n: np.append(original(law, n), 7))


def answered_without_a_mark(patch: Patch) -> None:
    """An answer is given without being saved and marked: a kill afterwards gives a second one for free."""

    def booked(gate: Gate, spend: Any, count: Any, draw: Any) -> Any:
        gate._account.book(spend)
        return draw(count())

    patch.setattr(Gate, "_booked", booked)


MUTANTS = (
    parts_by_position,
    a_person_in_several_parts,
    parts_drawn_anew_for_each_batch,
    half_the_noise,
    share_of_the_parts_that_are_determined,
    more_weight_for_large_parts,
    error_on_an_undetermined_part,
    warning_on_an_undetermined_part,
    exact_count,
    coefficients_beside_the_count,
    answered_without_a_mark,
)
