"""Rows that other machines attach columns to: what of them is sent, and that the file is the one made here."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.model import base
from hedgerow.model.trees.row_shares import RowShares
from hedgerow.public import CodedTable, PublicData, Schema
from hedgerow.records import write_copies

GIVEN = """
[columns.age]
kind = "integer"
bins = { low = 0, high = 99, width = 10 }
missing = true
[columns.job]
kind = "categorical"
values = ["x", "y", "z"]
other = "z"
[columns.grade]
kind = "ordered"
values = ["1", "2", "3"]
other = "3"
type = "integer"
"""
SEX = '[columns.sex]\nkind = "categorical"\nvalues = ["F", "M"]\nother = "M"\n'
YEARS = '[columns.years]\nkind = "integer"\nbins = { low = 0, high = 49, width = 5 }\nmissing = true\n'
BRANCH = """
[columns.branch]
kind = "categorical"
values = ["new", "old"]
other = "old"
determined_by = ["job"]
map = [["x", "new"], ["y", "old"], ["z", "old"]]
"""
ZERO = '[[zero]]\nwhere = { sex = ["F"], job = ["x"] }\n'
ALONE = '[[zero]]\nwhere = { sex = ["F"] }\n'  # on the attached column alone
RULE = '[[rule]]\nleft = "years"\nright = "age"\n'


def rows(**other: Any) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    plain: dict[str, Any] = {
        "age": rng.integers(0, 99, 1_501),
        "job": np.array(["x", "y", "z"])[rng.integers(0, 3, 1_501)],
        "grade": rng.integers(1, 4, 1_501),
        "note": ["kept"] * 1_501,
    }
    return pl.DataFrame(plain | other)


@pytest.mark.parametrize(
    ("schema", "target", "values", "codes"),
    [
        (GIVEN + SEX, rows(), [""], []),
        (GIVEN + SEX, rows(job=["x", "odd", "z"] * 500 + ["y"]), ["job"], []),
        (GIVEN + SEX, rows(grade=["1", "2.0", "3"] * 500 + ["1"]), ["grade"], []),
        (GIVEN + SEX, rows(age=[250, 17, 3] * 500 + [4]), ["age"], []),
        (GIVEN + SEX + BRANCH, rows(), [""], ["job"]),
        (GIVEN + SEX + BRANCH, rows(branch=["old"] * 1_501), [""], []),
        (GIVEN + SEX + ZERO, rows(), ["job"], ["age", "job", "grade"]),
        (GIVEN + SEX + ALONE, rows(), [""], ["age", "job", "grade"]),
        (GIVEN + YEARS, rows(), [""], ["age", "job", "grade"]),
        (GIVEN + YEARS + RULE, rows(), ["age"], ["age", "job", "grade"]),
    ],
    ids=["plain", "strange", "written", "beyond", "follows", "given", "zero", "own zero", "number", "rule"],
)
def test_other_machines_get_what_they_look_at_and_the_file_is_the_same(
    schema: str,
    target: pl.DataFrame,
    values: list[str],
    codes: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(base, "SHARD", 400)
    known = Schema.loads(schema)
    table = CodedTable.read(target, known, "target")
    private, rng = ("years" if "years" in schema else "sex",), np.random.default_rng(1)
    shares = rng.dirichlet(np.ones(known.size(private)), table.rows).astype(np.float32)
    fitted = RowShares(known, private, shares, (table.codes(["job"])["job"],), table)
    sent = list[tuple[list[str], list[str]]]()

    def elsewhere(work: Any, tasks: Any) -> Any:
        for task in tasks:
            there = pickle.loads(pickle.dumps(task))
            assert there[0].target is there[1], "or it is sent twice"
            sent.append((there[1].frame.columns, [*there[1]._codes]))
            yield work(there)

    def file(place: Path, spread: Any) -> bytes:
        place.mkdir()
        public = PublicData(known, None, table)
        (made,) = write_copies(fitted, public, place, copies=1, seed=3, spread=spread).records
        return made.path.read_bytes()

    assert file(tmp_path / "here", map) == file(tmp_path / "there", elsewhere)
    assert sent and all(found == (values, codes) for found in sent), sent
