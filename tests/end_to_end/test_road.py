"""The whole road as a steward walks it: plan, run, verify, sample, ledger; a crash on the way."""

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hedgerow import pipeline
from hedgerow.api.job import Job
from hedgerow.errors import VerifyFailed
from hedgerow.ledger.book import Ledger
from hedgerow.pipeline import PreparedJob
from hedgerow.private import noise
from hedgerow.private.local import LocalCounter
from hedgerow.private.rows import ConfidentialRows
from hedgerow.release import sampling
from hedgerow.release.bundle import BundleReader
from hedgerow.run_gate import Journal
from hedgerow.steward import ledger_book
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


def test_a_plan_in_json_says_what_the_cap_leaves(hedgerow: Command, job: Path) -> None:
    assert json.loads(hedgerow("plan", job, "--json").out)["cap"] is None
    url = job.parent / "ledger.db"
    hedgerow("ledger", "cap", "toy", "--epsilon", "2", "--new", "--url", url)
    told = json.loads(hedgerow("plan", job, "--json").out)["cap"]
    assert told == {"epsilon_left": 2.0, "epsilon_left_after": 0.5, "admitted": True}
    hedgerow("ledger", "cap", "toy", "--epsilon", "1", "--url", url)
    assert not json.loads(hedgerow("plan", job, "--json").out)["cap"]["admitted"]


def test_the_copies_of_a_seed_are_always_the_same(hedgerow: Command, job: Path) -> None:
    hedgerow("run", job, "--yes")
    release = job.parent / "release"
    one, two = (sampling.sample(release, job.parent, copies=1, seed=3).records[0].read() for _ in range(2))
    assert one.equals(two)
    assert not one.equals(sampling.sample(release, job.parent, copies=1, seed=4).records[0].read())


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
    assert hedgerow("ledger", "cap", "toy", "--epsilon", "2", "--new", "--url", url).code == 0
    assert hedgerow("run", job, "--yes").code == 0

    def never(*args: object) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr(LocalCounter, "_read", never)
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
        patch.setattr(pipeline, "write_copies", lambda *a, **k: (_ for _ in ()).throw(MemoryError("crash")))
        assert hedgerow("run", job, "--yes").code == 1, "the crash"
    paid = _spends(hedgerow, job)
    assert hedgerow("run", job, "--yes").code == 2, "a new run must not be started by mistake"

    def never(*args: object) -> None:
        raise AssertionError("rows were read again")

    monkeypatch.setattr(LocalCounter, "_read", never)
    resumed = hedgerow("run", job, "--yes", "--resume")
    assert resumed.code == 0, resumed.err
    assert _spends(hedgerow, job) == paid
    assert hedgerow("verify", job.parent / "release").code == 0


def test_a_crash_while_counting_is_resumed_at_no_cost(
    hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ConfidentialRows, "count", lambda *a: (_ for _ in ()).throw(MemoryError("crash")))
        assert hedgerow("run", job, "--yes").code == 1, "the crash"
    paid = _spends(hedgerow, job)
    assert len(paid) == 1
    assert hedgerow("run", job, "--yes", "--resume").code == 0
    assert _spends(hedgerow, job) == paid


@pytest.mark.parametrize(
    "moment", ["while noise is drawn", "before it is saved", "before it is marked", "before the answer"]
)
def test_a_crash_around_the_draw_loses_nothing_and_gives_one_answer(
    hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    mark = Ledger.mark_drawn

    def crash(*args: object, **more: object) -> None:
        raise MemoryError("crash")

    def marked_then_crash(*args: Any) -> None:
        mark(*args)
        crash()

    with monkeypatch.context() as patch:
        if moment == "while noise is drawn":
            patch.setattr(noise, "draw", crash)
        elif moment == "before it is saved":
            patch.setattr(Journal, "keep", crash)
        else:
            patch.setattr(Ledger, "mark_drawn", crash if moment == "before it is marked" else marked_then_crash)
        assert hedgerow("run", job, "--yes").code == 1, "the crash"
    assert (job.parent / "release.run").stat().st_mode & 0o777 == 0o700, "for its owner alone"
    saved = [p.read_bytes() for p in sorted((job.parent / "release.run").glob("answer-*.parquet"))]
    assert bool(saved) == (moment in ("before it is marked", "before the answer"))
    resumed = hedgerow("run", job, "--yes", "--resume")
    assert resumed.code == 0, resumed.err
    entries = _entries(hedgerow, job)
    assert [e["kind"] for e in entries] == ["format", "promise", "spend", "rows", "draw"], "paid once, drawn once"
    answers = pl.read_parquet(job.parent / "release" / "measurements.parquet")
    for once in saved:
        assert pl.read_parquet(once).equals(answers), "a saved answer must not be drawn again"
    assert hedgerow("verify", job.parent / "release", "--ledger", job.parent / "ledger.db").code == 0
    assert sorted(p.name for p in job.parent.iterdir() if "release" in p.name) == ["release"]


def test_an_answer_that_was_not_paid_for_is_not_taken_up(
    hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "write_copies", lambda *a, **k: (_ for _ in ()).throw(MemoryError("crash")))
        assert hedgerow("run", job, "--yes").code == 1, "the crash"
    (file,) = (job.parent / "release.run").glob("answer-*.json")
    file.write_text(file.read_text().replace('"chosen"', ' "chosen"'))
    forged = hedgerow("run", job, "--yes", "--resume")
    assert forged.code == 4 and "has another answer already" in forged.err
    (tables,) = (job.parent / "release.run").glob("answer-*.parquet")
    tables.write_bytes(tables.read_bytes()[:-1] + b"x")
    damaged = hedgerow("run", job, "--yes", "--resume")
    assert damaged.code == 2 and "are damaged" in damaged.err


def test_a_finished_run_says_that_it_is_finished(
    hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "finish", lambda self: (_ for _ in ()).throw(MemoryError("crash")))
        assert hedgerow("run", job, "--yes").code == 1, "the crash"
    before = {p.name: p.read_bytes() for p in (job.parent / "release").iterdir()}
    for left in ("all", "half", "nothing"):  # of its work
        if left == "half":
            (job.parent / "release.run").mkdir()
            (job.parent / "release.run" / "answer-00000.json").write_text("{}")
        again = hedgerow("run", job, "--yes", "--resume")
        assert again.code == 0 and "finished" in again.out and "nothing was spent" in again.out
        assert not (job.parent / "release.run").exists()
    assert {p.name: p.read_bytes() for p in (job.parent / "release").iterdir()} == before


def test_a_second_run_into_the_same_folder_is_kept_out_while_the_first_is_at_work(
    hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock of the operating system: also of another process, and it ends with the process that has it."""
    seen, draw = list[Any](), pipeline.write_copies

    def meanwhile(*args: Any, **more: Any) -> Any:
        code = "import sys; sys.argv[0] = 'hedgerow'; from hedgerow.cli.main import main; main()"
        for words in ([], ["--resume"]):
            command = [sys.executable, "-c", code, "run", str(job), "--yes", *words]
            seen.append(subprocess.run(command, capture_output=True, text=True, check=False))
        return draw(*args, **more)

    monkeypatch.setattr(pipeline, "write_copies", meanwhile)
    assert hedgerow("run", job, "--yes").code == 0
    for other in seen:
        assert other.returncode == 2 and "Another run is at work" in other.stderr, other.stderr
        assert "No confidential row was read and nothing was spent" in other.stderr
    assert [e["kind"] for e in _entries(hedgerow, job)].count("promise") == 1
    assert hedgerow("verify", job.parent / "release").code == 0


def test_what_came_to_stand_in_the_folder_during_a_run_is_not_moved_away(
    hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, draw = job.parent / "release", pipeline.write_copies

    def meanwhile(*args: Any, **more: Any) -> Any:
        release.mkdir()
        (release / "thesis.txt").write_text("years of work")
        return draw(*args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "write_copies", meanwhile)
        refused = hedgerow("run", job, "--yes")
    assert refused.code == 2 and "--resume" in refused.err
    assert (release / "thesis.txt").read_text() == "years of work"
    release.rename(job.parent / "thesis")
    assert hedgerow("run", job, "--yes", "--resume").code == 0
    assert sorted(p.name for p in job.parent.iterdir() if p.name.startswith((".", "release"))) == ["release"]


def test_answers_left_behind_by_another_run_are_not_used(
    hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "write_copies", lambda *a, **k: (_ for _ in ()).throw(MemoryError("crash")))
        assert hedgerow("run", job, "--yes").code == 1, "the crash"
    (job.parent / "release.run" / "run.json").unlink()  # clearing away was cut short
    assert hedgerow("run", job, "--yes").code == 0
    assert len(_spends(hedgerow, job)) == 2, "the new run must ask for itself"


def test_resume_refuses_another_job(hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "write_copies", lambda *a, **k: (_ for _ in ()).throw(MemoryError("crash")))
        assert hedgerow("run", job, "--yes").code == 1, "the crash"
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
    assert not (job.parent / "ledger.db").exists()  # none was even begun


def _entries(hedgerow: Command, job: Path) -> list[dict[str, Any]]:
    shown = hedgerow("ledger", "show", "--url", job.parent / "ledger.db", "--json")
    return list(json.loads(shown.out)["entries"])


def _spends(hedgerow: Command, job: Path) -> list[str]:
    return [json.dumps(e, sort_keys=True) for e in _entries(hedgerow, job) if e["kind"] == "spend"]


def test_ctrl_c_says_how_to_go_on_and_python_keeps_its_keyboard_interrupt(
    hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*args: object, **more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PreparedJob, "forecast", pressed)
        early = hedgerow("run", job, "--yes")
    assert early.code == 130 and "Nothing was booked" in early.err and "--resume" not in early.err
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "write_copies", pressed)
        late = hedgerow("run", job, "--yes", "--out", job.parent / "my release")
        with pytest.raises(KeyboardInterrupt) as stopped:
            Job.load(job).run(job.parent / "other")
    assert "resume=True" in " ".join(stopped.value.__notes__)
    assert late.code == 130
    typed = late.err.splitlines()[-1].strip()
    assert typed.startswith("hedgerow run ") and typed.endswith(" --resume"), late.err
    assert hedgerow(*shlex.split(typed)[1:]).code == 0, "what is printed works as it is printed"
    assert len(_spends(hedgerow, job)) == 2
    with monkeypatch.context() as patch:
        patch.setattr(ledger_book, "show", pressed)
        other = hedgerow("ledger", "show", "--url", job.parent / "ledger.db")
    assert other.code == 130 and "--resume" not in other.err


def test_drawn_requests_that_a_statement_lacks_are_reported(hedgerow: Command, job: Path) -> None:
    assert hedgerow("run", job, "--yes").code == 0
    url, release = job.parent / "ledger.db", job.parent / "release"
    assert hedgerow("verify", release, "--ledger", url).code == 0
    statement = BundleReader(release).statement
    with pytest.raises(VerifyFailed, match=r"1 request more that this run drew .* measure 3 table"):
        ledger_book.booking_of(str(url), replace(statement, spends=()))


def test_plan_and_run_say_which_ledger_it_is_and_whether_it_knows_the_table(
    hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = job.parent / "office" / "ledger.db"
    office.parent.mkdir()
    said = hedgerow("plan", job).out
    assert "cap        none is set on 'toy'\n" in said
    assert f"{job.parent / 'ledger.db'}: it is not there yet" in said and not (job.parent / "ledger.db").exists()
    Ledger.open(str(office))
    monkeypatch.setenv("HEDGEROW_LEDGER", str(office))
    assert f"{office} (the office's): it has never heard of table 'toy'" in hedgerow("plan", job).out
    run = hedgerow("run", job, "--yes")
    assert run.code == 0 and f"{office} (the office's): it has never heard of table 'toy'" in run.err
    assert f"ledger     {office} (the office's)\n" in hedgerow("plan", job).out
    assert hedgerow("ledger", "cap", "toy", "--epsilon", "4").code == 0
    assert "cap        left: epsilon 2.5; after this run 1\n" in hedgerow("plan", job).out  # of 4, 1.5 is promised
    assert hedgerow("ledger", "cap", "toy", "--epsilon", "2").code == 0
    assert "cap        left: epsilon 0.5; this run needs more and will be refused\n" in hedgerow("plan", job).out
    assert not (job.parent / "ledger.db").exists()
    assert str(office) not in (job.parent / "release" / "job.toml").read_text()
    job.write_text(job.read_text() + "[ledger]\nurl = 'own.db'\n")
    assert str(job.parent / "own.db") in hedgerow("plan", job).out, "the job may name another"


@pytest.mark.parametrize("role", ["public", "target"])
def test_a_byte_copy_of_the_confidential_table_is_not_public(hedgerow: Command, job: Path, role: str) -> None:
    (job.parent / "copy.csv").write_bytes((job.parent / "secret.csv").read_bytes())
    job.write_text(job.read_text() + f"[{role}]\ntable = 'copy.csv'\n")
    for command in ("plan", "run"):
        refused = hedgerow(command, job)
        assert refused.code == 2 and "a copy of the confidential table" in refused.err
        assert "nothing was booked or spent" in refused.err
    assert not (job.parent / "ledger.db").exists()
