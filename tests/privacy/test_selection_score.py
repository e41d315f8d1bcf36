"""The sensitivity of the scores that choose a table: every small table and every neighbour of it, counted out."""

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow.ledger.book import Ledger, RunAccount
from hedgerow.private import Gate
from hedgerow.public.costs.accounting import Budget, Guarantee, selection_rate
from hedgerow.public.costs.question import Marginal
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.files import open_source
from hedgerow.public.schema import Schema
from tests.privacy.watch import Tape, watched
from tests.privacy.world import SCHEMA, Row, frame

ORACLE = Path(__file__).parents[3] / "shared" / "oracles" / "selection_score_sensitivity.json"
Table = tuple[int, ...]
Score = Callable[[Table, Table, Table], int]


def _distance(x: Table, m: Table) -> int:
    return sum(abs(a - b) for a, b in zip(x, m, strict=True))


def ours(x: Table, m: Table, q: Table) -> int:
    """How far the estimate m is from the counts x: what ``select`` scores by."""
    return _distance(x, m)


def against_public(x: Table, m: Table, q: Table) -> int:
    """How much further m is than the public table q: a score that others use, and that we do not."""
    return _distance(x, m) - _distance(x, q)


def neighbours(x: Table, relation: str) -> Iterator[Table]:
    """The tables with one row more, or with one row in another cell."""
    for i in range(len(x)):
        if relation == "add-remove":
            yield tuple(c + (j == i) for j, c in enumerate(x))
        elif x[i]:
            for k in range(len(x)):
                if k != i:
                    yield tuple(c - (j == i) + (j == k) for j, c in enumerate(x))


def sensitivity(score: Score, relation: str, cells: int, most: int) -> int:
    """The largest change of the score over all tables, estimates and neighbours with counts up to ``most``."""
    every = list(product(range(most + 1), repeat=cells))
    return max(
        abs(score(x, m, q) - score(y, m, q))
        for x in every
        for y in neighbours(x, relation)
        for m in every
        for q in (every if score is against_public else every[:1])
    )


@pytest.mark.parametrize(("cells", "most"), [(2, 3), (3, 2)])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_the_priced_sensitivity_is_the_one_counted_out(relation: Any, cells: int, most: int) -> None:
    guarantee = Guarantee(relation=relation)
    assert sensitivity(ours, relation, cells, most) == guarantee.l1
    cost = Budget("1").total
    assert selection_rate(cost, "pure", guarantee) * 2 * guarantee.l1 == cost, "the exponential mechanism's own rate"


def test_the_oracle_has_the_same_figures() -> None:
    if not ORACLE.exists():
        pytest.skip("the reference values are not on this machine")
    known = json.loads(ORACLE.read_text("utf-8"))
    for letter, score in (("A", ours), ("B", against_public)):
        for name, relation in (("add_remove", "add-remove"), ("replace", "replace-one")):
            row = known[f"score_{letter}_{name}"]
            assert sensitivity(score, relation, 2, 3) == row["sensitivity"]
            x, y, m, q = (tuple(row[k]) for k in ("x", "neighbour", "m", "q"))
            assert abs(score(x, m, q) - score(y, m, q)) == row["sensitivity"], "the oracle's own worst case"


def test_the_gate_scores_by_the_distance_that_was_counted_out(tmp_path: Path) -> None:
    rows: tuple[Row, ...] = (("F", "A", "5", "n", "a"), ("M", "A", "5", "s", "b"), ("M", "B", "12", "s", "c"))
    budget = Budget("1")
    tariff = Tariff(Schema.loads(SCHEMA).coding, Guarantee(), budget.measure)
    estimates = {Marginal(("sex",)): np.array([3, 1]), Marginal(("pay",)): np.array([0, 0, 5, 0])}
    with watched(Tape(), play=False) as requests:
        account = RunAccount(Ledger.open(str(tmp_path / "ledger.db")), table="toy", run="run")
        Gate(open_source(frame(rows)), tariff, budget, account).select(estimates, budget.total)
    assert requests[-1].choice is not None
    scores, rate = requests[-1].choice
    true = {Marginal(("sex",)): (1, 2), Marginal(("pay",)): (2, 1, 0, 0)}
    assert scores == [ours(true[q], tuple(e.tolist()), ()) for q, e in estimates.items()]
    assert rate == budget.total / 2
