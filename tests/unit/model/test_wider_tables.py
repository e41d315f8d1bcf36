"""Records that agree with declared tables: the tables move, the rest stays."""

import numpy as np
import pytest

from hedgerow.model.records.models import ProductModel, WiderTables
from hedgerow.public.costs.question import Marginal
from hedgerow.public.schema import Schema

NAMES = ("a", "b", "c", "d")
N = 8_000


def model() -> tuple[WiderTables, np.ndarray]:
    """Four even columns, made to show an interaction of the first three."""
    schema = Schema.loads("".join(f'[columns.{c}]\nkind = "categorical"\nvalues = ["0", "1"]\n' for c in NAMES))
    wanted = np.array([300.0, 1700.0, 1700.0, 300.0, 1700.0, 300.0, 300.0, 1700.0])
    inner = ProductModel(N, {c: np.array([0.5, 0.5]) for c in NAMES}, schema.coding)
    return WiderTables(inner, NAMES, schema.coding, [(("a", "b", "c"), wanted)]), wanted


def shares(made: dict[str, np.ndarray], columns: str) -> np.ndarray:
    flat = np.ravel_multi_index([made[c].astype(int) for c in columns], (2,) * len(columns))
    return np.bincount(flat, minlength=2 ** len(columns)) / len(flat)


@pytest.mark.parametrize("n", [500, N])
def test_the_declared_table_is_met_and_other_pairs_stay(n: int) -> None:
    made = dict(model()[0].draw(n, np.random.default_rng(0)))
    assert len(made["a"]) == n
    assert np.abs(shares(made, "abc") - model()[1] / N).sum() < 20 / n
    for pair in ("ad", "bd", "cd"):
        assert np.abs(shares(made, pair) - 0.25).sum() < 0.15 * (500 / n) ** 0.5


def test_what_is_expected_is_what_is_drawn() -> None:
    found, wanted = model()
    assert found.expected(Marginal(("a", "b", "c"))) == pytest.approx(wanted, abs=5)
    assert found.total == N
