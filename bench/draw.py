"""Peak memory of drawing and writing copies, and how far shards lie from the tables beside one piece.

    python bench/draw.py [ROWS] [COLUMNS] [--json]

Every measurement is a process of its own: peak memory of 1 and of 5 copies (bar: at most 1.2 times), and of four
times the rows.  Then 100,000 records in shards of 20,000 and in one piece: mean L1 distance of all two-way tables.
"""

import json
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from hedgerow.model import base
from hedgerow.model.records import BlendModel, JunctionModel, PairTargets, TreeModel, pair_shares, spanning_forest
from hedgerow.public import PublicData, Schema
from hedgerow.records import draw_one, write_copies


def model_of(rows: int, sizes: tuple[int, ...], sample: int = 50_000) -> tuple[BlendModel, Schema, np.ndarray]:
    """Records of columns that hang together, and a model with their exact pairs."""
    rng = np.random.default_rng(1)
    common = rng.normal(size=(sample, 3))
    order = [np.argsort(np.argsort(common @ rng.normal(size=3) + 0.7 * rng.normal(size=sample))) for _ in sizes]
    made = np.stack([((o / sample) ** 2 * s).astype(np.uint16) for o, s in zip(order, sizes, strict=True)], axis=1)
    pairs = pair_shares(made, sizes)
    margins = [np.bincount(made[:, i], minlength=s) / sample for i, s in enumerate(sizes)]
    strength = {k: float(np.abs(t - np.outer(t.sum(1), t.sum(0))).sum()) for k, t in pairs.items()}
    tree = TreeModel(margins, {k: pairs[k] for k in spanning_forest(len(sizes), strength)})
    schema = Schema.loads(
        "".join(
            f'[columns.c{i}]\nkind = "integer"\nbins = {{ low = 0, high = {s - 1}, width = 1 }}\n'
            for i, s in enumerate(sizes)
        )
    )
    names = tuple(f"c{i}" for i in range(len(sizes)))
    return BlendModel(rows, names, schema.coding, JunctionModel(tree, {}), PairTargets(sizes, pairs)), schema, made


def peak(rows: int, columns: int, copies: int) -> dict[str, float]:
    """CPU seconds and peak memory of so many copies, in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "one", str(rows), str(columns), str(copies)],
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def one(rows: int, columns: int, copies: int) -> None:
    """What the other process does."""
    model, schema, _ = model_of(rows, tuple(5 + i % 20 for i in range(columns)))
    with TemporaryDirectory() as folder:
        write_copies(model, PublicData(schema), Path(folder), copies=copies, seed=1)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss / 1024}))


def distance(frame, made: np.ndarray, sizes: tuple[int, ...]) -> float:  # type: ignore[no-untyped-def]
    """The mean L1 distance of all two-way tables."""
    ours = np.stack([frame[c].to_numpy() for c in frame.columns], axis=1).astype(np.uint16)
    here, there = pair_shares(ours, sizes), pair_shares(made, sizes)
    return float(np.mean([np.abs(here[k] - there[k]).sum() for k in here]))


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["one"]:
        one(*map(int, sys.argv[2:5]))
        return
    given = [a for a in sys.argv[1:] if a != "--json"]
    rows, columns = (*map(int, given[:2]), *(1_000_000, 60)[len(given) :])
    first, five, more = peak(rows, columns, 1), peak(rows, columns, 5), peak(4 * rows, columns, 1)
    sizes = (5, 12, 40, 60, 3, 8, 100, 20, 7, 30)
    model, schema, made = model_of(100_000, sizes, 100_000)
    piece = draw_one(model, PublicData(schema), np.random.default_rng(1)).frame
    base.SHARD = 20_000
    shards = draw_one(model, PublicData(schema), np.random.default_rng(1)).frame
    off = {"one piece": distance(piece, made, sizes), "five shards": distance(shards, made, sizes)}
    ratio = five["mb"] / first["mb"]
    if "--json" in sys.argv:
        sizes_of = {"1 copy": first, "5 copies": five, "four times the rows": more}
        print(
            json.dumps({"rows": rows, "columns": columns, "ratio": ratio, "bar": 1.2, "runs": sizes_of, "off": off})
        )
        return
    print(f"{rows:,} x {columns}: 1 copy {first['mb']:.0f} MB, 5 copies {five['mb']:.0f} MB, ratio {ratio:.2f} "
          f"(bar 1.2); four times the rows {more['mb']:.0f} MB")  # fmt: skip
    print(f"100,000 records: one piece {off['one piece']:.5f}, five shards {off['five shards']:.5f}")


if __name__ == "__main__":
    main()
