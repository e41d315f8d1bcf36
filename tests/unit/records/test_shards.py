"""Records drawn in shards: as many and as near to the model as in one piece, whatever made them, in little memory."""

import weakref
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hedgerow import records
from hedgerow.model import base
from hedgerow.model.base import shard_sizes, shards_of
from hedgerow.model.records import (
    BlendModel,
    JunctionModel,
    PairTargets,
    SupportModel,
    TreeModel,
    pair_shares,
    spanning_forest,
)
from hedgerow.model.records.models import ProductModel
from hedgerow.model.tables import systematic_shards
from hedgerow.model.trees.row_shares import RowShares
from hedgerow.public import CodedTable, PublicData, RecordFile, Schema, pieces, whole, write_pieces, write_table
from hedgerow.records import draw_copies, draw_one, write_copies

SIZES = (5, 12, 40, 60, 3, 8, 100, 20, 7, 30)
ROWS, SHARD = 100_000, 20_000
SCHEMA = Schema.loads(
    "\n".join(
        f'[columns.c{i}]\nkind = "categorical"\nvalues = {[str(v) for v in range(s)]}' for i, s in enumerate(SIZES)
    )
)


def skewed(rows: int, seed: int = 1) -> np.ndarray:
    """Records of columns that hang together, with many rare values."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(rows, 3))
    order = [np.argsort(np.argsort(common @ rng.normal(size=3) + 0.7 * rng.normal(size=rows))) for _ in SIZES]
    return np.stack([((o / rows) ** 2.5 * s).astype(np.uint16) for o, s in zip(order, SIZES, strict=True)], axis=1)


def a_blend(rows: np.ndarray) -> BlendModel:
    pairs = pair_shares(rows, SIZES)
    margins = [np.bincount(rows[:, i], minlength=s) / len(rows) for i, s in enumerate(SIZES)]
    strength = {k: float(np.abs(t - np.outer(t.sum(1), t.sum(0))).sum()) for k, t in pairs.items()}
    tree = TreeModel(margins, {k: pairs[k] for k in spanning_forest(len(SIZES), strength)})
    names = tuple(f"c{i}" for i in range(len(SIZES)))
    return BlendModel(len(rows), names, SCHEMA.coding, JunctionModel(tree, {}), PairTargets(SIZES, pairs))


def distance(frame: pl.DataFrame, rows: np.ndarray) -> float:
    """The mean L1 distance of all two-way tables."""
    made = np.stack([frame[c].cast(pl.UInt16).to_numpy() for c in frame.columns], axis=1)
    one, other = pair_shares(made, SIZES), pair_shares(rows, SIZES)
    return float(np.mean([np.abs(one[k] - other[k]).sum() for k in combinations(range(len(SIZES)), 2)]))


def test_shards_are_not_further_from_the_tables_than_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = skewed(ROWS)
    model, public = a_blend(rows), PublicData(SCHEMA)
    piece = draw_one(model, public, np.random.default_rng(1)).frame
    monkeypatch.setattr(base, "SHARD", SHARD)
    shards = draw_one(model, public, np.random.default_rng(1)).frame
    assert shards_of(ROWS) == 5 and len(shards) == len(piece) == ROWS
    assert distance(shards, rows) <= distance(piece, rows)
    parts = [distance(shards[i * SHARD : (i + 1) * SHARD], rows) for i in range(5)]
    assert distance(shards, rows) < 0.6 * min(parts)  # one makes up for what another is off by


def test_whole_counts_of_shards_add_up_to_those_of_one_drawing() -> None:
    shares = np.random.default_rng(2).dirichlet(np.full(300, 0.05))
    parts = list(systematic_shards(shares, 100_003, 7, np.random.default_rng(3)))
    assert [int(p.sum()) for p in parts] == shard_sizes(100_003, 7)
    (together,) = systematic_shards(shares, 100_003, 1, np.random.default_rng(3))
    assert (np.sum(parts, axis=0) == together).all()
    assert np.abs(np.array(parts) - together / 7).max() < 1  # each shard has its share of every cell, made whole


def test_every_model_draws_its_total_in_shards_and_the_same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, public = skewed(3_001), PublicData(SCHEMA)
    names = tuple(f"c{i}" for i in range(len(SIZES)))
    shares = {n: np.bincount(rows[:, i], minlength=SIZES[i]) / 3_001 for i, n in enumerate(names)}
    models = [
        ProductModel(3_001, shares, SCHEMA.coding),
        a_blend(rows),
        SupportModel(3_001, names, SCHEMA.coding, rows[:500], np.ones(500), a_blend(rows).targets),
    ]
    monkeypatch.setattr(base, "SHARD", 700)
    for model in models:
        one, two = (draw_one(model, public, np.random.default_rng(5)).frame for _ in range(2))
        assert len(one) == 3_001 and one.equals(two)
    counts = draw_one(models[0], public, np.random.default_rng(5)).frame["c2"].value_counts()
    due = {str(v): 3_001 * s for v, s in enumerate(shares["c2"])}
    assert all(abs(n - due[v]) < 1 for v, n in counts.iter_rows())


def test_attached_labels_of_shards_are_balanced_together(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema.loads(
        '[columns.place]\nkind = "integer"\nbins = { low = 0, high = 39, width = 1 }\n'
        '[columns.sex]\nkind = "categorical"\nvalues = ["F", "M"]\n'
    )
    rng = np.random.default_rng(4)
    place = rng.integers(0, 40, 12_000)
    target = CodedTable.read(pl.DataFrame({"place": place}), schema, "target")
    share = rng.random(40)[place].astype(np.float32)
    model = RowShares(schema, ("sex",), np.stack([share, 1 - share], axis=1), (place,), target)
    off = {}
    for size in (20_000, 2_000):
        monkeypatch.setattr(base, "SHARD", size)
        frame = draw_one(model, PublicData(schema, target=target), np.random.default_rng(1)).frame
        assert (frame["place"].to_numpy() == place).all()
        made = np.bincount(place, frame["sex"].to_numpy() == "F", 40)
        off[size] = np.abs(made - np.bincount(place, share, 40)).mean()
    assert off[2_000] < 1.5 * off[20_000] + 0.5 and off[2_000] < 2  # by chance alone it would be near 7


def test_copies_in_files_are_those_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "SHARD", 900)
    model, public = a_blend(skewed(2_500)), PublicData(SCHEMA)
    held = draw_copies(model, public, copies=3, seed=7).records
    files = write_copies(model, public, tmp_path, copies=3, seed=7).records
    assert all(f.read().equals(frame) for f, frame in zip(files, held, strict=True))
    assert not held[0].equals(held[1])
    (first,) = write_copies(model, public, tmp_path, copies=1, seed=7).records
    assert first.read().equals(held[0])  # more copies never change the first one


def test_a_file_does_not_depend_on_the_pieces_it_was_written_in(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": np.arange(600_000) % 7, "b": pl.Series(["x", None, "z"] * 200_000)})
    for suffix in ("parquet", "csv"):
        write_table(frame, tmp_path / f"whole.{suffix}")
        write_pieces(frame.iter_slices(99_999), tmp_path / f"parts.{suffix}")
        assert (tmp_path / f"whole.{suffix}").read_bytes() == (tmp_path / f"parts.{suffix}").read_bytes()
    file = RecordFile(tmp_path / "parts.parquet")
    assert len(file) == len(frame) and file.columns == frame.columns
    assert [len(p) for p in pieces(file)] == [262_144, 262_144, 75_712]
    assert whole(file, ["b"]).equals(frame.select("b"))


def test_what_fails_while_rows_come_is_told_in_its_own_words_and_leaves_no_file(tmp_path: Path) -> None:
    def rows() -> object:
        yield pl.DataFrame({"a": [1]})
        raise MemoryError("the third shard")

    with pytest.raises(MemoryError, match="the third shard"):
        write_pieces(rows(), tmp_path / "x.parquet")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_few_shards_are_in_memory_at_a_time_whatever_the_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Peak memory itself is measured by bench/draw.py."""
    alive, most = set[int](), [0]
    decoded = records.decode

    def watched(*given: object, **more: object) -> pl.DataFrame:
        frame = decoded(*given, **more)  # type: ignore[arg-type]
        alive.add(id(frame))
        weakref.finalize(frame, alive.discard, id(frame))
        most[0] = max(most[0], len(alive))
        return frame

    monkeypatch.setattr(base, "SHARD", 500)
    monkeypatch.setattr(records, "decode", watched)
    model = a_blend(skewed(5_000))
    files = write_copies(model, PublicData(SCHEMA), tmp_path, copies=5, seed=1).records
    assert [len(f) for f in files] == [5_000] * 5
    assert most[0] <= 4  # of fifty: one that is drawn, one that is handed over, and what waits to be written
