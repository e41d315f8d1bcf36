"""The arithmetic of a statement, done again by somebody who has the bundle and nothing else."""

import json
from fractions import Fraction
from math import isclose
from re import fullmatch

from hedgerow.errors import HedgerowError, VerifyFailed
from hedgerow.public import (
    LAWS,
    Guarantee,
    Measure,
    Noise,
    PricedQuestion,
    Spend,
    Tariff,
    Urn,
    epsilon_of,
    law_of,
    noise_for,
    price_urn,
    selection_rate,
)
from hedgerow.release.bundle_reader import BundleReader

_GRAIN = Fraction(2, 10**12)
"""Two steps of the rounding of rho, which another machine's logarithm may take differently."""


def says_what_follows(bundle: BundleReader) -> str:
    """Every figure and sentence of the statement that follows from its promise and events."""
    raw, statement = bundle.raw, bundle.statement
    due = statement.to_json()
    if set(raw) != set(due):
        raise VerifyFailed(f"statement.json must say {', '.join(due)}, and nothing else.")
    for key, value in due.items():
        if key == "spent_epsilon":
            held = isinstance(raw[key], float | int) and isclose(raw[key], value, rel_tol=1e-9, abs_tol=1e-12)
        elif key == "total":
            held = abs(Fraction(raw[key]) - Fraction(value)) <= (_GRAIN if due["measure"] == "zcdp" else 0)
        else:
            held = json.dumps(raw[key]) == json.dumps(value)
        if not held:
            raise VerifyFailed(
                f"statement.json says {key} = {_short(raw[key])}; from its events follows {_short(value)}."
            )
    return f"{due['format']}; {len(statement.spends)} requests"


def costs_are_right(bundle: BundleReader) -> str:
    """The cost of every table and selection follows from its noise, the relation and the rows per person."""
    statement = bundle.statement
    tariff = Tariff(bundle.schema.coding, statement.guarantee, statement.budget.measure)
    for i, spend in enumerate(statement.spends):
        try:
            (_urn_is_right if spend.verb == "draw" else _cost_is_right)(spend, tariff)
        except HedgerowError as wrong:
            raise VerifyFailed(f"Request {i + 1} ({spend}): {wrong}") from None
    return f"{sum(max(1, len(s.asked)) for s in statement.spends)} costs worked out anew"


def _cost_is_right(spend: Spend, tariff: Tariff) -> None:
    measure, guarantee = tariff.measure, tariff.guarantee
    if spend.verb in ("measure", "relabel"):
        if not spend.asked or spend.candidates or spend.rate or bool(spend.detail) != (spend.verb == "relabel"):
            raise VerifyFailed("to measure, it must ask for tables and nothing else.")
        if spend.detail and not _relabels(spend, tariff):
            raise VerifyFailed(
                "to count relabelled rows, it must name the laws of their labels, and count them whole."
            )
        for a in spend.asked:
            _price_is_right(a, measure, tariff.guarantee_of(a.question))
        added = sum((a.cost for a in spend.asked), Fraction(0))
        if spend.cost != added:
            raise VerifyFailed(f"it says cost {spend.cost}, but its tables cost {added}.")
    elif spend.verb == "select":
        if spend.asked or not spend.candidates or spend.rate <= 0 or spend.cost <= 0 or spend.detail:
            raise VerifyFailed("to select, it must name candidates, a rate and a cost.")
        if spend.rate != selection_rate(spend.cost, measure, guarantee):
            raise VerifyFailed(f"a cost of {spend.cost} does not buy the rate {spend.rate}.")
        if selection_cost(spend.rate, measure, guarantee) > spend.cost:
            raise VerifyFailed(f"the rate {spend.rate} costs more than {spend.cost}.")
    else:
        raise VerifyFailed("there is no such request.")


def _relabels(spend: Spend, tariff: Tariff) -> bool:
    """Whether it names laws of labels, by hash, and nothing else; which laws they are changes no price."""
    try:
        told = [(law["column"], tuple(law["trees"]), law["weights"]) for law in json.loads(spend.detail)["relabel"]]
        columns = {column for column, _, _ in told}
    except (ValueError, TypeError, KeyError):
        return False
    plain = {"relabel": [{"column": c, "trees": list(t), "weights": w} for c, t, w in told]}
    hashes = [h for _, trees, weights in told for h in (weights, *trees)]
    fits = 0 < len(told) == len(columns) and columns <= set(tariff.coding.sizes) and all(t for _, t, _ in told)
    fits &= all(type(h) is str and fullmatch("[0-9a-f]{64}", h) for h in hashes) and not any(
        a.question.only for a in spend.asked
    )
    return fits and json.dumps(plain, sort_keys=True) == spend.detail


def _urn_is_right(spend: Spend, tariff: Tariff) -> None:
    """A draw must be one that the gate would have agreed to at this cost."""
    try:
        urn = Urn.loads(spend.detail)
    except ValueError:
        raise VerifyFailed("it draws from something that is no urn.") from None
    if not spend.asked or price_urn(tariff, spend.asked[0].question, urn, spend.cost) != spend:
        raise VerifyFailed("its cost, cells or prior weights do not follow from one another.")


def _price_is_right(asked: PricedQuestion, measure: Measure, guarantee: Guarantee) -> None:
    noise = asked.noise
    if noise.law not in LAWS or not LAWS[noise.law].added or noise.scale <= 0 or asked.cost <= 0:
        raise VerifyFailed(f"{asked.question} has no noise that exists, or no cost.")
    due = cost_of(noise, measure, guarantee)
    if due > asked.cost or noise != noise_for(asked.cost, noise.law, measure, guarantee):
        raise VerifyFailed(
            f"{asked.question} says cost {asked.cost}, but its noise of scale {noise.scale} costs {due}."
        )


def cost_of(noise: Noise, measure: Measure, guarantee: Guarantee) -> Fraction:
    """What noise on one table of counts costs: the inverse of ``noise_for``, never below the truth."""
    if (cost := law_of(noise).cost(measure, guarantee)) is None:
        raise VerifyFailed(f"{noise.law.capitalize()} noise has no {'pure epsilon' if measure == 'pure' else 'rho'}.")
    return cost


def selection_cost(rate: Fraction, measure: Measure, guarantee: Guarantee) -> Fraction:
    """What a selection at this rate costs: the inverse of ``selection_rate``, never below the truth."""
    epsilon = rate * 2 * guarantee.l1
    return epsilon if measure == "pure" else epsilon**2 / 8


def cells_are_right(bundle: BundleReader) -> str:
    """The number of cells of every table follows from the schema."""
    coding, statement = bundle.schema.coding, bundle.statement
    for spend in statement.spends:
        for a in spend.asked:
            if a.cells != (due := a.question.leaves * coding.cells(a.question.columns)):
                raise VerifyFailed(f"The table {a.question} says {a.cells} cells; the schema gives it {due}.")
        for q in (*(a.question for a in spend.asked), *spend.candidates):  # a column the schema lacks is refused
            coding.shape([*q.columns, *(q.tree.columns if q.tree else ()), *filter(None, [q.only])])
    for column in statement.guarantee.public_columns:
        coding.shape([column])
    return f"{sum(a.cells for s in statement.spends for a in s.asked):,} cells, as the schema has them"


def promise_is_kept(bundle: BundleReader) -> str:
    """All costs together are within the promised epsilon and delta."""
    statement = bundle.statement
    budget, spent = statement.budget, statement.spent
    if spent > budget.total + (_GRAIN if budget.measure == "zcdp" else 0):
        raise VerifyFailed(f"All requests together cost {spent}, more than the promised {budget.total}.")
    if budget.measure == "zcdp" and epsilon_of(spent, budget.delta) > float(budget.epsilon) * (1 + 1e-9):
        raise VerifyFailed("What was spent is worth more than the promised epsilon at the promised delta.")
    left = 100 * float(1 - spent / budget.total)
    return f"epsilon {float(budget.epsilon):g}, delta {float(budget.delta):g}; {left:.3g} % not spent"


def answers_were_paid_for(bundle: BundleReader) -> str:
    """The noisy answers are those of the events: each table once, with its noise, and nothing more."""
    statement, answers = bundle.statement, bundle.answers
    due = [(i, a) for i, s in enumerate(statement.spends) for a in s.asked]
    if len(due) != len(answers):
        raise VerifyFailed(f"measurements.parquet has {len(answers)} tables; {len(due)} were paid for.")
    for (i, asked), (j, m) in zip(due, answers, strict=True):
        if (i, asked.question, asked.cells, asked.noise) != (j, m.question, len(m.counts), m.noise):
            raise VerifyFailed(
                f"measurements.parquet has {m.question} ({len(m.counts)} cells, {m.noise.law} {m.noise.scale}) as an "
                f"answer to request {j + 1}; paid for was {asked.question} "
                f"({asked.cells} cells, {asked.noise.law} {asked.noise.scale}) in request {i + 1}."
            )
    selections = [i for i, s in enumerate(statement.spends) if s.verb == "select"]
    if [i for i, _ in statement.choices] != selections:
        raise VerifyFailed("statement.json must say what each selection chose, once and in order.")
    for i, chosen in statement.choices:
        if chosen not in statement.spends[i].candidates:
            raise VerifyFailed(f"Request {i + 1} chose {chosen}, which was not among its candidates.")
    return f"{len(answers)} tables, {sum(len(m.counts) for _, m in answers):,} noisy counts"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
