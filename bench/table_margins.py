"""Tables of counts with margins: is ``integer_counts`` ever worse than its own noisy cells cut at zero?

    python -m bench.table_margins [SEEDS] [EPSILONS, such as 0.1,1] [MARGINS_SHARE]

The tables of ``bench/table_counts.py``, every one-way margin and the number of rows asked for too, with the part of
the budget that the recipe chooses or MARGINS_SHARE.  For each table and epsilon: the mean total-variation distance of
the shares of all cells from the truth, for the noisy cells of the same answers cut at zero, and its ratio for
``integer_counts`` without and with the public table as a prior, each with its standard error.  No constant was chosen
on these tables but ``hidden_noise``.  Data: ../shared/data.
"""

import sys
from math import prod
from typing import Any

import numpy as np
import polars as pl

from bench.table_counts import EPSILONS, tables
from hedgerow.public import (
    CodedTable,
    Guarantee,
    Marginal,
    Measurement,
    PublicData,
    Schema,
    Tariff,
    budget_for,
    law_of,
    shares,
    total_variation,
)
from hedgerow.recipes import IntegerCounts


def world(cross: list[str], true: pl.DataFrame, public: pl.DataFrame | None) -> tuple[PublicData, Any]:
    """What is public, and the true counts."""
    both = true if public is None else pl.concat([true, public], how="diagonal_relaxed")
    known = {c: sorted(both[c].cast(pl.String).fill_null("none").unique().to_list()) for c in cross}
    lines = [f"[columns.{c!r}]\nkind = 'categorical'\nvalues = {v}" for c, v in known.items()]
    schema = Schema.loads("\n".join(lines))
    texts = [pl.col(c).cast(pl.String).fill_null("none") for c in cross]
    tabled = [None if f is None else CodedTable(schema, f.select(texts)) for f in (true, public)]
    assert tabled[0] is not None
    codes, shape = tabled[0].codes(tuple(cross)), schema.shape(cross)
    place = np.ravel_multi_index([codes[c].astype(np.intp) for c in cross], shape)
    counts = np.bincount(place, minlength=prod(shape)).astype(np.int64).reshape(shape)
    return PublicData(schema, relative=tabled[1]), counts


def once(
    public: PublicData, cross: list[str], true: Any, epsilon: str, share: float | None, seed: int
) -> list[float]:
    """Distances of one seed: the noisy cells cut at zero, then without and, where there is one, with the prior."""
    budget, rng = budget_for(epsilon, "0", "pure"), np.random.default_rng([seed, true.size])
    margins = [*([c] for c in cross), []]
    tariff = Tariff(public.schema.coding, Guarantee(), budget.measure)
    priors = ("none",) if public.relative is None else ("none", "public")
    made = [IntegerCounts(columns=tuple(cross), margins=margins, margins_share=share, prior=p) for p in priors]  # type: ignore[arg-type]
    (asked,) = made[0].requests(tariff, budget, public)
    answers = dict[Marginal, Measurement]()
    for a in asked.asked:
        kept = tuple(i for i, c in enumerate(cross) if c not in a.question.columns)
        counts = true.sum(axis=kept).ravel()
        noisy = counts + law_of(a.noise).sample_whole(rng, len(counts))
        answers[a.question] = Measurement(a.question, noisy, a.noise)
    told = tuple(answers[Marginal(tuple(c))] for c in (cross, *margins))
    found = [np.maximum(told[0].counts, 0), *(r.made(public, told).whole(np.random.default_rng(seed)) for r in made)]
    known = shares(true.ravel().astype(np.float64))
    return [total_variation(shares(x.astype(np.float64)), known) if x.sum() else 1.0 for x in found]


def main() -> None:
    """Print a line for each table and epsilon, and the worst ratio."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    epsilons = sys.argv[2].split(",") if len(sys.argv) > 2 else EPSILONS
    share, worst = float(sys.argv[3]) if len(sys.argv) > 3 else None, (0.0, "")
    for name, (cross, true, relative) in tables().items():
        public, counts = world(cross, true, relative)
        for epsilon in epsilons:
            runs = np.array([once(public, cross, counts, epsilon, share, s) for s in range(seeds)])
            plain, said = float(runs[:, 0].mean()), []
            for kind, own in zip(("without", "with prior"), runs.T[1:], strict=False):
                ratio = float(own.mean()) / plain
                error = float((own - ratio * runs[:, 0]).std()) / plain / seeds**0.5
                said.append(f"{kind} {ratio:.3f} +/- {error:.3f}")
                worst = max(worst, (ratio, f"{name} at {epsilon}, {kind}, +/- {error:.3f}"))
            print(f"{name}, {counts.size} cells, epsilon {epsilon}: plain {plain:.4f}, {', '.join(said)}", flush=True)
    print("largest ratio to plain:", worst)


if __name__ == "__main__":
    main()
