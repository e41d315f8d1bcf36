"""A first look by signs: what its questions count, how noisy it is, and when it is asked."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.answers import StandInGate
from hedgerow.model.records import counts_of
from hedgerow.public import CodedTable, Guarantee, Measurement, Noise, PublicData, Schema, Tariff, budget_for
from hedgerow.recipes import TreeBlend
from hedgerow.recipes.blend.axes import axes_of
from hedgerow.recipes.blend.bands import with_band_sums
from hedgerow.recipes.blend.signs import Signs, in_threes, sides_of, sign_question

COLUMNS = 12
SIZES = [4, 2] * 6
SIDES = [np.arange(size) % 2 for size in SIZES[:3]]
SCHEMA = "".join(
    f'[columns.c{i}]\nkind = "{"ordered" if i % 2 else "categorical"}"\nvalues = {[*map(str, range(SIZES[i]))]}\n'
    for i in range(COLUMNS)
).replace("'", '"')


def table(rows: int) -> pl.DataFrame:
    """Columns 1 and 3, of two values each, are the same, 2 is near 0; all others go with nothing."""
    rng = np.random.default_rng(5)
    codes = [rng.integers(0, size, rows) for size in SIZES]
    codes[3] = codes[1]
    codes[2] = np.where(rng.random(rows) < 0.9, codes[0], codes[2])
    return pl.DataFrame({f"c{i}": c.astype(str) for i, c in enumerate(codes)})


@pytest.mark.parametrize("columns", [2, 3, 4, 7, 12, 17, 40])
def test_every_pair_is_in_one_question(columns: int) -> None:
    asked = [p for key in in_threes(range(columns)) for p in combinations(key, 2)]
    assert sorted(asked) == list(combinations(range(columns), 2))


@pytest.mark.parametrize("key", [(0, 1), (1, 2), (0, 1, 2)])
def test_signs_tell_the_two_by_two_table_of_every_pair_whose_one_way_tables_are_known(key: tuple[int, ...]) -> None:
    schema = Schema.loads(SCHEMA)
    axes = axes_of(schema, recipe="tree_blend")
    read = CodedTable.read(table(500), schema).codes(axes.names)
    question = sign_question(axes, key, SIDES)
    counts = counts_of(read, question, axes.coding, 500).astype(np.int64)
    assert counts.sum() == 500
    told = Signs(SIDES, {key: Measurement(question, counts, Noise("gaussian", Fraction(9)))}).tables()
    assert set(told) == set(combinations(key, 2))
    for (i, j), (bands, square, _) in told.items():
        a, b = (SIDES[k][read[axes.names[k]]] for k in (i, j))
        true = np.bincount(2 * a + b, minlength=4).astype(float)
        alone = np.outer([(a == 0).sum(), (a == 1).sum()], [(b == 0).sum(), (b == 1).sum()]) / 500
        whole = np.zeros(len(SIDES[i]) * len(SIDES[j]))
        whole[[int(np.flatnonzero(bands.cell == c)[0]) for c in range(4)]] = alone.ravel()
        assert bands.seen(square, whole, 1.0)[0] == pytest.approx(true)


@pytest.mark.parametrize("key", [(0, 1), (0, 1, 2)])
def test_the_noise_of_signs_is_what_is_said_of_it(key: tuple[int, ...]) -> None:
    question = sign_question(axes_of(Schema.loads(SCHEMA), recipe="tree_blend"), key, SIDES)
    noise = Noise("gaussian", Fraction(10**4))
    errors: dict[Any, float] = {}
    for leaf in np.eye(question.leaves, dtype=np.int64):
        for pair, (bands, square, variance) in (
            Signs(SIDES, {key: Measurement(question, leaf, noise)}).tables().items()
        ):
            seen, _, left = bands.seen(square, np.zeros(len(bands.cell)), variance)
            errors[pair] = errors.get(pair, 0.0) + float(seen[0] ** 2) * 10**4
            assert left == pytest.approx(10**4 * question.leaves / 16)
    assert list(errors.values()) == pytest.approx([10**4 * question.leaves / 16] * len(errors))


def test_sides_of_values_without_an_order_have_about_as_many_rows_each() -> None:
    counts = np.array([400.0, 10.0, 300.0, 150.0, 120.0, -30.0])
    sums = np.bincount(sides_of(counts, steps=0), np.maximum(counts, 0), 2)
    assert abs(sums[0] - sums[1]) <= 60  # 520 and 460
    missing = sides_of(np.array([10.0, 10.0, 10.0, 10.0, 500.0]), steps=4)  # the last has no place in the order
    assert missing.tolist() == [0, 0, 1, 1, 0]
    assert sides_of(np.array([0.0, 0.0, 9.0]), steps=3).max() == 1


def run(epsilon: str, rows: int = 4000, text: str = SCHEMA) -> tuple[list[Any], Any, PublicData]:
    """The questions after the one-way tables, request by request; the gate; what is public."""
    schema = Schema.loads(text)
    known, secret = PublicData(schema), CodedTable.read(table(rows), schema)
    budget = budget_for(epsilon, "1e-6", TreeBlend().accounting)
    tariff = Tariff(schema.coding, Guarantee(), budget.measure)
    gate = StandInGate(tariff, budget, secret, secret.rows, np.random.default_rng(1))
    asked, measure = list[Any](), gate.measure

    def listening(questions: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(list(questions))
        gate.weights = kwargs.get("weights")  # type: ignore[attr-defined]
        return measure(questions, *args, **kwargs)

    gate.measure = listening  # type: ignore[method-assign]
    TreeBlend().fit(gate, known)
    return asked[1:], gate, known


def test_where_noise_leaves_pairs_out_all_are_looked_at_by_signs_and_few_again() -> None:
    (signs, sharper), gate, _ = run("0.1")
    assert all(q.tree and q.leaves == 2 ** (len(q.tree.columns) - 1) for q in signs)
    pairs = {frozenset(p) for q in signs for p in combinations(q.tree.columns, 2)}
    assert len(pairs) == COLUMNS * (COLUMNS - 1) // 2
    again = {frozenset(q.tree.columns) for q in sharper if q.tree}
    assert frozenset({"c1", "c3"}) in again and len(again) < 20
    assert gate.left == 0


def test_where_cells_are_noisy_pairs_of_columns_with_two_clear_sides_are_looked_at_by_signs() -> None:
    (first, _), gate, _ = run("0.4")
    signs = [q.tree.columns for q in first if q.tree and q.leaves == 2 ** (len(q.tree.columns) - 1)]
    by_signs = {frozenset(p) for columns in signs for p in combinations(columns, 2)}
    two = [f"c{i}" for i in range(1, COLUMNS, 2)]  # the others have four values and no order
    assert by_signs == {frozenset(p) for p in combinations(two, 2)}
    others = {frozenset(q.tree.columns if q.tree else q.columns) for q in first} - {frozenset(c) for c in signs}
    assert by_signs | others == {frozenset(p) for p in combinations([f"c{i}" for i in range(COLUMNS)], 2)}
    assert gate.left == 0


def test_signs_count_for_one_of_the_numbers_that_finer_bands_tell() -> None:
    (_, sharper), gate, _ = run("0.4", text=SCHEMA.replace("categorical", "ordered"))
    asked = zip(sharper, gate.weights, strict=True)
    costs = {frozenset(q.tree.columns if q.tree else q.columns): cost for q, cost in asked}
    finer, known = (costs[frozenset(p)] for p in (("c0", "c2"), ("c1", "c3")))
    assert finer > 2 * known


def test_where_noise_can_be_borne_no_signs_are_asked() -> None:
    (first, _), gate, _ = run("1")
    assert not any(q.tree and len(q.tree.columns) == 3 for q in first)
    assert gate.left == 0


def test_sums_of_bands_tell_a_column_what_least_squares_make_of_them() -> None:
    rng = np.random.default_rng(2)
    places = [np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 1, 1, 2, 2]), np.arange(6)]
    counts, noise = rng.normal(100, 20, 6), 9.0
    sums = [(p, rng.normal(200, 20, p.max() + 1), 4.0 + i) for i, p in enumerate(places)]
    rows, told, weight = [np.eye(6)], [counts], [np.full(6, noise)]
    for place, seen, variance in sums:
        rows.append((place == np.arange(place.max() + 1)[:, None]).astype(float))
        told.append(seen)
        weight.append(np.full(len(seen), variance))
    x, y, w = np.concatenate(rows), np.concatenate(told), 1 / np.concatenate(weight)
    left = np.linalg.inv(x.T @ (w[:, None] * x))
    better, variance = with_band_sums(counts, noise, sums)
    np.testing.assert_allclose(better, left @ x.T @ (w * y))
    assert variance == pytest.approx(np.trace(left) / 6)
