"""What pages of a bundle share: the promise in plain words, numbers as people read them, sentences and rows.

The odds are computed per relation.  Removing or adding one unit moves the odds of *being in the table* by
e^epsilon at most; but to turn one value of somebody who is in it into another, a unit must go and another
come, which is two steps under add-remove and one under replace-one and label-change.

    >>> [of_100(p) for p in (0.5, 0.731, 0.99999)], one_in(Fraction(1, 10**6)), decimal(Fraction(1, 3))
    (['50', '73', 'nearly 100'], '1 in 1,000,000', '0.33334')
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, floor
from typing import Any

from hedgerow.figures import beside, many, percent, small
from hedgerow.public import Guarantee, Spend, Statement, Urn, decimal
from hedgerow.release.contents import Contents
from hedgerow.release.origin import head_words, listed, synthetic_columns
from hedgerow.uses import Verdict

PRIORS = (0.5, 0.1)
MEASURES = {
    "pure": "pure epsilon",
    "basic": "epsilons add up, and one request with Gaussian noise has the delta",
    "zcdp": "booked as zero-concentrated differential privacy, rho",
    "gdp": "all noise is Gaussian; booked as the rho of normal noise, turned into epsilon exactly",
}
"""How a promise is booked, by its measure."""


@dataclass(frozen=True)
class Odds:
    """How often a guess is right, in 100, without the release and at most with it."""

    before: float
    after: float


@dataclass(frozen=True)
class Promise:
    """The guarantee, ready to print.

    Attributes:
        epsilon: the promised epsilon.
        delta: the promised delta; empty when it is 0.
        failing: how often the odds may fail, in words, or ``never``; empty when delta is 0.
        unit: who is protected.
        neighbours: against which change of the table.
        guess: what somebody would like to know, as the end of "thinks that ...".
        odds: how far the release can move that guess.
        value_odds: the same for a value of somebody known to be in the table, where that is two steps.
        unprotected: what the promise does not cover, most important first: a name, and a sentence.
    """

    epsilon: str
    delta: str
    failing: str
    unit: str
    neighbours: str
    guess: str
    odds: tuple[Odds, ...]
    value_odds: tuple[Odds, ...]
    unprotected: tuple[tuple[str, str], ...]


def promise_of(statement: Statement) -> Promise:
    """The promise of ``statement`` in words."""
    g, b = statement.guarantee, statement.budget
    two_steps = g.relation == "add-remove"
    one_urn = bool(statement.spends) and all(
        s.verb == "draw" and not Urn.loads(s.detail).groups for s in statement.spends
    )
    epsilon = float(b.epsilon)
    return Promise(
        epsilon=decimal(b.epsilon),
        delta=decimal(b.delta) if b.delta else "",
        failing=_failing(statement),
        unit=_unit(statement),
        neighbours=_neighbours(g),
        guess="you are in the table" if two_steps else _fact(g),
        odds=tuple(Odds(p, grown(p, epsilon)) for p in PRIORS),
        value_odds=tuple(Odds(p, grown(p, 2 * epsilon)) for p in PRIORS) if two_steps and not one_urn else (),
        unprotected=_unprotected(statement),
    )


def _failing(s: Statement) -> str:
    """How often the odds may fail, at most."""
    return one_in(Fraction(s.failing)) if s.failing else "never" if s.budget.delta else ""


def grown(prior: float, epsilon: float) -> float:
    """The chance whose odds are e^epsilon times those of ``prior``."""
    return prior / (prior + (1 - prior) * exp(-epsilon))


def _unit(s: Statement) -> str:
    g = s.guarantee
    if s.careers:
        return (
            f"one person with all rows, counted once by the first record and by at most {g.rows_per_person - 1} of "
            f"the steps from one record to the next (people are told apart by {g.person})"
        )
    if s.facts:
        return f"one person with all rows, counted once (people are told apart by {g.person})"
    if g.count:
        return f"one record; a line of the table stands for as many records as its column {g.count} says"
    if g.unit == "record":
        return "one record, that is one row of the table"
    rows = "one row" if g.rows_per_person == 1 else f"{g.rows_per_person} rows"
    return f"one person, with at most {rows} of that person counted (people are told apart by {g.person})"


def _neighbours(g: Guarantee) -> str:
    whose = "one record" if g.unit == "record" else "all rows of one person"
    if g.relation == "add-remove":
        return f"the table with {whose}, and the table without"
    if g.relation == "replace-one":
        return f"the table, and the table with {whose} replaced by any other"
    listed = ", ".join(g.public_columns) or "none"
    return f"the table, and the table with other values in {whose}, except in the columns declared public ({listed})"


def _fact(g: Guarantee) -> str:
    which = " in the columns that are not public" if g.relation == "label-change" else ""
    return f"the table says one thing rather than another of you{which}"


def _unprotected(s: Statement) -> tuple[tuple[str, str], ...]:
    g, found = s.guarantee, list[tuple[str, str]]()
    if g.unit == "record":
        times = (
            "k times the epsilon"
            if s.budget.delta == 0
            else "more than k times the epsilon: rho grows with k squared"
        )
        weaker = f"The unit is a record: somebody with k rows in the table is protected with {times}."
        found.append(("People with several rows", weaker))
    groups = "A fact about a group may let somebody draw a conclusion about you, whether or not you are in the table."
    found.append(("What is true of groups", groups))
    found.append(("What was public already", "By declaration: " + "; ".join(s.invariants) + "."))
    if any(i.role in ("public", "target") for i in s.public_inputs):
        on_top = (
            "If one was itself made from the confidential table, the promise holds on top of what it already tells."
        )
        found.append(("The public tables that were used", on_top))
    adding = (
        "Other releases from the same table add up with this one, at most by their epsilons and deltas; the "
        "steward's ledger keeps the account."
    )
    found.append(("The sum of several releases", adding))
    return tuple(found)


def of_100(chance: float) -> str:
    """A chance as "so many in 100"; never 100, which no promise reaches."""
    return f"{100 * chance:.0f}" if chance < 0.995 else f"{100 * chance:.1f}" if chance < 0.9995 else "nearly 100"


def at_most(chance: float) -> str:
    """The most that a chance can be, as "so many in 100".

    >>> at_most(0.731), at_most(0.99999)
    ('at most about 73', 'nearly 100')
    """
    return f"at most about {of_100(chance)}" if chance < 0.9995 else of_100(chance)


def one_in(chance: Fraction) -> str:
    """A small chance as "1 in so many", rounded to the larger chance."""
    return f"1 in {floor(1 / min(chance, Fraction(1))):,}"


def urn_words(statement: Statement) -> str:
    """The draws of a statement in a few sentences; empty when there are none."""
    urns = [(Urn.loads(s.detail), s.asked[0]) for s in statement.spends if s.verb == "draw"]
    if not urns:
        return ""
    urn, asked = urns[0]
    sizes = f"{urn.sizes[0]:,}" if len(urn.sizes) == 1 else f"{sum(urn.sizes):,} in all"
    where = " in each group" if urn.groups and len(urn.sizes) == 1 else ""
    said = [
        f"{sizes} counts were drawn{where} from Polya urns that hold the true counts and, in each cell, a prior "
        f"weight of {decimal(asked.noise.scale, 9)} or more, in whole numbers, by the operating system's entropy, "
        "without a seed.",
        "How many are drawn is public and was fixed before any row was read; it was not taken from them.",
        f"The epsilon is that of {statement.guarantee.relation}. {_also(statement, urn)}".strip(),
    ]
    if urn.copies > 1:
        said.append(
            f"The {urn.copies} copies come from the same urns, one after the other, and together cost what one table "
            f"of {urn.copies} times as many counts would."
        )
    return " ".join(said)


def _also(statement: Statement, urn: Urn) -> str:
    """Which other relation the same epsilon covers."""
    if statement.guarantee.relation == "label-change":
        return ""
    other = "add-remove" if statement.guarantee.relation == "replace-one" else "replace-one"
    if other == "add-remove" or not urn.groups:
        return f"Because the size is public, the same epsilon covers {other}."
    return "It does not cover replace-one: a row replaced may change two groups, and would cost more."


@dataclass(frozen=True)
class UseRow:
    """One intended use as a row of a table."""

    name: str
    measured: str
    tolerance: str
    error: str
    band: str
    like: str
    verdict: str
    kind: str
    note: str
    plain: str
    detail: str


def facts(contents: Contents, promise: Promise) -> tuple[tuple[str, str], ...]:
    """The four numbers to know first, each with what it counts."""
    copies, g = len(contents.records), contents.statement.guarantee
    if contents.records:
        first, made = contents.records[0], synthetic_columns(contents)
        rows, columns = f"{len(first):,}", str(len(first.columns))
        what = "given rows" if contents.given else "synthetic records"
        what = what if copies == 1 else f"{what}, in each of {copies} copies"
        said = "columns, all synthetic"
        if contents.given:
            columns, said = f"{len(made)} of {columns}", f"columns are synthetic: {listed(made)}"
    else:
        assert contents.counts is not None
        rows, what, columns = f"{len(contents.counts):,}", "synthetic counts", str(len(contents.labels))
        said = "label column" if columns == "1" else "label columns"
    capped = "" if g.unit == "record" else f", with at most {many(g.rows_per_person, 'row')} counted"
    capped = ", with all rows, counted once" if contents.statement.facts else capped
    if contents.statement.careers:
        capped = f", with all rows: counted once, and by at most {many(g.rows_per_person - 1, 'step')}"
        what = f"{what}, of {contents.counted[0].rows:,} synthetic people"
    return (
        (rows, what),
        (columns, said),
        (promise.epsilon, f"promised epsilon, delta {promise.delta}" if promise.delta else "promised epsilon"),
        (f"one {g.unit}", f"protected by the promise{capped}"),
    )


def promise_sentence(promise: Promise) -> str:
    """The odds in words: what 50 in 100 becomes at most."""
    fifty = promise.odds[0]
    return (
        f"If somebody who knows everything about everyone else thinks, with {of_100(fifty.before)} chances in 100, "
        f"that {promise.guess}, then after seeing this release they will think so with "
        f"{at_most(fifty.after)} chances in 100."
    )


def promise_more(promise: Promise) -> tuple[str, ...]:
    """What must be said beside the first sentence of the promise."""
    ten = promise.odds[1]
    said = [f"{of_100(ten.before)} in 100 becomes {at_most(ten.after)} in 100."]
    if promise.value_odds:
        fifty, low = promise.value_odds
        said.append(
            "A guess between two values of somebody who is known to be in the table can move twice as far: "
            f"{of_100(fifty.before)} in 100 to {at_most(fifty.after)}, {of_100(low.before)} to {at_most(low.after)}."
        )
    if promise.delta:
        said.append(
            f"Delta = {promise.delta} was promised too, but the noise that was used keeps these bounds always."
            if promise.failing == "never"
            else f"These bounds may fail with a chance of at most about {promise.failing}, which was fixed before "
            f"the noise was drawn. (Delta = {promise.delta} is not that chance: it weighs each failure by how far it "
            "goes.)"
        )
    return tuple(said)


def spent_words(statement: Statement) -> str:
    """What the requests add up to, of what was promised; less than all of it is a reading, and the promise the bound.

    Whether more is asked can follow from answers: then what was spent was not fixed in advance.
    """
    total = statement.budget.total
    if statement.spends and statement.spent < total * (1 - Fraction(1, 10**6)):
        return (
            f"{_added_up(statement)}. This is what the requests that were made add up to; the bound, fixed in "
            "advance, is what is promised"
        )
    return _added_up(statement)


def _added_up(statement: Statement) -> str:
    if statement.budget.measure in ("pure", "basic"):
        delta = sum((s.delta for s in statement.spends), Fraction(0))
        with_delta = f" and delta {decimal(delta)} of {decimal(statement.budget.delta)}" * bool(
            statement.budget.delta
        )
        return f"epsilon {decimal(statement.spent)} of {decimal(statement.budget.epsilon)}{with_delta}"
    epsilon = decimal(Fraction(statement.epsilon), 4)
    return (
        f"rho {decimal(statement.spent)} of {decimal(statement.budget.total)}, "
        f"which is epsilon {epsilon} at delta {decimal(statement.budget.delta)}"
    )


def use_rows(verdicts: Iterable[Verdict]) -> tuple[UseRow, ...]:
    """The table of intended uses, those that are expected to be missed first."""
    order = {False: 0, None: 1, True: 2}
    return tuple(_use_row(v) for v in sorted(verdicts, key=lambda v: order[v.expected_met]))


def _use_row(v: Verdict) -> UseRow:
    show = percent if v.use.as_share else small

    def near(value: float | None) -> str:
        return beside(value, v.use.tolerance, share=v.use.as_share)

    error, tolerance, like = near(v.error), show(v.use.tolerance), percent(v.like_sample)
    band = "" if v.low is None else f"{near(v.low)} to {near(v.high)}"
    runs, sample = f", in eight runs of ten {band}" * bool(band), f"; like a sample of {like}" * (like != "-")
    known = f"Error {error}{runs}; tolerance {tolerance}{sample}" if v.error is not None else f"Tolerance {tolerance}"
    return UseRow(
        name=v.use.name,
        measured=v.use.what,
        tolerance=tolerance,
        error=error,
        band=band,
        like=like,
        verdict=v.word,
        kind=v.mark,
        note=v.note,
        plain=v.in_words,
        detail=f"{v.use.what}. {known}",
    )


def notes(verdicts: Iterable[Verdict]) -> str:
    """What the forecasts rest on, each reason once."""
    return "; ".join(dict.fromkeys(v.note.rstrip(".") for v in verdicts if v.note))


def event_rows(statement: Statement) -> tuple[dict[str, Any], ...]:
    """Every request, its cost and what came back."""
    chosen, total = dict(statement.choices), statement.budget.total
    return tuple(
        {
            "request": i + 1,
            "asked": str(s),
            "cost": decimal(s.cost),
            "share": percent(float(s.cost / total)),
            "answer": f"chose {chosen[i]}" if i in chosen else _answer(s),
        }
        for i, s in enumerate(statement.spends)
    )


def _answer(spend: Spend) -> str:
    cells = sum(a.cells for a in spend.asked)
    return many(cells, "drawn count" if spend.verb == "draw" else "noisy count")


def is_trial(spend: Spend) -> bool:
    """Whether a request is a trial of a public table: questions of two counts, groups of cells and no column."""
    return all(a.question.tree and a.question.leaves == 2 and not a.question.columns for a in spend.asked)


def public_put_aside(contents: Contents) -> bool | None:
    """Whether ``public_blend`` went on without its public table, as the order of its requests shows.

    It asks for all of a relative's pairs together with the one-way tables again; if there was a trial of the public
    relations, questions of two counts each, after that.  None where settings or Laplace noise hide it.
    """
    s, given = contents.statement, contents.asked.get("public_blend") or {}
    if len(s.spends) < 2 or not s.budget.delta or {"first_share", "one_way_share"} & {*given}:
        return None
    first = {b.question for b in s.spends[0].asked}
    later = s.spends[2].asked if is_trial(s.spends[1]) and len(s.spends) > 2 else s.spends[1].asked
    whole = sum(not a.question.tree for a in later if a.question not in first)
    return not (any(a.question in first for a in later) and whole >= len(first) * (len(first) - 1) // 2)


def labels_put_aside(statement: Statement) -> str:
    """What ``guided_tree`` thought of the public labels; nothing where they decided what was asked."""
    tried = any(map(is_trial, statement.spends[:1]))
    if len(statement.spends) < 2 + tried:
        return ""
    if tried:
        return "A trial refuted the public labels, so that they did not decide what was asked."
    return (
        "The public table did not decide what was asked: it has no labels, its labels go with no other column, its"
        " other columns are unlike the target's, or its rows are few."
    )


def release_id(statement: Statement) -> str:
    """A short name for the release: the beginning of the hash of its statement."""
    return hashlib.sha256(statement.dumps().encode()).hexdigest()[:16]


def citation(contents: Contents, promise: Promise) -> str:
    """A suggested reference, complete as it is; who published it and when, a release does not say."""
    delta = f", delta = {promise.delta}" if promise.delta else ""
    return (
        f"{contents.title}: {head_words(contents)} "
        f"(epsilon = {promise.epsilon}{delta}). Release {release_id(contents.statement)}, "
        f"made with Hedgerow {contents.statement.version}, recipe {contents.statement.recipe}."
    )
