"""Tables of counts: the CE table against the reference curve, and the speed and memory of large tables.

    python bench/tables.py ce [RUNS]         mean total-variation distance of each recipe, epsilon 0.1 to 10
    python bench/tables.py speed X Y Z       a table of X x Y x Z cells: CPU seconds and peak memory, both mechanisms

Reference: ../shared/oracles/dirichlet_multinomial.json beside the repository, utility_ce_mean_tvd, where it is there.
"""

import json
import resource
import sys
import time
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.model import urns as dm
from hedgerow.private import noise, urns
from hedgerow.public.costs.question import Marginal, Measurement, Noise
from hedgerow.public.costs.urn import Urn
from hedgerow.public.schema import Schema
from hedgerow.public.table import PublicData
from hedgerow.recipes import IntegerCounts

CE = np.array([816, 109, 7, 39, 6, 17])
ORACLE = Path(__file__).parents[2] / "shared" / "oracles" / "dirichlet_multinomial.json"
EPSILONS = ("0.1", "0.25", "0.5", "1", "2", "3", "5", "8", "10")
LABELS = Schema.loads('[columns.race]\nkind = "categorical"\nvalues = ["1", "2", "3", "4", "5", "6"]\n')


def curve(runs: int) -> None:
    """The true mechanisms on the CE table, run after run, beside the reference; nothing is spent: it is public."""
    known = json.loads(ORACLE.read_text())["utility_ce_mean_tvd"] if ORACLE.exists() else []
    reference = {float(c["eps"]): c for c in known}
    print(f"CE table, S = 994, {runs} runs; (reference); add-remove: Laplace scale 1 / eps, replace-one: 2 / eps")
    start = time.process_time()
    for epsilon in EPSILONS:
        due, line = reference.get(float(epsilon), {}), f"eps {epsilon:<5}"
        alpha = dm.alpha_for(epsilon, 994)
        held = Urn((994,), (int(alpha * 10**6),))
        off = [np.abs(urns.draw(held, CE, 1)[0] - CE).sum() / 2 / 994 for _ in range(runs)]
        line += f"  dirichlet_multinomial {_figure(off, due.get('tvd_dirichlet_multinomial'))}"
        for sensitivity, key in ((2, "replace"), (1, "addremove")):
            law = Noise("laplace", sensitivity / Fraction(epsilon))
            off = [_noisy(law, seed) for seed in range(runs)]
            line += f"  integer_counts {key} {_figure(off, due.get(f'tvd_geometric_counts_{key}'))}"
        print(line)
    print(f"{time.process_time() - start:.1f} s of CPU, {_peak():.2f} GB")


def _noisy(law: Noise, seed: int) -> float:
    answer = Measurement(Marginal(("race",)), CE + noise.draw(law, 6), law)
    table = IntegerCounts(columns=("race",)).made(PublicData(LABELS), (answer,))
    made = table.whole(np.random.default_rng(seed))
    return float(np.abs(made / max(made.sum(), 1) - CE / 994).sum() / 2)


def _figure(off: Any, due: float | None) -> str:
    error = float(np.std(off)) / len(off) ** 0.5
    return f"{np.mean(off):.5f} +/- {error:.5f} ({'-' if due is None else format(due, '.5f')})"


def speed(shape: tuple[int, int, int]) -> None:
    """Noise on every cell, a margin, least squares, projection, rounding, labels; then an urn of the same size."""
    lists = [", ".join(f'"{i}"' for i in range(side)) for side in shape]
    text = "".join(
        f'[columns.{c}]\nkind = "categorical"\nvalues = [{v}]\n' for c, v in zip("xyz", lists, strict=True)
    )
    cells, law = prod(shape), Noise("laplace", Fraction(1))
    true = np.random.default_rng(0).poisson(2, cells).astype(np.int64)
    noise.draw(law, 10)
    start = time.process_time()
    margin = true.reshape(shape[0], -1).sum(axis=1)
    answers = (
        Measurement(Marginal(("x", "y", "z")), true + noise.draw(law, cells), law),
        Measurement(Marginal(("x",)), margin + noise.draw(law, len(margin)), law),
    )
    recipe = IntegerCounts(columns=("x", "y", "z"), margins=(("x",),))
    table = recipe.made(PublicData(Schema.loads(text)), answers)
    table.margins(table.counts(np.random.default_rng(1)))
    print(f"{cells:>11,} cells: integer_counts {time.process_time() - start:.2f} s of CPU, peak {_peak():.2f} GB")
    del table, answers
    start = time.process_time()
    urns.draw(Urn((int(true.sum()),), (10**6,)), true, 1)
    print(
        f"{'':>11}        urn, {int(true.sum()):,} balls {time.process_time() - start:.2f} s, peak {_peak():.2f} GB"
    )


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    if sys.argv[1:2] == ["ce"]:
        curve(int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
    else:
        x, y, z = (int(n) for n in sys.argv[2:5] or ("100", "100", "100"))
        speed((x, y, z))
