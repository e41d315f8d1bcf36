"""An intended use in the job is enough: its table is planned and measured, and the release is a saved model."""

import json
import re
from pathlib import Path

import pytest

from hedgerow.release import measurements
from hedgerow.release.sampling import sample
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
