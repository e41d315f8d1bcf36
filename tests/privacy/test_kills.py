"""A run killed at any moment: nothing is lost, drawn twice or left behind. All of it: ``make kills``."""

import json
import subprocess
import sys
from pathlib import Path

CODE = """
import json, sys
from tests.privacy.kills import Tally, killed
tally, calls = Tally(), []
for tally, calls in killed(int(sys.argv[1]), seed=int(sys.argv[2])):
    pass
sys.stdout.write(json.dumps([tally.kills, tally.after_paying, tally.wrong, calls]))
"""


def test_no_kill_loses_a_payment_or_draws_twice_or_leaves_something_behind() -> None:
    """In a process of its own, which works with no table: it forks."""
    command, root = [sys.executable, "-c", CODE, "14", "5"], Path(__file__).parents[2]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    kills, after_paying, wrong, calls = json.loads(ended.stdout)
    assert wrong == []
    assert kills >= 14 and after_paying >= 3, "the kills came too early to show anything"
    touched = " ".join(calls)
    for call in ("fsync", "rename", "replace", "mkdir", "unlink", "flock", "BEGIN IMMEDIATE", "COMMIT"):
        assert f"before {call}" in touched and f"after {call}" in touched, f"no kill could fall on {call}"
