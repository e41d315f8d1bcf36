"""The speed of random trees on simulated personnel tables: against the papers' recursion, by stage, and by size.

    python -m bench.attach speed [ROWS]     ratios to the papers' way in one run, at n_B 500 and 25
    python -m bench.attach whole [ROWS]     three trees through the real gate and labels drawn: CPU, memory
    python -m bench.attach linear           the stages from 10^5 to 10^7 rows
    python -m bench.attach stages           the stages against n_B, labels per attribute and trees

Utility is measured in ``bench/attach_utility.py`` and ``bench/random_trees.py``. All times are CPU seconds.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hedgerow import pipeline
from hedgerow.counting.plan import CountPlan, leaf_of
from hedgerow.model.trees.random_tree import combine, number_reached, sketch_tree
from hedgerow.model.trees.row_shares import draw_each
from hedgerow.private import noise
from hedgerow.public.coding import CodedColumn, Coding
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.question import Marginal
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import RandomTrees

SIZES = {"education": 24, "agency": 500, "occupation": 800, "age": 60, "region": 7, "supervisory": 5, "pay": 100}
LABELS = 10


def personnel(rows: int, seed: int, sizes: dict[str, int] = SIZES) -> Any:
    """Coded rows, a line for each predictor: a few large agencies and occupations, pay that follows occupation."""
    rng = np.random.default_rng(seed)
    lines = np.stack([(rng.beta(0.6, 3, rows) * s).astype(np.uint16) for s in sizes.values()])
    names = list(sizes)
    if {"occupation", "pay"} <= set(names):
        follows = rng.random(rows) < 0.5
        top, pay = lines[names.index("occupation")] / sizes["occupation"], names.index("pay")
        lines[pay, follows] = (top[follows] * sizes["pay"]).astype(np.uint16)
    return lines


def recursion(tables: list[Any], labels: Any, sizes: list[int], n_b: int, rng: np.random.Generator) -> int:
    """The papers' way: for every label of every node filter the rows of each table; count labels in the leaves.

    The first table decides the splits, the second is counted; a third, the target, is carried down to its leaves.
    """
    stack = [([np.arange(t.shape[1]) for t in tables], tuple(range(len(sizes))))]
    leaves = 0
    while stack:
        rows, free = stack.pop()
        if len(rows[0]) >= n_b and free:
            a = free[rng.integers(len(free))]
            rest = tuple(f for f in free if f != a)
            codes = [t[a, r] for t, r in zip(tables, rows, strict=True)]
            stack += [([r[c == x] for r, c in zip(rows, codes, strict=True)], rest) for x in range(sizes[a])]
        else:
            np.bincount(labels[rows[1]], minlength=LABELS)
            leaves += 1
    return leaves


def coding_of(sizes: dict[str, int]) -> Coding:
    """The codes of all predictors and of the label."""
    return Coding(tuple(CodedColumn(n, "text", s, 0, 0) for n, s in {**sizes, "label": LABELS}.items()))


def stages(public: Any, secret: Any, target: Any, n_b: int, sizes: dict[str, int], seed: int = 2) -> dict[str, float]:
    """CPU seconds of each stage of one tree: build, number, count, noise, classify."""
    coding, names = coding_of(sizes), list(sizes)
    clock = [time.process_time()]

    def lap() -> float:
        clock.append(time.process_time())
        return clock[-1] - clock[-2]

    out: dict[str, float] = {}
    rng = np.random.default_rng(seed)
    tree = sketch_tree(public, sizes, [1.0] * len(sizes), n_b=n_b, depth=len(sizes), rng=rng)
    out["build"] = lap()
    tree = number_reached(tree, dict(zip(names, target, strict=True)))
    out["number"] = lap()
    plan = CountPlan([Marginal(("label",), tree)], coding)
    counts = plan.count(secret)
    out["count"] = lap()
    spend = Tariff(coding, Guarantee(), "pure").measure_all([Marginal(("label",), tree)], Budget("0.25").total)
    noisy = (counts + noise.draw(spend.asked[0].noise, len(counts))).reshape(-1, LABELS).astype(np.float64)
    out["noise"] = lap()
    leaf = leaf_of(tree, dict(zip(names, target, strict=True)))
    draw_each(combine("mean", [noisy], [leaf], [1.0]), rng)
    out["classify"] = lap()
    out["leaves"] = tree.leaves
    assert counts.sum() == secret["label"].size
    return out


def tables_of(rows: int, sizes: dict[str, int] = SIZES) -> tuple[Any, dict[str, Any], Any]:
    """A public table, confidential codes with labels, and a target."""
    secret = dict(zip(sizes, personnel(rows, 2, sizes), strict=True))
    secret["label"] = np.random.default_rng(3).integers(0, LABELS, rows).astype(np.uint8)
    return personnel(rows, 1, sizes), secret, personnel(rows, 4, sizes)


def warm() -> None:
    """Compile everything once."""
    stages(*tables_of(2000), 50, SIZES)


def speed(rows: int) -> None:
    """Building, routing and leaf counting against the papers' recursion: two tables, and with the target three."""
    warm()
    public, secret, target = tables_of(rows)
    held, sizes = np.stack([secret[n] for n in SIZES]), list(SIZES.values())
    for n_b in (500, 25):
        ours = min(
            (stages(public, secret, target, n_b, SIZES) for _ in range(3)), key=lambda s: s["build"] + s["count"]
        )
        two, three = ours["build"] + ours["count"], ours["build"] + ours["number"] + ours["count"]
        for tables, mine in (([public, held], two), ([public, held, target], three)):
            begun = time.process_time()
            recursion(tables, secret["label"], sizes, n_b, np.random.default_rng(2))
            slow = time.process_time() - begun
            print(
                f"{rows:,} rows, n_B {n_b:3}, {len(tables)} tables: ours {mine:.3f} CPU-s, papers' way {slow:.2f}:"
                f" {slow / mine:.0f} x; {ours['leaves']:,.0f} leaves",
                flush=True,
            )


def whole(rows: int, n_b: int = 500) -> None:
    """Three trees filled through the real gate, and sex and race drawn for all target rows."""
    small = _whole(3000, 50)
    print(f"warm-up on 3,000 rows: {small[0] + small[1]:.2f} CPU-s")
    fit, draw = _whole(rows, n_b)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{rows:,} rows, n_B {n_b}: fit {fit:.2f}, draw {draw:.2f}, both {fit + draw:.2f} CPU-s; {peak:.2f} GB")


def _whole(rows: int, n_b: int) -> tuple[float, float]:
    private = {"race": 5, "sex": 2}
    columns = (
        f'[columns.{n}]\nkind = "categorical"\nvalues = {[str(i) for i in range(s)]!r}'.replace("'", '"')
        for n, s in {**SIZES, **private}.items()
    )
    schema = Schema.loads("\n".join(columns))
    frames = [pl.DataFrame(dict(zip(SIZES, personnel(rows, s), strict=True))).cast(pl.String) for s in (1, 2, 4)]
    rng = np.random.default_rng(5)
    labels = {n: pl.Series(rng.integers(0, s, rows)).cast(pl.String) for n, s in private.items()}
    relative, target = (CodedTable.read(f, schema, role="target") for f in (frames[0], frames[2]))
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        gate = pipeline.open_gate(
            frames[1].with_columns(**labels),
            schema,
            Budget(1),
            relation="label-change",
            public_columns=tuple(SIZES),
            ledger=Path(folder) / "ledger.db",
            name="simulated",
        )
        model = RandomTrees(n_b=n_b).fit(gate, PublicData(schema, relative, target))
        fitted = time.process_time()
        model.attach(target, np.random.default_rng(1))
        return fitted - begun, time.process_time() - fitted


def _line(name: str, found: dict[str, float]) -> None:
    cells = "".join(f"{found[k]:>10.3f}" for k in ("build", "number", "count", "noise", "classify"))
    print(f"{name:<34}{cells}{found['leaves']:>12,.0f}", flush=True)


def _head() -> None:
    print(
        f"{'CPU seconds':<34}"
        + "".join(f"{k:>10}" for k in ("build", "number", "count", "noise", "classify"))
        + f"{'leaves':>12}"
    )


def linear() -> None:
    """Every stage from a hundred thousand to ten million rows, at n_B 500 for a million and in proportion."""
    warm()
    _head()
    for rows in (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000):
        lines = personnel(rows, 1)
        secret = dict(zip(SIZES, lines, strict=True)) | {"label": (np.arange(rows) % LABELS).astype(np.uint8)}
        found = stages(lines, secret, lines, max(rows // 2000, 1), SIZES)
        _line(f"{rows:>12,} rows, n_B {max(rows // 2000, 1)}", found)
        total = sum(v for k, v in found.items() if k != "leaves")
        print(f"{'':34}{1e9 * total / rows:,.0f} ns a row")


def by_stage() -> None:
    """Every stage against n_B, labels per attribute and trees, on a million rows."""
    warm()
    rows = 1_000_000
    tables = tables_of(rows)
    _head()
    for n_b in (5000, 1000, 500, 100, 25):
        _line(f"n_B {n_b}", stages(*tables, n_b, SIZES))
    for labels in (4, 16, 64, 256):
        sizes = {f"c{i}": labels for i in range(7)}
        _line(f"7 attributes of {labels} labels, n_B 500", stages(*tables_of(rows, sizes), 500, sizes))
    for trees in (1, 3, 10):
        runs = [stages(*tables, 500, SIZES, seed=s) for s in range(trees)]
        _line(f"{trees} trees, n_B 500", {k: sum(r[k] for r in runs) for k in runs[0]})


if __name__ == "__main__":
    asked = sys.argv[1] if len(sys.argv) > 1 else "speed"
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 2_000_000
    {"speed": lambda: speed(size), "whole": lambda: whole(size), "linear": linear, "stages": by_stage}[asked]()
