"""An install that nobody may write to, and a user without a home: a release is made and holds all the same."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.packaging.release import JOB, SCHEMA, TABLE, build

_COMMAND = "import sys; from hedgerow.cli.main import main; sys.exit(main())"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's files, unpacked where the program will look for them, and made read-only."""
    folder = tmp_path_factory.mktemp("install")
    with zipfile.ZipFile(build(tmp_path_factory.mktemp("dist")).wheel) as wheel:
        wheel.extractall(folder)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    return folder


def without_power() -> list[str]:
    """What comes before a command so that root, too, is held by the permissions of files."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root writes anywhere, and there is no setpriv to prevent it")
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


def _run(site: Path, place: Path, home: dict[str, str], *command: str) -> "subprocess.CompletedProcess[str]":
    apart = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site), "LANG": "C.UTF-8", **home}
    return subprocess.run(
        [*without_power(), sys.executable, *command],
        cwd=place,
        env=apart,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of folders")
@pytest.mark.parametrize("home", ["unwritable", pytest.param("absent", marks=pytest.mark.thorough)])
def test_a_read_only_install_without_a_writable_home_publishes_and_verifies(
    site: Path, tmp_path: Path, home: str
) -> None:
    where = tmp_path / "home" if home == "unwritable" else Path("/proc/nowhere")
    if home == "unwritable":
        where.mkdir(mode=0o555)
    place = tmp_path / "place"
    place.mkdir()
    for name, text in (("schema.toml", SCHEMA), ("job.toml", JOB), ("table.csv", TABLE)):
        (place / name).write_text(text, "utf-8")
    probe = _run(site, place, {"HOME": str(where)}, "-c", f"open({str(site / 'x')!r}, 'w')")
    assert "PermissionError" in probe.stderr, "the install is not read-only"
    found = _run(site, place, {"HOME": str(where)}, "-c", "import hedgerow; print(hedgerow.__file__)")
    assert found.stdout.startswith(str(site)), "another hedgerow was tried"
    everything = (
        "import pkgutil, importlib, hedgerow\n"
        "for m in pkgutil.walk_packages(hedgerow.__path__, 'hedgerow.'):\n    importlib.import_module(m.name)"
    )
    run, verify = ("-c", _COMMAND, "run", "job.toml", "--yes"), ("-c", _COMMAND, "verify", "release")
    for command in (("-c", everything), run, verify):
        done = _run(site, place, {"HOME": str(where)}, *command)
        assert done.returncode == 0, done.stdout + done.stderr
