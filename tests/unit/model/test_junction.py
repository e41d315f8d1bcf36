"""Cliques of three along a tree: met exactly, and nothing else is learnt from them."""

import numpy as np
import pytest

from hedgerow.model.records.tree import JunctionModel, TreeModel, paths
from hedgerow.model.tables.fitting import fit_margins
from hedgerow.recipes.blend.base import interaction, without_interaction

N = 60_000


def chain() -> tuple[JunctionModel, np.ndarray]:
    """0 - 1 - 2, 1 - 3: column 2 is the exclusive or of 0 and 1 most of the time, 3 follows 1."""
    clique = np.full((2, 2, 2), 0.02)
    for a in range(2):
        for b in range(2):
            clique[a, b, a ^ b] = 0.23
    clique /= clique.sum()
    follow = np.array([[0.4, 0.1], [0.15, 0.35]])
    tree = TreeModel(
        [np.full(2, 0.5), np.full(2, 0.5), np.full(2, 0.5), follow.sum(axis=0)],
        {(0, 1): clique.sum(axis=2), (1, 2): clique.sum(axis=0), (1, 3): follow},
    )
    return JunctionModel(tree, {(0, 1, 2): clique}), clique


def counted(records: np.ndarray, columns: tuple[int, ...]) -> np.ndarray:
    flat = np.ravel_multi_index([records[:, c].astype(int) for c in columns], (2,) * len(columns))
    return np.bincount(flat, minlength=2 ** len(columns)).reshape((2,) * len(columns))


def chi2(table: np.ndarray) -> float:
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return float(((table - expected) ** 2 / expected).sum())


def test_an_interaction_that_no_pair_shows_is_drawn() -> None:
    model, clique = chain()
    records = model.draw(N, np.random.default_rng(0))
    assert counted(records, (0, 1, 2)) / N == pytest.approx(clique, abs=0.003)
    plain = model.tree.draw(N, np.random.default_rng(0))
    assert np.abs(counted(plain, (0, 1, 2)) / N - clique).sum() > 0.5  # the tree alone cannot


def test_siblings_outside_a_clique_are_independent_given_their_parent() -> None:
    records = chain()[0].draw(N, np.random.default_rng(1))
    for value in (0, 1):
        own = records[records[:, 1] == value]
        assert chi2(counted(own, (2, 3))) < 15.1  # one degree of freedom, one in ten thousand
        assert chi2(counted(own, (0, 3))) < 15.1
        assert chi2(counted(own, (0, 2))) > 1000  # the same test sees the clique


def test_every_column_is_drawn_once_after_its_parents() -> None:
    seen: set[int] = set()
    for child, parents in chain()[0].parents():
        assert set(parents) <= seen
        seen.add(child)
    assert seen == {0, 1, 2, 3}


def test_paths_are_the_triples_linked_in_the_tree() -> None:
    assert paths(chain()[0].tree) == [(0, 1, 2), (0, 1, 3), (1, 2, 3)]


def test_interaction_is_what_the_pairs_do_not_show() -> None:
    _, clique = chain()
    assert interaction(N * clique) > 0.3
    even = np.random.default_rng(2).poisson(200.0, (4, 5, 3)).astype(float)
    assert interaction(even) < 0.01
    assert without_interaction(even).sum(axis=2) == pytest.approx(even.sum(axis=2))
    fitted = fit_margins(clique, {(0, 1): np.array([[0.4, 0.1], [0.1, 0.4]])})
    assert fitted.sum(axis=2) == pytest.approx(np.array([[0.4, 0.1], [0.1, 0.4]]))
