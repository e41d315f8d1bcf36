"""``hedgerow steward attack`` from the command line: on sound jobs, on a leak, and where it cannot run."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import polars as pl
import pytest

from hedgerow.model.base import AbstractAttachment
from hedgerow.public.costs.question import Marginal
from hedgerow.public.table import CodedTable
from hedgerow.recipes.trees.random_trees import RandomTrees
from hedgerow.simulate.personnel import personnel, personnel_schema
from tests.end_to_end.conftest import Command

JOB = """
[job]
recipe = "random_trees"
[confidential]
table = "confidential.parquet"
name = "personnel"
public_columns = ["year", "agency", "occupation", "age", "education", "grade", "supervisory", "pay"]
[public]
table = "public.parquet"
[target]
table = "target.parquet"
[budget]
epsilon = 1
[random_trees]
columns = ["sex", "race"]
trees = 1
n_b = 200
"""
FEW = ("--runs", 60, "--rows", 300)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attack")
    made = personnel(3000, 4)
    for name in ("public", "confidential", "target"):
        getattr(made, name).write_parquet(folder / f"{name}.parquet")
    (folder / "schema.toml").write_text(personnel_schema(), "utf-8")
    (folder / "job.toml").write_text(JOB, "utf-8")
    return folder


def test_a_sound_release_is_attacked_and_nothing_is_written_or_spent(hedgerow: Command, place: Path) -> None:
    assert hedgerow("run", place / "job.toml", "--yes").code == 0
    before = {p: p.read_bytes() for p in sorted(place.rglob("*")) if p.is_file()}
    done = hedgerow("steward", "attack", place / "job.toml", *FEW, "--json")
    assert done.code == 0, done.err
    found: Any = json.loads(done.out)
    assert list(found)[0] == "INSIDE ONLY"
    m = found["membership"]
    assert m["sound"] and m["runs"] == 60 and m["epsilon_at_least"] < m["promised"] == 1
    assert m["allowed"] == pytest.approx(0.731, abs=1e-3)
    assert [r["column"] for r in found["attributes"]] == ["sex", "race"]
    for r in found["attributes"]:
        assert r["gained"] == pytest.approx(r["with_release"] - r["with_public"])
        assert r["with_public"] > r["by_mode"] - 0.05, "the public table is no worse a guide than the mode"
        assert r["gained"] < 0.1, "a release at epsilon 1 tells little that the public table does not"
    assert before == {p: p.read_bytes() for p in sorted(place.rglob("*")) if p.is_file()}


def test_without_a_release_only_public_stand_ins_are_attacked(hedgerow: Command, place: Path) -> None:
    nowhere = place / "nowhere"
    (place / "confidential.parquet").rename(place / "hidden.parquet")
    try:
        done = hedgerow("steward", "attack", place / "job.toml", *FEW, "--release", nowhere)
    finally:
        (place / "hidden.parquet").rename(place / "confidential.parquet")
    assert done.code == 0, done.err
    assert done.out.startswith("INSIDE ONLY") and "the attacker is right in" in done.out
    assert "private column" not in done.out


@final
@dataclass(frozen=True, eq=False)
class _Told(AbstractAttachment):
    """Attaches the very labels of the table that was to be protected."""

    secret: CodedTable

    def attach(self, target: CodedTable, rng: np.random.Generator) -> pl.DataFrame:
        return target.frame.with_columns(self.secret.frame["sex"], self.secret.frame["race"])

    def expected(self, question: Marginal) -> Any:
        raise NotImplementedError


def test_a_recipe_that_leaks_the_attached_columns_is_found_out(
    hedgerow: Command, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RandomTrees, "fit", lambda self, gate, public: _Told(gate.stand_in))
    done = hedgerow("steward", "attack", place / "job.toml", *FEW, "--release", place / "nowhere")
    assert done.code == 6, done.err
    assert "THE PROMISE IS BROKEN" in done.out


def test_without_a_public_table_it_says_what_is_missing(hedgerow: Command, place: Path) -> None:
    text = JOB.replace('[public]\ntable = "public.parquet"\n', "")
    (place / "alone.toml").write_text(text, "utf-8")
    refused = hedgerow("steward", "attack", place / "alone.toml", *FEW)
    assert refused.code == 2 and "[public]" in refused.err and "Traceback" not in refused.err


def test_a_table_of_counts_has_no_records_to_attack(hedgerow: Command, place: Path) -> None:
    start = JOB.index("[random_trees]")
    text = JOB[:start].replace("random_trees", "integer_counts").replace('[target]\ntable = "target.parquet"\n', "")
    text = text.replace(JOB[JOB.index("public_columns") : JOB.index("[public]")], "")
    (place / "counts.toml").write_text(text + '[integer_counts]\ncolumns = ["sex", "race"]\n', "utf-8")
    refused = hedgerow("steward", "attack", place / "counts.toml", *FEW)
    assert refused.code == 2 and "needs a recipe that makes records" in refused.err
