"""The compiled kernel is kept where that is possible, and works where it is not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow

COUNT = """
import numpy as np
from hedgerow.counting.kernel import count_wide
tally = np.zeros(3, np.int64)
count_wide(np.array([1, 1, 2]), tally)
print(tally.tolist(), len(count_wide.stats.cache_hits), len(count_wide.stats.cache_misses))
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A copy of the package in which no compiled code can be kept: even root cannot write into a file as a folder."""
    source = Path(hedgerow.__file__).parent
    shutil.copytree(source, tmp_path / "site" / "hedgerow", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "site" / "hedgerow" / "counting" / "__pycache__").touch()
    return tmp_path / "site"


FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""


def run(installed: Path, home: Path, before: str = "") -> str:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "XDG_"))}
    environment = kept | {"PYTHONPATH": str(installed), "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
    ran = subprocess.run(
        [sys.executable, "-c", before + COUNT], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_a_read_only_installation_keeps_compiled_code_in_the_users_cache(installed: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    assert run(installed, home) == "[0, 2, 1] 0 1"
    assert list(home.rglob("*.nbi"))
    assert run(installed, home) == "[0, 2, 1] 1 0"


def test_without_any_place_to_write_it_compiles_every_time(installed: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.touch()
    assert run(installed, nowhere).startswith("[0, 2, 1]")


def test_on_a_full_disk_it_compiles_every_time(installed: Path, tmp_path: Path) -> None:
    """No file may have a byte, which is what a quota does; folders can be made."""
    home = tmp_path / "home"
    home.mkdir()
    assert run(installed, home, FULL) == run(installed, home, FULL) == "[0, 2, 1] 0 1"


def test_importing_hedgerow_imports_no_compiler_and_sets_nothing() -> None:
    check = (
        "import os, sys; before = dict(os.environ); import hedgerow;"
        "assert dict(os.environ) == before; assert 'numba' not in sys.modules"
    )
    ran = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
