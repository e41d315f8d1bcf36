"""What the papers found of their trees, on four real splits: pay weight, n_B against epsilon, size of the ensemble.

    python -m bench.random_trees [--seeds 20] [--keep FILE] [SPLIT ...]    measure, and say what held
    python -m bench.random_trees draw FILE OUT.svg                         what was kept: a table, and the figure; of
                                                                           a page of the lab book, its own table

Every number is from real runs through the gate; errors as in ``bench/attach_utility.py``: *tables*, the mean
total-variation distance of all (attribute, labels) tables; *coef*, the mean error of the labels' coefficients in a
least-squares model of the outcome (the papers' pay model).  Relation label-change, whose sensitivity is 2 where the
papers count 1: the totals 1.5 and 4.5 give three trees the noise of the papers' 0.25 and 0.75 for each.
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.attach_splits import load
from bench.attach_utility import Judge, by_recipe
from hedgerow.recipes import RandomTrees

SPLITS = ("adult_halves", "census", "opm", "acs_ma")
KINDS = ("tables", "coef")


@dataclass(frozen=True)
class Setting:
    """What is varied; ``weight`` is that of the outcome, ``epsilon`` the total."""

    epsilon: str
    weight: int = 40
    n_b: int = 500
    trees: int = 3

    def recipe(self, judge: Judge, seed: int) -> RandomTrees:
        """The recipe so set."""
        weights = {judge.split.outcome: float(self.weight)}
        return RandomTrees(columns=judge.split.private, seed=seed, weights=weights, n_b=self.n_b, trees=self.trees)


QUESTIONS: dict[str, dict[str, Setting]] = {
    "does the weight of the outcome matter? (n_B 500, 3 trees)": {
        f"weight {w}, epsilon {e}": Setting(e, weight=w) for e in ("1.5", "4.5") for w in (1, 40)
    },
    "does n_B interact with epsilon? (weight 40, 3 trees)": {
        f"n_B {n}, epsilon {e}": Setting(e, n_b=n) for n in (25, 500) for e in ("1.5", "4.5", "30")
    },
    "do more trees help, each with its own 1.5? (weight 40, n_B 500)": {
        f"trees: {t}, epsilon {1.5 * t:g}": Setting(f"{1.5 * t:g}", trees=t) for t in (1, 3, 6, 10)
    },
    "do they at one total? (weight 40, n_B 500)": {
        f"trees: {t}, epsilon 4.5": Setting("4.5", trees=t) for t in (1, 3, 6, 10)
    },
}
Found = dict[Setting, Any]
"""The errors of a setting: a line for each seed, a column for each of ``KINDS``."""


def measure(name: str, seeds: int) -> Found:
    """Every setting on one split."""
    judge, found = Judge(load(name)), Found()
    for setting in dict.fromkeys(s for asked in QUESTIONS.values() for s in asked.values()):
        errors = [
            judge.errors(by_recipe(judge, lambda s, use=setting: use.recipe(judge, s), setting.epsilon)(seed))
            for seed in range(seeds)
        ]
        found[setting] = np.array(errors)
    return found


def _told(errors: Any) -> str:
    mean, error = errors.mean(axis=0), errors.std(axis=0, ddof=1) / len(errors) ** 0.5
    return "  ".join(f"{k} {m:.4f} +- {e:.4f}" for k, m, e in zip(KINDS, mean, error, strict=True))


def report(found: Found) -> None:
    """The errors question by question, and what became of the papers' findings."""
    for question, settings in QUESTIONS.items():
        print(f"  {question}")
        for name, setting in settings.items():
            print(f"    {name:<26}{_told(found[setting])}")
    print("  what held (a difference counts when it is above two standard errors)")
    for claim, gain in claims(found):
        mean, error = gain.mean(axis=0), gain.std(axis=0, ddof=1) / len(gain) ** 0.5
        said = (
            f"{k} {100 * m:+.0f} +- {100 * e:.0f} % {_sign(m, e)}" for k, m, e in zip(KINDS, mean, error, strict=True)
        )
        print(f"    {claim:<66}{'; '.join(said)}", flush=True)


def _sign(mean: float, error: float) -> str:
    return "cannot tell" if abs(mean) <= 2 * error else "better" if mean > 0 else "worse"


def claims(found: Found) -> list[tuple[str, Any]]:
    """What the papers say, each as a gain: by how much the error falls, in parts of the first setting's mean."""

    def gain(first: Setting, second: Setting) -> Any:
        return (found[first] - found[second]) / found[first].mean(axis=0)

    small, large = (gain(Setting("1.5", n_b=n), Setting("30", n_b=n)) for n in (25, 500))
    return [
        *((f"outcome weight 1 -> 40, epsilon {e}", gain(Setting(e, weight=1), Setting(e))) for e in ("1.5", "4.5")),
        *((f"n_B 25 -> 500, epsilon {e}", gain(Setting(e, n_b=25), Setting(e))) for e in ("1.5", "4.5", "30")),
        ("epsilon 1.5 -> 30 at n_B 25", small),
        ("epsilon 1.5 -> 30 at n_B 500", large),
        ("interaction: how much more epsilon gives at n_B 25 than at 500", small - large),
        *(
            (
                f"{a} -> {b} trees, epsilon 1.5 each",
                gain(Setting(f"{1.5 * a:g}", trees=a), Setting(f"{1.5 * b:g}", trees=b)),
            )
            for a, b in ((1, 3), (3, 6), (3, 10))
        ),
        *(
            (f"1 -> {t} trees at total 4.5", gain(Setting("4.5", trees=1), Setting("4.5", trees=t)))
            for t in (3, 6, 10)
        ),
    ]


def main(arguments: list[str]) -> None:
    """Measure and report; keep what was measured."""
    reader = argparse.ArgumentParser()
    reader.add_argument("--seeds", type=int, default=20)
    reader.add_argument("--keep", type=Path)
    reader.add_argument("splits", nargs="*", default=SPLITS)
    asked = reader.parse_args(arguments)
    kept: dict[str, list[Any]] = {}
    for name in asked.splits:
        begun = time.process_time()
        found = measure(name, asked.seeds)
        print(f"\n{name}: {asked.seeds} seeds, {time.process_time() - begun:.0f} CPU-s for {len(found)} settings")
        report(found)
        kept[name] = [[vars(s), e.tolist()] for s, e in found.items()]
    if asked.keep:
        asked.keep.write_text(json.dumps(kept), "utf-8")


def draw(kept: str, out: str) -> None:
    """The table of the docs, and a figure: a column for each question, a line for each split."""
    from hedgerow.figures import Key, Section, Trace, lines, series, sheet, write_sheet

    text = Path(kept).read_text("utf-8")
    kept_runs = (
        read_page(text)
        if kept.endswith(".md")
        else {name: {Setting(**s): np.array(e) for s, e in rows} for name, rows in json.loads(text).items()}
    )
    bands = all(len(e) > 1 for found in kept_runs.values() for e in found.values())
    print("| question | setting | " + " | ".join(kept_runs) + " |\n" + "|---" * (2 + len(kept_runs)) + "|")
    keys = [Key(split, f"curve {series(i)}") for i, split in enumerate(kept_runs)]
    sections = [
        Section(
            "Error against the settings",
            notes=[f"{'band: one standard error; ' * bands}a setting stands before its epsilon"],
            keys=keys,
        )
    ]
    for question, settings in QUESTIONS.items():
        for i, (name, setting) in enumerate(settings.items()):
            means = [found[setting].mean(axis=0) for found in kept_runs.values()]
            cells = " | ".join(f"{m[0]:.3f} / {m[1]:.3f}" for m in means)
            print(f"| {question if i == 0 else ''} | {name} | {cells} |")
        names = [
            n.replace(", epsilon ", "; ").removeprefix("trees: ").removeprefix("weight ").removeprefix("n_B ")
            for n in settings
        ]
        charts = []
        for row, kind in enumerate(KINDS):
            traces = []
            for i, found in enumerate(kept_runs.values()):
                errors = [found[s][:, row] for s in settings.values()]
                traces.append(Trace(series(i), tuple(_point(j, e, bands) for j, e in enumerate(errors))))
            charts.append((f"error of {kind}", lines(names, traces, said=f"{question} {kind}", wide=430)))
        sections.append(Section(question, charts, across=2))
    write_sheet(Path(out), sheet(sections))


def _point(place: int, errors: Any, band: bool) -> Any:
    from hedgerow.figures import LinePoint

    mean = float(errors.mean())
    spread = float(errors.std(ddof=1) / len(errors) ** 0.5) if band else 0.0
    return LinePoint(place, mean, mean - spread, mean + spread) if band else LinePoint(place, mean)


def read_page(page: str) -> dict[str, dict[Setting, Any]]:
    """The means that stand in the table of the lab book, as if each setting had been run once."""
    table = page[page.index("| question | setting |") :].split("\n\n")[0].splitlines()
    splits = [c.strip() for c in table[0].strip("|").split("|")][2:]
    settings = [s for group in QUESTIONS.values() for s in group.values()]
    found: dict[str, dict[Setting, Any]] = {name: {} for name in splits}
    for setting, row in zip(settings, table[2:], strict=True):
        for name, cell in zip(splits, row.strip("|").split("|")[2:], strict=True):
            found[name][setting] = np.array([[float(x) for x in cell.split("/")]])
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["draw"]:
        draw(*sys.argv[2:])
    else:
        main(sys.argv[1:])
