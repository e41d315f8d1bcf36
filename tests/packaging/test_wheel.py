"""The wheel as a stranger gets it: its files, its metadata, and a fresh install that publishes a table."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.version import Version

import hedgerow
from tests.packaging.release import ROOT, Built, Fresh, build, dated_version, metadata, wrong_contents


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("dist"))


def test_the_wheel_holds_the_package_and_nothing_else(built: Built) -> None:
    assert wrong_contents(built) == []


def test_there_is_one_version(built: Built) -> None:
    made = metadata(built.wheel)
    assert str(made.version) == hedgerow.__version__
    dated, now = Version(dated_version((ROOT / "CHANGELOG.md").read_text("utf-8"))), Version(hedgerow.__version__)
    assert dated < now if now.is_devrelease else dated == now, "between releases a version is the next one's .dev0"
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited is not None and cited[1] == hedgerow.__version__
    assert made.description_content_type == "text/markdown" and made.license_expression == "Apache-2.0"


def test_matplotlib_and_test_tools_are_no_core_dependencies(built: Built) -> None:
    core = {r.name for r in metadata(built.wheel).requires_dist or [] if r.marker is None}
    assert {"numpy", "polars"} <= core and not core & {"matplotlib", "pandas", "pytest", "resvg_py", "resvg-py"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("## 0.1.0 - 2026-11-16\n", "must begin with ## Unreleased"),
        ("## Unreleased\n\n## 0.1.0\n", "without version and date"),
    ],
)
def test_a_changelog_that_cannot_be_tagged_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        dated_version(text)


@pytest.mark.thorough
def test_a_fresh_install_of_the_wheel_publishes_and_verifies_a_table(built: Built, tmp_path: Path) -> None:
    reach = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--no-cache-dir",
        "--dest",
        tmp_path / "x",
    ]
    if subprocess.run([*map(str, reach), "markupsafe"], capture_output=True, check=False).returncode:
        pytest.skip("no package registry can be reached, so nothing can be installed")
    fresh = Fresh(tmp_path)
    fresh.install(built.wheel)
    names = {p.split("==")[0].lower() for p in fresh.packages()}
    assert "hedgerow" in names and not names & {"matplotlib", "pandas", "pyarrow", "pip"} and len(names) < 30
    assert fresh.hedgerow("--version").strip() == hedgerow.__version__
    assert "holds" in fresh.publish()
    assert (tmp_path / "place" / "release" / "report.html").is_file()
