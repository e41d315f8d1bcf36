"""The steward's report: exact, marked, apart from the release, and never on the way to one."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hedgerow.api.job import Job
from hedgerow.errors import JobError
from hedgerow.steward.exact import NAME, ExactUse, exact_uses, use_lines, use_row, write_report
from hedgerow.uses import ExactVerdict, Mean
from tests.end_to_end.conftest import ROWS, Command
from tests.end_to_end.conftest import hedgerow as hedgerow
from tests.end_to_end.conftest import job as job
from tests.privacy.world import frame

SECRET = (*ROWS, *((("F", "C", "31", "w", "z"),) * 7))
MORE = """
[[use]]
name = "mean pay"
kind = "mean"
of = "pay"
by = ["sex"]
within = "relative"
tolerance = 0.5
"""


@pytest.fixture
def released(hedgerow: Command, job: Path) -> Path:
    job.write_text(job.read_text() + MORE)
    frame(SECRET).write_csv(job.parent / "secret.csv")
    assert hedgerow("run", job, "--yes").code == 0
    return job


def test_errors_are_those_of_the_confidential_table(released: Path) -> None:
    found = exact_uses(Job.load(released), released.parent / "release", np.random.default_rng(0))
    assert repr(found) == "InsideOnly(hidden)"
    sex, pay = found.reveal()
    assert repr(sex).startswith("ExactUse(INSIDE ONLY: ") and repr(sex.verdict) in repr(sex), "who reveals it sees it"
    assert str(sex.true.tolist()) not in repr(sex)
    made = pl.read_parquet(released.parent / "release" / "records.parquet")
    true = frame(SECRET)
    share = [sum(s == "F" for s in t["sex"]) / len(t) for t in (true, made)]
    expected = abs(share[0] - share[1])
    assert sex.verdict.error == pytest.approx(expected)
    assert sex.true.sum() == len(SECRET)
    men = true.filter(pl.col("sex") == "M")["pay"].cast(pl.Int64, strict=False).drop_nulls()
    assert pay.true[1] == pytest.approx(men.mean())
    assert sex.forecast is not None and sex.forecast.use == sex.verdict.use


def test_the_page_is_marked_and_apart_from_the_release(hedgerow: Command, released: Path) -> None:
    before = {p.name: p.read_bytes() for p in (released.parent / "release").iterdir()}
    done = hedgerow("steward", "report", released)
    assert done.code == 0, done.err
    assert done.out.startswith("INSIDE ONLY")
    page = released.parent / "release-INSIDE-ONLY" / NAME
    assert page.stat().st_mode & 0o077 == 0, "for its owner only"
    text = page.read_text()
    assert text.count("CONFIDENTIAL") >= 3 and "INSIDE ONLY" in text
    assert before == {p.name: p.read_bytes() for p in (released.parent / "release").iterdir()}
    assert hedgerow("verify", released.parent / "release").code == 0
    shown = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(shown) == 2 == text.count("The same as a table")


def test_it_is_never_written_into_the_release(released: Path) -> None:
    rng = np.random.default_rng(0)
    for place in ("release", "release/inside", "release/../release", "."):
        with pytest.raises(JobError, match="must not lie beside"):
            write_report(Job.load(released), out=released.parent / place, rng=rng)


def test_another_release_can_be_named(hedgerow: Command, released: Path) -> None:
    other = released.parent / "second"
    assert hedgerow("run", released, "--yes", "--out", other).code == 0
    done = hedgerow("steward", "report", released, "--release", other)
    assert done.code == 0, done.err
    assert (released.parent / "second-INSIDE-ONLY" / NAME).is_file()
    assert not (released.parent / "release-INSIDE-ONLY").exists()
    refused = hedgerow("steward", "report", released, "--release", released.parent / "nowhere")
    assert refused.code == 2 and "--release" in refused.err


def test_without_a_release_it_says_what_to_type(hedgerow: Command, job: Path) -> None:
    refused = hedgerow("steward", "report", job)
    assert refused.code == 2 and "hedgerow run" in refused.err


def test_a_release_that_holds_the_page_does_not_verify(hedgerow: Command, released: Path) -> None:
    hedgerow("steward", "report", released)
    page = released.parent / "release-INSIDE-ONLY" / NAME
    (released.parent / "release" / NAME).write_bytes(page.read_bytes())
    assert hedgerow("verify", released.parent / "release").code == 6


def near_zero(error: float, *figures: float) -> ExactUse:
    use = Mean("pay", by=["sex"], relative=0.05)
    true = np.array(figures)
    names = tuple("abcdef"[: len(true)])
    return ExactUse(ExactVerdict(use, error, None, ""), None, names, true, np.empty(0), true[None, :] + 0.3)


def test_a_relative_error_of_next_to_nothing_is_no_absurd_figure() -> None:
    """65180051874045 % stood where the mean of a group was near 0."""
    found = near_zero(6.5e11, 40.0, 1e-12, 30.0)
    row = use_row(found)
    assert row["error"] == "over 1,000 %" and row["word"] == "missed"
    assert "1 of 3 figures is near 0, where a relative error says little" in row["what"]
    lines = use_lines([found])
    assert "near 0" in lines[-1] and "- sample" not in lines[1]
    assert "What it is relative to is near 0" in use_row(near_zero(6.5e11, 1e-12))["what"]
    assert "near 0" not in use_row(near_zero(0.02, 40.0, 30.0))["what"]
