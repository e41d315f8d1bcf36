"""The whole road as a steward walks it: plan, run, verify, sample, ledger; a crash on the way."""

import json
from pathlib import Path

import polars as pl
import pytest

from hedgerow import pipeline
from hedgerow.private import noise
from hedgerow.private.rows import ConfidentialRows
from tests.end_to_end.conftest import Command


def test_plan_run_verify_sample_and_ledger(hedgerow: Command, job: Path) -> None:
    plan = hedgerow("plan", job, "--json")
    assert plan.code == 0, plan.err
    assert json.loads(plan.out)["confidential_rows_read"] == 0
    assert not (job.parent / "ledger.db").exists(), "a plan must not touch the ledger"

    run = hedgerow("run", job, "--yes", "--json")
    assert run.code == 0, run.err
    release = Path(json.loads(run.out)["release"])
    assert "promises epsilon 1.5 for one person with at most 2 rows" in run.err
    assert {"records.parquet", "records.csv", "statement.json", "measurements.parquet", "MANIFEST.json"} <= {
        p.name for p in release.iterdir()
    }
    assert not release.with_name("release.run").exists(), "the journal is cleared away"

    assert hedgerow("verify", release).code == 0
    sample = hedgerow("sample", release, "--copies", 2, "--seed", 5)
    assert sample.code == 0, sample.err
    copies = sorted(release.with_name("release-copies").glob("*.parquet"))
    assert len(copies) == 2
    assert pl.read_parquet(copies[0]).columns == pl.read_parquet(release / "records.parquet").columns
    assert hedgerow("verify", release).code == 0, "sampling must not touch the release"

    book = hedgerow("ledger", "show", "--url", job.parent / "ledger.db", "--json")
    assert book.code == 0
    assert "toy" in book.out
    assert hedgerow("ledger", "verify", "--url", job.parent / "ledger.db").code == 0


def test_the_copies_of_a_seed_are_always_the_same(hedgerow: Command, job: Path) -> None:
    hedgerow("run", job, "--yes")
    release = job.parent / "release"
    one, two = (pipeline.sample(release, copies=1, seed=3).records[0] for _ in range(2))
    assert one.equals(two)
    assert not one.equals(pipeline.sample(release, copies=1, seed=4).records[0])


def test_a_second_run_does_not_write_over_the_first(hedgerow: Command, job: Path) -> None:
    assert hedgerow("run", job, "--yes").code == 0
    again = hedgerow("run", job, "--yes")
    assert again.code == 2
    assert "not empty" in again.err
    assert "nothing was spent" in again.err


def test_a_cap_that_is_used_up_refuses_before_reading(
    hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = job.parent / "ledger.db"
    assert hedgerow("ledger", "cap", "toy", "--epsilon", "2", "--url", url).code == 0
    assert hedgerow("run", job, "--yes").code == 0

    def never(*args: object) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr(ConfidentialRows, "_kept", never)
    refused = hedgerow("run", job, "--yes", "--out", job.parent / "second")
    assert refused.code == 4
    assert "0.5 of 2 is left" in refused.err
    assert "No confidential row was read" in refused.err
    assert not (job.parent / "second").exists()
    assert not (job.parent / "second.run").exists()


def test_a_crash_after_the_answers_is_resumed_at_no_cost(
    hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "draw_copies", lambda *a, **k: (_ for _ in ()).throw(MemoryError("crash")))
        with pytest.raises(MemoryError):
            hedgerow("run", job, "--yes")
    paid = _spends(hedgerow, job)
    assert hedgerow("run", job, "--yes").code == 2, "a new run must not be started by mistake"

    def never(*args: object) -> None:
        raise AssertionError("rows were read again")

    monkeypatch.setattr(ConfidentialRows, "_kept", never)
    resumed = hedgerow("run", job, "--yes", "--resume")
    assert resumed.code == 0, resumed.err
    assert _spends(hedgerow, job) == paid
    assert hedgerow("verify", job.parent / "release").code == 0


def test_a_crash_while_counting_is_resumed_at_no_cost(
    hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ConfidentialRows, "count", lambda *a: (_ for _ in ()).throw(MemoryError("crash")))
        with pytest.raises(MemoryError):
            hedgerow("run", job, "--yes")
    paid = _spends(hedgerow, job)
    assert len(paid) == 1
    assert hedgerow("run", job, "--yes", "--resume").code == 0
    assert _spends(hedgerow, job) == paid


def test_a_crash_once_noise_was_drawn_must_be_paid_again(
    hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(noise, "draw", lambda *a: (_ for _ in ()).throw(MemoryError("crash")))
        with pytest.raises(MemoryError):
            hedgerow("run", job, "--yes")
    refused = hedgerow("run", job, "--yes", "--resume")
    assert refused.code == 4, "an answer may exist: taking it again for free would be a second draw"


def test_answers_left_behind_by_another_run_are_not_used(
    hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "draw_copies", lambda *a, **k: (_ for _ in ()).throw(MemoryError("crash")))
        with pytest.raises(MemoryError):
            hedgerow("run", job, "--yes")
    (job.parent / "release.run" / "run.json").unlink()  # clearing away was cut short
    assert hedgerow("run", job, "--yes").code == 0
    assert len(_spends(hedgerow, job)) == 2, "the new run must ask for itself"


def test_resume_refuses_another_job(hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "draw_copies", lambda *a, **k: (_ for _ in ()).throw(MemoryError("crash")))
        with pytest.raises(MemoryError):
            hedgerow("run", job, "--yes")
    job.write_text(job.read_text().replace("epsilon = 1.5", "epsilon = 1.4"))
    refused = hedgerow("run", job, "--yes", "--resume")
    assert refused.code == 2
    assert "another job file" in refused.err


def test_a_plan_that_misses_a_tolerance_says_so_and_exits_5(hedgerow: Command, job: Path) -> None:
    text = (
        job.read_text()
        .replace("[budget]", "assumed_rows = 100\n[budget]")
        .replace("tolerance = 0.05", "tolerance = 0.0001")
    )
    job.write_text(text)
    plan = hedgerow("plan", job)
    assert plan.code == 5
    assert "EXPECTED TO BE MISSED" in plan.out


def test_without_a_terminal_or_yes_nothing_is_spent(hedgerow: Command, job: Path) -> None:
    asked = hedgerow("run", job)
    assert asked.code == 2
    assert "--yes" in asked.err
    assert not _spends(hedgerow, job)


def _spends(hedgerow: Command, job: Path) -> list[str]:
    shown = hedgerow("ledger", "show", "--url", job.parent / "ledger.db", "--json")
    entries = json.loads(shown.out)
    rows = entries["entries"] if isinstance(entries, dict) else entries
    return [json.dumps(e, sort_keys=True) for e in rows if e["kind"] == "spend"]
