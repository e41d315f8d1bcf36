"""Statements about the factors, held against the results: which held, and by what figures."""

from dataclasses import dataclass
from typing import final

import numpy as np
import polars as pl

from hedgerow.experiment.effects import effects_on, errors_of_runs
from hedgerow.experiment.grid import Finding, Grid

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
        here = here.filter(pl.col(name) == level)
    free = [f for f in factors if f not in finding.at]
    if finding.check in ("helps", "does not help"):
        return _compared(finding, here, measure, free)
    found = effects_on(here, measure, free)
    if not found.single:
        return FindingResult(finding.says, None, "no run succeeded")
    if finding.check == "interact":
        pair = next(e for e in found.pairs if set(e.factors) == set(finding.factors))
        figures = f"{100 * pair.share:.1f} % of the variation, {pair.ratio:.1f} times what chance gives"
        return FindingResult(finding.says, bool(pair.ratio >= STRONG), figures)
    place = {"first": 1, "second": 2}[finding.check]
    ranking = ", ".join(f"{e.name} {100 * e.share:.0f} %" for e in found.single)
    return FindingResult(finding.says, found.single[place - 1].factors == finding.factors, ranking)


def _compared(finding: Finding, here: pl.DataFrame, measure: str, free: list[str]) -> FindingResult:
    """Two levels of a factor, run by run with everything else the same."""
    factor, (one, two) = finding.factors[0], finding.of
    runs = errors_of_runs(here, measure, free)
    rest = [*(f for f in free if f != factor), "seed"]
    both = runs.filter(pl.col(factor) == one).join(runs.filter(pl.col(factor) == two), on=rest, suffix="_two")
    before, after = both["error"].to_numpy(), both["error_two"].to_numpy()
    if not len(before):
        return FindingResult(finding.says, None, f"no pair of runs differs only in {factor}")
    gain = before - after
    mean = float(gain.mean())
    spread = float(gain.std(ddof=1)) / np.sqrt(len(gain)) if len(gain) > 1 else float("nan")
    helps = mean >= HELPS * float(before.mean()) and not mean < 2 * spread
    figures = (
        f"mean error {before.mean():.4f} at {one}, {after.mean():.4f} at {two}; it falls by {mean:.4f} "
        f"(standard error {spread:.4f}, {len(gain)} pairs of runs)"
    )
    return FindingResult(finding.says, helps == (finding.check == "helps"), figures)
