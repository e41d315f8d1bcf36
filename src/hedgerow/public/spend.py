"""A request at the gate, priced: what is asked, with which noise, at what cost. Decided before a row is read."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from hedgerow.errors import JobError
from hedgerow.public.accounting import Guarantee, Measure, noise_for, selection_rate
from hedgerow.public.coding import Coding
from hedgerow.public.question import Law, Marginal, Noise


@dataclass(frozen=True)
class Asked:
    """One question of a request: its cells, the noise on each of them, and its part of the cost."""

    question: Marginal
    cells: int
    noise: Noise
    cost: Fraction


@dataclass(frozen=True)
class Spend:
    """One request. ``measure``: every question answered with noise; ``select``: one of them chosen, at ``rate``."""

    verb: Literal["measure", "select"]
    asked: tuple[Asked, ...]
    cost: Fraction
    candidates: tuple[Marginal, ...] = ()
    rate: Fraction = Fraction(0)

    def to_json(self) -> dict[str, object]:
        """The request as plain data, fractions exact."""
        return {
            "verb": self.verb,
            "cost": str(self.cost),
            "asked": [
                {
                    "columns": list(a.question.columns),
                    "cells": a.cells,
                    "law": a.noise.law,
                    "scale": str(a.noise.scale),
                    "cost": str(a.cost),
                }
                for a in self.asked
            ],
            "candidates": [list(c.columns) for c in self.candidates],
            "rate": str(self.rate),
        }

    @property
    def digest(self) -> str:
        """A name for this request: the hash of what it asks."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    def __str__(self) -> str:
        if self.verb == "select":
            return f"select one of {len(self.candidates)} tables"
        names = ", ".join(str(a.question) for a in self.asked[:3]) + (", ..." if len(self.asked) > 3 else "")
        return f"measure {len(self.asked)} table{'s' * (len(self.asked) != 1)} ({names})"


@dataclass(frozen=True)
class Tariff:
    """Under what promise, and in what measure, requests on a coded table are priced."""

    coding: Coding
    guarantee: Guarantee
    measure: Measure

    def measure_all(
        self,
        questions: Sequence[Marginal],
        cost: Fraction,
        *,
        weights: Sequence[Fraction] | None = None,
        law: Law | None = None,
    ) -> Spend:
        """Every question answered; the cost is divided by ``weights`` (equally by default) and adds up.

        One unit moves every table at once, so the costs of the tables add: sum of epsilons or of rhos.
        """
        shares = [Fraction(1)] * len(questions) if weights is None else [Fraction(w) for w in weights]
        if not questions or len(shares) != len(questions) or min(shares) <= 0 or cost <= 0:
            raise JobError(
                f"Cannot price {len(questions)} questions at cost {cost} with {len(shares)} weights: ask at least\n"
                "one, with one weight each; cost and weights must be above 0. Nothing was read or spent."
            )
        law = law or ("laplace" if self.measure == "pure" else "gaussian")
        parts = [cost * s / sum(shares) for s in shares]
        asked = tuple(
            Asked(q, self.coding.cells(q.columns), noise_for(part, law, self.measure, self.guarantee), part)
            for q, part in zip(questions, parts, strict=True)
        )
        return Spend("measure", asked, cost)

    def select_one(self, candidates: Sequence[Marginal], cost: Fraction) -> Spend:
        """One of ``candidates`` chosen: the one whose estimate is furthest from the truth in L1, with noise."""
        if not candidates or cost <= 0:
            raise JobError("A selection needs at least one candidate and a cost above 0. Nothing was read or spent.")
        for c in candidates:
            self.coding.shape(c.columns)
        rate = selection_rate(cost, self.measure, self.guarantee)
        return Spend("select", (), cost, tuple(candidates), rate)
