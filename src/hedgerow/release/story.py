"""The sentences and rows that several pages of a bundle share, each from public values alone."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from hedgerow.public.costs.spend import Spend
from hedgerow.public.costs.statement import Statement
from hedgerow.release.contents import Contents
from hedgerow.release.words import Promise, beside, decimal, many, of_100, percent, small
from hedgerow.uses.uses import Verdict


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


@dataclass(frozen=True)
class EventRow:
    """One request as a row of a table."""

    request: int
    asked: str
    cost: str
    share: str
    answer: str


def made_sentence(contents: Contents) -> str:
    """What was released, in one or two sentences."""
    table, recipe = contents.statement.table, contents.statement.recipe or "unnamed"
    if contents.counts is not None and not contents.records:
        copies = 1 + len(contents.copies)
        tables = "A table" if copies == 1 else f"{copies} copies of a table"
        what = f"{tables} of {len(contents.counts):,} synthetic counts"
    else:
        rows, copies = len(contents.records[0]), len(contents.records)
        what = (
            f"{rows:,} synthetic records" if copies == 1 else f"{copies} synthetic copies of about {rows:,} records"
        )
    if contents.drawn:
        return (
            f"{what}, drawn from urns that hold the counts of the confidential table “{table}” and public prior "
            f"weights, by the recipe “{recipe}”. No row was copied from it."
        )
    return (
        f"{what}, made from noisy counts of the confidential table “{table}” by the recipe “{recipe}”. "
        "No row was copied from it."
    )


def facts(contents: Contents, promise: Promise) -> tuple[tuple[str, str], ...]:
    """The four numbers to know first, each with what it counts."""
    copies, g = len(contents.records), contents.statement.guarantee
    if contents.records:
        what = "synthetic records" if copies == 1 else f"records in each of {copies} copies"
        rows, columns = len(contents.records[0]), len(contents.records[0].columns)
    else:
        assert contents.counts is not None
        what, rows, columns = "cells of counts", len(contents.counts), len(contents.labels)
    capped = "" if g.unit == "record" else f", {g.rows_per_person} row{'s' * (g.rows_per_person > 1)} at most"
    return (
        (f"{rows:,}", what),
        (str(columns), "columns"),
        (promise.epsilon, f"promised epsilon, delta {promise.delta}" if promise.delta else "promised epsilon"),
        (f"one {g.unit}", f"is protected{capped}"),
    )


def promise_sentence(promise: Promise) -> str:
    """The odds in words: what 50 in 100 becomes at most."""
    fifty = promise.odds[0]
    return (
        f"If somebody who knows everything about everyone else thinks, with {of_100(fifty.before)} chances in 100, "
        f"that {promise.guess}, then after seeing this release they will think so with at most about "
        f"{of_100(fifty.after)} chances in 100."
    )


def promise_more(promise: Promise) -> tuple[str, ...]:
    """What must be said beside the first sentence of the promise."""
    ten = promise.odds[1]
    said = [f"{of_100(ten.before)} in 100 becomes at most about {of_100(ten.after)} in 100."]
    if promise.value_odds:
        fifty, low = promise.value_odds
        said.append(
            "A guess between two values of somebody who is known to be in the table can move twice as far: "
            f"{of_100(fifty.before)} in 100 to at most about {of_100(fifty.after)}, "
            f"{of_100(low.before)} to at most about {of_100(low.after)}."
        )
    if promise.delta:
        said.append(f"These bounds may fail with a chance of about {promise.failing} (delta = {promise.delta}).")
    return tuple(said)


def spent_words(statement: Statement) -> str:
    """What was spent of what was promised."""
    if statement.budget.measure == "pure":
        return f"epsilon {decimal(statement.spent)} of {decimal(statement.budget.epsilon)}"
    epsilon = decimal(Fraction(statement.epsilon), 4)
    return (
        f"rho {decimal(statement.spent)} of {decimal(statement.budget.total)}, "
        f"which is epsilon {epsilon} at delta {decimal(statement.budget.delta)}"
    )


def use_rows(verdicts: Iterable[Verdict]) -> tuple[UseRow, ...]:
    """The table of intended uses, those that are missed first."""
    order = {False: 0, None: 1, True: 2}
    return tuple(_use_row(v) for v in sorted(verdicts, key=lambda v: order[v.met]))


def _use_row(v: Verdict) -> UseRow:
    show = percent if v.use.as_share else small

    def near(value: float | None) -> str:
        return beside(value, v.use.tolerance, share=v.use.as_share)

    word, kind = {True: ("met", "met"), False: ("missed", "missed"), None: ("not judged", "open")}[v.met]
    return UseRow(
        name=v.use.name,
        measured=v.use.what,
        tolerance=show(v.use.tolerance),
        error=near(v.error),
        band="" if v.high is None else f"{near(v.low)} to {near(v.high)}",
        like=percent(v.like_sample),
        verdict=word if v.sign_kept is not False else "sign lost",
        kind=kind,
        note=v.note,
    )


def notes(verdicts: Iterable[Verdict]) -> str:
    """What the forecasts rest on, each reason once."""
    return "; ".join(dict.fromkeys(v.note.rstrip(".") for v in verdicts if v.note))


def event_rows(statement: Statement) -> tuple[EventRow, ...]:
    """Every request, its cost and what came back."""
    chosen, total = dict(statement.choices), statement.budget.total
    return tuple(
        EventRow(
            request=i + 1,
            asked=str(s),
            cost=decimal(s.cost),
            share=percent(float(s.cost / total)),
            answer=f"chose {chosen[i]}" if i in chosen else _answer(s),
        )
        for i, s in enumerate(statement.spends)
    )


def _answer(spend: Spend) -> str:
    cells = sum(a.cells for a in spend.asked)
    return many(cells, "drawn count" if spend.verb == "draw" else "noisy count")


def release_id(statement: Statement) -> str:
    """A short name for the release: the beginning of the hash of its statement."""
    return hashlib.sha256(statement.dumps().encode()).hexdigest()[:16]


def citation(contents: Contents, promise: Promise) -> str:
    """A suggested reference; publisher and year are the reader's to fill in."""
    delta = f", delta = {promise.delta}" if promise.delta else ""
    return (
        f"[Publisher] ([year]). {contents.title}: differentially private synthetic data "
        f"(epsilon = {promise.epsilon}{delta}). Release {release_id(contents.statement)}, "
        f"made with Hedgerow {contents.statement.version}, recipe {contents.statement.recipe}."
    )
