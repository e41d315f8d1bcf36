"""Attach recipes on real tables: error at equal total epsilon; and the speed of trees against the papers' recursion.

python -m bench.attach utility [SPLIT ...]     error table, several seeds
python -m bench.attach speed [ROWS]            ratios in one run
"""

import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bench.attach_data import Split, load
from hedgerow import pipeline
from hedgerow.counting.plan import CountPlan
from hedgerow.model.boosted import boost
from hedgerow.model.random_tree import reached, sketch_tree
from hedgerow.public.accounting import Budget
from hedgerow.public.coding import CodedColumn, Coding
from hedgerow.public.question import Marginal
from hedgerow.public.table import PublicTable
from hedgerow.recipes import GuidedTree, PublicData, RandomTrees
from hedgerow.recipes.attach import cells_of, is_ordered, lines_of

EPSILONS = ("0.1", "0.25", "1", "3", "10")
_SEEDS = 3


def utility(names: list[str]) -> None:
    """The error of every method on every split, mean over seeds: (attribute, labels) tables, and coefficients."""
    print(f"{'split':14}{'epsilon':>8}  {'method':24}{'tables':>8}{'coef':>8}")
    for name in names or ["adult_halves", "adult_shifted", "census", "opm", "acs_ma"]:
        split = load(name)
        truth = PublicTable.read(split.confidential, split.schema, role="target")
        target = PublicTable.read(split.confidential.select(split.given), split.schema, role="target")
        public = PublicData(split.schema, PublicTable.read(split.public, split.schema), target)
        for seed in range(_SEEDS):
            _show(split, "-", "public as it is", judged(split, truth, as_it_is(split, public, seed)), seed)
        for epsilon in EPSILONS:
            for label, recipe in methods(split).items():
                for seed in range(_SEEDS):
                    _show(
                        split,
                        epsilon,
                        label,
                        judged(split, truth, run(split, public, recipe(seed), epsilon, seed)),
                        seed,
                    )


def methods(split: Split) -> dict[str, Any]:
    """What is compared."""
    p = split.private
    return {
        "random_trees n_B 500 T 3": lambda s: RandomTrees(private=p, seed=s),
        "guided_tree": lambda s: GuidedTree(private=p, seed=s),
        "guided_tree + outcome": lambda s: GuidedTree(private=p, seed=s, analyses=[[split.outcome]]),
    }


_rows: dict[tuple[str, str, str], list[tuple[float, float]]] = {}


def _show(split: Split, epsilon: str, label: str, errors: tuple[float, float], seed: int) -> None:
    held = _rows.setdefault((split.name, epsilon, label), [])
    held.append(errors)
    if seed == _SEEDS - 1:
        mean = np.mean(held, axis=0)
        print(f"{split.name:14}{epsilon:>8}  {label:24}{mean[0]:8.4f}{mean[1]:8.4f}", flush=True)


def run(split: Split, public: PublicData, recipe: Any, epsilon: str, seed: int) -> pl.DataFrame:
    """One real run through the gate."""
    with tempfile.TemporaryDirectory() as folder:
        gate = pipeline.open_gate(
            split.confidential,
            split.schema,
            Budget(epsilon),
            relation="label-change",
            public_columns=split.given,
            ledger=Path(folder) / "ledger.db",
            name=uuid.uuid4().hex,
        )
        assert public.target is not None
        made: pl.DataFrame = recipe.fit(gate, public).attach(public.target, np.random.default_rng(seed))
        return made


def as_it_is(split: Split, public: PublicData, seed: int) -> pl.DataFrame:
    """Labels drawn from the boosted model of the public table alone."""
    from hedgerow.model.attached import Attached

    assert public.relative is not None and public.target is not None
    schema, given = split.schema, split.given
    ordered = [is_ordered(schema, a) for a in given]
    labels = cells_of(public.relative, split.private)
    model = boost(
        lines_of(public.relative, given),
        labels,
        schema.size(split.private),
        schema.shape(given),
        ordered,
        np.random.default_rng(seed),
    )
    shares = model.shares(lines_of(public.target, given))
    made = Attached(schema, split.private, shares, np.zeros(public.target.rows, np.int8), public.target)
    return made.attach(public.target, np.random.default_rng(seed))


def judged(split: Split, truth: PublicTable, frame: pl.DataFrame) -> tuple[float, float]:
    """Mean total-variation distance of (attribute, labels) tables, and mean error of the labels' coefficients."""
    got = PublicTable.read(frame, split.schema, role="synthetic")
    far = []
    for a in split.given:
        names = (a, *split.private)
        size = split.schema.size(names)
        t, g = (np.bincount(cells_of(x, names), minlength=size) for x in (truth, got))
        far.append(np.abs(t - g).sum() / 2 / len(frame))
    beta = [coefficients(split, x) for x in (truth, got)]
    return float(np.mean(far)), float(np.abs(beta[0] - beta[1]).mean())


def coefficients(split: Split, table: PublicTable) -> Any:
    """Least squares of the outcome's code, standardised, on all labels and all given columns of up to 30 codes."""
    y = table.codes([split.outcome])[split.outcome].astype(float)
    y = (y - y.mean()) / y.std()
    parts = []
    for a in (*split.private, *(g for g in split.given if g != split.outcome and split.schema.size([g]) <= 30)):
        code = table.codes([a])[a]
        common = np.flatnonzero(np.bincount(code) >= 200)[1:]
        parts.append(
            (code[:, None] == common).astype(np.float32) if a in split.private else code[:, None].astype(np.float32)
        )
    x = np.concatenate([np.ones((len(y), 1), np.float32), *parts], axis=1)
    b = np.linalg.lstsq(x, y, rcond=None)[0]
    wide = sum(p.shape[1] for p in parts[: len(split.private)])
    full = np.zeros(64)
    full[:wide] = b[1 : 1 + wide]
    return full[: sum(split.schema.shape(split.private))]


def recursion(public: Any, secret: Any, labels: Any, sizes: Any, n_b: int, rng: np.random.Generator) -> int:
    """The papers' way: filter both tables by every label of every node."""
    stack = [(np.arange(public.shape[1]), np.arange(secret.shape[1]), tuple(range(len(sizes))))]
    leaves = 0
    while stack:
        p, s, free = stack.pop()
        if len(p) >= n_b and free:
            a = free[rng.integers(len(free))]
            rest = tuple(f for f in free if f != a)
            here, there = public[a, p], secret[a, s]
            stack += [(p[here == c], s[there == c], rest) for c in range(sizes[a])]
        else:
            np.bincount(labels[s], minlength=10)
            leaves += 1
    return leaves


def speed(rows: int) -> None:
    """CPU seconds of building, routing and leaf counting, and the ratio to the papers' recursion in one run."""
    sizes = (24, 500, 800, 60, 7, 5, 100)
    rng = np.random.default_rng(1)
    tables = [np.stack([(rng.beta(0.6, 3, rows) * s).astype(np.uint16) for s in sizes]) for _ in range(2)]
    labels = rng.integers(0, 10, rows).astype(np.uint8)
    columns = {f"c{i}": s for i, s in enumerate(sizes)}
    coding = Coding(tuple(CodedColumn(n, "text", s, 0, 0) for n, s in {**columns, "y": 10}.items()))
    codes = dict(zip(columns, tables[1], strict=True)) | {"y": labels}
    ours(tables[0][:, :1000], columns, codes, coding, 500)
    for n_b in (500, 25):
        seconds, leaves = ours(tables[0], columns, codes, coding, n_b)
        begun = time.process_time()
        recursion(tables[0], tables[1], labels, sizes, n_b, np.random.default_rng(2))
        slow = time.process_time() - begun
        print(
            f"n_B {n_b:4}: {seconds:.3f} CPU-s, {leaves:,} reached leaves; "
            f"the papers' way {slow:.2f}: {slow / seconds:.0f} x"
        )


def ours(public: Any, columns: dict[str, int], codes: Any, coding: Coding, n_b: int) -> tuple[float, int]:
    """One tree: build on public rows, number the reached leaves, count the confidential rows in them."""
    begun = time.process_time()
    tree = sketch_tree(public, columns, [1.0] * len(columns), n_b=n_b, depth=7, rng=np.random.default_rng(2))
    built = time.process_time()
    tree = reached(tree, codes)
    found = time.process_time()
    plan = CountPlan([Marginal(("y",), tree)], coding)
    plan.count(codes)
    done = time.process_time()
    print(f"  build {built - begun:.3f}, route the target {found - built:.3f}, count {done - found:.3f}")
    return done - begun, tree.leaves


if __name__ == "__main__":
    if sys.argv[1] == "speed":
        speed(int(sys.argv[2]) if len(sys.argv) > 2 else 2_000_000)
    else:
        utility(sys.argv[2:])
