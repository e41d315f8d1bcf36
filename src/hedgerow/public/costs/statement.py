"""The statement: the published part of the audit trail, and the promise in plain words.

>>> from hedgerow.public.costs.accounting import Budget, Guarantee
>>> s = Statement(table="personnel", guarantee=Guarantee(), budget=Budget(1), spends=())
>>> [round(100 * s.odds(p)) for p in (0.5, 0.1)]
[73, 23]
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import exp, sqrt
from typing import Any, get_args

from hedgerow.errors import VerifyFailed
from hedgerow.public.costs.accounting import Budget, Guarantee, epsilon_of, rho_for
from hedgerow.public.costs.gaussian import budget_of, epsilon_in, gaussian_epsilon, passing, smooth_rho
from hedgerow.public.costs.noise_laws import law_of
from hedgerow.public.costs.question import Marginal, Noise, Tree
from hedgerow.public.costs.spend import PricedQuestion, Spend
from hedgerow.public.people import Fact, Rule

_FRACTION = re.compile(r"[0-9]{1,1000}(/[0-9]{1,1000})?")

FORMAT = "hedgerow-statement/1"
_CAREERS = (
    "each person once, by the first record and the span to the last; and by at most rows_per_person - 1 steps from "
    "one record to the next, of more as many at even distances; records in the order of time, then of all codes"
)
"""How a person's rows are counted in careers."""


@dataclass(frozen=True)
class PublicInput:
    """Something that was used and does not come from the confidential table.

    Attributes:
        role: public, target, schema or job.
        name: the file's name.
        sha256: of its bytes.
        provenance: where it comes from: ``independent``, or ``already released``, in the steward's words.
        count: of a table of counts, the column that says how many records a line stands for.
    """

    role: str
    name: str
    sha256: str
    provenance: str = ""
    count: str = ""


@dataclass(frozen=True, repr=False)
class Statement:
    """What was promised, to whom, and every request that was answered.

    Attributes:
        table: the steward's name of the confidential table.
        guarantee: who is protected against which change.
        budget: the promised (epsilon, delta).
        spends: every request, in order.
        public_inputs: everything that was not derived from the confidential table.
        recipe: the name of the recipe.
        run: the run's name in the ledger.
        anchor: the hash of this run's promise in the ledger; proves later that nothing up to it was cut off.
        version: the version of Hedgerow.
        choices: what each ``select`` answered: (position in ``spends``, the chosen question).
        facts: of people who were counted instead of rows, what each was counted by; else none.
        careers: of people who were counted by their first record and by steps, the column of the time; else empty.
    """

    table: str
    guarantee: Guarantee
    budget: Budget
    spends: tuple[Spend, ...]
    public_inputs: tuple[PublicInput, ...] = ()
    recipe: str = ""
    run: str = ""
    anchor: str = ""
    version: str = ""
    choices: tuple[tuple[int, Marginal], ...] = ()
    facts: tuple[Fact, ...] = ()
    careers: str = ""

    def __repr__(self) -> str:
        b, n = self.budget, len(self.spends)
        delta = f", delta {float(b.delta):g}" if b.delta else ""
        asked = f"{n} request{'s' * (n != 1)} for {sum(len(s.asked) for s in self.spends)} tables"
        promise = f"epsilon {float(b.epsilon):g}{delta} for one {self.guarantee.unit}, {self.guarantee.relation}"
        return f"Statement({self.table!r}, {self.recipe}: {promise}; {asked}; .to_json() has all of it)"

    @property
    def spent(self) -> Fraction:
        """What all requests cost, in the measure of the budget."""
        return sum((s.cost for s in self.spends), Fraction(0))

    @property
    def epsilon(self) -> float:
        """The epsilon of what was really spent, at the promised delta; the tightest of the valid bounds.

        Where less than the promise was spent, and that could follow from answers, it is a reading (of an odometer):
        fixed in advance, and therefore the guarantee, is the promise.
        """
        if self.budget.measure == "pure":
            return float(self.spent)
        if self.budget.measure == "basic":
            normal = [gaussian_epsilon(self._rhos(s), s.delta) for s in self.spends if s.delta]
            return min(float(sum(s.cost for s in self.spends if not s.delta)) + sum(normal), float(self.spent))
        bounds = [epsilon_of(self.spent, self.budget.delta), float(self.budget.epsilon)]
        asked = [a for s in self.spends for a in s.asked]
        if self.budget.measure == "gdp":
            bounds.append(epsilon_in("gdp", self.spent, self.budget.delta))
        # of several requests a later one could have been a choice: the law was not fixed in advance (PROOFS.md)
        elif [s.verb for s in self.spends] == ["measure"] and all(law_of(a.noise).normal for a in asked):
            bounds.append(gaussian_epsilon([(a.cost, a.noise.scale) for a in asked], self.budget.delta))
        return min(bounds)

    @staticmethod
    def _rhos(spend: Spend) -> list[tuple[Fraction, Fraction]]:
        """Of the tables of a request whose delta is booked beside its epsilon: rho and variance."""
        rho = rho_for(spend.cost, spend.delta)
        return [(rho * a.cost / spend.cost, a.noise.scale) for a in spend.asked]

    def odds(self, prior: float) -> float:
        """How sure somebody can be that you are in the table, with the release, who was ``prior`` sure without it.

        Under replace-one and label-change it bounds any fact about you; under add-remove a value of
        somebody known to be in the table is two steps away, so twice the epsilon.
        """
        grown = prior * exp(float(self.budget.epsilon))
        return grown / (grown + 1 - prior)

    @property
    def failing(self) -> float:
        """The chance that the odds of what is true grow past the promised epsilon: a bound, valid before the answers.

        It is no delta, which weighs every failure by how far it goes.  Somebody may stop asking, or ask in another
        way, once the odds have moved far enough; so it is worked out from all that the promise allows, never from
        what was spent (PROOFS.md).  Of Laplace noise, choices and urns the epsilons add up and are never passed.
        """
        budget, asked = self.budget, [a for s in self.spends for a in s.asked]
        if not (normal := [s for s in self.spends if any(law_of(a.noise).normal for a in s.asked)]):
            sure = sum(sqrt(2 * a.cost) for a in asked)
            sure += sum(sqrt(8 * s.cost) for s in self.spends if s.verb == "select")
            if budget.measure in ("pure", "basic") or sure <= budget.epsilon:
                return 0.0
        if budget.measure == "gdp":
            return passing(budget.epsilon, budget.total)
        if budget.measure == "basic":  # one request is Gaussian: what the others may add is taken off epsilon
            costs, least = self._rhos(normal[0]), normal[0].cost
            return min(_chernoff(least, rho_for(least, budget.delta)), passing(least, smooth_rho(costs)))
        chance = _chernoff(budget.epsilon, budget.total)
        if len(self.spends) == 1 and self.spent == budget.total and all(law_of(a.noise).normal for a in asked):
            rho = smooth_rho((a.cost, a.noise.scale) for a in asked)  # the first request, and nothing can follow
            chance = min(chance, passing(budget.epsilon, rho))
        return chance

    @property
    def invariants(self) -> tuple[str, ...]:
        """What is public by declaration and therefore not protected."""
        fixed = ["the schema: columns, labels, bins", "the public inputs listed here"]
        if self.guarantee.relation == "replace-one":
            fixed.append("the number of people" if self.guarantee.unit == "person" else "the number of rows")
        if self.guarantee.relation == "label-change":
            known = (*self.guarantee.public_columns, *filter(None, [self.guarantee.person]))
            fixed.append("the number of rows, and row by row the columns " + ", ".join(known))
        return tuple(fixed)

    def to_json(self) -> dict[str, Any]:
        """The statement as plain data, fractions exact."""
        return {
            "format": FORMAT,
            "hedgerow": self.version,
            "table": self.table,
            "recipe": self.recipe,
            "guarantee": {**asdict(self.guarantee), "public_columns": list(self.guarantee.public_columns)},
            "measure": self.budget.measure,
            "promised": {"epsilon": str(self.budget.epsilon), "delta": str(self.budget.delta)},
            "total": str(self.budget.total),
            "spent": str(self.spent),
            "spent_epsilon": self.epsilon,
            "invariants": list(self.invariants),
            "noise": "exact whole-number noise from operating-system entropy, no seed",
            "events": [spend_to_json(s) for s in self.spends],
            "choices": [[i, question_to_json(q)] for i, q in self.choices],
            "public_inputs": [asdict(i) for i in self.public_inputs],
            **({"people": [fact_to_json(f) for f in self.facts]} if self.facts else {}),
            **({"careers": {"time": self.careers, "counted": _CAREERS}} if self.careers else {}),
            "ledger": {"run": self.run, "anchor": self.anchor},
        }

    def dumps(self) -> str:
        """The statement as the text of ``statement.json``."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Statement":
        """The statement of a ``statement.json``; fails loudly on anything that does not belong there."""
        try:
            if data["format"] != FORMAT:
                raise ValueError(data["format"])
            g = data["guarantee"]
            epsilon, delta = (str(fraction_of(data["promised"][key])) for key in ("epsilon", "delta"))
            return cls(
                table=data["table"],
                guarantee=Guarantee(**{**g, "public_columns": tuple(g["public_columns"])}),
                budget=budget_of(epsilon, delta, data["measure"]),
                spends=tuple(spend_from_json(e) for e in data["events"]),
                public_inputs=tuple(PublicInput(**i) for i in data["public_inputs"]),
                recipe=data["recipe"],
                run=data["ledger"]["run"],
                anchor=data["ledger"]["anchor"],
                version=data["hedgerow"],
                choices=tuple((int(i), question_from_json(q)) for i, q in data["choices"]),
                facts=tuple(map(fact_from_json, data.get("people", ()))),
                careers=_careers(data.get("careers")),
            )
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as wrong:
            raise VerifyFailed(f"statement.json is not a statement this version can read ({wrong!r}).") from None


def _chernoff(epsilon: Fraction, rho: Fraction) -> float:
    """The chance that the loss of all that is rho-zCDP passes epsilon, at most."""
    return exp(-float((epsilon - rho) ** 2 / (4 * rho))) if rho < epsilon else 1.0


def _careers(data: Any) -> str:
    """The column of the time, from what the statement says of careers."""
    if data is None:
        return ""
    if set(data) != {"time", "counted"} or data["counted"] != _CAREERS:
        raise ValueError("careers are counted in another way")
    return _names([data["time"]])[0]


def fact_to_json(fact: Fact) -> dict[str, Any]:
    """A fact as plain data: its name, its rule, and what else it has."""
    held = asdict(fact) | {"points": {c: list(p) for c, p in fact.points}, "cuts": list(fact.cuts)}
    return {k: v for k, v in held.items() if v}


def fact_from_json(data: Any) -> Fact:
    """The fact that ``fact_to_json`` wrote."""
    given = dict(data)
    points = {_names([c])[0]: tuple(map(int, p)) for c, p in given.pop("points", {}).items()}
    cuts = tuple(map(int, given.pop("cuts", ())))
    if _names(list(given.values())) and given["rule"] not in get_args(Rule):
        raise ValueError("a fact has another rule")
    return Fact(**given, points=tuple(points.items()), cuts=cuts)


def question_to_json(question: Marginal) -> list[str] | dict[str, Any]:
    """A question as plain data: the columns of a cross; with a tree, or of some rows only, an object that says so."""
    if question.tree is None and not question.only:
        return list(question.columns)
    held: dict[str, Any] = {"columns": list(question.columns)}
    if (tree := question.tree) is not None:
        held["tree"] = {"columns": list(tree.columns), "leaves": tree.leaves, "sha256": tree.sha256}
    return held | ({"only": question.only} if question.only else {})


def question_from_json(data: Any) -> Marginal:
    """The question that ``question_to_json`` wrote; a tree comes back by name only."""
    given: dict[str, Any] = {"columns": data} if isinstance(data, list) else dict(data)
    columns, tree, only = given.pop("columns"), given.pop("tree", None), given.pop("only", "")
    held = None
    if tree is not None:
        if set(tree) != {"columns", "leaves", "sha256"} or type(tree["leaves"]) is not int or tree["leaves"] < 1:
            raise ValueError("a tree has columns, leaves and sha256")
        held = Tree(_names(tree["columns"]), tree["leaves"], _names([tree["sha256"]])[0])
    if given:
        raise ValueError(f"a question does not say {', '.join(map(str, given))}")
    return Marginal(_names(columns), held, *_names([only]))


def _names(listed: Any) -> tuple[str, ...]:
    if not isinstance(listed, list) or not all(isinstance(c, str) for c in listed):
        raise ValueError("columns and laws have names")
    return tuple(listed)


def spend_to_json(spend: Spend) -> dict[str, Any]:
    """A request as plain data, fractions exact."""
    asked = [
        {
            **({"columns": data} if isinstance(data := question_to_json(a.question), list) else data),
            "cells": a.cells,
            "law": a.noise.law,
            "scale": str(a.noise.scale),
            "cost": str(a.cost),
        }
        for a in spend.asked
    ]
    candidates = [question_to_json(c) for c in spend.candidates]
    rest = {"asked": asked, "candidates": candidates, "rate": str(spend.rate)}
    further = {"detail": json.loads(spend.detail)} if spend.detail else {}
    further |= {"delta": str(spend.delta)} if spend.delta else {}
    return {"verb": spend.verb, "cost": str(spend.cost), **rest, **further}


def fraction_of(text: object) -> Fraction:
    """The fraction that a file says; ``ValueError`` for any other text: 1e999999999 is a number no memory holds.

    >>> fraction_of("3/2")
    Fraction(3, 2)
    """
    if not (isinstance(text, str) and _FRACTION.fullmatch(text)):
        raise ValueError("no fraction")
    return Fraction(text)


def spend_from_json(data: Mapping[str, Any]) -> Spend:
    """The request that ``spend_to_json`` wrote."""
    asked = tuple(
        PricedQuestion(
            question_from_json({k: a[k] for k in ("columns", "tree", "only") if k in a}),
            int(a["cells"]),
            Noise(_names([a["law"]])[0], fraction_of(a["scale"])),  # type: ignore[arg-type]
            fraction_of(a["cost"]),
        )
        for a in data["asked"]
    )
    candidates = tuple(map(question_from_json, data["candidates"]))
    detail = json.dumps(data["detail"], sort_keys=True) if "detail" in data else ""
    return Spend(
        data["verb"],
        asked,
        fraction_of(data["cost"]),
        candidates,
        fraction_of(data["rate"]),
        detail,
        fraction_of(data.get("delta", "0")),
    )
