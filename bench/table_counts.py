"""Tables of counts: is ``integer_counts`` ever worse than plain noise cut at zero? With and without a public prior.

    python bench/table_counts.py [SEEDS]

For each table and epsilon, the mean total-variation distance of the shares of all cells from the truth: noisy
counts cut at zero (plain), the public table as it is, ``integer_counts`` without and with it as a prior; and the
mean distance of the one-way margins.  None of these tables was used to choose a constant, but ``hidden_noise`` of
the prior, which was raised after a look at acs_ma (the others: simulated tables and crosses of hd_adult; for the
prior personnel cells of every third year).  Data: ../shared/data.
"""

import sys
from fractions import Fraction
from math import prod
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.public import CodedTable, Laplace, Marginal, Measurement, Noise, PublicData, Schema
from hedgerow.public.table import shares, total_variation
from hedgerow.recipes import IntegerCounts

DATA = Path(__file__).parents[2] / "shared" / "data"
EPSILONS = ("0.1", "0.3", "0.5", "1", "2")
Ints = npt.NDArray[np.int64]


def tables() -> dict[str, tuple[list[str], pl.DataFrame, pl.DataFrame | None]]:
    """The label columns, the true rows and the public rows of each table."""
    made = dict[str, tuple[list[str], pl.DataFrame, pl.DataFrame | None]]()
    nltcs = pl.read_parquet(next((DATA / "nltcs").glob("*.parquet")))
    for width in (3, 6, 9):
        made[f"nltcs, {width} columns"] = (nltcs.columns[:width], nltcs, None)
    ma = {y: pl.read_csv(DATA / "acs_ma" / f"ma{y}.csv", infer_schema_length=0) for y in (2018, 2019)}
    for cross in (["SEX", "MSP"], ["RAC1P", "EDU"], ["PUMA", "SEX"], ["PUMA", "RAC1P", "SEX"], ["EDU", "MSP", "SEX"]):
        made[f"acs_ma 2019, {' x '.join(cross)}"] = (cross, ma[2019], ma[2018])
    cells = pl.read_parquet(DATA / "opm" / "cpdf_population_cells.parquet")
    years = {y: cells.filter(pl.col("fy") == y).sample(20_000, with_replacement=True, seed=y) for y in (1990, 1991)}
    for cross in (["grade", "occCat"], ["age", "yearsEd"], ["age", "yearsEd", "occCat"]):
        made[f"sampled personnel cells 1991, {' x '.join(cross)}"] = (cross, years[1991], years[1990])
    return made


def once(cross: list[str], true: pl.DataFrame, public: pl.DataFrame | None, epsilon: str, seed: int) -> list[float]:
    """Distances of one seed: plain, public as it is, without and with the prior; margins of the last three."""
    both = true if public is None else pl.concat([true, public], how="diagonal_relaxed")
    known = {c: sorted(both[c].cast(pl.String).fill_null("none").unique().to_list()) for c in cross}
    lines = [f"[columns.{c!r}]\nkind = 'categorical'\nvalues = {v}" for c, v in known.items()]
    schema = Schema.loads("\n".join(lines))
    frames = [
        f if f is None else f.select(pl.col(c).cast(pl.String).fill_null("none") for c in cross)
        for f in (true, public)
    ]
    tabled = [None if f is None else CodedTable(schema, f) for f in frames]
    shape = schema.shape(cross)

    def count(table: CodedTable) -> Ints:
        codes = table.codes(tuple(cross))
        place = np.ravel_multi_index([codes[c].astype(np.intp) for c in cross], shape)
        return np.bincount(place, minlength=prod(shape)).astype(np.int64)

    truth = count(tabled[0])  # type: ignore[arg-type]
    law = Laplace(1 / Fraction(epsilon))
    noisy = truth + law.sample_whole(np.random.default_rng([seed, len(truth)]), len(truth))
    answer = (Measurement(Marginal(tuple(cross)), noisy, Noise("laplace", law.scale)),)
    found = {"plain": np.maximum(noisy, 0)}
    found["public"] = truth * 0 + 1 if tabled[1] is None else count(tabled[1])
    for prior in ("none", "public"):
        if prior == "public" and tabled[1] is None:
            found["prior"] = found["none"]
            continue
        recipe = IntegerCounts(columns=tuple(cross), prior=prior)
        table = recipe.made(PublicData(schema, relative=tabled[1]), answer)
        found["none" if prior == "none" else "prior"] = table.whole(np.random.default_rng(seed))

    def distance(a: Ints, axis: int | None = None) -> float:
        if axis is None:
            return total_variation(shares(a.astype(float)), shares(truth.astype(float)))
        kept = tuple(i for i in range(len(shape)) if i != axis)
        return total_variation(*(shares(x.reshape(shape).sum(axis=kept).astype(float)) for x in (a, truth)))

    cells = [distance(found[k]) if found[k].sum() else 1.0 for k in ("plain", "public", "none", "prior")]
    margins = [np.mean([distance(found[k], i) for i in range(len(shape))]) for k in ("plain", "none", "prior")]
    return [*cells, *map(float, margins), len(truth), float((truth > 0).mean())]


def main() -> None:
    """Print a line for each table and epsilon, and the worst ratios to plain."""
    seeds, worst = int(sys.argv[1]) if len(sys.argv) > 1 else 10, dict[str, tuple[float, str]]()
    heads = ("table", "cells", "filled", "epsilon", "plain", "public as it is", "integer_counts", "with prior")
    print(*heads, "margins: plain, integer_counts, with prior", sep=" | ")
    for name, (cross, true, public) in tables().items():
        for epsilon in EPSILONS:
            runs = np.array([once(cross, true, public, epsilon, s) for s in range(seeds)])
            m = runs.mean(axis=0)
            error = (runs[:, 2] - runs[:, 0]).std() / max(m[0], 1e-9) / seeds**0.5
            ratio = f"{m[2]:.4f} ({m[2] / m[0]:.3f} +/- {error:.3f})"
            sides = ", ".join(f"{x:.4f}" for x in m[4:7])
            line = (name, f"{m[7]:.0f}", f"{m[8]:.2f}", epsilon, f"{m[0]:.4f}", f"{m[1]:.4f}", ratio, f"{m[3]:.4f}")
            print(*line, sides, sep=" | ", flush=True)
            for kind, at in (("none", 2), ("prior", 3)):
                worst[kind] = max(worst.get(kind, (0.0, "")), (m[at] / m[0], f"{name} at {epsilon}"))
    print("largest ratio to plain:", worst)


if __name__ == "__main__":
    main()
