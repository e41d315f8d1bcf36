"""Build sdist and wheel and check them: ``python -m tests.packaging.release [FOLDER]``, which ``make release`` runs.

A release is right when its metadata are valid, its files are those it should hold, its version is the one that the
changelog dates, and the wheel, installed with nothing but its core dependencies, publishes and verifies a table.
"""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from packaging.metadata import Metadata

ROOT = Path(__file__).parents[2]
NEEDED = ("hedgerow/py.typed", "hedgerow/private/PROOFS.md")
SCHEMA = """[columns.sex]
kind = "categorical"
values = ["F", "M"]
other = "M"
[columns.age]
kind = "integer"
bins = { edges = [18, 30, 40, 50, 65] }
other = 65
"""
JOB = """[job]
recipe = "independent"
[schema]
file = "schema.toml"
[confidential]
table = "table.csv"
[budget]
epsilon = 1
[ledger]
url = "ledger.db"
"""
TABLE = "sex,age\nF,31\nM,45\nF,52\nM,29\nF,38\n"


@dataclass(frozen=True)
class Built:
    """The two files of a release."""

    wheel: Path
    sdist: Path


def build(folder: Path) -> Built:
    """Both, by the build backend itself: nothing is fetched."""
    _run([sys.executable, "-m", "hatchling", "build", "-d", folder], ROOT)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Built(wheel, sdist)


def metadata(wheel: Path) -> Metadata:
    """What the wheel says of itself, held to the standard (as twine and the index do)."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return Metadata.from_email(archive.read(name), validate=True)


def wrong_contents(built: Built) -> list[str]:
    """What is missing from the files or should not be there."""
    with zipfile.ZipFile(built.wheel) as archive:
        wheel = set(archive.namelist())
    with tarfile.open(built.sdist) as archive:
        sdist = {str(PurePosixPath(*PurePosixPath(n).parts[1:])) for n in archive.getnames()}
    here = {
        p.relative_to(ROOT / "src").as_posix()
        for p in (ROOT / "src").rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }
    wrong = [f"the wheel lacks {n}" for n in sorted({*here, *NEEDED} - wheel)]
    wrong += [f"the wheel holds {n}" for n in sorted(wheel - here) if not re.match(r"hedgerow-[^/]*\.dist-info/", n)]
    wrong += [f"the sdist lacks src/{n}" for n in sorted(here) if f"src/{n}" not in sdist]
    wrong += [f"the sdist lacks {n}" for n in ("LICENSE", "README.md", "CHANGELOG.md") if n not in sdist]
    return wrong


def dated_version(changelog: str) -> str:
    """The version of the newest dated section.

    >>> dated_version("# Changelog\\n\\n## Unreleased\\n\\n## 0.2.0 - 2026-12-01\\n\\n## 0.1.0 - 2026-11-16\\n")
    '0.2.0'
    """
    sections = re.findall(r"^## (.+)$", changelog, re.MULTILINE)
    if not sections or sections[0] != "Unreleased" or len(sections) < 2:
        raise ValueError("CHANGELOG.md must begin with ## Unreleased, and then ## VERSION - DATE")
    found = [re.fullmatch(r"(\d+\.\d+\.\d+\S*) - (\d{4}-\d{2}-\d{2})", s) for s in sections[1:]]
    if not all(found):
        raise ValueError(f"CHANGELOG.md has a section without version and date: {sections[1:]}")
    return str(found[0][1]) if found[0] else ""


class Fresh:
    """An empty environment with the wheel and its core dependencies, and nothing of this checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "venv", with_pip=False)
        self._bin = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")

    def install(self, wheel: Path) -> None:
        """By pip, from the registries that pip is set to."""
        self._pip("install", "--quiet", "--no-compile", wheel)

    def packages(self) -> list[str]:
        """Every distribution in it, as ``name==version``."""
        return self._pip("list", "--format", "freeze").split()

    def hedgerow(self, *typed: str) -> str:
        """What the command prints, run in a folder of its own."""
        place = self.folder / "place"
        place.mkdir(exist_ok=True)
        return _run([self._bin / "hedgerow", *typed], place)

    def publish(self) -> str:
        """A table of five rows, published and verified; what verify says."""
        place = self.folder / "place"
        place.mkdir(exist_ok=True)
        for name, text in (("schema.toml", SCHEMA), ("job.toml", JOB), ("table.csv", TABLE)):
            (place / name).write_text(text, "utf-8")
        self.hedgerow("run", "job.toml", "--yes")
        return self.hedgerow("verify", "release")

    def _pip(self, *typed: str | Path) -> str:
        quiet = ["--disable-pip-version-check", "--no-input"]
        return _run([sys.executable, "-m", "pip", "--python", self._bin / "python", *quiet, *typed], self.folder)


def _run(command: Sequence[str | Path], where: Path) -> str:
    apart = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    done = subprocess.run([*map(str, command)], cwd=where, env=apart, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def main(folder: Path) -> None:
    """Build into an empty folder, check everything, and say what a release is made of."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty: a release is built from nothing. Type: rm -r {folder}")
    built = build(folder)
    made, version = metadata(built.wheel), dated_version((ROOT / "CHANGELOG.md").read_text("utf-8"))
    if wrong := wrong_contents(built):
        raise SystemExit("\n".join(wrong))
    if str(made.version) != version:
        raise SystemExit(f"The version is {made.version}, but the newest dated section of CHANGELOG.md is {version}.")
    with tempfile.TemporaryDirectory() as place:
        fresh = Fresh(Path(place))
        fresh.install(built.wheel)
        if fresh.hedgerow("--version").strip() != version:
            raise SystemExit("hedgerow --version and the wheel's metadata differ.")
        fresh.publish()
        number = len(fresh.packages())
        size = sum(p.stat().st_size for p in (Path(place) / "venv").rglob("*") if p.is_file()) / 1e6
    print(f"{built.wheel}\n{built.sdist}")  # noqa: T201
    print(f"Version {version}: metadata, contents and a fresh install are right ({number} packages, {size:.0f} MB).")  # noqa: T201
    print(f"To release: git tag -a v{version} -m v{version}")  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist").resolve())
