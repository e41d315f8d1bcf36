"""The tree of columns: the strongest edges, and brothers independent given their parent."""

from itertools import combinations

import numpy as np
import pytest

from hedgerow.model.records.tree import TreeModel, spanning_forest


def star() -> TreeModel:
    """A parent with three values and two children that follow it closely."""
    parent = np.array([0.5, 0.3, 0.2])
    near = np.array([[0.8, 0.2], [0.3, 0.7], [0.05, 0.95]])
    far = np.array([[0.1, 0.6, 0.3], [0.5, 0.25, 0.25], [0.9, 0.05, 0.05]])
    return TreeModel(
        [parent, parent @ near, parent @ far], {(0, 1): parent[:, None] * near, (0, 2): parent[:, None] * far}
    )


def test_the_forest_is_the_heaviest_of_all() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        strength = {p: float(rng.random()) for p in combinations(range(4), 2)}
        found = sum(strength[e] for e in spanning_forest(4, strength))
        trees = (t for t in combinations(strength, 3) if len(spanning_forest(4, dict.fromkeys(t, 1.0))) == 3)
        assert found == pytest.approx(max(sum(strength[e] for e in t) for t in trees))


def test_pairs_that_are_not_there_leave_a_forest() -> None:
    assert spanning_forest(4, {(0, 1): 1.0}) == ((0, 1),)


def test_brothers_are_independent_given_their_parent() -> None:
    model, n = star(), 60_000
    records = model.draw(n, np.random.default_rng(3)).astype(int)
    for value in range(3):
        own = records[records[:, 0] == value]
        joint = np.bincount(own[:, 1] * 3 + own[:, 2], minlength=6).reshape(2, 3)
        expected = np.outer(joint.sum(axis=1), joint.sum(axis=0)) / len(own)
        chi2 = ((joint - expected) ** 2 / expected).sum()
        assert chi2 < 18.4  # two degrees of freedom, one in ten thousand


def test_shared_uniforms_would_fail_that_test() -> None:
    rng = np.random.default_rng(3)
    u = rng.random(20_000)
    joint = np.bincount((u > 0.8).astype(int) * 2 + (u > 0.6), minlength=4).reshape(2, 2)
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0)) / len(u)
    assert ((joint - expected) ** 2 / expected).sum() > 1000


def test_the_tables_of_the_tree_are_met_almost_exactly() -> None:
    model, n = star(), 10_000
    records = model.draw(n, np.random.default_rng(0)).astype(int)
    for (a, b), table in model.tables.items():
        counts = np.bincount(records[:, a] * table.shape[1] + records[:, b], minlength=table.size)
        assert np.abs(counts - n * table.ravel()).max() <= 2 + 1e-6


def test_pairs_far_apart_follow_by_the_chain_rule() -> None:
    model = star()
    exact = sum(
        model.margins[0][v] * np.outer(model.conditional(1, 0)[v], model.conditional(2, 0)[v]) for v in range(3)
    )
    assert model.pairs_of(1)[2] == pytest.approx(exact, abs=1e-6)
