"""A process that asks a server which tables it has, and how their columns are called: no row is read.

It is started as a command is: ``python -P -m hedgerow.studio.catalog``.  What is asked stands in the file of the
task, as everybody can see what a program is called with.
"""

import json
import os
import sys
from pathlib import Path


def look(folder: Path) -> int:
    """Ask what the task of ``folder`` says; the exit code."""
    from hedgerow.errors import HedgerowError
    from hedgerow.run_gate import headers_at

    task = json.loads((folder / "task.json").read_text("utf-8"))
    try:
        found = headers_at(task["address"], task["master"])
    except HedgerowError as refusal:
        with (folder / "progress").open("a", encoding="utf-8") as told:
            told.write(json.dumps({"ended": str(refusal)}) + "\n")
        return refusal.exit_code
    sys.stdout.write(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(look(Path(os.environ["HEDGEROW_PROGRESS"]).parent))
