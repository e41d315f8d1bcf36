"""No steward number reaches a bundle: neighbouring tables are compared exactly, and their bundles searched."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hedgerow.api.job import Job
from hedgerow.evaluate.base import CompareOptions
from hedgerow.evaluate.compare import metrics_for
from hedgerow.steward.compare import Exact, compare_job, exact_json, write_exact
from hedgerow.steward.exact import ExactUse, write_report
from hedgerow.steward.inside import InsideOnly
from tests.privacy.checks import run_job
from tests.privacy.watch import Tape, watched
from tests.privacy.world import GUARANTEES, Row, frame, write_job

ONLY = ("one-way", "two-way", "joint-proportions", "numeric", "rare-cells", "unique-matches", "validity")
BASE: list[Row] = [
    (s, r, str(p), a, f"p{i}")
    for i, (s, r, p, a) in enumerate(
        zip("FMFMFMM" * 9, "ABCAABB" * 9, (7, 13, 22, 38, 5, 9, 31) * 9, "nsnwsnn" * 9, strict=True)
    )
]
MEAN = """
[[use]]
name = "mean pay"
kind = "mean"
of = "pay"
by = ["sex", "race"]
tolerance = 1
"""
HERE, THERE = tuple(BASE), (*BASE, ("F", "C", "39", "w", "me"))


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for v in value.values():
            yield from numbers(v)
    elif isinstance(value, list):
        for v in value:
            yield from numbers(v)
    elif isinstance(value, float) and value not in (0.0, 1.0):
        yield value


def written(found: InsideOnly[Exact]) -> set[str]:
    """Every exact number with enough digits to be recognised, as it would be written with six of them."""
    return {f"{v:.6g}" for v in numbers(json.loads(exact_json(found))) if len(f"{v:.6g}".strip("-0.")) >= 5}


def of_uses(found: InsideOnly[tuple[ExactUse, ...]]) -> set[str]:
    """The exact errors of the intended uses and the figures behind them, in the same form."""
    told = [v for u in found.reveal() for v in (u.verdict.error, *u.true.tolist(), *u.errors.tolist())]
    assert len(told) > 6
    return {f"{v:.6g}" for v in told if v is not None and len(f"{v:.6g}".strip("-0.")) >= 5}


def everything(files: dict[str, bytes]) -> str:
    """All text of a bundle, and every number of its tables."""
    parts = []
    for name, data in files.items():
        parts.append(data.decode("utf-8", "replace"))
        if name.endswith(".parquet"):
            parts.append(pl.read_parquet(io.BytesIO(data)).write_csv(float_precision=6))
    return "\n".join(parts)


def exact(job: Path) -> InsideOnly[Exact]:
    return compare_job(Job.load(job), rng=np.random.default_rng(0), metrics=metrics_for(CompareOptions(only=ONLY)))


def test_bundles_of_neighbours_are_equal_and_hold_no_exact_number(tmp_path: Path) -> None:
    """A number that gets out is found every time; one in ten times noise makes a share such as 5 / 11 by chance."""
    for attempt in range(5):
        place = tmp_path / str(attempt)
        place.mkdir()
        if not (found_there := exact_numbers_in_a_bundle(place)):
            return
    raise AssertionError(f"exact numbers stand in every one of five bundles, such as {found_there}")


def exact_numbers_in_a_bundle(folder: Path) -> list[str]:
    """On each table: run, look exactly, run again with the exact report lying there. Only exact reports differ."""
    tape, bundles, looks = Tape(), [], []
    for name, rows, play in (("here", HERE, False), ("there", THERE, True)):
        place = folder / name
        place.mkdir()
        job = write_job(place, GUARANTEES["record, add-remove"])
        job.write_text(job.read_text("utf-8") + MEAN, "utf-8")
        frame(rows).write_csv(place / "secret.csv")
        with watched(tape, play=play):
            bundles.append(run_job(job))
        found = exact(job)
        write_exact(place / "release-INSIDE-ONLY", found)
        _, uses = write_report(Job.load(job), out=None, rng=np.random.default_rng(0))
        looks.append(written(found) | of_uses(uses))
        (place / "release").rename(place / "first")
        (place / "ledger.db").unlink()  # the name of the run is fixed here, and a run is booked once
        with watched(Tape(tape.counts, tape.chosen), play=True):
            again = run_job(job)
        assert again[0] == bundles[-1][0], "a release changed because the steward had looked"
    assert bundles[0] == bundles[1]
    here, there = looks
    assert len(here) > 40 and here != there, "the exact reports must tell the neighbours apart, or the search is idle"
    released = everything(bundles[0][0])
    return sorted(n for n in (here ^ there) if n in released)


def test_the_exact_report_is_marked_and_read_by_its_owner_only(tmp_path: Path) -> None:
    job = write_job(tmp_path, GUARANTEES["record, add-remove"])
    frame(HERE).write_csv(tmp_path / "secret.csv")
    with watched(Tape(), play=False):
        run_job(job)
    report = write_exact(tmp_path / "release-INSIDE-ONLY", exact(job))
    for file in report.parent.iterdir():
        assert file.stat().st_mode & 0o077 == 0, f"{file.name} can be read by others"
        if file.suffix in (".html", ".json", ".txt"):
            assert "INSIDE ONLY" in file.read_text("utf-8")
    assert report.parent.stat().st_mode & 0o077 == 0
    assert report.read_text("utf-8").count("INSIDE ONLY") >= 3


def test_a_failure_with_rows_in_hand_quotes_none_of_them(tmp_path: Path) -> None:
    import pytest

    from hedgerow.errors import HedgerowError
    from hedgerow.evaluate.base import Result
    from hedgerow.evaluate.marginals import OneWayDistance

    job = write_job(tmp_path, GUARANTEES["record, add-remove"])
    frame(HERE).write_csv(tmp_path / "secret.csv")
    with watched(Tape(), play=False):
        run_job(job)

    def breaks(*args: Any, **named: Any) -> Result:
        raise ValueError("pay of person p7 is 31")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OneWayDistance, "of", breaks)
        with pytest.raises(HedgerowError) as refused:
            compare_job(Job.load(job), rng=np.random.default_rng(0), metrics=[OneWayDistance()])
    assert "p7" not in str(refused.value) and refused.value.__context__ is None
