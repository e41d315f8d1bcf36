"""What the papers found of their trees, on four real splits: pay weight, n_B against epsilon, size of the ensemble.

    python -m bench.random_trees [SPLIT ...]
    python -m bench.random_trees figure OUT.png PRINTED.txt ...    the same results, drawn

Every line is a real run through the gate, mean over seeds: *tables*, the mean total-variation distance of (attribute,
labels) tables from those of the confidential rows; *coef*, the mean error of the private columns' coefficients in a
least-squares model of the outcome (the papers' pay model), of labels that 2 % of the rows have.  Relation
label-change; epsilon is the total.
"""

import re
import sys
import tempfile
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bench.attach_splits import Split, load
from hedgerow import pipeline
from hedgerow.public.accounting import Budget
from hedgerow.public.table import PublicTable
from hedgerow.recipes import PublicData, RandomTrees
from hedgerow.recipes.attach import cells_of

SPLITS = ("adult_halves", "census", "opm", "acs_ma")
SEEDS = 3


def runs(split: Split) -> dict[str, list[tuple[str, dict[str, Any], str]]]:
    """The settings that are compared: (name, settings, total epsilon), by question."""
    pay = {split.outcome: 40.0}
    return {
        "does the weight of the outcome matter? (n_B 500, 3 trees)": [
            (f"outcome weight {w}, epsilon {e}", {"weights": {split.outcome: float(w)}}, e)
            for e in ("3",)
            for w in (1, 40)
        ],
        "does n_B interact with epsilon? (outcome weight 40, 3 trees)": [
            (f"n_B {n}, epsilon {e}", {"weights": pay, "n_b": n}, e) for n in (25, 500) for e in ("0.75", "3", "12")
        ],
        "do more trees help? (outcome weight 40, n_B 500, epsilon 0.75 per tree as in the papers)": [
            (f"{t} trees, epsilon {0.75 * t:g}", {"weights": pay, "trees": t}, str(0.75 * t)) for t in (1, 3, 6)
        ],
        "and at the same total? (outcome weight 40, n_B 500)": [
            (f"{t} trees, epsilon 2.25", {"weights": pay, "trees": t}, "2.25") for t in (1, 3, 6)
        ],
    }


def measured(split: Split, settings: dict[str, Any], epsilon: str, seed: int) -> tuple[float, float]:
    """One run through the gate, judged."""
    target = PublicTable.read(split.confidential.select(split.given), split.schema, role="target")
    public = PublicData(split.schema, PublicTable.read(split.public, split.schema), target)
    recipe = RandomTrees(private=split.private, seed=seed, **settings)
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
        made = recipe.fit(gate, public).attach(target, np.random.default_rng(seed))
    return judged(split, PublicTable.read(split.confidential, split.schema, role="target"), made)


def judged(split: Split, truth: PublicTable, frame: pl.DataFrame) -> tuple[float, float]:
    """The error of the tables, and of the coefficients."""
    got, far = PublicTable.read(frame, split.schema, role="synthetic"), []
    for a in split.given:
        names = (a, *split.private)
        t, g = (np.bincount(cells_of(x, names), minlength=split.schema.size(names)) for x in (truth, got))
        far.append(np.abs(t - g).sum() / 2 / len(frame))
    beta = [coefficients(split, x, common_labels(split, truth)) for x in (truth, got)]
    return float(np.mean(far)), float(np.abs(beta[0] - beta[1]).mean())


def common_labels(split: Split, truth: PublicTable) -> dict[str, Any]:
    """The labels of each private column that 2 % of the rows have, but for the most frequent one."""
    shares = {
        a: np.bincount(truth.codes([a])[a], minlength=split.schema.size([a])) / truth.rows for a in split.private
    }
    return {a: np.flatnonzero((s >= 0.02) & (np.arange(len(s)) != s.argmax())) for a, s in shares.items()}


def coefficients(split: Split, table: PublicTable, labels: dict[str, Any]) -> Any:
    """Of each of ``labels``, against all others: least squares of the standardised outcome on all given columns."""
    y = table.codes([split.outcome])[split.outcome].astype(np.float64)
    y = (y - y.mean()) / y.std()
    narrow = [g for g in split.given if g != split.outcome and split.schema.size([g]) <= 30]
    design = [np.ones((len(y), 1)), *(table.codes([a])[a][:, None].astype(np.float64) for a in narrow)]
    for a in split.private:
        design.append((table.codes([a])[a][:, None] == labels[a]).astype(np.float64))
    found = np.linalg.lstsq(np.concatenate(design, axis=1), y, rcond=None)[0]
    return found[1 + len(narrow) :]


def main(names: list[str]) -> None:
    """Print every table."""
    for name in names or SPLITS:
        split = load(name)
        common = _common(split)
        print(f"\n{name}: {len(split.confidential):,} rows, {' and '.join(split.private)}, outcome {split.outcome}")
        for question, settings in runs(common).items():
            print(f"  {question}")
            for label, given, epsilon in settings:
                begun = time.process_time()
                errors = np.array([measured(common, given, epsilon, seed) for seed in range(SEEDS)])
                seconds, mean = (time.process_time() - begun) / SEEDS, errors.mean(axis=0)
                print(
                    f"    {label:<32} tables {mean[0]:.4f}  coef {mean[1]:.4f}  (sd {errors[:, 1].std():.4f};"
                    f" {SEEDS} seeds, {seconds:.1f} CPU-s a run)",
                    flush=True,
                )


def _common(split: Split) -> Split:
    """At most 30,000 rows of each table, so that a run takes a second."""
    rng = np.random.default_rng(0)

    def some(frame: pl.DataFrame) -> pl.DataFrame:
        return frame[np.sort(rng.permutation(len(frame))[:30_000])]

    return replace(split, public=some(split.public), confidential=some(split.confidential))


def figure(out: str, printed: list[str]) -> None:
    """One panel for each question, one line for each split, from what ``main`` printed."""
    from matplotlib.figure import Figure

    held: dict[str, dict[str, list[tuple[str, float]]]] = {}
    split = question = ""
    for line in "".join(Path(p).read_text("utf-8") for p in printed).splitlines():
        if found := re.match(r"(\w+): [\d,]+ rows", line):
            split = found[1]
        elif found := re.match(r"  (\S.*\?)", line):
            question = found[1]
        elif found := re.match(r"    (.*?)\s+tables ([\d.]+)\s+coef ([\d.]+)", line):
            for kind, error in (("tables", found[2]), ("coefficients", found[3])):
                held.setdefault(question, {}).setdefault(f"{split}: {kind}", []).append((found[1], float(error)))
    canvas = Figure(figsize=(11, 7.5), layout="constrained")
    for axes, (asked, lines) in zip(canvas.subplots(2, 2).flat, held.items(), strict=False):
        for name, points in lines.items():
            mark = "o" if name.endswith("tables") else "x"
            axes.plot(range(len(points)), [e for _, e in points], marker=mark, linestyle=":", label=name)
        axes.set_xticks(range(len(points)), [n.replace(", ", "\n") for n, _ in points], fontsize=7)
        axes.set(title=asked, ylabel="error", ylim=(0, None))
        axes.grid(alpha=0.3)
    canvas.axes[0].legend(frameon=False)
    canvas.savefig(out, dpi=110)


if __name__ == "__main__":
    if sys.argv[1:2] == ["figure"]:
        figure(sys.argv[2], sys.argv[3:])
    else:
        main(sys.argv[1:])
