"""Replay of ``verify_model`` on neighbours: with common units in the same parts, the count moves by at most one."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, cycle
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.errors import HedgerowError
from hedgerow.ledger.book import Ledger, RunAccount
from hedgerow.private import Gate, noise, verification
from hedgerow.public.coding import Codes, as_text
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.claim import Claim
from hedgerow.public.costs.question import Counts, Measurement, Noise
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.files import Source, open_source
from hedgerow.public.formula import Formula, make_claim
from hedgerow.public.schema import Schema
from tests.privacy.checks import quick_folder
from tests.privacy.world import SCHEMA, Pair, Row, frame

PARTS = 3
CLAIMS = ("sex[M] > 0", "-6 < sex[M] < 6")
MODELS = ("pay ~ sex", "pay ~ sex + race | area")


@dataclass
class Seen:
    """What one run did: its steps in order, the exact count, the noise, the answer, and all that was said."""

    steps: list[str] = field(default_factory=list)
    cost: Fraction = Fraction(0)
    true: int | None = None
    law: Noise | None = None
    answer: Measurement | None = None
    said: str = ""
    fell: list[set[int]] = field(default_factory=list)  # into which parts, by unit


def claim_of(model: str, text: str) -> Claim:
    schema = Schema.loads(SCHEMA)
    return make_claim(text, Formula.parse(model, {"sex": "F"}), schema)


def check_verification(
    guarantee: Guarantee, delta: str, pair: Pair, claim: Claim, tape: list[int], *, split: bool = False
) -> None:
    """Both tables of the pair, the units they share in the same parts: the same steps and price, and a count that
    moves by no more than the noise hides.  ``split``: rows come in two batches, so that a person may be in both."""
    budget = Budget("1", delta)
    here, there = (_run(guarantee, budget, rows, claim, tape, split=split) for rows in (pair.here, pair.there))
    for seen in (here, there):
        rank = {"book": 0, "read": 1, "noise": 2, "mark": 3}
        order = [rank[s] for s in seen.steps]
        assert order == sorted(order) and set(order) == {0, 1, 2, 3}, f"out of order: {seen.steps}"
        assert seen.steps.count("noise") == 1, "not one draw of noise"
    assert [s for s in here.steps if s != "read"] == [s for s in there.steps if s != "read"]
    assert here.said == there.said, "something else was said on a neighbour"
    assert here.cost == there.cost <= budget.total, "a neighbour was charged differently, or too much"
    assert here.law == there.law and here.law is not None, "the noise depends on the rows"
    assert here.true is not None and there.true is not None
    moved = abs(here.true - there.true)
    lost = moved / here.law.scale if budget.measure == "pure" else Fraction(moved**2) / (2 * here.law.scale)
    assert lost <= here.cost, f"one unit moved the count by {moved}: the noise is worth less than its price"


def _run(
    guarantee: Guarantee, budget: Budget, rows: tuple[Row, ...], claim: Claim, tape: list[int], *, split: bool
) -> Seen:
    seen = Seen()
    coding = Schema.loads(SCHEMA).coding
    said = io.StringIO()
    with (
        quick_folder() as folder,
        _watched(seen, _parts(guarantee, rows, tape), split),
        warnings.catch_warnings(record=True) as warned,
        redirect_stdout(said),
        redirect_stderr(said),
    ):
        warnings.simplefilter("always")
        account = RunAccount(Ledger.open(f"{folder}/ledger.db"), table="toy", run="run")
        gate = Gate(open_source(frame(rows)), Tariff(coding, guarantee, budget.measure), budget, account)
        try:
            seen.answer = verification.verify_model(gate, claim, PARTS, budget.total)
        except HedgerowError as refusal:
            raise AssertionError(f"a table was refused: {refusal}") from None
    seen.said = said.getvalue() + "".join(str(w.message) for w in warned)
    people = as_text(frame(rows)["id"]).drop_nulls().n_unique() if guarantee.person else len(rows)
    assert all(len(parts) == 1 for parts in seen.fell), "the rows of a person fell into several parts"
    assert len(seen.fell) == people, "a person was taken for several, or several people for one"
    answer = seen.answer
    assert answer.counts.dtype == np.int64 and answer.counts.shape == (1,), "more than one whole number came out"
    assert answer.noise == seen.law, "the answer claims another noise than was drawn"
    return seen


def _parts(guarantee: Guarantee, rows: tuple[Row, ...], tape: list[int]) -> list[int]:
    """The part of every unit in the order of drawing: of the units that both tables share from the tape, in order."""
    if guarantee.unit == "person":
        names = as_text(frame(rows)["id"]).drop_nulls().unique(maintain_order=True).to_list()
        place = {"a": 0, "b": 1, "c": 2, "me": 3}
        return [tape[place[n]] for n in names]
    rest = iter(tape[1:])
    return [tape[0] if r[-1] == "me" else next(rest) for r in rows]


@contextmanager
def _watched(seen: Seen, parts: list[int], split: bool) -> Iterator[None]:
    spend, mark, read = Ledger.spend, Ledger.mark_drawn, Source.batches
    draw, agreeing = noise.draw, verification.agreeing

    def watched_spend(self: Ledger, run: str, request: str, cost: Fraction, what: str, *delta: Fraction) -> None:
        seen.steps.append("book")
        seen.cost += cost
        spend(self, run, request, cost, what, *delta)

    def watched_mark(self: Ledger, run: str, request: str, answer: str = "") -> None:
        seen.steps.append("mark")
        mark(self, run, request, answer)

    def watched_read(self: Source, columns: Any, *rest: Any) -> Iterator[pl.DataFrame]:
        seen.steps.append("read")
        for batch in read(self, columns, *rest):
            yield from (batch[:1], batch[1:]) if split else (batch,)

    def watched_draw(law: Noise, n: int) -> Counts:
        seen.steps.append("noise")
        seen.law = law
        return draw(law, n)

    def watched_agreeing(*args: Any) -> Counts:
        true = agreeing(*args)
        seen.true = int(true[0])
        return true

    left = chain(parts, cycle([0, 2, 1]))  # one for each unit; who draws again gets another

    def given_parts(units: int, most: int) -> Any:
        return np.array([next(left) for _ in range(units)], np.uint8) % most

    parts_of = verification.parts_of

    def watched_parts(units: Codes, most: int) -> Any:
        found = parts_of(units, most)
        seen.fell += [set(found[units == unit].tolist()) for unit in np.unique(units)]
        return found

    with pytest.MonkeyPatch.context() as patch:
        if split:
            patch.setattr("hedgerow.counting.parts._PART", 1)  # batches are kept apart
            patch.setattr("hedgerow.private.local.THREADS", 1)  # and counted in turn: the tape is for units in order
        patch.setattr(verification, "parts_of", watched_parts)
        patch.setattr(Ledger, "spend", watched_spend)
        patch.setattr(Ledger, "mark_drawn", watched_mark)
        patch.setattr(Source, "batches", watched_read)
        patch.setattr(noise, "draw", watched_draw)
        patch.setattr(verification, "agreeing", watched_agreeing)
        patch.setattr(verification, "draw_parts", given_parts)
        yield
