"""Noisy answers on disk: what is loaded is what was saved, and a crash never leaves half a file."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import JobError, VerifyFailed
from hedgerow.public.costs.question import TOTAL, Counts, Law, Marginal, Measurement, Noise
from hedgerow.release import measurements

# Plain values only: the checks at run time draw at random, which a strategy may not.
_ANSWERS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.lists(st.text(st.characters(codec="utf-8"), max_size=4), max_size=3),
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5),
        st.sampled_from(["laplace", "gaussian"]),
        st.fractions(min_value=Fraction(1, 10**9)),
    ),
    max_size=6,
)


def _plain(answers: Sequence[tuple[int, Measurement]]) -> list[object]:
    return [(i, m.question, m.counts.tolist(), m.noise) for i, m in answers]


@settings(max_examples=60)
@given(drawn=_ANSWERS)
def test_what_is_loaded_is_what_was_saved(drawn: list[tuple[int, list[str], list[int], Law, Fraction]]) -> None:
    kept = [
        (request, Measurement(Marginal(tuple(names)), np.array(counts, np.int64), Noise(law, scale)))
        for request, names, counts, law, scale in drawn
    ]
    with TemporaryDirectory() as folder:
        measurements.save(Path(folder) / "m.parquet", kept)
        assert _plain(measurements.load(Path(folder) / "m.parquet")) == _plain(kept)


def test_equal_answers_give_equal_bytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    kept = [(i, _answer(f"c{i}", rng.integers(-9, 99, 50_000))) for i in range(30)]
    for name in ("a", "b"):
        measurements.save(tmp_path / name, kept)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_one_row_per_cell_is_readable_by_anyone(tmp_path: Path) -> None:
    measurements.save(
        tmp_path / "m.parquet", [(0, _answer("sex", np.array([5, -2]))), (1, _answer("", np.array([9])))]
    )
    frame = pl.read_parquet(tmp_path / "m.parquet")
    assert frame.rows() == [
        (0, '["sex"]', 0, 5, "laplace", "7/2"),
        (0, '["sex"]', 1, -2, "laplace", "7/2"),
        (1, "[]", 0, 9, "laplace", "7/2"),
    ]


def test_the_same_question_twice_in_one_request_stays_two_answers(tmp_path: Path) -> None:
    twice = [(0, _answer("sex", np.array([5, 2]))), (0, _answer("sex", np.array([4, 3])))]
    measurements.save(tmp_path / "m", twice)
    assert _plain(measurements.load(tmp_path / "m")) == _plain(twice)


def test_a_crash_while_writing_leaves_the_old_file_and_no_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.parquet"
    measurements.save(path, [(0, _answer("sex", np.array([5, 2])))])
    before = path.read_bytes()

    def torn(self: pl.DataFrame, file: BinaryIO, **_: object) -> None:
        file.write(b"PAR1 half of a file")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", torn)
    with pytest.raises(JobError, match="No space left on device") as refused:
        measurements.save(path, [(0, _answer("sex", np.array([1, 1])))])
    assert "spends nothing" in str(refused.value)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.parquet"]


@pytest.mark.parametrize("size", [0, 1, 4, 100])
def test_a_torn_file_is_refused_in_a_sentence(tmp_path: Path, size: int) -> None:
    path = tmp_path / "m.parquet"
    measurements.save(path, [(0, _answer("sex", np.array([5, 2])))])
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(VerifyFailed, match="m.parquet is not a Parquet file, or it is damaged"):
        measurements.load(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cell": pl.Series([0, 2, 1], dtype=pl.UInt64)}, "once, in order"),
        ({"cell": pl.Series([1, 2, 3], dtype=pl.UInt64)}, "once, in order"),
        ({"scale": pl.Series(["1", "2", "1"])}, "in the middle of an answer"),
        ({"scale": pl.Series(["-1"] * 3)}, "does not exist"),
        ({"scale": pl.Series(["1e999999999"] * 3)}, "does not exist"),
        ({"scale": pl.Series(["1/0"] * 3)}, "not a number"),
        ({"law": pl.Series(["none"] * 3)}, "does not exist"),
        ({"question": pl.Series(["{}"] * 3)}, "not a list of column names"),
        ({"question": pl.Series(["[" * 100_000] * 3)}, "not a list of column names"),
        ({"count": pl.Series([1.0, 2.0, 3.0])}, "must have the columns"),
        ({"count": pl.Series([1, None, 3])}, "empty fields"),
        ({"exact": pl.Series([1, 2, 3])}, "must have the columns"),
    ],
)
def test_what_save_would_not_write_is_refused(tmp_path: Path, change: dict[str, pl.Series], said: str) -> None:
    good = measurements.as_frame([(0, _answer("age", np.array([1, 2, 3])))])
    good.with_columns(**change).write_parquet(tmp_path / "m")
    with pytest.raises(VerifyFailed, match=said):
        measurements.load(tmp_path / "m")


@pytest.mark.parametrize("counts", [np.zeros(0, np.int64), np.zeros((2, 2), np.int64)])
def test_an_answer_that_is_no_list_of_whole_numbers_is_not_kept(tmp_path: Path, counts: Counts) -> None:
    with pytest.raises(JobError, match="one whole number per cell"):
        measurements.save(tmp_path / "m", [(0, Measurement(TOTAL, counts, Noise("laplace", Fraction(1))))])
    assert not list(tmp_path.iterdir())


def _answer(name: str, counts: Counts) -> Measurement:
    question = Marginal((name,)) if name else TOTAL
    return Measurement(question, counts.astype(np.int64), Noise("laplace", Fraction(7, 2)))
