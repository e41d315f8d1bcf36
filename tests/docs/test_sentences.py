"""Every command that a sentence of a page names runs, each once over all pages; Python in a block runs as well.

Commands in blocks are typed by ``test_howto.py`` and ``test_reference_commands.py``.  Here are those in backticks:
what is neither the bare name of a command nor in the list of those that cannot run is typed, in a folder with small
tables, with values for words in capitals and options that make it short.  So a page that names a new command has it
run, and fails here if it does not work.
"""

import json
import re
import runpy
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import typer

import hedgerow as hr
from hedgerow.cli.main import app
from tests.docs.test_commands import PAGES, ROOT
from tests.docs.test_howto import exit_code
from tests.docs.test_reference_commands import _PUBLIC, VALUES, job, tables

pytestmark = pytest.mark.usefixtures("short_forecasts")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
SENTENCE = re.compile(r"`(hedgerow [^`]+)`")
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

NAMES = {
    *("compare", "compare --out close.html", "estimate", "interval", "ledger", "plan", "rehearse", "run"),
    *("run --resume", "sample", "sample --replicates", "sign", "steward ...", "steward compare", "steward rates"),
    *("steward report", "verify", "verify-model"),
}
"""Only the name of a command, or of one of its options: it says which, not what to type."""
NOT_RUN = {
    "hedgerow reproduce ce": "test_reproduce.py types it with --quick",
    "hedgerow reproduce dpsyn": "takes a minute: test_reproduce.py makes the page in its quick form",
    "hedgerow reproduce dpsyn --map areas.geojson": "as above: test_reproduce.py reads and draws a map",
    "hedgerow reproduce rdt-2018": "as above",
    "hedgerow reproduce rdt-2019": "as above",
    "hedgerow run job.toml --resume": "needs a run that was killed: test_road.py kills one",
    "hedgerow schema init spark:office.last_year": "starts Spark: test_public_tables.py types it",
    "hedgerow verify release --public spark:office.last_year": "as above",
    "hedgerow doctor": "starts Spark: test_doctor.py types it",
    "hedgerow steward attack JOB.toml": "fits a hundred models and more: test_attack_command.py types it",
    "hedgerow steward rates JOB.toml": "needs a release of trees: test_reproduce.py types it",
    "hedgerow verify-model JOB.toml": "without the model and the claim: test_reference_commands.py types it whole",
}
FOLDERS = {
    "dirichlet.toml": "tabulate-ce",
    "trees.toml": "rdt-2018",
    "choice": "rdt-2019",
    **dict.fromkeys(("choose.toml", "grid-n_b.toml", "grid-race-sex.toml", "grid-sex.toml"), "rdt-2019"),
}
"""The example whose files a command names; the office has all others."""
STAND_INS = VALUES | {
    **{"A": "public.parquet", "B": "synthetic.csv", "PUBLIC.parquet": "public.parquet", "RELEASE": "release"},
    **{"OTHER": "release", "JOB.toml": "job.toml", "DIR": "release", "LEDGER": "ledger.db", "URL": "ledger.db"},
    **{"...": "ledger.db", "NAME": "another", "PUMA,YEAR": "agency,year"},
}
ORDER = ("schema", "plan", "run", "sign", "experiment", "compare", "verify", "ledger")
"""What comes first makes what the others read: a release, a signature, a choice."""
ROWS, ROWS_OF_A_GRID = 600, 200


def named() -> dict[str, set[Path]]:
    """Each command within a sentence, and the pages that name it."""
    found: dict[str, set[Path]] = {}
    for page in PAGES:
        for line in SENTENCE.findall(FENCED.sub("", page.read_text("utf-8"))):
            found.setdefault(" ".join(line.split()), set()).add(page)
    return found


def rank(line: str) -> tuple[int, str]:
    verb = line.split()[1]
    return (ORDER.index(verb) if verb in ORDER else len(ORDER), line)


NAMED = named()
TYPED = sorted((c for c in NAMED if c.removeprefix("hedgerow ") not in NAMES and c not in NOT_RUN), key=rank)


@pytest.fixture(scope="module")
def offices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that pages speak of, and the examples on small tables; a ledger and settings of their own."""
    place = tmp_path_factory.mktemp("offices")
    office = place / "office"
    office.mkdir()
    tables(office, ROWS)
    job(office, "public_blend", more=_PUBLIC)
    text = (office / "job.toml").read_text("utf-8")  # a use that is quick to foretell
    text = text[: text.index("[[use]]")] + '[[use]]\nname = "race"\ncolumns = ["race"]\ntolerance = 0.1\n' + _PUBLIC
    (office / "job.toml").write_text(text, "utf-8")
    shutil.copy(office / "public.csv", office / "old.csv")
    labels = [{"value": "F", "label": "women"}, {"value": "M", "label": "men"}]
    book = {"fields": [{"name": "sex", "type": "string", "categories": labels}]}
    (office / "dictionary.json").write_text(json.dumps(book), "utf-8")
    for name in sorted(set(FOLDERS.values())):
        shutil.copytree(
            ROOT / "examples" / name, place / name, ignore=shutil.ignore_patterns("*.parquet", "release*")
        )
    for grid in (place / "rdt-2019").glob("grid*.toml"):
        grid.write_text(re.sub(r"seeds = \d+", "seeds = 1", grid.read_text("utf-8")), "utf-8")
    with pytest.MonkeyPatch.context() as small:
        small.setenv("ROWS", str(ROWS_OF_A_GRID))
        runpy.run_path(str(place / "rdt-2019/make_tables.py"))
        small.setenv("QUICK", "1")
        runpy.run_path(str(place / "rdt-2018/make_tables.py"))
    return place


@pytest.fixture
def here(offices: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(offices / "config"))
    monkeypatch.delenv("HEDGEROW_LEDGER", raising=False)
    monkeypatch.chdir(offices / "office")
    return offices


def typed(line: str) -> list[str]:
    """A line with values for what the page leaves to the reader, and with its questions answered."""
    words = [STAND_INS.get(w, w) for w in shlex.split(re.sub(r" \[(-[^\]]*|[A-Z]+)\]", r" \1", line))]
    verb = words[1]
    if verb == "run" or "--choose" in words:
        words += ["--yes"] if "--yes" not in words else []
    if verb == "run" and "--no-forecast" not in words:
        words += ["--no-forecast"]
    if "--choose" in words:
        words += ["--runs", "2"]
    if verb == "rehearse":
        words += ["--runs", "2", "--epsilons", "1,2"]
    if verb == "experiment" and "--choose" not in words:
        words += ["--workers", "1"]
    if words[1:3] == ["steward", "compare"] or line == "hedgerow compare A B":
        words += ["--only", "one-way"]
    if verb == "sign":
        words += ["--new-key"]
    if words[1:3] == ["schema", "init"]:
        words += ["--out", f"drafted-{len(words)}.toml"]
    return words


_DONE: set[tuple[Path, str]] = set()


def carry_out(line: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Type a command, unless it has been typed here, after those that make what it reads.

    Tests of one file may come to several processes: each makes what its own need.
    """
    for first in TYPED:
        makes = first.split()[1] in ("run", "sign") or "--choose" in first
        if makes and rank(first) < rank(line) and (here, first) not in _DONE:
            carry_out(first, here, monkeypatch)
    if (here, line) in _DONE:
        return
    words = typed(line)
    monkeypatch.chdir(here / next((FOLDERS[w] for w in words if w in FOLDERS), "office"))
    assert exit_code(words) == 0, (
        f"{shlex.join(words)}, on {', '.join(str(p.relative_to(ROOT)) for p in NAMED[line])}"
    )
    _DONE.add((here, line))


@pytest.mark.parametrize("line", TYPED)
def test_a_command_of_a_sentence_runs(line: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carry_out(line, here, monkeypatch)


@pytest.mark.parametrize("line", sorted(NAMES))
def test_what_is_only_a_name_needs_more_words_and_has_help(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [w for w in line.split() if w != "..."]
    command: Any = typer.main.get_command(app)
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    wants = [p for p in command.params if p.required] or getattr(command, "commands", None)
    assert wants or line == "interval", f"hedgerow {line} is a whole command: take it off the list of names"
    path = [w for w in words if not w.startswith("-") and w != "close.html"]
    assert exit_code(["hedgerow", *path, "--help"]) == 0
    said = {o for p in command.params for o in p.opts}
    assert [w for w in words if w.startswith("--") and w not in said] == []


def test_no_list_has_a_command_that_no_page_names() -> None:
    assert {f"hedgerow {n}" for n in NAMES} | set(NOT_RUN) <= set(NAMED)
    assert len(TYPED) > 30


def python_blocks() -> list[Path]:
    return [p for p in PAGES if p != ROOT / "README.md" and PYTHON.search(p.read_text("utf-8"))]


@pytest.mark.parametrize("page", python_blocks(), ids=lambda p: p.stem)
def test_the_python_of_a_page_runs(page: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carry_out(TYPED[-1], here, monkeypatch)  # after all that makes something
    monkeypatch.chdir(here / "office")
    public = pl.read_parquet("public.parquet").drop("person")
    names: dict[str, Any] = {"hr": hr, "np": np, "rng": np.random.default_rng(0), "public": public, "frame": public}
    names |= {"a": public, "b": public.head(300)}
    for block in PYTHON.findall(page.read_text("utf-8")):
        exec(compile(block, str(page), "exec"), names)
