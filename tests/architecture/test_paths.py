"""No path of a machine stands in the repository: what works on one works on every other."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = re.compile(r"(?<![\w.}\])>])/(?:" + "|".join(("work", "home", "root", "Users")) + r")/\w")


def test_no_file_names_a_place_on_a_machine() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout: which files belong to the repository is not known")
    found = []
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.is_file():
            text = path.read_bytes().decode("utf-8", "ignore")
            found += [f"{name}: {m[0]}" for m in PLACES.finditer(text)]
    assert found == []


@pytest.mark.parametrize("text", ["see " + "/".join(("", "work", "shared")), "/".join(("file://", "home", "me"))])
def test_a_place_on_a_machine_is_seen(text: str) -> None:
    assert PLACES.search(text)
