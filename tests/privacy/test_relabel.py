"""Rows whose label is drawn before they are counted: replay on neighbours, the exact law, planted bugs."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hedgerow.counting.relabel import TICKETS, LabelLaw, price
from hedgerow.errors import JobError
from hedgerow.ledger.book import Ledger, RunAccount
from hedgerow.private import Gate, relabel
from hedgerow.public.coding import CodedColumn, Codes, Coding
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.question import Marginal, Tree
from hedgerow.public.costs.spend import Spend, Tariff
from hedgerow.public.files import open_source
from hedgerow.public.schema import Schema
from tests.privacy.checks import quick_folder
from tests.privacy.watch import Request, Tape, check_order, check_price, watched
from tests.privacy.world import GUARANTEES, SCHEMA, Pair, Row, frame, neighbours

Patch = pytest.MonkeyPatch
CODING = Schema.loads(SCHEMA).coding
AREA = Tree.of(("area",), 3, [0], [0], [-1, -2, -3])
PAY = Tree.of(("pay",), 2, [0], [0], [-1, -1, -2, -2])
BY_SEX = Tree.of(("sex", "area"), 4, [0, 1], [0, 2], [-1, 1, -2, -3, -4])


def weights(*shares: float) -> Any:
    first = np.array([int(s * TICKETS) for s in shares], np.int64)
    return np.stack([first, TICKETS - first], axis=1)


LAW = LabelLaw("sex", (AREA, PAY), (weights(0.2, 0.5, 0.9), weights(0.7, 0.3)))
ASKED = [Marginal(("race",), BY_SEX), Marginal(("race",), Tree.of(("sex",), 2, [0], [0], [-1, -2]))]


class Spy(LabelLaw):  # type: ignore[misc]
    """Takes itself for checked, and sees every row."""

    def checked(self, coding: Coding, later: Any) -> LabelLaw:
        return self


class Once(list[LabelLaw]):
    """Is read once, and empty then."""

    def __iter__(self) -> Iterator[LabelLaw]:
        while self:
            yield self.pop()


def ask(guarantee: Guarantee, rows: tuple[Row, ...], tape: Tape, delta: str, *, play: bool) -> list[Request]:
    budget = Budget("1.5", delta)
    with quick_folder() as folder, watched(tape, play=play) as requests:
        account = RunAccount(Ledger.open(f"{folder}/ledger.db"), table="toy", run="run")
        gate = Gate(open_source(frame(rows)), Tariff(CODING, guarantee, budget.measure), budget, account)
        relabel.measure_relabelled(gate, ASKED, [LAW], budget.total)
    return requests


def check_relabel(guarantee: Guarantee, pair: Pair, delta: str = "0") -> None:
    """Both tables of a pair, the rows they share with the same lots: order, price, and what moves."""
    tape, budget = Tape(), Budget("1.5", delta)
    here = ask(guarantee, pair.here, tape, delta, play=False)
    there = ask(guarantee, pair.there, tape, delta, play=True)
    for requests in (here, there):
        check_order(requests)
    check_price(here, there, budget.measure, budget.total)


@pytest.mark.parametrize("delta", ["0", "1e-6"], ids=["pure", "zcdp"])
@pytest.mark.parametrize("kind", GUARANTEES)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_one_unit_moves_the_table_by_its_own_rows_and_pays_for_them(
    kind: str, delta: str, data: st.DataObject
) -> None:
    check_relabel(GUARANTEES[kind], data.draw(neighbours(GUARANTEES[kind])), delta)


# --- the exact law on tiny tables: x is given, a is drawn by x, b is counted in the leaves of a ---

TINY = Coding(tuple(CodedColumn(n, "text", 2, 0, 0) for n in "xab"))
BY_X = LabelLaw("a", (Tree.of(("x",), 2, [0], [0], [-1, -2]),), (weights(0.25, 0.8),))
LEAVES = Marginal(("b",), Tree.of(("a",), 2, [0], [0], [-1, -2]))
OUTCOMES = np.array(list(product(range(-2, 5), repeat=4)))


@lru_cache
def law_of(table: tuple[tuple[int, int, int], ...], scale: Fraction) -> Any:
    """The chance of every outcome, over all lots and all noise; a row's own ``a`` plays no part."""
    q, out = exp(-1 / float(scale)), np.zeros(len(OUTCOMES))
    for drawn in product(range(2), repeat=len(table)):
        chance, counts = 1.0, np.zeros(4)
        for (x, _, b), a in zip(table, drawn, strict=True):
            chance *= BY_X.weights[0][x, a] / TICKETS
            counts[2 * a + b] += 1
        out += chance * (((1 - q) / (1 + q)) * q ** np.abs(OUTCOMES - counts)).prod(axis=1)
    return out


ROWS = tuple(product(range(2), range(2), range(2)))


def moves(row: tuple[int, int, int], relation: str) -> list[tuple[tuple[int, int, int], ...]]:
    if relation == "add-remove":
        return [()]
    return [(r,) for r in ROWS if relation == "replace-one" or r[0] == row[0]]


@pytest.mark.parametrize("relation", ["add-remove", "replace-one", "label-change"])
def test_the_exact_law_keeps_the_stated_epsilon(relation: str) -> None:
    guarantee = Guarantee(relation=relation, public_columns=("x",) if relation == "label-change" else ())  # type: ignore[arg-type]
    _, spend = price(Tariff(TINY, guarantee, "pure"), [LEAVES], [BY_X], Fraction(1, 2))
    scale, worst = spend.asked[0].noise.scale, 0.0
    for rest in [(), *((r,) for r in ROWS)]:
        for row in ROWS:
            for other in moves(row, relation):
                ratio = law_of((*rest, row), scale) / law_of((*rest, *other), scale)
                worst = max(worst, float(np.log(ratio).max()), float(-np.log(ratio).min()))
    assert 0.25 < worst <= 0.5 + 1e-9
    if relation == "label-change":
        assert worst > 0.4, "papers count 1 where a changed label moves 2"


# --- the lot ---


def test_a_label_is_drawn_by_the_shares_of_the_leaf_in_a_tree_that_is_drawn_first() -> None:
    codes: dict[str, Codes] = {"area": np.array([0, 2], np.uint8), "pay": np.array([3, 0], np.uint8)}
    below, above = (1 << 31) - 1, 1 << 31  # the first word: below the half the first tree, from it on the second
    for row, first in ((0, 0.2), (1, 0.9)):
        end = int(first * TICKETS)
        for ticket, due in ((0, 0), (end - 1, 0), (end, 1), (TICKETS - 1, 1)):
            words = np.array([below, below, 2 * ticket, 2 * ticket], np.uint32)
            assert LAW.draw(codes, words)[row] == due
    for row, first in ((0, 0.3), (1, 0.7)):
        end = int(first * TICKETS)
        for ticket, due in ((end - 1, 0), (end, 1)):
            assert LAW.draw(codes, np.array([above, above, 2 * ticket, 2 * ticket], np.uint32))[row] == due


@pytest.mark.parametrize(
    "law",
    [
        LabelLaw("sex", (BY_SEX,), (weights(0.1, 0.1, 0.1, 0.1),)),  # looks at what it draws
        LabelLaw("sex", (AREA,), (weights(0.1, 0.1),)),
        LabelLaw("sex", (AREA,), (weights(0.1, 0.1, 0.1) + 1,)),
        LabelLaw("sex", (AREA,), (weights(-0.1, 0.1, 0.1),)),
        LabelLaw("sex", (AREA,), ()),
        LabelLaw("race", (AREA,), (weights(0.1, 0.1, 0.1),)),
        LabelLaw("sex", (), ()),
        LabelLaw("sex", (AREA,), (np.array([[2**62, 2**62, 2**62, 2**62 + TICKETS]] * 3)[:, :2],)),
        LabelLaw("sex", (Tree.of(("sex_area",), 2, [0], [0], [-1] * 3 + [-2]),), (weights(0.1, 0.1),)),
        LabelLaw("sex_area", (PAY,), (np.full((2, 4), TICKETS // 4),)),
        Spy("sex", (AREA,), (weights(0.1, 0.1, 0.1),)),
    ],
)
def test_what_is_no_law_is_refused_before_anything_is_booked(law: Any) -> None:
    refused([law], ASKED, "no law")


def test_rows_are_relabelled_by_laws_or_not_at_all_and_counted_whole() -> None:
    refused([], ASKED, "no law")
    refused([LAW, LAW], ASKED, "no law")
    refused([LAW], [Marginal(("sex_area",))], "no law")  # would count the authentic sex
    refused([LAW], [Marginal(("area",), None, "sex")], "counted whole")  # its price supposes that cells are public


def refused(laws: Any, questions: list[Marginal], why: str) -> None:
    with quick_folder() as folder, watched(Tape(), play=False) as requests:
        account = RunAccount(Ledger.open(f"{folder}/ledger.db"), table="toy", run="run")
        gate = Gate(open_source(frame(())), Tariff(CODING, Guarantee(), "pure"), Budget("1"), account)
        with pytest.raises(JobError, match=why):
            relabel.measure_relabelled(gate, questions, laws, Fraction(1))
    assert [r.steps for r in requests] == [[]]


def test_laws_are_read_once() -> None:
    """Laws that are gone after pricing would leave authentic labels to be counted."""
    with quick_folder() as folder, watched(Tape(), play=False) as requests:
        account = RunAccount(Ledger.open(f"{folder}/ledger.db"), table="toy", run="run")
        gate = Gate(open_source(frame(BASE)), Tariff(CODING, Guarantee(), "pure"), Budget("1"), account)
        always = LabelLaw("sex", (AREA,), (weights(1.0, 1.0, 1.0),))
        relabel.measure_relabelled(gate, [Marginal(("sex",))], Once([always]), Fraction(1))
    assert [c.tolist() for c in requests[-1].counted] == [[len(BASE), 0]]


# --- planted bugs ---


def labels_dealt_out_in_turn(patch: Patch) -> None:
    """Labels are dealt out in the order of the rows, so one row more shifts everybody behind it."""

    def draw(self: LabelLaw, codes: Any, words: Any) -> Any:
        return (np.arange(len(words) // 2) % 2).astype(np.uint8)

    patch.setattr(LabelLaw, "draw", draw)


def law_taken_from_the_confidential_rows(patch: Patch) -> None:
    """The shares are those of the confidential labels themselves, without noise."""
    original = LabelLaw.draw

    def draw(self: LabelLaw, codes: Any, words: Any) -> Any:
        share = float((codes["sex"] == 0).mean()) if len(words) else 0.0
        exact = tuple(weights(*[share] * len(w)) for w in self.weights)
        return original(replace(self, weights=exact), codes, words)

    patch.setattr(LabelLaw, "draw", draw)


def priced_as_if_a_row_moved_one_count(patch: Patch) -> None:
    """The papers' sensitivity of 1, under every relation."""

    def cheap(tariff: Tariff, questions: Any, laws: Any, cost: Fraction) -> tuple[Any, Spend]:
        low = replace(tariff, guarantee=Guarantee())
        return laws, replace(low.measure_all(questions, cost, law="laplace"), verb="relabel")

    patch.setattr(relabel, "price", cheap)


def counted_before_it_is_booked(patch: Patch) -> None:
    """Rows are read first, and the request is booked afterwards."""

    def booked(self: Gate, spend: Spend, count: Callable[[], Any], draw: Callable[..., Any]) -> Any:
        found = count()
        self._account.book(spend)
        return self._account.keep(spend, draw(found))

    patch.setattr(Gate, "_booked", booked)


MUTANTS = (
    labels_dealt_out_in_turn,
    law_taken_from_the_confidential_rows,
    priced_as_if_a_row_moved_one_count,
    counted_before_it_is_booked,
)
BASE = tuple((s, r, p, a, "x") for s, r, p, a in product(["F", "M"], ["A", "B"], ["5", "30"], ["n", "s"]))
PAIRS = {
    "record, add-remove": Pair((("F", "A", "5", "n", "me"), *BASE), BASE),
    "record, label-change": Pair((("F", "A", "5", "n", "me"), *BASE), (("M", "B", "5", "n", "me"), *BASE)),
}


def check_pairs() -> None:
    for kind, pair in PAIRS.items():
        check_relabel(GUARANTEES[kind], pair)


def test_the_checks_pass_without_a_planted_bug() -> None:
    check_pairs()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.__name__)
def test_every_planted_bug_is_caught(mutant: Callable[[Patch], None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        mutant(patch)
        with pytest.raises(AssertionError):
            check_pairs()
