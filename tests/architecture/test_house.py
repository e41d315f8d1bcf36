"""The house rules that a linter cannot express."""

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import hedgerow

ROOT = Path(hedgerow.__file__).parent
PROJECT = ROOT.parent.parent
FILES = sorted(ROOT.rglob("*.py"))
PRIVATE = sorted((ROOT / "private").glob("*.py"))
KEPT = ROOT / "counting" / "parts.py"  # holds coded rows from request to request: as strict as the private room


@cache
def tree(path: Path) -> ast.Module:
    """A file as Python reads it, for all tests here."""
    return ast.parse(path.read_text("utf-8"))


def test_no_file_is_long() -> None:
    everywhere = [*FILES, *(PROJECT / "tests").rglob("*.py"), *(PROJECT / "bench").rglob("*.py")]
    assert [f"{p.name}: {n}" for p in everywhere if (n := len(p.read_text("utf-8").splitlines())) > 500] == []


def test_the_private_room_is_read_in_one_sitting() -> None:
    assert sum(len(p.read_text("utf-8").splitlines()) for p in PRIVATE) <= 1000


def test_the_private_room_has_no_float_no_seed_no_print_and_few_libraries() -> None:
    allowed = {"hedgerow", "numpy", "numba", "polars", "psycopg", *sys.stdlib_module_names} - {
        "random",
        "secrets",
        "logging",
    }
    for path in (*PRIVATE, KEPT):
        for node in ast.walk(tree(path)):
            where = f"{path.name}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Constant):
                assert not isinstance(node.value, float), f"{where} a float"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "float", "eval", "exec"), where
            if isinstance(node, ast.Attribute):
                assert node.attr not in ("random", "default_rng", "urandom") or path.name == "entropy.py", where
            if isinstance(node, ast.Import):
                assert {a.name.split(".")[0] for a in node.names} <= allowed, where
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] in allowed, where


def test_every_mechanism_of_the_gate_has_a_paragraph_in_the_proofs() -> None:
    proofs = (ROOT / "private" / "PROOFS.md").read_text("utf-8")
    for verb in (
        "measure",
        "select",
        "draw_urn",
        "discrete Laplace",
        "discrete Gaussian",
        "rows_per_person",
        "ledger",
        "fingerprint",
        "verification",
        "selection",
        "relabel",
    ):
        assert re.search(rf"^##.*{verb}", proofs, re.MULTILINE | re.IGNORECASE), f"PROOFS.md has no section on {verb}"


def test_names_explain_themselves() -> None:
    empty = {"utils", "util", "common", "helpers", "helper", "misc", "manager"}
    assert [p.name for p in FILES if p.stem in empty or re.search(r"_v\d+$", p.stem)] == []


def test_no_library_code_prints() -> None:
    calls = [
        f"{p.relative_to(ROOT)}:{n.lineno}"
        for p in FILES
        for n in ast.walk(tree(p))
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "print"
    ]
    assert calls == []


@pytest.mark.parametrize("module", ["polars", "numba", "resvg_py", "pydantic", "pyreadstat", "numpy"])
def test_importing_the_package_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, hedgerow; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("module", ["polars", "numba", "resvg_py", "pydantic", "pyreadstat", "numpy"])
def test_help_loads_nothing_heavy(module: str) -> None:
    code = (
        "import sys\nfrom hedgerow.cli.main import app\nfrom typer.testing import CliRunner\n"
        f"CliRunner().invoke(app, ['--help'])\nsys.exit({module!r} in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def _imports() -> set[tuple[str, str]]:
    """Every import of one of our modules by another, as (importer, imported); a name counts for where it is taken."""
    modules = {".".join(p.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): p for p in FILES}
    found = set[tuple[str, str]]()
    for module, path in modules.items():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "hedgerow":
                whole = {a.name: f"{node.module}.{a.name}" for a in node.names}
                found |= {(module, full if full in modules else str(node.module)) for full in whole.values()}
    return {(a, b) for a, b in found if a != b}


def test_rooms_are_joined_by_few_imports() -> None:
    """Per module, so that a new room may be built and no room is tied more tightly to the others."""
    crossing = [(a, b) for a, b in _imports() if (a + ".").split(".")[1] != (b + ".").split(".")[1]]
    assert len(crossing) <= 2.6 * len(FILES)


def test_few_modules_are_there_for_one_other() -> None:
    """What only its own room's door imports is there for all who come through the door."""
    imports = _imports()
    importers = Counter(b for _, b in imports)
    doors = {b for a, b in imports if a == b.rsplit(".", 1)[0]}
    assert len([m for m, n in importers.items() if n == 1 and m not in doors]) <= 0.23 * len(FILES)


def test_no_two_classes_have_one_name() -> None:
    names = [n.name for p in FILES for n in ast.walk(tree(p)) if isinstance(n, ast.ClassDef)]
    assert [name for name, n in Counter(names).items() if n > 1] == []


def test_every_text_of_a_command_goes_out_through_one_door() -> None:
    doors = [
        f"{p.name}:{n.lineno}"
        for p in (ROOT / "cli").glob("*.py")
        for n in ast.walk(tree(p))
        if isinstance(n, ast.Attribute)
        and n.attr in ("echo", "secho", "Console", "write")
        and isinstance(n.value, ast.Name)
        and n.value.id in ("typer", "click", "stdout", "stderr")
        or (isinstance(n, ast.ImportFrom) and (n.module or "").startswith("rich") and p.name != "show.py")
    ]
    assert [d for d in doors if not d.startswith("show.py")] == []
    assert len(doors) == 1, "show.echo is that door, and the test sees it"
