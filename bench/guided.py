"""A whole attach job by ``guided_tree`` on simulated personnel: 800 agencies, 500 occupations, sex and race attached.

    python -m bench.guided [--rows 2000000] [--json]

``hedgerow run --no-forecast`` in a process of its own: plan, tree, boosted model, noisy counts through the real gate,
correction, drawing, pages and bundle; pay is an outcome.  CPU seconds, start of Python included, kernels
in the cache.  The bar at 2 million rows in each of the three tables is 40.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.operations import job_text
from hedgerow.simulate.personnel import personnel, personnel_schema


def run(rows: int) -> dict[str, float]:
    """CPU seconds and peak memory."""
    with tempfile.TemporaryDirectory() as place:
        folder, tables = Path(place), personnel(rows, 1, agencies=800, occupations=500)
        for name in ("public", "confidential", "target"):
            getattr(tables, name).write_parquet(folder / f"{name}.parquet")
        (folder / "schema.toml").write_text(personnel_schema(800, 500), "utf-8")
        (folder / "job.toml").write_text(job_text("guided_tree") + '[guided_tree]\noutcomes = ["pay"]\n', "utf-8")
        del tables
        process = subprocess.Popen(
            [sys.executable, "-m", "hedgerow", "run", "job.toml", "--yes", "--no-forecast"],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, code, used = os.wait4(process.pid, 0)
    assert code == 0, code
    return {"rows": rows, "cpu": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss / 1024}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    run(3000)  # compiles what is not in the cache yet
    found = run(asked.rows)
    if asked.json:
        print(json.dumps(found))
        return
    print(f"{found['rows']:,} rows: {found['cpu']:.1f} CPU-s, {found['mb']:,.0f} MB")


if __name__ == "__main__":
    main()
