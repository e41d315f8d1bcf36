"""Trees on histograms are those of plain passes over the rows, and boosted ones are grown once."""

from dataclasses import replace

import numpy as np
import pytest

from hedgerow.model.constants import GUIDED_TREE
from hedgerow.model.trees import boosted_trees, regression_tree
from hedgerow.model.trees.boosted_trees import fit_boosted_trees
from hedgerow.model.trees.regression_tree import grow

SIZES, ORDERED = (40, 9, 30), (True, False, False)


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Codes and labels that hang together."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, s, n) for s in SIZES]).astype(np.uint16)
    strength = codes[0] / 20 + np.isin(codes[1], [2, 5]) - (codes[2] % 7 == 1) + rng.normal(size=n)
    return codes, np.digitize(strength, [0.5, 1.5]).astype(np.int64)


@pytest.mark.parametrize("deepest", [4, 12])
def test_what_is_left_of_a_parent_is_the_larger_half(deepest: int) -> None:
    codes, labels = rows(400)
    known = np.eye(3, dtype=np.float32)[labels]
    few = grow(codes, known, SIZES, ORDERED, smallest=8, deepest=deepest)  # too few rows for a histogram of all codes
    many = grow(np.tile(codes, 50), np.tile(known, (50, 1)), SIZES, ORDERED, smallest=400, deepest=deepest)
    assert few.look.tolist() == many.look.tolist() and len(few.look) > 15
    assert (few.low == many.low).all() and (50 * few.rows == many.rows).all()
    assert np.allclose(50 * few.error, many.error)


def test_boosted_trees_are_grown_once_and_filled_by_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    grown, seen = regression_tree.grow_rows, list[int]()

    def counting(*given: object) -> object:
        seen.append(len(given[0]))  # type: ignore[arg-type]
        return grown(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(boosted_trees, "grow_rows", counting)
    codes, labels = rows(6000)
    model = fit_boosted_trees(codes, labels, 3, SIZES, ORDERED, np.random.default_rng(1))
    assert set(seen) == {4800} and len(model.trees) <= len(seen) <= len(model.trees) + 8
    other, truth = rows(20_000, 1)
    shares = model.shares(other)
    assert np.allclose(shares.sum(axis=1), 1, atol=1e-5)
    loss = -np.log(shares[np.arange(20_000), truth]).mean()
    even = np.bincount(labels) / len(labels)
    assert loss < 0.93 * -np.log(even[truth]).mean()


def test_few_held_out_rows_are_not_worth_another_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    fits, filled = list[int](), boosted_trees._filled

    def counting(rows: object, labels: np.ndarray, *more: object) -> object:
        fits.append(len(labels))
        return filled(rows, labels, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(boosted_trees, "_filled", counting)
    codes, labels = rows(6000)
    for held, refilled in ((400, [6000]), (300, [])):
        fits.clear()
        monkeypatch.setattr(boosted_trees, "GUIDED_TREE", replace(GUIDED_TREE, boosting_most_held_out=held))
        model = fit_boosted_trees(codes, labels, 3, SIZES, ORDERED, np.random.default_rng(1))
        assert fits == refilled and len(model.trees) > 5
