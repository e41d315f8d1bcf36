"""The house rules that a linter cannot express."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

import hedgerow
import hedgerow.private

ROOT = Path(hedgerow.__file__).parent
PROJECT = ROOT.parent.parent
FILES = sorted(ROOT.rglob("*.py"))
PRIVATE = sorted((ROOT / "private").glob("*.py"))


def core_and_further() -> tuple[set[str], dict[str, set[str]]]:
    """The gate and everything of ours that it imports; and by further mechanism what it adds to that."""
    graph = grimp.build_graph("hedgerow", cache_dir=None)
    core = {"hedgerow.private", "hedgerow.private.gate"} | graph.find_upstream_modules("hedgerow.private.gate")
    others = graph.find_descendants("hedgerow.private") - core
    return core, {m: ({m} | graph.find_upstream_modules(m)) - core for m in others}


def lines_of(module: str) -> int:
    path = ROOT.parent / module.replace(".", "/")
    file = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
    return sum(1 for line in file.read_text("utf-8").splitlines() if line.strip())  # blank lines are not read


def test_no_file_is_long() -> None:
    everywhere = [*FILES, *(PROJECT / "tests").rglob("*.py"), *(PROJECT / "bench").rglob("*.py")]
    assert [f"{p.name}: {n}" for p in everywhere if (n := len(p.read_text("utf-8").splitlines())) > 500] == []


def test_an_auditor_can_read_everything_that_matters_in_one_sitting() -> None:
    core, further = core_and_further()
    surface = {m: lines_of(m) for m in core}
    assert sum(surface.values()) <= 1000, dict(sorted(surface.items()))
    long = {m: n for m, own in further.items() if (n := sum(map(lines_of, own))) > 160}
    assert not long, "a further mechanism is at most 160 lines, with what it alone imports"


def test_the_reading_list_names_the_whole_audit_surface_and_nothing_else() -> None:
    core, further = core_and_further()
    said = (hedgerow.private.__doc__ or "").split("Further mechanisms")
    for part, modules in zip(said, (core - {"hedgerow.private"}, set().union(*further.values())), strict=True):
        names = {m.removeprefix("hedgerow.").replace(".", "/") + ".py" for m in modules}
        listed = {n.removeprefix("hedgerow/") for n in re.findall(r"[\w/]+\.py", part)}
        assert listed == {n.removeprefix("private/") for n in names}


def test_the_private_room_has_no_float_no_seed_no_print_and_few_libraries() -> None:
    allowed = {"hedgerow", "numpy", "numba", "polars", "psycopg", *sys.stdlib_module_names} - {
        "random",
        "secrets",
        "logging",
    }
    for path in PRIVATE:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
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
        for n in ast.walk(ast.parse(p.read_text("utf-8")))
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
