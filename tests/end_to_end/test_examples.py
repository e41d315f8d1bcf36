"""Every example runs as its README says."""

import runpy
import shutil
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Command

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(p.parent.name for p in EXAMPLES.glob("*/job.toml"))


@pytest.mark.usefixtures("short_forecasts")
@pytest.mark.parametrize("name", FOLDERS)
def test_the_example_runs_and_verifies(hedgerow: Command, tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    shutil.copytree(EXAMPLES / name, place, ignore=shutil.ignore_patterns("*.parquet", "release*", "ledger.db"))
    runpy.run_path(str(place / "make_tables.py"))
    assert hedgerow("plan", place / "job.toml").code in (0, 5)
    run = hedgerow("run", place / "job.toml", "--yes")
    assert run.code == 0, run.err
    assert hedgerow("verify", place / "release").code == 0


def test_there_is_an_example() -> None:
    assert "personnel" in FOLDERS


@pytest.mark.parametrize("folder", [EXAMPLES, EXAMPLES.parent / "src/hedgerow/reproduce/jobs"], ids=lambda f: f.name)
def test_an_example_books_in_a_ledger_of_its_own_not_in_the_offices(folder: Path) -> None:
    jobs = {p: tomllib.loads(p.read_text("utf-8")) for p in folder.glob("*/*.toml")}
    jobs = {p: job for p, job in jobs.items() if "budget" in job}
    assert jobs
    assert [p for p, job in jobs.items() if job.get("ledger") != {"url": "ledger.db"}] == []


@pytest.mark.usefixtures("short_forecasts")
def test_the_demo_runs_in_an_empty_folder_and_again_with_force(
    hedgerow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for options in ([], ["--force"]):
        if options:  # the road once more, with a shorter rehearsal
            monkeypatch.setattr("hedgerow.cli.demo._RUNS", 2)
            monkeypatch.setattr("hedgerow.cli.demo._EPSILONS", (Fraction(1),))
        done = hedgerow("demo", tmp_path / "demo", "--rows", 2000, *options)
        assert done.code == 0, done.err
        assert "the release holds" in done.out
        assert f"hedgerow studio {tmp_path / 'demo'}" in done.out
    refused = hedgerow("demo", tmp_path / "demo", "--rows", 2000)
    assert refused.code == 2
    assert "--force" in refused.err
