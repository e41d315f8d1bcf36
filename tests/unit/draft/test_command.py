"""``hedgerow schema init`` and ``check``, as typed."""

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from hedgerow.cli.schema import app
from hedgerow.errors import JobError, SchemaError, TableMismatch
from hedgerow.public.schema import Schema


@pytest.fixture
def public(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"id": range(200), "sex": ["F", "M"] * 100, "pay": range(20_000, 60_000, 200)}).write_csv("old.csv")
    return tmp_path / "old.csv"


def test_init_writes_a_schema_and_says_what_to_type_next(public: Path) -> None:
    done = CliRunner().invoke(app, ["init", "old.csv"])
    assert done.exit_code == 0 and done.stdout == ""
    assert "Left out 1: id (identifier)" in done.stderr
    assert "hedgerow schema check schema.toml old.csv" in done.stderr
    text = Path("schema.toml").read_text()
    assert "PUBLIC" in text and "old.csv" in text and "sha256" in text
    assert [c.name for c in Schema.load("schema.toml").columns] == ["sex", "pay"]
    again = CliRunner().invoke(app, ["check", "schema.toml", "old.csv"])
    assert again.exit_code == 0 and "The schema reads well: 2 columns" in again.stdout


def test_init_does_not_write_over_work_without_force(public: Path) -> None:
    Path("schema.toml").write_text("mine")
    refused = CliRunner().invoke(app, ["init", "old.csv"])
    assert isinstance(refused.exception, JobError) and "--force" in str(refused.exception)
    assert Path("schema.toml").read_text() == "mine"
    assert CliRunner().invoke(app, ["init", "old.csv", "--force"]).exit_code == 0
    assert Path("schema.toml").read_text() != "mine"
    assert CliRunner().invoke(app, ["init", "old.csv", "--out", "other.toml"]).exit_code == 0
    assert Path("other.toml").exists()


def test_init_can_write_to_stdout(public: Path) -> None:
    done = CliRunner().invoke(app, ["init", "old.csv", "--out", "-"])
    assert Schema.loads(done.stdout).columns and not Path("schema.toml").exists()


def test_init_in_a_folder_that_is_not_there_says_so(public: Path) -> None:
    refused = CliRunner().invoke(app, ["init", "old.csv", "--out", "nowhere/schema.toml"])
    assert isinstance(refused.exception, JobError) and "Cannot write" in str(refused.exception)


def test_check_shows_what_does_not_fit(public: Path) -> None:
    CliRunner().invoke(app, ["init", "old.csv"])
    pl.DataFrame({"sex": ["F", "X", "M", None], "pay": [20_000, 10, 30_000, None]}).write_csv("new.csv")
    done = CliRunner().invoke(app, ["check", "schema.toml", "new.csv", "--json"])
    sex, pay = json.loads(done.stdout)["columns"]
    assert (sex["rows"], sex["missing"], sex["outside"]) == (4, 1, 1)
    assert (pay["missing"], pay["clamped"]) == (1, 1)


def test_check_refuses_a_table_that_is_another(public: Path) -> None:
    CliRunner().invoke(app, ["init", "old.csv"])
    pl.DataFrame({"sex": ["a", "b", "c"], "pay": [20_000, 30_000, 40_000]}).write_csv("new.csv")
    bad = CliRunner().invoke(app, ["check", "schema.toml", "new.csv"])
    assert isinstance(bad.exception, TableMismatch) and "a value of sex that" in str(bad.exception)
    pl.DataFrame({"sex": ["F"]}).write_csv("new.csv")
    assert isinstance(CliRunner().invoke(app, ["check", "schema.toml", "new.csv"]).exception, TableMismatch)


def test_check_names_line_and_cure_of_a_wrong_schema(public: Path) -> None:
    Path("schema.toml").write_text('[columns.sex]\nkind = "categoric"\n')
    bad = CliRunner().invoke(app, ["check", "schema.toml"])
    assert isinstance(bad.exception, SchemaError) and "schema.toml:2" in str(bad.exception)
    gone = CliRunner().invoke(app, ["check", "absent.toml"])
    assert isinstance(gone.exception, SchemaError)


def test_check_alone_shows_the_cells(public: Path) -> None:
    Path("s.toml").write_text('[columns.pay]\nkind = "integer"\nbins = { quantiles = 5 }\n')
    done = CliRunner().invoke(app, ["check", "s.toml"])
    assert done.exit_code == 0 and "still takes from a public table" in done.stdout
