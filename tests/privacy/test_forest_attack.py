"""The attack published against forests with noisy leaf counts, on ``random_trees`` through the real gate."""

from dataclasses import replace
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.answers import RecordedAnswers
from hedgerow.counting.plan import leaf_of
from hedgerow.ledger.book import Ledger, RunAccount
from hedgerow.private import Gate, noise
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.question import Noise
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.files import open_source
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes.trees.random_trees import RandomTrees
from tests.privacy.leaf_attack import reconstructed

GIVEN = ("a", "b", "c", "d", "e", "f")
TREES = 40
SCHEMA = Schema.loads(
    '[columns.sex]\nkind = "categorical"\nvalues = ["F", "M"]\n'
    + "\n".join(f'[columns.{n}]\nkind = "categorical"\nvalues = ["1", "2", "3", "4"]' for n in GIVEN)
)


def attacked(folder: Path, seed: int) -> float:
    """How many coin-tossed labels the attacker gets right who knows every predictor and the published leaf counts."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({n: np.array(list("1234"))[rng.integers(0, 4, 300)] for n in GIVEN})
    secret = frame.with_columns(sex=pl.Series(np.array(["F", "M"])[rng.integers(0, 2, 300)]))
    given = CodedTable.read(frame, SCHEMA, role="target")
    guarantee, budget = Guarantee(relation="label-change", public_columns=GIVEN), Budget(1.0)
    account = RunAccount(Ledger.open(str(folder / "ledger.db")), table=f"coins {seed}", run=f"coins {seed}")
    live = Gate(open_source(secret), Tariff(SCHEMA.coding, guarantee, budget.measure), budget, account)
    gate = RecordedAnswers(live.tariff, budget, [], live)
    recipe = RandomTrees(columns=("sex",), trees=TREES, n_b=3, seed=seed)
    relative = CodedTable.read(secret.with_columns(sex=pl.lit("F")), SCHEMA)
    recipe.fit(gate, PublicData(SCHEMA, relative, given))
    leaves, counts = [], []
    for answer in gate.record:
        for m in answer.measurements:
            if m.question.tree is not None and m.question.columns == ("sex",):
                leaves.append(np.asarray(leaf_of(m.question.tree, given.codes(m.question.tree.columns)), np.int64))
                counts.append(m.counts.reshape(-1, 2))
    assert len(leaves) == TREES, "the attack must see every tree"
    guess = reconstructed(leaves, counts)
    truth = CodedTable.read(secret, SCHEMA).codes(["sex"])["sex"]
    return float(np.mean(guess == truth))


def test_the_forest_stays_below_what_its_promise_allows(tmp_path: Path) -> None:
    right = [attacked(tmp_path, seed) for seed in range(2)]
    assert np.mean(right) < exp(1) / (1 + exp(1))


def test_a_forest_whose_noise_forgets_the_other_trees_is_caught(tmp_path: Path) -> None:
    draw = noise.draw

    def forgetful(law: Noise, n: int) -> Any:
        return draw(replace(law, scale=law.scale / TREES), n)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "draw", forgetful)
        right = [attacked(tmp_path, seed) for seed in range(2)]
    assert np.mean(right) > exp(1) / (1 + exp(1))
