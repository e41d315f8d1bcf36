"""MST as it is published (McKenna, Miklau and Sheldon 2021), written anew: a line to compare with, not a recipe.

A third of rho measures every column; a third chooses a spanning tree, edge by edge with the exponential mechanism,
by how far each pair is from independence; a third measures its pairs.  Values whose noisy count is below three
standard deviations are merged before pairs are measured, and told apart again by their noisy shares.  Estimates are
by least squares and projection, not by mirror descent as in the original; on a tree both end near each other.
Noise is numpy's: whoever calls this holds a public table.
"""

from math import log, sqrt
from typing import Any

import numpy as np

from hedgerow.model.tables.fitting import fit_pair, project, project_pair

Codes = dict[str, Any]


def zcdp(epsilon: float, delta: float) -> float:
    """The largest rho whose best known delta at ``epsilon`` is no more than ``delta`` (Canonne and others 2020).

    >>> round(zcdp(1.0, 1e-6), 4)
    0.0244
    """
    alphas = 1 + np.geomspace(1e-3, 1e5, 4000)
    low, high = 0.0, epsilon + 1
    for _ in range(60):
        rho = (low + high) / 2
        exponents = (alphas - 1) * (alphas * rho - epsilon) + alphas * np.log1p(-1 / alphas) - np.log(alphas - 1)
        low, high = (rho, high) if exponents.min() <= log(delta) else (low, rho)
    return low


def mst(codes: Codes, domain: dict[str, int], epsilon: float, delta: float, rng: np.random.Generator) -> Codes:
    """As many records as there are, by MST at (epsilon, delta)."""
    (made,) = mst_copies(codes, domain, (epsilon, delta), rng, 1)
    return made


def mst_copies(
    codes: Codes, domain: dict[str, int], budget: tuple[float, float], rng: np.random.Generator, copies: int
) -> list[Codes]:
    """So many copies of the records, drawn from one model that MST fitted at (epsilon, delta)."""
    epsilon, delta = budget
    names, rho = list(domain), zcdp(epsilon, delta)
    sigma = sqrt(3 * len(names) / (2 * rho))
    ones = {c: np.bincount(codes[c], minlength=domain[c]) + rng.normal(0, sigma, domain[c]) for c in names}
    n = max(round(float(np.mean([t.sum() for t in ones.values()]))), 1)
    ones = {c: project(t, n) for c, t in ones.items()}
    coarse, parts = {}, {}
    for c in names:
        keep = ones[c] >= 3 * sigma
        coarse[c] = np.where(keep, np.cumsum(keep) - 1, keep.sum())
        parts[c] = int(keep.sum() + (not keep.all()))
    small = {c: coarse[c][codes[c]] for c in names}
    margins = {c: np.bincount(coarse[c], weights=ones[c], minlength=parts[c]) / n for c in names}
    edges = _tree(small, parts, margins, sqrt(8 * rho / 3 / max(len(names) - 1, 1)), rng)
    scale = sqrt(3 * len(edges) / (2 * rho))
    tables = {e: _pair(small, parts, e) + rng.normal(0, scale, (parts[e[0]], parts[e[1]])) for e in edges}
    for c in names:  # every estimate of a column's shares, weighed by its noise
        found = [(ones[c].sum() * margins[c], sigma**2)]
        found += [(t.sum(1 - e.index(c)), scale**2 * t.shape[1 - e.index(c)]) for e, t in tables.items() if c in e]
        weight = np.array([1 / v for _, v in found])
        margins[c] = project(np.average([x for x, _ in found], axis=0, weights=weight), n) / n
    fitted = {}
    for (a, b), t in tables.items():
        fitted[a, b] = fit_pair(project_pair(t / n, margins[a], margins[b]), margins[a], margins[b])
    drawn = [_drawn(names, margins, fitted, n, rng) for _ in range(copies)]
    return [{c: _apart(made[c], coarse[c], ones[c], rng) for c in names} for made in drawn]


def _pair(codes: Codes, parts: dict[str, int], pair: tuple[str, str]) -> Any:
    a, b = pair
    return np.bincount(codes[a] * parts[b] + codes[b], minlength=parts[a] * parts[b]).reshape(parts[a], parts[b])


def _tree(codes: Codes, parts: dict[str, int], margins: Codes, epsilon: float, rng: np.random.Generator) -> Any:
    """A spanning tree, its edges drawn one by one by the exponential mechanism."""
    names, n = list(parts), len(next(iter(codes.values())))
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    score = {
        (a, b): float(np.abs(_pair(codes, parts, (a, b)) - n * np.outer(margins[a], margins[b])).sum())
        for a, b in pairs
    }
    group, edges = {c: c for c in names}, list[tuple[str, str]]()
    while len(edges) < len(names) - 1:
        open_ = [p for p in pairs if group[p[0]] != group[p[1]]]
        a, b = open_[int(np.argmax([epsilon / 2 * score[p] + rng.gumbel() for p in open_]))]
        edges.append((a, b))
        group = {c: group[a] if g == group[b] else g for c, g in group.items()}
    return edges


def _drawn(names: list[str], margins: Codes, tables: Any, n: int, rng: np.random.Generator) -> Codes:
    """Records of the tree, stratified within each value of the parent."""
    made = {names[0]: _spread(margins[names[0]], n, rng)}
    while len(made) < len(names):
        a, b = next(e for e in tables if (e[0] in made) != (e[1] in made))
        table = tables[a, b] if a in made else tables[a, b].T
        parent, child = (a, b) if a in made else (b, a)
        out = np.zeros(n, np.int64)
        for value in np.unique(made[parent]):
            mine = np.flatnonzero(made[parent] == value)
            line = table[value] if table[value].sum() > 0 else margins[child]
            out[mine] = _spread(line, len(mine), rng)
        made[child] = out
    return made


def _spread(shares: Any, n: int, rng: np.random.Generator) -> Any:
    at = (rng.permutation(n) + rng.random(n)) / n
    return np.minimum(np.searchsorted(np.cumsum(shares / shares.sum()), at, side="right"), len(shares) - 1)


def _apart(made: Any, coarse: Any, shares: Any, rng: np.random.Generator) -> Any:
    """Merged values told apart again by their noisy shares, even where these are all 0."""
    out = np.zeros(len(made), np.int64)
    for part in np.unique(made):
        values, mine = np.flatnonzero(coarse == part), np.flatnonzero(made == part)
        share = shares[values] if shares[values].sum() > 0 else np.ones(len(values))
        out[mine] = values[_spread(share, len(mine), rng)]
    return out
