"""What matters: main effects and two-way interactions of the factors on the error, ranked.

The error of one run is the mean absolute error of a measure over its terms and groups.  Its variation over all runs
is divided up: how much goes with each factor alone, with each pair beyond its two factors, and what chance does.  All
cells of one seed see the same tables, so what a seed does to all of them alike is taken out first.  In a balanced
design these parts are orthogonal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]


@final
@dataclass(frozen=True)
class Effect:
    """One factor, or a pair of factors beyond what each does alone.

    Attributes:
        factors: one or two names.
        share: the part of all variation of the error that goes with it.
        by_chance: the part that would go with it if nothing but chance mattered.
        ratio: its mean square over that between seeds (F); infinite or NaN without repeated seeds.
        largest: for one factor, the largest minus the smallest mean error of its levels; for two, the largest
            departure of a mean from what the two alone would give.
    """

    factors: tuple[str, ...]
    share: float
    by_chance: float
    ratio: float
    largest: float

    @property
    def name(self) -> str:
        """The factors in one text."""
        return " x ".join(self.factors)


@final
@dataclass(frozen=True, eq=False)
class Effects:
    """All effects on one measure, the strongest first in each kind.

    Attributes:
        measure: its name.
        mean: the mean error over all runs.
        single: the factors.
        pairs: the pairs of factors.
        by_chance: the part of all variation that is between runs of the same cell.
    """

    measure: str
    mean: float
    single: tuple[Effect, ...]
    pairs: tuple[Effect, ...]
    by_chance: float

    def table(self) -> pl.DataFrame:
        """A row for each effect."""
        rows = [
            {
                "measure": self.measure,
                "effect": e.name,
                "factors": len(e.factors),
                "rank": rank,
                "share": e.share,
                "by_chance": e.by_chance,
                "f_ratio": e.ratio,
                "largest_difference": e.largest,
            }
            for group in (self.single, self.pairs)
            for rank, e in enumerate(group, 1)
        ]
        return pl.DataFrame(rows)


def errors_of_runs(results: pl.DataFrame, measure: str, factors: Sequence[str]) -> pl.DataFrame:
    """The mean absolute error of every run, a row for each cell and seed; runs that failed are left out."""
    kept = results.filter((pl.col("measure") == measure) & pl.col("error").is_finite())
    return kept.group_by(*factors, "seed", maintain_order=True).agg(pl.col("error").mean())


def effects_on(results: pl.DataFrame, measure: str, factors: Sequence[str]) -> Effects:
    """How the error of ``measure`` varies with every factor and pair of factors."""
    runs = errors_of_runs(results, measure, factors)
    if runs.is_empty():
        return Effects(measure, float("nan"), (), (), 0.0)
    code = {f: (runs[f].rank("dense") - 1).to_numpy().astype(np.int64) for f in (*factors, "seed")}
    levels = {f: int(c.max()) + 1 for f, c in code.items()}
    error = runs["error"].to_numpy()
    mean = float(error.mean())
    error = error - _means(error, code["seed"])  # what a seed does to all cells alike
    total = float((error**2).sum())
    cell = np.unique(np.stack([code[f] for f in factors]), axis=1, return_inverse=True)[1].ravel()
    within = error - _means(error, cell)
    spare = (int(cell.max())) * (levels["seed"] - 1)
    noise = float((within**2).sum()) / spare if spare > 0 else float("nan")

    def effect(names: tuple[str, ...], part: Floats, freedom: int, largest: float) -> Effect:
        square = float((part**2).sum())
        share = square / total if total > 0 else 0.0
        return Effect(
            names, share, freedom * noise / total if total > 0 else 0.0, _ratio(square / freedom, noise), largest
        )

    alone = {f: _means(error, code[f]) for f in factors}
    single = [effect((f,), p, max(levels[f] - 1, 1), float(np.ptp(p))) for f, p in alone.items()]
    pairs = []
    for a, b in combinations(factors, 2):
        beyond = _means(error, code[a] * levels[b] + code[b]) - alone[a] - alone[b]
        freedom = max((levels[a] - 1) * (levels[b] - 1), 1)
        pairs.append(effect((a, b), beyond, freedom, float(np.abs(beyond).max())))
    return Effects(
        measure,
        mean,
        tuple(sorted(single, key=lambda e: -e.share)),
        tuple(sorted(pairs, key=lambda e: -e.share)),
        float((within**2).sum()) / total if total > 0 else 0.0,
    )


def _means(values: Floats, group: npt.NDArray[np.int64]) -> Floats:
    """For every run the mean of its group."""
    return np.asarray((np.bincount(group, values) / np.maximum(np.bincount(group), 1))[group])


def _ratio(square: float, noise: float) -> float:
    return square / noise if noise > 0 else float("nan")
