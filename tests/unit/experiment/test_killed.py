"""An experiment that is killed with no warning: nothing done is lost, and nobody is left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hedgerow.experiment.runs import Progress
from hedgerow.experiment.study import experiment
from tests.unit.experiment.world import write

MAIN = "from hedgerow.cli.main import main; main()"


def until(true: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return true()


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="children are looked up in /proc")
def test_after_a_kill_only_what_is_missing_is_run_and_no_process_is_left(tmp_path: Path) -> None:
    grid = write(tmp_path, rows=400)
    text = grid.read_text("utf-8").replace("seeds = 2", "seeds = 8").replace("public_blend", "tree_blend")
    grid.write_text(text, "utf-8")
    given = [sys.executable, "-c", MAIN, "experiment", str(grid), "--workers", "2"]
    main = subprocess.Popen(given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    cells = tmp_path / "study" / "cells"
    assert until(lambda: len(list(cells.glob("*.parquet"))) > 0, 120)
    children = [int(p) for p in Path(f"/proc/{main.pid}/task/{main.pid}/children").read_text("utf-8").split()]
    os.kill(main.pid, signal.SIGKILL)
    main.wait()
    assert children and until(lambda: not any(map(running, children)), 60), "a process outlived its parent"
    done = {p.name: p.stat().st_mtime_ns for p in cells.glob("*.parquet")}
    assert 0 < len(done) < 32
    seen: list[Progress] = []
    study = experiment(grid, workers=1, watch=seen.append)
    assert (seen[0].done, seen[-1].done) == (len(done), 32), "what was done is not run again"
    assert all((cells / name).stat().st_mtime_ns == at for name, at in done.items())
    assert study.failed == 0 and study.results.select("epsilon", "recipe", "seed").unique().height == 32
