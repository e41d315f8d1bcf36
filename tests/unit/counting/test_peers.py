"""Published peers are compared by their pairs, and one that cannot be had is told from one that is bad."""

import json
import sys
from pathlib import Path

import polars as pl
import pytest
from bench.peers import carried_out, distance


def test_pairs_that_lie_apart_are_told_and_equal_ones_are_not(tmp_path: Path) -> None:
    true = pl.DataFrame({"a": ["0", "0", "1", "1"], "b": ["0", "0", "1", "1"], "c": ["0", "1", "0", "1"]})
    true.write_csv(tmp_path / "true.csv")
    true[[2, 0, 3, 1]].write_csv(tmp_path / "same.csv")
    true.with_columns(b=pl.Series(["0", "1", "0", "2"])).write_csv(tmp_path / "other.csv")
    assert distance(tmp_path / "true.csv", tmp_path / "same.csv") == 0
    assert distance(tmp_path / "true.csv", tmp_path / "other.csv") == pytest.approx((0.75 + 0 + 0.5) / 3)


def test_a_peer_that_is_not_there_is_left_out_with_its_own_words(tmp_path: Path) -> None:
    pl.DataFrame({"a": ["0", "1"]}).write_csv(tmp_path / "table.csv")
    (tmp_path / "values.json").write_text(json.dumps({"a": ["0", "1"]}), "utf-8")
    found = carried_out(Path(sys.executable), "dpmm MST", tmp_path, 1)
    assert list(found) == ["failed"] and "dpmm" in str(found["failed"])
