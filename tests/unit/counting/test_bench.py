"""The benchmark still runs, and says of every goal whether it is met."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[3] / "bench" / "count.py"


def test_the_benchmark_runs_and_compares_with_all_rivals() -> None:
    for library in ("duckdb", "pandas", "pyarrow"):
        pytest.importorskip(library, reason="the benchmark compares with it")
    ran = subprocess.run(
        [sys.executable, str(BENCH), "--rows", "3000", "--quick", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    report = json.loads(ran.stdout)
    assert set(report) == {"pairs", "file"}
    rivals = " ".join(line["name"] for line in report["pairs"])
    for name in ("NumPy", "pandas", "Polars", "DuckDB", "pyarrow", "increments", "memory"):
        assert name in rivals
    assert [line["goal"] for line in report["pairs"] if line["goal"]] == [6, 20, 60, 15, 15, 40, 200, 0.6, 1]
