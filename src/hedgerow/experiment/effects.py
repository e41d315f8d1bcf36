"""What matters: main effects and two-way interactions of the factors on the error, ranked.

The error of one run is the mean absolute error of a measure over its terms and groups.  Its variation over all runs
is divided up: how much goes with each factor alone, with each pair beyond its two factors, and what chance does.  All
cells of one seed see the same tables, so what a seed does to all of them alike is taken out first.  In a balanced
design these parts are orthogonal.  Statements about the factors are held against the results: which held, and by what
figures.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.experiment.grid import Finding, Grid

Floats = npt.NDArray[np.float64]


@final
@dataclass(frozen=True)
class Effect:
    """One factor, or a pair of factors beyond what each does alone.

    Attributes:
        factors: one or two names.
        share: the part of all variation of the error that goes with it.
        by_chance: the part that would go with it if nothing but chance mattered; NaN where that is not known.
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
        by_chance: the part of all variation that is between runs of the same cell; NaN where each has one run.
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
        float("nan") if spare <= 0 else float((within**2).sum()) / total if total > 0 else 0.0,
    )


def _means(values: Floats, group: npt.NDArray[np.int64]) -> Floats:
    """For every run the mean of its group."""
    return np.asarray((np.bincount(group, values) / np.maximum(np.bincount(group), 1))[group])


def _ratio(square: float, noise: float) -> float:
    return square / noise if noise > 0 else float("nan")


HELPS = 0.10
"""A level helps when the error falls by this part or more, and by more than twice its standard error."""
STRONG = 4.2
"""Factors interact when the mean square of the pair is this many times that between runs of the same cell."""


@final
@dataclass(frozen=True)
class FindingResult:
    """Whether a statement held, and the figures behind it."""

    says: str
    held: bool | None
    figures: str


def judge(grid: Grid, results: pl.DataFrame) -> tuple[FindingResult, ...]:
    """Every finding of the grid, held against the results."""
    return tuple(_judge(grid, f, results) for f in grid.file.finding)


def _judge(grid: Grid, finding: Finding, results: pl.DataFrame) -> FindingResult:
    factors = [f.name for f in grid.factors]
    measure = finding.measure or grid.file.measure[0].name
    here = results
    for name, level in finding.at.items():
        here = here.filter(pl.col(name) == grid.stored(name, level))
    free = [f for f in factors if f not in finding.at]
    if finding.check in ("helps", "does not help"):
        levels = tuple(grid.stored(finding.factors[0], level) for level in finding.of)
        words = tuple(grid.word(finding.factors[0], level) for level in levels)
        return _compared(finding, levels, words, errors_of_runs(here, measure, free), free)
    found = effects_on(here, measure, free)
    if not found.single:
        return FindingResult(finding.says, None, "no run succeeded")
    if finding.check == "interact":
        pair = next(e for e in found.pairs if set(e.factors) == set(finding.factors))
        figures = f"{100 * pair.share:.1f} % of the variation"
        if np.isnan(found.by_chance):
            return FindingResult(finding.says, None, f"{figures}; one run of each cell does not tell chance apart")
        figures += f", {pair.ratio:.1f} times what chance gives"
        return FindingResult(finding.says, bool(pair.ratio >= STRONG), figures)
    place = {"first": 1, "second": 2}[finding.check]
    ranking = ", ".join(f"{e.name} {100 * e.share:.0f} %" for e in found.single)
    return FindingResult(finding.says, found.single[place - 1].factors == finding.factors, ranking)


def _compared(
    finding: Finding, levels: tuple[Any, ...], words: tuple[str, ...], runs: pl.DataFrame, free: list[str]
) -> FindingResult:
    """Two levels of a factor, which figures name by ``words``, run by run with everything else the same."""
    factor, (one, two) = finding.factors[0], levels
    rest = [*(f for f in free if f != factor), "seed"]
    both = runs.filter(pl.col(factor) == one).join(runs.filter(pl.col(factor) == two), on=rest, suffix="_two")
    before, after = both["error"].to_numpy(), both["error_two"].to_numpy()
    if not len(before):
        return FindingResult(finding.says, None, f"no pair of runs differs only in {factor}")
    gain = before - after
    mean = float(gain.mean())
    moved = "falls" if mean >= 0 else "rises"
    figures = f"mean error {before.mean():.4f} at {words[0]}, {after.mean():.4f} at {words[1]}"
    figures += f"; it {moved} by {abs(mean):.4f}"
    if len(gain) < 2:
        return FindingResult(finding.says, None, f"{figures}; one pair of runs does not tell chance apart")
    spread = float(gain.std(ddof=1)) / np.sqrt(len(gain))
    helps = mean >= HELPS * float(before.mean()) and not mean < 2 * spread
    figures += f" (standard error {spread:.4f}, {len(gain)} pairs of runs)"
    return FindingResult(finding.says, helps == (finding.check == "helps"), figures)
