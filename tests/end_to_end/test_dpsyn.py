"""The dpsyn recipe as a steward meets it: plan, run, verify, sample with the public table."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from tests.end_to_end.conftest import ROWS, Command
from tests.privacy.recipe_world import REGIMES
from tests.privacy.recipe_world import write_dpsyn as write
from tests.privacy.world import PERSON, frame


@pytest.mark.parametrize("regime", REGIMES)
def test_plan_run_verify_and_sample_in_every_regime(hedgerow: Command, tmp_path: Path, regime: str) -> None:
    job = write(tmp_path, PERSON, regime)
    frame(ROWS).write_csv(tmp_path / "secret.csv")
    plan = hedgerow("plan", job)
    assert f"regime {regime}" in plan.out, plan.out + plan.err
    assert "the paper's split of epsilon" in plan.out
    assert "joint accounting of the paper's noise" in plan.out
    run = hedgerow("run", job, "--yes", "--json")
    assert run.code == 0, run.err
    release = Path(json.loads(run.out)["release"])
    assert hedgerow("verify", release).code == 0
    assert hedgerow("sample", release, "--seed", 5).code == 0, "the public table lies beside it"
    shutil.rmtree(release.with_name("release-copies"))
    away = shutil.copytree(release, tmp_path / "elsewhere" / "release")
    assert hedgerow("sample", away).code == 2, "sampling needs the public table"
    frame(ROWS).write_csv(tmp_path / "other.csv")
    assert "not the public table" in hedgerow("sample", release, "--public", tmp_path / "other.csv").err
    sampled = hedgerow("sample", release, "--public", tmp_path / "public.csv", "--seed", 0)
    assert sampled.code == 0, sampled.err
    (copy,) = release.with_name("release-copies").glob("*.parquet")
    assert pl.read_parquet(copy).equals(pl.read_parquet(release / "records.parquet")), "same seed, same records"


def test_without_a_public_table_nothing_is_booked(hedgerow: Command, tmp_path: Path) -> None:
    job = write(tmp_path, PERSON, "one_way")
    job.write_text(job.read_text("utf-8").replace('[public]\ntable = "public.csv"\n', ""), "utf-8")
    frame(ROWS).write_csv(tmp_path / "secret.csv")
    run = hedgerow("run", job, "--yes")
    assert run.code == 2
    assert "public relative" in run.err
    assert not (tmp_path / "ledger.db").exists()


def test_a_group_column_must_be_one_of_the_schema(hedgerow: Command, tmp_path: Path) -> None:
    job = write(tmp_path, PERSON, "one_way")
    job.write_text(job.read_text("utf-8").replace('groups = ["pay"]', 'groups = ["sex"]'), "utf-8")
    frame(ROWS).write_csv(tmp_path / "secret.csv")
    plan = hedgerow("plan", job)
    assert plan.code == 2
    assert "neither joined nor determined" in plan.err
