"""What docs/formats.md promises: jobs, bundles and ledgers of every past format are read."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from hedgerow import __version__
from hedgerow.api.job import Job
from hedgerow.api.release import Release
from tests.end_to_end.conftest import Command

PAST = Path(__file__).parents[1] / "fixtures" / "formats"
BUNDLES = sorted(p.name for p in PAST.iterdir() if p.is_dir())


@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_of_a_past_version_opens_and_nothing_in_it_fails(hedgerow: Command, name: str) -> None:
    version = name.rpartition("-")[2]
    assert version != __version__
    release = Release.read(PAST / name)
    assert release.statement.version == version and float(release.statement.budget.epsilon) == 1
    frame = release.counts if "counts" in name else release.records
    assert frame is not None and frame.height > 0
    done = hedgerow("verify", PAST / name)
    assert done.code == 7, "nothing failed; pages of another version are not checked\n" + done.out
    assert "FAILED" not in done.out and "Pages not checked" in done.out
    for line in ("files are those of the manifest", "statement follows from its events", "costs keep the promise"):
        assert f"ok     {line}" in done.out


def test_more_copies_come_from_a_bundle_of_a_past_version(hedgerow: Command, tmp_path: Path) -> None:
    done = hedgerow("sample", PAST / "records-0.1.0", "--copies", 2, "--seed", 4, "--out", tmp_path / "copies")
    assert done.code == 0, done.err
    for file in sorted((tmp_path / "copies").iterdir()):
        assert pl.read_parquet(file).columns == ["sex", "age", "group"]


def test_a_job_of_a_past_version_is_the_same_job(tmp_path: Path) -> None:
    for name in ("job-0.1.0.toml", "schema.toml"):
        shutil.copy(PAST / name, tmp_path / name)
    job = Job.load(tmp_path / "job-0.1.0.toml")
    assert job.recipe.name == "independent" and float(job.budget.epsilon) == 1 and job.uses[0].name == "sex"
    assert job.plan().assumed_rows == 200


def test_a_ledger_of_the_first_format_is_refused_until_it_is_upgraded_and_then_holds_all(
    hedgerow: Command, tmp_path: Path
) -> None:
    shutil.copy(PAST / "ledger-1.db", tmp_path / "ledger.db")
    url = ("--url", tmp_path / "ledger.db")
    refused = hedgerow("ledger", "show", *url)
    assert refused.code != 0 and "ledger upgrade" in refused.err
    assert hedgerow("ledger", "upgrade", *url).code == 0
    told = json.loads(hedgerow("ledger", "show", *url, "--json").out)
    assert "small" in json.dumps(told) and hedgerow("ledger", "verify", *url).code == 0
