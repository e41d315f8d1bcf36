"""Every command of the tutorials and how-to guides works as it stands, on simulated tables of the shape they name."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hedgerow.cli.main import app
from hedgerow.simulate.personnel import personnel, personnel_schema
from tests.postgres import new_database, running_server

pytestmark = pytest.mark.usefixtures("short_forecasts")
DOCS = Path(__file__).parents[2] / "docs"
GUIDES = [*sorted(DOCS.glob("tutorial*.md")), *sorted((DOCS / "howto").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ROWS = 1500


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    made = personnel(rows=ROWS, seed=1)
    for name in ("public", "confidential", "target"):
        getattr(made, name).write_parquet(folder / f"{name}.parquet")
    (folder / "schema.toml").write_text(personnel_schema(), "utf-8")
    return folder


@pytest.mark.parametrize("guide", [g for g in GUIDES if "```sh\n" in g.read_text("utf-8")], ids=lambda g: g.stem)
def test_the_commands_of_a_guide_work(
    guide: Path, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for table in tables.iterdir():
        shutil.copy(table, tmp_path)  # no link: guides write a schema of their own
    monkeypatch.chdir(tmp_path)
    for language, text in BLOCK.findall(guide.read_text("utf-8")):
        named = re.match(r"# ([\w.-]+)\n", text)
        if language == "sh":
            for line in text.splitlines():
                assert exit_code(shlex.split(line, comments=True)) == 0, line
        elif named:
            (tmp_path / named[1]).write_text(text if language == "toml" else text[named.end() :], "utf-8")


def exit_code(words: list[str]) -> int:
    """Of a line as a user types it; the program itself runs in this process, which saves its imports.

    5 of a forecast says that a use is expected to be missed, which on tables as small as these is no fault.
    """
    if words[0] == "hedgerow":
        try:
            code = int(app(words[1:], standalone_mode=False) or 0)
        except SystemExit as end:
            code = int(end.code or 0)
        return 0 if code == 5 and words[1] in ("plan", "rehearse") else code
    return subprocess.run([sys.executable, *words[1:]], capture_output=True, check=False, timeout=120).returncode


def test_the_guide_of_an_office_ledger_works_on_a_real_server(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guide's lines with the address of a server that is there, and its GRANT for a role that owns nothing."""
    psycopg = pytest.importorskip("psycopg")
    text = (DOCS / "howto/office-ledger.md").read_text("utf-8")
    for table in tables.iterdir():
        shutil.copy(table, tmp_path)  # no link: guides write a schema of their own
    counts = (DOCS / "howto/counts.md").read_text("utf-8")
    (tmp_path / "job.toml").write_text(next(body for kind, body in BLOCK.findall(counts) if kind == "toml"), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("HEDGEROW_LEDGER", raising=False)
    with running_server() as server:
        own = new_database(server)
        clerk = own.replace("steward@", "clerk@")
        assert exit_code(["hedgerow", "ledger", "cap", "personnel", "--epsilon", "2", "--new", "--url", own]) == 0
        grant = next(body for kind, body in BLOCK.findall(text) if kind == "sql").replace("steward", "clerk")
        with psycopg.connect(own) as db:
            db.execute("CREATE ROLE clerk LOGIN")
            db.execute(f"GRANT USAGE ON SCHEMA {own.rpartition('%3D')[2]} TO clerk")
            db.execute(grant)
        line = next(x for x in text.splitlines() if x.startswith("hedgerow ledger use"))
        words = shlex.split(line, comments=True)
        assert exit_code([*words[:-1], clerk]) == 0
        for said in ("hedgerow run job.toml --yes", "hedgerow ledger show", "hedgerow ledger verify"):
            assert exit_code(said.split()) == 0, said
        with psycopg.connect(clerk) as db:
            db.execute("DELETE FROM hedgerow_entries")  # a rule of the table turns it into nothing
            known = db.execute("SELECT count(*) FROM hedgerow_entries").fetchone()
            assert known and known[0] > 3, "it was booked there, and stays"
        with psycopg.connect(clerk) as db, pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("TRUNCATE hedgerow_entries")
