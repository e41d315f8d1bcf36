"""``hedgerow doctor``, and the word that is said when loops are compiled."""

import ast
import builtins
import io
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from numba import njit
from typer.testing import CliRunner

from hedgerow.cli import doctor, show
from hedgerow.cli.main import app
from hedgerow.ledger.book import Ledger

RUN = CliRunner()


def _findings(*options: str) -> tuple[int, dict[str, Any], dict[str, dict[str, str]]]:
    done = RUN.invoke(app, ["doctor", "--json", *options])
    assert isinstance(done.exception, SystemExit | None), repr(done.exception)
    told = json.loads(done.stdout)
    return done.exit_code, told, {f["what"]: f for f in told["findings"]}


@pytest.fixture(autouse=True)
def _own_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("HEDGEROW_LEDGER", raising=False)


def test_what_is_there_is_said_and_nothing_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    code, told, found = _findings("--no-kernels")
    assert code == 0 and told["ready"] and "kernels" not in found
    assert found["sql"]["state"] == "ok" and found["sql"]["said"].startswith("duckdb ")
    assert found["memory"]["state"] in ("ok", "absent") and "GB" in found["memory"]["said"]
    assert found["ledger"]["state"] == "absent" and found["ledger"]["cure"].endswith("ledger use URL")
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_that_is_set_must_be_there_and_hold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEDGEROW_LEDGER", str(tmp_path / "office.db"))
    code, told, found = _findings("--no-kernels")
    assert code == 2 and not told["ready"] and found["ledger"]["state"] == "wrong"
    assert not (tmp_path / "office.db").exists()
    Ledger.open(str(tmp_path / "office.db"))
    code, _, found = _findings("--no-kernels")
    assert code == 0 and found["ledger"]["said"] == f"{tmp_path / 'office.db'} holds, 1 entries"
    (tmp_path / "other.db").write_text("no ledger")
    assert _findings("--no-kernels", "--ledger", str(tmp_path / "other.db"))[0] == 2


def test_what_is_not_installed_is_named_with_the_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    given = builtins.__import__

    def lacking(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] in ("duckdb", "psycopg"):
            raise ImportError(name)
        return given(name, *rest, **more)

    monkeypatch.setattr(doctor, "import_module", lacking)
    code, _, found = _findings("--no-kernels")
    assert code == 0, "what is optional may be absent"
    assert (found["sql"]["state"], found["sql"]["cure"]) == ("absent", "pip install 'hedgerow[sql]'")
    assert found["postgres"]["cure"] == "pip install 'hedgerow[postgres]'"


def test_every_extra_that_is_named_can_be_installed() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    assert {extra for *_, extra in doctor.EXTRAS} <= set(project["optional-dependencies"])


def _a_java(folder: Path, version: str) -> str:
    """A home of Java whose program says that it is of this version."""
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-16' >&2\n")
    program.chmod(0o755)
    return str(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_spark_without_a_java_that_it_can_start_with_is_wrong(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, found = _findings("--no-kernels")
    assert code == 2 and "no Java was found" in found["spark"]["said"] and "17" in found["spark"]["cure"]
    for version, due in (("1.8.0_392", "is 8"), ("11.0.22", "is 11"), ("17.0.9", ""), ("21", "")):
        monkeypatch.setenv("JAVA_HOME", _a_java(tmp_path / version, version))
        assert doctor._java().endswith(due) and bool(doctor._java()) == bool(due)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert "JAVA_HOME" in doctor._java(), "Spark looks nowhere else"


def test_a_disk_that_is_full_is_a_finding_not_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hedgerow.api.job.Job.run", full)
    code, _, found = _findings()
    assert code == 2 and "No space left" in found["kernels"]["said"] and "TMPDIR" in found["kernels"]["cure"]


def test_without_a_cache_it_is_said_and_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_cache", lambda: None)
    code, _, found = _findings("--no-kernels")
    assert code == 0 and found["cache"]["state"] == "absent" and "NUMBA_CACHE_DIR" in found["cache"]["cure"]


COUNTED = """
import sys
from numba.core.dispatcher import Dispatcher
from hedgerow.cli.doctor import _kernels
print(_kernels(lambda text: None).state)
loops = {
    f"{name}.{thing}": loop
    for name, module in list(sys.modules.items())
    if name.startswith("hedgerow.")
    for thing, loop in vars(module).items()
    if isinstance(loop, Dispatcher) and loop.py_func.__module__ == name
}
print(sorted(name.rpartition(".")[2] for name, loop in loops.items() if loop.signatures))
"""


ENTRIES = {
    "count_tile",
    "find_leaves",
    "put_in_bins",
    "add_rows",
    "_sweep",
    "_gum_round",
    "_pass",
    "_grow",
    "_choose",
}
"""Loops that Python calls: of counting, coding, fingerprints, records, groups and trees."""


def test_the_kernels_are_compiled_ahead() -> None:
    ran = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    state, counted = ran.stdout.splitlines()
    assert state == "ok" and set(ast.literal_eval(counted)) >= ENTRIES, counted


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_word_is_said_when_loops_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with show.progress() as watch:
        watch("counting")
        fresh = njit(lambda x: x + 1)
        assert fresh(1) == 2
        assert "compiling the inner loops" in screen.getvalue()
        assert screen.getvalue().count("compiling the inner loops") >= 1
    before = len(screen.getvalue())
    njit(lambda x: x + 2)(1)
    assert len(screen.getvalue()) == before, "nobody listens afterwards"


def test_nothing_is_said_where_no_terminal_is(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = io.StringIO()
    monkeypatch.setattr(sys, "stderr", quiet)
    with show.progress():
        njit(lambda x: x + 3)(1)
    assert quiet.getvalue() == ""
