"""An intended use in the job is enough: its table is planned and measured, and the release is a saved model."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hedgerow.api.job import Job
from hedgerow.release import measurements
from hedgerow.release.sampling import sample
from hedgerow.steward.exact import exact_uses
from tests.end_to_end.conftest import ROWS, Command
from tests.privacy.recipe_world import JOBS
from tests.privacy.world import PERSON, frame

USE = """
[[use]]
name = "who works where"
columns = ["race", "area", "sex"]
tolerance = 0.5
"""


@pytest.mark.parametrize("recipe", ["tree_blend", "public_blend"])
def test_a_use_in_the_job_is_planned_measured_and_sampled_later(
    recipe: str, tmp_path: Path, hedgerow: Command
) -> None:
    frame(ROWS).write_csv(tmp_path / "secret.csv")
    job = JOBS[recipe](tmp_path, PERSON, delta="1e-6")
    high = re.sub(r"epsilon = .*", "epsilon = 1000", job.read_text("utf-8"))
    job.write_text(high + USE, "utf-8")
    plan = hedgerow("plan", job, "--json")
    remarks = json.loads(plan.out)["remarks"]
    assert any("for the intended uses" in line and "race" in line for line in remarks), remarks
    run = hedgerow("run", job, "--yes", "--json")
    assert run.code == 0, run.err
    release = Path(json.loads(run.out)["release"])
    asked = [set(m.question.columns) for _, m in measurements.load(release / "measurements.parquet")]
    assert {"race", "sex_area"} in asked  # sex and area are joined
    (tmp_path / "secret.csv").unlink()
    public = tmp_path / "public.csv"
    drawn = sample(release, tmp_path, copies=2, seed=0, public=public if public.exists() else None)
    assert len(drawn.records) == 2


PREDICTION = """
[[use]]
name = "sex from pay"
kind = "prediction"
of = "sex"
values = ["F"]
tolerance = 0.2
"""


def earners(n: int, seed: int) -> pl.DataFrame:
    """Women are nearly always in the lower two bins of pay."""
    rng = np.random.default_rng(seed)
    women = rng.random(n) < 0.5
    pay = np.where(women ^ (rng.random(n) < 0.1), rng.integers(0, 20, n), rng.integers(20, 40, n))
    area = np.array(["n", "s"])[rng.integers(0, 2, n)]
    race = np.array(list("ABC"))[rng.integers(0, 3, n)]
    return pl.DataFrame(
        {"sex": np.where(women, "F", "M"), "race": race, "pay": pay, "area": area, "id": [f"p{i}" for i in range(n)]}
    )


def test_a_prediction_is_planned_rehearsed_measured_and_judged(tmp_path: Path, hedgerow: Command) -> None:
    job = JOBS["public_blend"](tmp_path, PERSON, delta="1e-6")
    earners(1500, 1).write_csv(tmp_path / "secret.csv")
    earners(1500, 2).drop("id").write_csv(tmp_path / "public.csv")
    job.write_text(re.sub(r"epsilon = .*", "epsilon = 20", job.read_text("utf-8")) + PREDICTION, "utf-8")
    planned = json.loads(hedgerow("plan", job, "--json").out)
    assert any("for prediction, more of the budget" in line and "sex" in line for line in planned["remarks"])
    rehearsed = hedgerow("rehearse", job, "--epsilons", "20", "--runs", 2, "--workers", 1)
    assert rehearsed.code == 0, rehearsed.out + rehearsed.err
    assert "sex from pay" in rehearsed.out and "within it in all runs" in rehearsed.out
    run = hedgerow("run", job, "--yes", "--json")
    assert run.code == 0, run.err
    release = Path(json.loads(run.out)["release"])
    assert hedgerow("verify", release).code == 0
    *_, judged = exact_uses(Job.load(job), release, np.random.default_rng(0)).reveal()
    assert judged.verdict.word == "met"
    assert 0.8 < judged.true[0] < 1, "the AUC of the confidential rows themselves"
    assert "of AUC lost by a model trained on the file; allowed: 0.2" in judged.verdict.in_words
