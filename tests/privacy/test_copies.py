"""A table called public that holds the confidential rows is refused before anything is answered."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from hedgerow.api.job import Job
from hedgerow.errors import JobError, Refused
from hedgerow.private import noise
from hedgerow.steward import ledger_book
from tests.privacy.recipe_world import PUBLIC, write_blend
from tests.privacy.world import GUARANTEES, frame

ROWS = frame(PUBLIC).with_columns(pl.format("p{}", pl.int_range(pl.len())).alias("id"))
GUARANTEE = next(g for g in GUARANTEES.values() if g.unit == "record" and g.relation == "add-remove")
COPIES: dict[str, Callable[[Path], object]] = {
    "shuffled.csv": lambda path: ROWS.sample(fraction=1, shuffle=True, seed=1).write_csv(path),
    "typed.parquet": lambda path: ROWS.with_columns(pl.col("pay").cast(pl.Float64)).write_parquet(path),
    "wider.csv": lambda path: ROWS.select("id", *ROWS.columns[:4], more=pl.lit("x")).reverse().write_csv(path),
}


def job_of(folder: Path, public: str) -> Path:
    """A job whose public table is called so, with the confidential table beside it."""
    job = write_blend(folder, GUARANTEE, "public_blend")
    job.write_text(job.read_text("utf-8").replace('table = "public.csv"', f'table = "{public}"'), "utf-8")
    ROWS.write_csv(folder / "secret.csv")
    return job


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_saved_again_shuffled_or_widened_is_refused_before_an_answer(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(tmp_path, name)
    COPIES[name](tmp_path / name)
    monkeypatch.setattr(noise, "draw", lambda *_: pytest.fail("noise was drawn"))
    with pytest.raises(Refused, match=r"\[public\] holds the rows of the confidential table") as refused:
        Job.load(job).run()
    assert "no answer exists" in str(refused.value) and "Name another table" in str(refused.value)
    assert not any(e["kind"] in ("draw", "rows") for e in ledger_book.show(str(tmp_path / "ledger.db"))["entries"])


def test_the_same_people_a_row_less_or_a_value_apart_pass(tmp_path: Path) -> None:
    """Equality is what is seen: whoever calls a cut copy public is not stopped, and docs/guarantee.md says so."""
    for name, other in (("less.csv", ROWS[1:]), ("apart.csv", ROWS.with_columns(sex=pl.lit("F")))):
        (folder := tmp_path / name.removesuffix(".csv")).mkdir()
        job = job_of(folder, name)
        other.write_csv(folder / name)
        Job.load(job).run()


def test_a_copy_byte_by_byte_is_still_refused_before_anything_is_booked(tmp_path: Path) -> None:
    job = job_of(tmp_path, "same.csv")
    ROWS.write_csv(tmp_path / "same.csv")
    with pytest.raises(JobError, match="equal byte by byte"):
        Job.load(job).run()
