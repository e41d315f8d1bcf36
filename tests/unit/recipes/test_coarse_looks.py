"""A first look in few bands: which pairs have one, what is asked after it, and what it saves of a trend."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.answers import StandInGate
from hedgerow.public import CodedTable, Guarantee, PublicData, Schema, Tariff, budget_for
from hedgerow.recipes import TreeBlend
from hedgerow.recipes.blend import tree_blend
from hedgerow.recipes.blend.tree_blend import AskedTables, FirstLook

VALUES = {"schooling": 16, "hours": 60, "sex": 2, "town": 30, "region": 9, "pet": 3}
ORDERED = ("schooling", "hours")
SCHEMA = "".join(
    f'[columns.{name}]\nkind = "{"ordered" if name in ORDERED else "categorical"}"\n'
    f"values = {[*map(str, range(size))]}\n"
    for name, size in VALUES.items()
).replace("'", '"')


def table(rows: int = 12_000) -> pl.DataFrame:
    """Half of all work 40 hours; of the others, who went to school for longer works longer. All else is alone."""
    rng = np.random.default_rng(3)
    codes = {name: rng.integers(0, size, rows) for name, size in VALUES.items()}
    codes["town"] = (rng.random(rows) ** 4 * VALUES["town"]).astype(int)
    codes["schooling"] = np.clip(np.rint(rng.normal(9, 3, rows)), 0, 15).astype(int)
    leaning = np.rint(40 + 1.2 * (codes["schooling"] - 9) + rng.normal(0, 8, rows))
    codes["hours"] = np.where(rng.random(rows) < 0.5, 40, np.clip(leaning, 0, 59)).astype(int)
    return pl.DataFrame({name: column.astype(str) for name, column in codes.items()})


def asked(epsilon: str, seed: int) -> tuple[AskedTables, list[list[Any]], PublicData]:
    """What a run was told, the questions request by request, and what is public."""
    known = PublicData(Schema.loads(SCHEMA))
    secret = CodedTable.read(table(), known.schema)
    budget = budget_for(epsilon, "1e-6", TreeBlend().accounting)
    tariff = Tariff(known.schema.coding, Guarantee(), budget.measure)
    gate = StandInGate(tariff, budget, secret, secret.rows, np.random.default_rng(seed))
    requests, measure = list[list[Any]](), gate.measure

    def listening(questions: Any, *args: Any, **kwargs: Any) -> Any:
        requests.append(list(questions))
        return measure(questions, *args, **kwargs)

    gate.measure = listening  # type: ignore[method-assign]
    told = TreeBlend()._asked(gate, known)
    assert gate.left == 0
    return told, requests, known


def correlation(told: AskedTables) -> float:
    """Of schooling and hours in 12,000 records."""
    assert told.model is not None
    made = told.model.draw(12_000, np.random.default_rng(0))
    return float(np.corrcoef(made["schooling"], made["hours"])[0, 1])


def test_a_trend_that_the_noise_of_many_cells_hides_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = table().cast(pl.Int64)
    true = float(np.corrcoef(frame["schooling"], frame["hours"])[0, 1])
    with_look = [correlation(asked("0.5", seed)[0]) for seed in range(4)]
    monkeypatch.setattr(tree_blend, "TREE_BLEND", replace(tree_blend.TREE_BLEND, quiet_cells=1.0))  # never reached
    without = [correlation(asked("0.5", seed)[0]) for seed in range(4)]
    assert np.mean(np.abs(np.subtract(with_look, true))) < 0.6 * np.mean(np.abs(np.subtract(without, true)))


def test_pairs_with_an_order_are_asked_for_in_few_bands_and_then_in_more() -> None:
    told, (_, first, second), _ = asked("0.5", 1)
    names = told.noisy.axes.names
    found = {frozenset(names[i] for i in p) for p in told.noisy.coarse}
    assert frozenset(ORDERED) in found
    assert all(pair & set(ORDERED) for pair in found)  # those without an order begin with their cells
    pair = frozenset(ORDERED)
    (few,) = [q for q in first if q.tree and set(q.tree.columns) == pair]
    (more,) = [q for q in second if set(q.columns or q.tree.columns) == pair]
    cells = more.leaves if more.tree else VALUES["schooling"] * VALUES["hours"]
    assert few.leaves <= 100 < 2 * few.leaves + 100 < cells
    assert told.noisy.pairs() and len(told.noisy.pairs()) == 15  # every pair was looked at


def test_pairs_whose_cells_are_quiet_are_asked_for_cell_by_cell_at_once() -> None:
    noisy = asked("0.5", 1)[0].noisy
    axes, margins = noisy.axes, noisy.margins()
    every = FirstLook([(i, j) for i in range(6) for j in range(i + 1, 6)], {})
    quiet = TreeBlend._coarser(every, axes, margins, sd=0.1)
    assert not quiet.coarse and quiet.cells == every.cells
    loud = TreeBlend._coarser(every, axes, margins, sd=40.0)
    pair = (axes.names.index("schooling"), axes.names.index("hours"))
    assert pair in loud.coarse and pair not in loud.cells
    assert all(3 * b.size <= axes.shape[i] * axes.shape[j] for (i, j), b in loud.coarse.items())
    assert {*loud.coarse, *loud.cells} == {*every.cells}


def test_a_run_with_noisier_answers_changes_the_first_look_too() -> None:
    told, _, _ = asked("0.5", 1)
    noisier = told.changed(lambda m: replace(m, counts=m.counts + 7))
    for pair, (bands, answer) in told.noisy.coarse.items():
        again = noisier.noisy.coarse[pair]
        assert again[0] is bands and (again[1].counts - answer.counts == 7).all()
