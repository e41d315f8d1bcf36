"""A plain script, without ``if __name__ == "__main__"``: its workers must not run it again."""

import subprocess
import sys
from pathlib import Path

from hedgerow.ledger.book import Ledger

SCRIPT = """
from dataclasses import dataclass
from typing import ClassVar

import hedgerow as hr

print("started")
tables = hr.personnel(rows=400, seed=1)
columns = ["sex", "race"]


@dataclass(frozen=True)
class Mine(hr.recipes.Independent):
    name: ClassVar[str] = "mine"


for recipe in (hr.recipes.Independent(), Mine()):  # one that other processes know, one that only this script does
    job = hr.Job(
        confidential=hr.Confidential(tables.confidential.select(columns), name="toy"),
        public=hr.Public(tables.public.select(columns)),
        schema=hr.Schema.draft(tables.public.select(columns)),
        budget=hr.Budget(1),
        recipe=recipe,
        uses=[hr.uses.Table(["race"], tolerance=0.5)],
        ledger="ledger.db",
    )
    job.run(f"release-{recipe.name}", forecast=False)
    job.rehearse(epsilons=[1], runs=2, workers=2)
"""


def test_a_script_without_a_guard_runs_once_and_pays_once(tmp_path: Path) -> None:
    script = tmp_path / "typical.py"
    script.write_text(SCRIPT, "utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["started"]
    promised = [e for e in Ledger.open(str(tmp_path / "ledger.db")).entries() if e.kind == "promise"]
    assert len(promised) == 2
