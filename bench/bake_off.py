"""Estimators that do one job, side by side on real tables: which of them is needed?

    python -m bench.bake_off [chosen|held-out|all] [SEEDS]

Shrinkers: posterior means by moments (tables/shrinkage, empirical Bayes in the manner of James and Stein), by
absolute gaps (tables/shrinkage), and adaptive shrinkage by a mixture of normal laws (Stephens 2017), which dpsyn
had.  Jobs: *table*: one table of counts towards last year's, Laplace noise (integer_counts); *public pairs*: all
pairs towards the public ones, Gaussian noise (dpsyn, public_blend); *independence*: pairs towards the product of
their margins (tree_blend).  *Weighing*: public rows raked to all tables at once, as dpsyn did, or in turn.
A figure is the mean over tables of the L1 distance of shares to the truth, 0 to 2, as a ratio to the better of prior
alone and counts alone; below 1 is a gain.  The tables are in two sets, to choose on one and look at the other; for
dpsyn both had been seen when the last choice was made.
"""

import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from bench import table_prior as personnel
from bench.real_tables import load
from hedgerow.model.records.descent import PairTargets, pair_shares
from hedgerow.model.tables.fitting import Floats, consistent, project, rake_rows
from hedgerow.model.tables.shrinkage import drift_of, pooled_drifts, posterior, shrink, shrink_by_gaps
from hedgerow.public.costs.noise_laws import Gaussian, Laplace

Many = list[Floats]
Case = tuple[Many, Many, Many, float, str, float, float]
Shrinker = Callable[[Many, Many, float, str, float], Many]
SPLITS = {"chosen": ("adult_halves", "acs_by_state"), "held-out": ("acs_ma", "census")}
YEARS = {"chosen": (1989, 1998, 2007), "held-out": (1990, 1994, 2003, 2011)}
MOST_CELLS = 3000


def moments(noisy: Many, means: Many, variance: float, law: str, least: float) -> Many:
    """Each table by its own drift."""
    return [shrink(t, m, variance) for t, m in zip(noisy, means, strict=True)]


def pooled_moments(noisy: Many, means: Many, variance: float, law: str, least: float) -> Many:
    """The drift of all tables together, unless a table's own differs; that both are samples is known."""
    drifts = pooled_drifts(noisy, means, [variance] * len(noisy), least=least)
    return [posterior(t, m, variance, d) for t, m, d in zip(noisy, means, drifts, strict=True)]


def cautious_moments(noisy: Many, means: Many, variance: float, law: str, least: float) -> Many:
    """Each table by its own drift, less what noise alone would exceed as rarely as two standard errors."""
    drifts = [drift_of([t], [m], [variance], caution=2.0) for t, m in zip(noisy, means, strict=True)]
    return [posterior(t, m, variance, d) for t, m, d in zip(noisy, means, drifts, strict=True)]


def adaptive(noisy: Many, means: Many, variance: float, law: str, least: float) -> Many:
    """Bands of cells with like means, the scatter of each a mixture of normal laws (Stephens 2017); dpsyn had it."""
    y, m = np.concatenate(noisy), np.concatenate(means)
    weight = np.zeros(len(y))
    for cells in np.array_split(np.argsort(m, kind="stable"), int(np.clip(len(y) // 250, 1, 12))):
        weight[cells] = _kept((y[cells] - m[cells]) ** 2 / variance)
    return np.split(m + weight * (y - m), np.cumsum([t.size for t in noisy])[:-1])


def _kept(square: Floats) -> Floats:
    """The part of each difference that is kept, from its square in units of the noise variance."""
    spread = np.concatenate([[1.0], 1.0 + 4.0 ** np.arange(-1, 14)])
    spread = spread[: 2 + int(np.searchsorted(spread, square.max(initial=1.0)))]
    likely = np.exp(-0.5 * square[:, None] / spread + 0.5 * square[:, None] / spread[-1]) / np.sqrt(spread)
    extra = np.zeros(len(spread))
    extra[0] = 5.0 * len(square) ** 0.5  # in doubt, the prior
    share = (extra + 1) / (extra + 1).sum()
    for _ in range(40):
        each = likely * share
        each /= np.maximum(each.sum(axis=1, keepdims=True), 1e-300)
        share = each.sum(axis=0) + extra
        share /= share.sum()
    return np.asarray(each @ (1 - 1 / spread))


def rake(keys: Sequence[npt.NDArray[np.int32]], targets: Sequence[Floats], start: Floats, *, sweeps: int) -> Floats:
    """Weights raked to all tables at once: damped steps in logs, smaller when the error grows; dpsyn had it."""
    weight, best, least, step, before = start.copy(), start, np.inf, 0.5, np.inf
    for _ in range(sweeps):
        pull, error = np.zeros(len(start)), 0.0
        for key, target in zip(keys, targets, strict=True):
            now = np.bincount(key, weight, len(target))
            error += float(np.abs(now - target).sum())
            pull += np.log((now + 1) / (np.maximum(target, 0.0) + 1))[key]
        if error < least:
            best, least = weight, error
        step, before = step * 0.7 if error > before else step, error
        weight = weight * np.exp(-step * pull / (2 * len(keys) ** 0.5))
        weight *= start.sum() / weight.sum()
    return best


def gaps(noisy: Many, means: Many, variance: float, law: str, least: float) -> Many:
    """The spread read from absolute gaps, table by table."""
    kind = Laplace if law == "laplace" else Gaussian
    return [shrink_by_gaps(t, m, variance, law=kind, scale=1.0).mean for t, m in zip(noisy, means, strict=True)]


def pooled_gaps(noisy: Many, means: Many, variance: float, law: str, least: float) -> Many:
    """The same, one fit for the cells of all tables."""
    (made,) = gaps([np.concatenate(noisy)], [np.concatenate(means)], variance, law, least)
    return np.split(made, np.cumsum([t.size for t in noisy])[:-1])


SHRINKERS: dict[str, Shrinker] = {
    "moments": moments,
    "pooled moments": pooled_moments,
    "moments, caution 2": cautious_moments,
    "adaptive": adaptive,
    "absolute gaps": gaps,
    "pooled gaps": pooled_gaps,
}


def l1(estimate: Floats, truth: Floats) -> float:
    """The L1 distance of shares, of counts made possible."""
    return float(np.abs(project(estimate.ravel(), 1.0) - truth.ravel()).sum())


def show(job: str, name: str, found: dict[str, list[float]], better: list[float], seconds: dict[str, float]) -> None:
    """A line: for each candidate the mean ratio to the better of prior and counts, and its largest."""
    line = "  ".join(
        f"{k} {np.mean(r := np.array(v) / better):.3f} (worst {np.max(r):.2f}, {seconds[k]:.1f} s)"
        for k, v in found.items()
    )
    print(f"{job:<14} {name:<28} {line}", flush=True)


def compare(job: str, name: str, cases: list[Case]) -> None:
    """Every shrinker on every case: noisy, means, truth and variance as shares; law; rows."""
    found: dict[str, list[float]] = {k: [] for k in SHRINKERS}
    seconds, better = dict.fromkeys(SHRINKERS, 0.0), []
    for noisy, means, truth, variance, law, scale, least in cases:
        alone = [np.mean([l1(t, x) for t, x in zip(side, truth, strict=True)]) for side in (means, noisy)]
        better.append(max(float(np.min(alone)), 1e-12))
        for k, estimate in SHRINKERS.items():
            began = time.process_time()
            made = estimate([scale * t for t in noisy], [scale * m for m in means], scale**2 * variance, law, least)
            seconds[k] += time.process_time() - began
            found[k].append(float(np.mean([l1(t / scale, x) for t, x in zip(made, truth, strict=True)])))
    show(job, name, found, better, seconds)


def tables(split: str, seeds: int) -> None:
    """One table at a time, of personnel, last year's as the prior."""
    cells = pl.read_parquet(personnel.DATA)
    for columns in (personnel.COLUMNS, ("age", "yearsEd", "occCat"), ("age", "grade"), ("grade",)):
        table = personnel.tables_of(cells, columns)
        for epsilon in (0.01, 0.1, 1.0):
            cases: list[Case] = []
            for year in YEARS[split]:
                for seed in range(seeds):
                    rng, q = np.random.default_rng([year, seed]), np.exp(-epsilon)
                    true, prior = table[year], table[year - 1]
                    noisy = true + rng.geometric(1 - q, len(true)) - rng.geometric(1 - q, len(true))
                    n = prior.sum() * float(prior @ noisy / (prior @ prior))  # by the cells that know the scale
                    variance = 2 * q / (1 - q) ** 2 / n**2
                    cases.append(
                        ([noisy / n], [prior / prior.sum()], [true / true.sum()], variance, "laplace", n, 0.0)
                    )
            compare("table", f"{' x '.join(columns)[:20]} {epsilon:g}", cases)


def pairs(split: str, seeds: int) -> None:
    """All pairs of real files, public rows for confidential ones; then rows weighed to the estimates."""
    for name in SPLITS[split]:
        public, secret, domain = load(name)
        assert public is not None
        sizes, n = tuple(domain.values()), len(secret)
        rows = [np.stack([f[c].to_numpy().astype(np.uint16) for c in domain], axis=1) for f in (public, secret)]
        prior, truth = (pair_shares(r, sizes) for r in rows)
        small = [p for p in truth if truth[p].size <= MOST_CELLS]
        for epsilon in (0.3, 1.0, 3.0, 10.0):
            rho = (np.sqrt(epsilon + np.log(1e6)) - np.sqrt(np.log(1e6))) ** 2
            variance = len(truth) / (2 * rho) / n**2
            near: list[Case] = []
            alone: list[Case] = []
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                noisy = [truth[p] + rng.normal(0, variance**0.5, truth[p].shape) for p in small]
                flat = [truth[p].ravel() for p in small]
                near.append(
                    (
                        [t.ravel() for t in noisy],
                        [prior[p].ravel() for p in small],
                        flat,
                        variance,
                        "gaussian",
                        n,
                        1 + n / len(public),
                    )
                )
                outer = [np.outer(truth[p].sum(axis=1), truth[p].sum(axis=0)).ravel() for p in small]
                alone.append(([t.ravel() for t in noisy], outer, flat, variance, "gaussian", n, 1.0))
            compare("public pairs", f"{name} {epsilon:g}", near)
            compare("independence", f"{name} {epsilon:g}", alone)
            weighing(name, epsilon, near[0], small, rows[0], sizes)


def weighing(
    name: str,
    epsilon: float,
    case: Case,
    keys: list[tuple[int, int]],
    rows: np.ndarray,
    sizes: tuple[int, ...],
) -> None:
    """Public rows weighed to shrunk, consistent pairs: the mean distance of the tables they have then."""
    noisy, means, truth, variance, *_ = case
    shaped = [
        t.reshape(sizes[a], sizes[b])
        for (a, b), t in zip(keys, adaptive(noisy, means, variance, "", 0.0), strict=True)
    ]
    wanted = PairTargets(sizes, consistent(dict(zip(keys, shaped, strict=True))))
    at = [(rows[:, a].astype(np.int32) * np.int32(sizes[b]) + rows[:, b]).astype(np.int32) for a, b in keys]
    n, said = len(rows), []
    goals = {k: t.ravel() * n for k, t in wanted.tables.items()}

    def all_at_once() -> Floats:
        return rake(at, list(goals.values()), np.ones(n), sweeps=20)

    ways: dict[str, Callable[[], Floats]] = {"all at once, 20": all_at_once}
    for sweeps, power in ((5, 0.25), (10, 0.25), (5, 0.5), (10, 0.5), (20, 0.5), (20, 1.0)):
        ways[f"in turn, {sweeps} x {power}"] = lambda s=sweeps, p=power: rake_rows(  # type: ignore[misc]
            rows, sizes, goals, np.ones(n), sweeps=s, power=p
        )
    for label, way in ways.items():
        began = time.process_time()
        weights = way()
        took = time.process_time() - began
        far = [np.abs(np.bincount(cell, weights, t.size) / n - t).sum() for cell, t in zip(at, truth, strict=True)]
        said.append(f"{label}: {np.mean(far):.4f} ({took:.2f} s)")
    targets = np.mean([l1(t, x) for t, x in zip(wanted.tables.values(), truth, strict=True)])
    print(f"{'weighing':<14} {name + f' {epsilon:g}':<28} targets {targets:.4f}  " + "  ".join(said), flush=True)


def main() -> None:
    """Every job on the tables asked for."""
    asked, seeds = (sys.argv[1] if len(sys.argv) > 1 else "all"), int(sys.argv[2]) if len(sys.argv) > 2 else 2
    began = time.process_time()
    for split in SPLITS if asked == "all" else (asked,):
        print(f"{split}: {SPLITS[split]}, personnel of {YEARS[split]}; {seeds} seeds")
        tables(split, seeds)
        pairs(split, seeds)
    print(f"{time.process_time() - began:.0f} s of CPU")


if __name__ == "__main__":
    main()
