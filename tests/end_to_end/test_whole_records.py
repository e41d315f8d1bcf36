"""What every recipe for whole records must have: sampling later without the data, progress, a memory refusal."""

import json
from pathlib import Path

import polars as pl
import pytest

from hedgerow.api.job import Job
from hedgerow.public.files import Source
from hedgerow.release import measurements
from tests.end_to_end.conftest import ROWS, Command
from tests.privacy.recipe_world import JOBS
from tests.privacy.watch import Tape, watched
from tests.privacy.world import PERSON, frame

ONE_OF_EACH = ["dpsyn, one_way, repaired", "dpsyn, two_way, paper", "tree_blend", "public_blend"]


@pytest.fixture(params=ONE_OF_EACH)
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    frame(ROWS).write_csv(tmp_path / "secret.csv")
    return JOBS[request.param](tmp_path, PERSON, delta="1e-6")


def test_a_release_is_sampled_later_without_the_data(
    job: Path, hedgerow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = hedgerow("run", job, "--yes", "--json")
    assert run.code == 0, run.err
    release = Path(json.loads(run.out)["release"])
    (job.parent / "secret.csv").unlink()
    (job.parent / "ledger.db").unlink()
    opened: list[str] = []
    read = Source.batches

    def noted(self: Source, *args: object) -> object:
        opened.append(self.name)
        return read(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Source, "batches", noted)
    public = job.parent / "public.csv"
    more = ["--public", public] if public.exists() else []
    sampled = hedgerow("sample", release, "--seed", 0, *more)
    assert sampled.code == 0, sampled.err
    assert set(opened) <= {str(public)}, "something else than the bundle and the public table was read"
    (copy,) = release.with_name("release-copies").glob("*.parquet")
    assert pl.read_parquet(copy).equals(pl.read_parquet(release / "records.parquet")), "same seed, same records"


def test_the_bundle_holds_every_noisy_answer_and_nothing_more_of_the_table(job: Path) -> None:
    tape = Tape()
    public = list(job.parent.glob("public.csv"))
    with watched(tape, play=False, public=public):
        release = Job.load(job).run().folder
    saved = [m.counts.tolist() for _, m in measurements.load(release / "measurements.parquet")]
    assert saved == [c.tolist() for c in tape.counts]


def test_long_work_says_what_it_does_in_public_words(job: Path) -> None:
    said: list[str] = []
    Job.load(job).run(watch=said.append)
    assert said[0] == "checking the job and its public tables"
    assert any(line.startswith("request 1: counting measure ") for line in said)
    assert "request 1 is answered and saved; working on what it says" in said
    assert [said[-3], said[-1]] == ["drawing synthetic data", "writing the release"]


def test_a_plan_that_does_not_fit_is_refused_before_anything_is_read(job: Path, hedgerow: Command) -> None:
    job.write_text(job.read_text("utf-8").replace("[job]", "[job]\nmemory_gb = 0.1"), "utf-8")
    for command in (("plan", job), ("run", job, "--yes")):
        with watched(Tape(), play=False, public=list(job.parent.glob("public.csv"))) as requests:
            refused = hedgerow(*command)
        assert refused.code == 2, refused.out
        assert "GB of memory" in refused.err
        assert "fewer bins or values: sex_area" in refused.err or "fewer bins or values: race" in refused.err
        assert "nothing was spent" in refused.err
        assert requests[0].steps == []
        assert len(requests) == 1
        assert not (job.parent / "ledger.db").exists()
