"""Shards drawn on Spark's executors: the bytes that are drawn here, whoever draws them and however often."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.answers import StandInGate
from hedgerow.engines.shards import on_executors
from hedgerow.errors import JobError
from hedgerow.model import base
from hedgerow.model.records.models import ProductModel, SupportModel
from hedgerow.model.trees.row_shares import RowShares
from hedgerow.public import Budget, CodedTable, Guarantee, PublicData, Schema, Tariff
from hedgerow.recipes import RandomTrees
from hedgerow.records import write_copies
from tests.engines.dying import TOLD, Dies
from tests.unit.recipes import attach_world
from tests.unit.records.test_shards import SCHEMA, SIZES, a_blend, skewed

pytestmark = pytest.mark.filterwarnings(  # PySpark leaves the closing of its sockets to the collector
    "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
)
ROWS = skewed(3_001)
NAMES = tuple(f"c{i}" for i in range(len(SIZES)))
KNOWN = Guarantee(relation="label-change", public_columns=("age", "job"))


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "SHARD", 700)


def attaching() -> list[tuple[Any, PublicData]]:
    """A forest whose leaves have the sizes of the target's, balanced labels, and a forest that draws them in turn.

    All on rows in order of the age.
    """
    schema = Schema.loads(attach_world.SCHEMA)
    target = attach_world.world(3_001, 3).select("age", "job").sort("age").with_columns(note=pl.lit("kept"))
    table = CodedTable.read(target, schema, "target")
    public = PublicData(schema, CodedTable.read(attach_world.world(900, 1), schema), table)
    rows = CodedTable.read(attach_world.world(3_001, 2), schema)
    gate, other = (
        StandInGate(Tariff(schema.coding, KNOWN, "pure"), Budget("3"), rows, 3_001, np.random.default_rng(0))
        for _ in range(2)
    )
    lines, line = np.random.default_rng(1).random((12, 4)).astype(np.float32), table.cells(["age", "job"])
    lines /= lines.sum(axis=1, keepdims=True)
    groups = tuple(table.codes([c])[c] for c in ("age", "job"))
    shares = RowShares(schema, ("sex", "race"), lines[line], groups, table)
    once = tuple(np.unravel_index(np.arange(12), schema.shape(("age", "job"))))
    shared = RowShares(schema, ("sex", "race"), lines, once, table, line=line.astype(np.int32))
    in_turn = RandomTrees(n_b=20, sequence="chain").fit(other, public)
    return [(RandomTrees(n_b=20).fit(gate, public), public), (shares, public), (shared, public), (in_turn, public)]


def drawn(fitted: Any, public: PublicData, folder: Path, **spread: Any) -> list[bytes]:
    folder.mkdir()
    made = write_copies(fitted, public, folder, copies=1, seed=7, **spread)
    return [file.path.read_bytes() for file in made.records]


def test_every_kind_of_model_gives_the_same_files_on_executors(spark: Any, tmp_path: Path) -> None:
    counts = {n: np.bincount(ROWS[:, i], minlength=SIZES[i]) / 3_001 for i, n in enumerate(NAMES)}
    blend = a_blend(ROWS)
    support = SupportModel(3_001, NAMES, SCHEMA.coding, ROWS[:500], np.ones(500), blend.targets)
    models = [ProductModel(3_001, counts, SCHEMA.coding), blend, support]
    spread = on_executors(spark)
    for i, (fitted, public) in enumerate([*((m, PublicData(SCHEMA)) for m in models), *attaching()]):
        here = drawn(fitted, public, tmp_path / f"here {i}")
        assert drawn(fitted, public, tmp_path / f"there {i}", spread=spread) == here, type(fitted)


def test_machines_that_attach_columns_send_these_and_no_given_one(tmp_path: Path) -> None:
    sent = list[list[str]]()

    def elsewhere(work: Any, tasks: Any) -> Any:
        for task in tasks:
            assert not {*task[1].frame.columns} & {"age", "job", "note"}, "values that nobody looks at"
            frame, off = work(pickle.loads(pickle.dumps(task)))
            sent.append(frame.columns)
            yield frame, off

    for i, (fitted, public) in enumerate(attaching()):
        here = drawn(fitted, public, tmp_path / f"here {i}")
        assert drawn(fitted, public, tmp_path / f"there {i}", spread=elsewhere) == here, type(fitted)
    assert len(sent) == 20 and all(names == ["sex", "race"] for names in sent), sent


def test_a_shard_takes_along_the_lines_of_its_rows_alone() -> None:
    fitted, public = attaching()[2]
    assert public.target is not None
    (first, rows), *_ = fitted.shards(public.target, 5)  # in order of the age: few of the lines
    sent = pickle.loads(pickle.dumps(first))
    assert len(sent.shares) == len(np.unique(first.line)) < 12 and sent.group_counts == fitted.group_counts
    assert all(a.dtype == b.dtype == np.int64 for a, b in zip(first.groups, sent.groups, strict=True))
    assert all(numbers.dtype == np.uint8 for _, numbers in first.__getstate__()["groups"]), "four groups at most"
    (here, off), (there, same) = (f.attach_shard(rows, np.random.default_rng(3)) for f in (first, sent))
    assert here.equals(there) and (off.off == same.off).all()


@pytest.mark.parametrize("which", [1, 2], ids=["each", "shared"])
def test_labels_are_balanced_and_rows_in_order_in_any_shards(tmp_path: Path, which: int) -> None:
    """Rows are sorted: most groups of a kind are in one or two shards, and the last has few of them."""
    fitted, public = attaching()[which]
    (file,) = write_copies(fitted, public, tmp_path, copies=1, seed=7).records
    made, target = file.read(), public.target
    assert target is not None and made.select("age", "job").equals(target.frame.select("age", "job"))
    of = CodedTable.read(made, public.schema)
    for column in ("age", "job"):
        due = np.zeros((target.schema.size([column]), 4))
        np.add.at(due, target.cells([column]), fitted.shares if which == 1 else fitted.shares[fitted.line])
        have = np.bincount(of.cells([column, "sex", "race"]), minlength=due.size).reshape(due.shape)
        assert np.abs(have - due).max() < 4, "by chance alone it would be near 15"


@pytest.mark.thorough
def test_a_worker_that_dies_in_the_middle_changes_nothing(spark: Any, tmp_path: Path) -> None:
    blend, public = a_blend(ROWS), PublicData(SCHEMA)
    here = drawn(blend, public, tmp_path / "here")
    there = drawn(Dies(blend, tmp_path / "died"), public, tmp_path / "there", spread=on_executors(spark))
    assert there == here and (tmp_path / "died").exists()


@pytest.mark.parametrize(
    ("wrong", "told"), [(TOLD, "satisfies the rules"), (ValueError("too bad"), "ValueError: too bad")]
)
def test_what_goes_wrong_on_an_executor_is_told(spark: Any, tmp_path: Path, wrong: Exception, told: str) -> None:
    model = Dies(a_blend(ROWS), tmp_path / "died", wrong)
    with pytest.raises(JobError, match=told):
        drawn(model, PublicData(SCHEMA), tmp_path / "there", spread=on_executors(spark))
    assert not list((tmp_path / "there").iterdir())
