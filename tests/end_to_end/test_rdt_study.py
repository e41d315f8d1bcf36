"""The papers' study runs as its README says, on smaller tables."""

import json
import runpy
import shutil
from pathlib import Path

import polars as pl
import pytest

from tests.end_to_end.conftest import Command

EXAMPLE = Path(__file__).parents[2] / "examples" / "rdt-2019"


def test_the_papers_study_runs_and_judges_every_finding(
    hedgerow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "rdt-2019"
    shutil.copytree(EXAMPLE, place, ignore=shutil.ignore_patterns("*.parquet", "study", "schema.toml"))
    monkeypatch.setenv("ROWS", "3000")
    runpy.run_path(str(place / "make_tables.py"))
    with monkeypatch.context() as here:
        here.chdir(place)
        chosen = hedgerow("experiment", "choose.toml", "--choose", "--epsilon", 2, "--runs", 2, "--yes")
        assert chosen.code == 0 and "epsilon 2; in the ledger" in chosen.out, chosen.err
        assert hedgerow("verify", "choice").code == 0
    grid = place / "grid.toml"
    grid.write_text(grid.read_text("utf-8").replace("seeds = 4", "seeds = 1"), "utf-8")
    (place / "confidential.parquet").unlink()
    done = hedgerow("experiment", grid, "--workers", 1, "--json")
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert said["cells"] == 24 and said["cost"] == 0 and said["runs_refused"] == 0
    assert len(said["findings"]) == 9 and all(f["figures"] for f in said["findings"])
    assert said["effects"][0]["factors"] == 1
    table = pl.read_parquet(place / "study" / "results.parquet")
    assert table.height == 24 * 5 * 4 and set(table["at"]) == {"1988", "1996", "2003", "2011"}
    assert len(list((place / "study" / "figures").glob("*.svg"))) == 5
    assert "Which findings held" in (place / "study" / "README.md").read_text("utf-8")
