"""Names, labels and titles that are meant to do harm: at a terminal, on a page, in a file; every kind of job."""

import csv
import os
import pty
import re
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from threading import Thread

import numpy as np
import polars as pl
import pytest

from hedgerow.api.job import Job
from hedgerow.cli.main import main
from tests.holding import assert_holds
from tests.unit.release.tampering import failed, rehash

pytestmark = pytest.mark.usefixtures("short_forecasts")
PAY, SEX, AREA, GRADE = "pay [/month]", "sex\x1b]0;owned\x07", "area\nline", "=grade"
LABELS = [
    *("=1+2", "+x", "-y", "@z", "-9", "line\nend", "cr\rx", "\x1b[31mred", "bell\x07", "\u202eyap"),
    *("[/dim]", "[bold]b", 'a,b"q', "<script>x</script>", "`x`|y", "\x9b2J"),
]
ACTS = re.compile(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]|\x1b(?!\[[0-9;?]*[a-zA-Z])")
"""What must not reach a terminal: anything that acts but the progress' own colours and cursor moves."""

JOB = """
[job]
title = "A [/b] title \\u001b[31m and \\u202e more"
{job}
[schema]
file = "schema.toml"
[confidential]
table = "confidential.parquet"
name = "na[/dim]me"
{confidential}
[public]
table = "public.parquet"
provenance = "so [/] it\\u001b]2;is\\u0007\\nsaid"
{target}
[budget]
epsilon = 4
[[use]]
name = "use [/red] \\u001b[1m of\\nit"
columns = ["pay [/month]"]
tolerance = 0.001
"""
GIVEN = 'relation = "label-change"\npublic_columns = ["sex\\u001b]0;owned\\u0007", "area\\nline", "=grade"]'
KINDS = {
    "records": {"job": "", "confidential": "", "target": ""},
    "attach": {"job": "", "confidential": GIVEN, "target": '[target]\ntable = "target.parquet"'},
    "counts": {
        "job": 'recipe = "integer_counts"\n[integer_counts]\ncolumns = ["pay [/month]", "=grade"]',
        "confidential": "",
        "target": "",
    },
    "draws": {
        "job": 'recipe = "dirichlet_multinomial"\n[dirichlet_multinomial]\ncolumns = ["pay [/month]"]\nsize = 300',
        "confidential": "",
        "target": "",
    },
}


def hostile_job(folder: Path, kind: str, job: str = "") -> Path:
    """A job of a kind whose every name is hostile."""
    rng, n = np.random.default_rng(1), 300
    frame = pl.DataFrame(
        {
            PAY: [LABELS[i % len(LABELS)] for i in range(n)],
            SEX: rng.choice(["F", "M"], n),
            AREA: rng.choice(["n", "s"], n),
            GRADE: rng.choice(["1", "2", "3"], n),
        }
    )
    frame.write_parquet(folder / "public.parquet")
    frame.sample(n, with_replacement=True, seed=2).write_parquet(folder / "confidential.parquet")
    frame.drop(PAY).write_parquet(folder / "target.parquet")
    quoted = ", ".join('"' + "".join(f"\\u{ord(c):04x}" for c in label) + '"' for label in LABELS)
    (folder / "schema.toml").write_text(
        f'[columns."{PAY}"]\nkind = "categorical"\nvalues = [{quoted}]\nmissing = true\n'
        '[columns."sex\\u001b]0;owned\\u0007"]\nkind = "categorical"\nvalues = ["F", "M"]\nother = "M"\n'
        '[columns."area\\nline"]\nkind = "categorical"\nvalues = ["n", "s"]\nother = "s"\n'
        f'[columns."{GRADE}"]\nkind = "ordered"\nvalues = ["1", "2", "3"]\nother = "3"\n',
        "utf-8",
    )
    said = KINDS[kind] | {"job": f"{job}\n{KINDS[kind]['job']}"}
    (folder / "job.toml").write_text(JOB.format(**said), "utf-8")
    return folder / "job.toml"


def at_a_terminal(monkeypatch: pytest.MonkeyPatch, *args: object) -> tuple[int, str]:
    """The exit code of a command at a pseudo-terminal, and all that it wrote there."""
    ours, theirs = pty.openpty()
    written = bytearray()

    def listen() -> None:
        with suppress(OSError):  # the other end is closed
            while part := os.read(ours, 1 << 16):
                written.extend(part)

    listener = Thread(target=listen)
    listener.start()
    with monkeypatch.context() as here, open(theirs, "w+b", buffering=0) as raw:
        for name in ("stdin", "stdout", "stderr"):
            here.setattr(sys, name, TextIOWrapper(raw, "utf-8", write_through=True))
        here.setattr(sys, "argv", ["hedgerow", *map(str, args)])
        code: object = 0
        try:
            main()
        except SystemExit as done:
            code = done.code or 0
        for name in ("stdin", "stdout", "stderr"):
            getattr(sys, name).detach()
    listener.join(10)
    os.close(ours)
    assert isinstance(code, int)
    return code, written.decode("utf-8").replace("\r", "")


@pytest.fixture(scope="module", params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, str, int]:
    """A job of each kind that was run at a terminal: its kind, its file, what was seen, the exit code."""
    folder = tmp_path_factory.mktemp(request.param)
    job = hostile_job(folder, request.param, 'formats = ["csv", "dta", "sav", "arrow", "xpt"]')
    with pytest.MonkeyPatch.context() as patch:
        code, seen = at_a_terminal(patch, "run", job, "--yes")
    return request.param, job, seen, code


def acting(text: str) -> list[str]:
    """Where a text acts."""
    return [text[max(0, m.start() - 30) : m.end() + 9] for m in ACTS.finditer(text)]


def test_a_run_at_a_terminal_shows_names_as_letters(made: tuple[str, Path, str, int]) -> None:
    _, _, seen, code = made
    assert code == 0, seen
    assert acting(seen) == [] and "Traceback" not in seen


def test_every_command_at_a_terminal_shows_names_as_letters(
    made: tuple[str, Path, str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, job, _, _ = made
    look = "table" if kind in ("counts", "draws") else "report"
    for command in (
        ["plan", job],
        ["verify", job.parent / "release"],
        ["steward", look, job],
        ["ledger", "show", "--url", job.parent / "ledger.db"],
        ["schema", "check", job.parent / "schema.toml", job.parent / "public.parquet"],
    ):
        code, seen = at_a_terminal(monkeypatch, *command)
        assert code == (5 if command[0] == "plan" else 0), seen
        assert acting(seen) == [], command
        if command[0] == "plan":
            assert "pay [/month]" in seen and "use [/red] \\u001b[1m of\\nit" in seen, "shown, and not obeyed"


def test_no_name_acts_on_a_page(made: tuple[str, Path, str, int]) -> None:
    release = made[1].parent / "release"
    for name in ("report.html", "codebook.html", "DATACARD.md", "privacy-statement.md"):
        text = (release / name).read_text("utf-8")
        assert acting(text) == [] and "\x1b" not in text, name
        assert "<script>x" not in text


def test_a_release_with_ends_of_lines_in_its_labels_holds(made: tuple[str, Path, str, int]) -> None:
    assert_holds(made[1].parent / "release")


def test_the_card_says_which_cells_a_spreadsheet_would_carry_out(made: tuple[str, Path, str, int]) -> None:
    card = (made[1].parent / "release" / "DATACARD.md").read_text("utf-8")
    assert "begin with =, +, - or @ and stand in the CSV files as they are" in card
    assert 'csv = "spreadsheet"' in card


@pytest.mark.parametrize("kind", ["records", "counts"])
def test_csv_files_for_spreadsheets_have_no_formula_and_no_line_end_and_hold(tmp_path: Path, kind: str) -> None:
    release = Job.load(hostile_job(tmp_path, kind, 'csv = "spreadsheet"')).run(forecast=False).folder
    assert_holds(release)
    name = "records" if kind == "records" else "counts"
    exact = pl.read_parquet(release / f"{name}.parquet")
    lines = (release / f"{name}.csv").read_text("utf-8").split("\n")
    assert len(lines) == len(exact) + 2, "a line is a row"
    for row in csv.reader(lines):
        assert [c for c in row if c[:1] in ("=", "+", "@") or re.match(r"-[^0-9]", c)] == []
    safe = pl.read_csv(release / f"{name}.csv", infer_schema=False)
    assert safe[PAY].to_list() == [_as_safe(v) for v in exact[PAY]]
    assert f"'{GRADE}" in safe.columns
    assert "an apostrophe stands before a cell" in (release / "DATACARD.md").read_text("utf-8")


def _as_safe(value: str) -> str:
    flat = re.sub(r"[\r\n]+", " ", value)
    return f"'{flat}" if value[:1] in ("=", "+", "-", "@") and value != "-9" else flat


def test_a_changed_cell_of_a_csv_file_is_seen(tmp_path: Path) -> None:
    release = Job.load(hostile_job(tmp_path, "records")).run(forecast=False).folder
    file = release / "records.csv"
    file.write_text(file.read_text("utf-8").replace("+x", "+y", 1), "utf-8")
    rehash(release)
    assert "tables lie inside the schema" in failed(release)
