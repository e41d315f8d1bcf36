"""Designs are balanced, and what they confuse is what they say they confuse."""

from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import JobError
from hedgerow.experiment.design import fraction, full

CASES = [
    ((2,) * 4, 8),
    ((2,) * 5, 8),
    ((2,) * 5, 16),
    ((3,) * 3, 9),
    ((3,) * 4, 9),
    ((2, 2, 2, 3), 12),
    ((2,) * 7, 8),
]


@pytest.mark.parametrize(("levels", "most"), CASES)
def test_every_level_and_every_pair_of_levels_occurs_equally_often(levels: tuple[int, ...], most: int) -> None:
    design = fraction(levels, at_most=most)
    assert len(design.cells) <= most
    for one, two in combinations(range(len(levels)), 2):
        counts = {c: 0 for c in product(range(levels[one]), range(levels[two]))}
        for cell in design.cells:
            counts[cell[one], cell[two]] += 1
        assert len(set(counts.values())) == 1, (one, two)


@pytest.mark.parametrize(("levels", "most"), CASES)
def test_effects_that_are_said_to_be_confused_are_and_no_others(levels: tuple[int, ...], most: int) -> None:
    """Spaces of contrasts, worked out from the cells themselves: two are apart when they are orthogonal."""
    design = fraction(levels, at_most=most)
    names = [chr(65 + i) for i in range(len(levels))]
    said = {tuple(line.split(" = ")) for line in design.confused(names)}
    confused = {(a, b) for a, rest in said for b in rest.split(", ")}
    effects = [e for k in (1, 2) for e in combinations(range(len(levels)), k)]
    for e, f in combinations(effects, 2):
        together = np.abs(_contrasts(design.cells, levels, e).T @ _contrasts(design.cells, levels, f)).max() > 1e-9
        label = tuple(" x ".join(names[i] for i in x) for x in (e, f))
        assert together == (label in confused) == (label[::-1] in confused), label


def _contrasts(cells: tuple[tuple[int, ...], ...], levels: tuple[int, ...], effect: tuple[int, ...]) -> np.ndarray:
    """Columns that span the effect: products of indicators, each less its mean."""
    rows = np.array(cells)
    columns = np.ones((len(cells), 1))
    for i in effect:
        one = np.eye(levels[i])[rows[:, i]] - 1 / levels[i]
        columns = (columns[:, :, None] * one[:, None, :]).reshape(len(cells), -1)
    return columns


def test_the_half_of_four_factors_keeps_main_effects_clear_of_pairs() -> None:
    design = fraction((2, 2, 2, 2), at_most=8)
    assert design.resolution == 4
    assert all(" x " in line.split(" = ")[0] for line in design.confused("ABCD"))


@given(st.lists(st.integers(2, 4), min_size=1, max_size=4))
@settings(max_examples=30, deadline=None)
def test_a_full_design_has_every_combination_once(levels: list[int]) -> None:
    design = full(levels)
    assert len(set(design.cells)) == len(design.cells) == prod(levels)
    assert design.resolution is None and design.share == 1


def test_a_fraction_that_would_confuse_factors_is_refused() -> None:
    with pytest.raises(JobError, match="smallest has"):
        fraction((2, 2), at_most=2)
    with pytest.raises(JobError, match="runs_at_most"):
        fraction((2, 3, 4), at_most=10)
