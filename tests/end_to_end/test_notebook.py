"""The notebook in ``examples/`` runs from its first cell to its last, in a kernel of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").rglob("*.ipynb"))
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
book = nbformat.read(sys.argv[1], as_version=4)
book.cells.insert(0, nbformat.v4.new_code_cell(sys.argv[4]))
NotebookClient(book, timeout=600, kernel_name="python3", resources={"metadata": {"path": sys.argv[2]}}).execute()
nbformat.write(book, sys.argv[3])
"""
SHORT = "from importlib import import_module\nimport_module('hedgerow.planning.forecast').RUNS = 2"
"""A cell before the first: plans forecast from two runs, as ``short_forecasts`` has it in this process."""


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.name)
def test_a_notebook_runs_and_shows_its_values(notebook: Path, tmp_path: Path) -> None:
    executed = tmp_path / "executed.ipynb"
    command = [sys.executable, "-W", "ignore", "-c", EXECUTE, str(notebook), str(tmp_path), str(executed), SHORT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    cells = [c for c in json.loads(executed.read_text("utf-8"))["cells"] if c["cell_type"] == "code"]
    shown = [o["data"] for c in cells for o in c["outputs"] if "data" in o]
    tables = [d for d in shown if "<table" in "".join(d.get("text/html", ""))]
    assert len(tables) >= 6, "schema, plan, rehearsal, release, checks and records show themselves as tables"
    assert not [o for c in cells for o in c["outputs"] if o["output_type"] == "error"]


def test_there_is_a_notebook_of_the_attach_walk_and_it_holds_no_output() -> None:
    (walk,) = [n for n in NOTEBOOKS if n.parent.name == "attach-personnel"]
    cells = json.loads(walk.read_text("utf-8"))["cells"]
    assert all(not c["outputs"] for c in cells if c["cell_type"] == "code"), "outputs name places of a machine"
