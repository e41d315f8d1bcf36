"""Is a public prior ever worse than the better of prior and counts alone? Personnel cells, year y - 1 for year y.

    python bench/table_prior.py [YEARS] [SEEDS]      YEARS: held-out (default), chosen or all

For each table and epsilon: mean total-variation distance of the prior as it is, of noisy counts projected, and of
integer_counts with prior = "public"; the ratio of the last to the better of the first two (by year), with the
standard error of its mean over years, and the worst year.  The constants of tables/table_prior.py were chosen on the
years 1989, 1992, ..., 2010; the other years were not looked at.  Data: cpdf_population_cells.
"""

import resource
import sys
import time
from itertools import combinations
from math import prod
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.model.tables.fitting import project, whole_counts
from hedgerow.model.tables.shrinkage import shrink_by_gaps
from hedgerow.public.table import shares, total_variation

Floats = npt.NDArray[np.float64]
DATA = Path(__file__).parents[2] / "shared" / "data" / "opm" / "cpdf_population_cells.parquet"
COLUMNS = ("age", "grade", "occCat", "yearsEd")
TABLES = [COLUMNS, ("age", "yearsEd", "occCat"), *combinations(COLUMNS, 2), *((c,) for c in COLUMNS)]
EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
CHOSEN = tuple(range(1989, 2012, 3))
YEARS = {"chosen": CHOSEN, "all": tuple(range(1989, 2012))}
YEARS["held-out"] = tuple(y for y in YEARS["all"] if y not in CHOSEN)


def tables_of(cells: pl.DataFrame, columns: tuple[str, ...]) -> dict[int, Floats]:
    """The counts of each year."""
    known = {c: sorted(cells[c].unique().to_list()) for c in columns}
    shape, made = tuple(len(known[c]) for c in columns), dict[int, Floats]()
    for (year,), part in cells.group_by(["fy"]):
        at = [part[c].replace_strict(known[c], list(range(len(known[c])))).to_numpy() for c in columns]
        counts = np.bincount(np.ravel_multi_index(at, shape), part["n"].to_numpy(), prod(shape))
        made[int(str(year))] = counts.astype(np.float64)
    return made


def distance(a: Floats, b: Floats) -> float:
    """Half the summed difference of shares."""
    return total_variation(shares(a), shares(b))


def once(true: Floats, prior: Floats, epsilon: float, rng: np.random.Generator) -> tuple[float, float]:
    """The distance of counts alone, and of counts drawn towards the prior, both made whole."""
    q = np.exp(-epsilon)
    noisy = true + rng.geometric(1 - q, len(true)) - rng.geometric(1 - q, len(true))
    drawn = shrink_by_gaps(noisy, prior, 2 * q / (1 - q) ** 2).mean
    made = []
    for cells in (noisy, drawn):
        total = max(round(float(cells.sum())), 1)
        made.append(distance(whole_counts(project(cells, total), total, rng), true))  # type: ignore[arg-type]
    return made[0], made[1]


def main() -> None:
    """Print a line for each table and epsilon, and the worst of all."""
    name, seeds = (sys.argv[1] if len(sys.argv) > 1 else "held-out"), int(sys.argv[2]) if len(sys.argv) > 2 else 4
    cells, years, start, worst = pl.read_parquet(DATA), YEARS[name], time.process_time(), (0.0, "")
    print(f"integer_counts, Laplace, add-remove; {name} years {years}; {seeds} seeds")
    for columns in TABLES:
        table = tables_of(cells, columns)
        for epsilon in EPSILONS:
            ratios, means = [], np.zeros(3)
            for y in years:
                runs = np.array(
                    [once(table[y], table[y - 1], epsilon, np.random.default_rng([y, s])) for s in range(seeds)]
                )
                alone = distance(table[y - 1], table[y])
                better = min(alone, float(runs[:, 0].mean()))
                ratios.append(float(runs[:, 1].mean()) / better if better > 0 else 1.0)
                means += np.array([alone, *runs.mean(axis=0)]) / len(years)
            ratio, error = float(np.mean(ratios)), float(np.std(ratios) / max(len(ratios) - 1, 1) ** 0.5)
            line = f"{' x '.join(columns):<32} eps {epsilon:<6g} prior {means[0]:.5f} counts {means[1]:.5f}"
            print(f"{line} with prior {means[2]:.5f} ratio {ratio:.4f} +/- {error:.4f} worst year {max(ratios):.3f}")
            worst = max(worst, (ratio, f"{' x '.join(columns)} at epsilon {epsilon:g}, +/- {error:.4f}"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"largest mean ratio {worst[0]:.4f}: {worst[1]}; {time.process_time() - start:.0f} s of CPU, {peak:.2f} GB")


if __name__ == "__main__":
    main()
