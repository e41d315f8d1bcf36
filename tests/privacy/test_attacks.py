"""The steward's attacks: each must succeed where there is a leak, and not where there is none."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.api.job import Job
from hedgerow.model.base import AbstractModel
from hedgerow.public.costs.question import Marginal
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes.base import AbstractRecipe
from hedgerow.steward.attacks import AttributeInference, _least, _most, judged, membership
from hedgerow.steward.inside import InsideOnly
from tests.privacy.leaf_attack import reconstructed
from tests.privacy.world import GUARANTEES, SCHEMA, frame, write_job

DECLARED = Schema.loads(SCHEMA)


def crowd(rows: int, seed: int) -> pl.DataFrame:
    """Many ordinary rows and one odd one."""
    rng = np.random.default_rng(seed)
    usual = [
        ("FM"[rng.integers(2)], "AB"[rng.integers(2)], str(rng.integers(20)), "ns"[rng.integers(2)], str(i))
        for i in range(rows)
    ]
    return frame((*usual, ("M", "C", "39", "w", "odd")))


@dataclass(frozen=True)
class _Copy(AbstractModel):
    """A model that is the table itself: no privacy at all."""

    table: CodedTable
    total: int

    def expected(self, question: Marginal) -> Any:
        raise NotImplementedError

    def draw(self, n: int, rng: np.random.Generator) -> Mapping[str, Any]:
        return {k: v[:n] for k, v in self.table.codes(self.table.schema.attributes).items()}


@dataclass(frozen=True)
class Leaky(AbstractRecipe):
    """A recipe that publishes what it was given to protect."""

    name = "leaky"

    def requests(self, tariff: Any, budget: Any, public: PublicData) -> Any:
        return ()

    def fit(self, gate: Any, public: PublicData) -> Any:
        return _Copy(gate.stand_in, gate.stand_in.rows)


def job_with(recipe: AbstractRecipe | None, tmp_path: Path, kind: str = "record, add-remove") -> Job:
    job = Job.load(write_job(tmp_path, GUARANTEES[kind]))
    if recipe is not None:
        object.__setattr__(job, "recipe", recipe)
    return job


@pytest.mark.parametrize("kind", ["record, add-remove", "record, replace-one", "person, add-remove"])
def test_the_membership_attack_finds_a_leak(tmp_path: Path, kind: str) -> None:
    public = CodedTable.read(crowd(200, 1), DECLARED, role="target")
    found = membership(job_with(Leaky(), tmp_path, kind), public, runs=120, rng=np.random.default_rng(2))
    assert found.auc > 0.99 and found.right > 0.95
    assert found.epsilon_at_least > found.promised and not found.sound


def test_the_membership_attack_proves_nothing_against_a_sound_recipe(tmp_path: Path) -> None:
    public = CodedTable.read(crowd(200, 1), DECLARED, role="target")
    found = membership(job_with(None, tmp_path), public, runs=120, rng=np.random.default_rng(3))
    assert found.sound and found.epsilon_at_least < 1.5
    assert found.right < found.allowed + 0.08


def test_the_proof_of_a_membership_attack_holds_in_randomized_response() -> None:
    """A mechanism whose epsilon is known: what is proven must stay below it, and near it with many runs."""
    rng, epsilon = np.random.default_rng(5), 1.0
    inside = rng.permutation(np.arange(20_000) % 2 == 0)
    honest = rng.random(20_000) < exp(epsilon) / (1 + exp(epsilon))
    found = judged(np.where(honest, inside, ~inside).astype(float), inside, promised=epsilon, delta=0.0)
    assert 0.85 < found.epsilon_at_least <= epsilon
    assert found.right == pytest.approx(found.allowed, abs=0.015)


def test_clopper_pearson_bounds_are_those_of_scipy() -> None:
    from scipy import stats

    for k, n in ((0, 10), (3, 10), (10, 10), (40, 90)):
        exact = stats.binomtest(k, n).proportion_ci(0.95, "exact")
        assert (_least(k, n), _most(k, n)) == pytest.approx((exact.low, exact.high), abs=1e-9)


def people(rows: int, seed: int, link: float) -> pl.DataFrame:
    """Race follows area in a share ``link`` of the rows."""
    rng = np.random.default_rng(seed)
    area, free = rng.integers(0, 3, rows), rng.choice(3, rows, p=[0.5, 0.25, 0.25])
    race = np.where(rng.random(rows) < link, area, free)
    rows_ = [("F", "ABC"[r], "5", "nsw"[a], str(i)) for i, (r, a) in enumerate(zip(race, area, strict=True))]
    return frame(tuple(rows_))


def test_attribute_inference_counts_only_what_the_public_table_does_not_give() -> None:
    secret = InsideOnly(CodedTable(DECLARED, people(3000, 1, 0.6)))
    tables = {link: CodedTable.read(people(3000, 2, link), DECLARED, role="target") for link in (0.0, 0.6)}
    attack = AttributeInference(columns=("race",))

    def gained(release: float, public: float) -> dict[str, Any]:
        found = attack.of(secret, tables[release], tables[public], DECLARED, rng=np.random.default_rng(0))
        return found.reveal().row(0, named=True)

    same, learnt = gained(0.6, 0.6), gained(0.6, 0.0)
    assert same["with_release"] == pytest.approx(0.6 + 0.4 / 3, abs=0.04) and abs(same["gained"]) < 0.02
    assert learnt["gained"] > 0.25 and learnt["with_public"] < 0.45


def forest(records: int, trees: int, leaves: int, seed: int) -> tuple[Any, Any]:
    """Labels by the toss of a coin, and the leaf of every record in every tree."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, records), [rng.integers(0, leaves, records) for _ in range(trees)]


def noisy_counts(labels: Any, leaves: Any, size: int, epsilon: float | None, rng: np.random.Generator) -> list[Any]:
    """Leaf counts; with ``epsilon`` for each tree under label-change, a discrete Laplace of scale 2 / epsilon."""
    out = []
    for leaf in leaves:
        true = np.bincount(leaf * 2 + labels, minlength=2 * size).reshape(size, 2)
        noise: Any = 0
        if epsilon is not None:
            q = 1 - np.exp(-epsilon / 2)
            noise = rng.geometric(q, true.shape) - rng.geometric(q, true.shape)
        out.append(true + noise)
    return out


def test_leaf_reconstruction_succeeds_without_noise_and_when_trees_forget_to_share() -> None:
    labels, leaves = forest(400, trees=40, leaves=80, seed=1)
    rng = np.random.default_rng(2)
    exact = reconstructed(leaves, noisy_counts(labels, leaves, 80, None, rng))
    assert np.mean(exact == labels) > 0.97
    forgot = reconstructed(leaves, noisy_counts(labels, leaves, 80, 1.0, rng))  # epsilon for each of 40 trees
    assert np.mean(forgot == labels) > exp(1) / (1 + exp(1)) + 0.05


@pytest.mark.parametrize(("trees", "leaves"), [(1, 200), (5, 100), (40, 80)])
def test_leaf_reconstruction_stays_below_the_promise_when_trees_share_it(trees: int, leaves: int) -> None:
    """Nobody may be right about a coin more often than e^epsilon / (1 + e^epsilon), whatever else he knows."""
    right = []
    for seed in range(6):
        labels, where = forest(400, trees, leaves, seed)
        counts = noisy_counts(labels, where, leaves, 1.0 / trees, np.random.default_rng(100 + seed))
        right.append(np.mean(reconstructed(where, counts) == labels))
    assert np.mean(right) < exp(1) / (1 + exp(1))
