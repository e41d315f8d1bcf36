"""How far off coefficients are without any noise: what a question could tell at best. Not private, for study only.

python -m bench.attach_floors [SPLIT ...]

Labels are drawn from a boosted model of the confidential rows themselves; or from the public model, fitted to exact
tables: the outcome with the labels, all attributes with the labels, or bands of what the other columns leave of the
outcome with the labels.
"""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.attach_splits import NAMES, load
from bench.attach_utility import Judge, modelled
from hedgerow.model.trees.label_counts import posterior_mode, to_target
from hedgerow.model.trees.row_shares import RowShares
from hedgerow.recipes.trees.attach import cells_of, code_rows
from hedgerow.recipes.trees.outcome import lloyd_cuts, outcome_of

_DRAWS, _EXACT = 2, 1e-3


def floors(judge: Judge) -> Iterator[tuple[str, Any, list[Any]]]:
    """What is told: its name, the shares that follow from it, and the groups whose labels are known."""
    split, schema = judge.split, judge.split.schema
    kinds, truth = schema.size(split.private), cells_of(judge.truth, split.private)
    assert judge.public.relative is not None
    public, lines = modelled(judge, judge.public.relative), code_rows(judge.target, split.given).astype(np.int64)

    def fitted(groups: list[Any]) -> Any:
        sizes = [int(g.max()) + 1 for g in groups]
        counts = (np.bincount(g * kinds + truth, minlength=n * kinds) for g, n in zip(groups, sizes, strict=True))
        seen = [to_target(g, c.reshape(-1, kinds), _EXACT) for g, c in zip(groups, counts, strict=True)]
        shares = public
        for _ in range(4):
            shares = posterior_mode(shares, seen)
        return shares

    yield "the public model", public, []
    yield "a model of the confidential rows", modelled(judge, judge.truth), []
    own = [lines[split.given.index(split.outcome)]]
    yield "the exact outcome table", fitted(own), own
    yield "all exact attribute tables", fitted(list(lines)), []
    outcome = outcome_of(schema, split.given, lines, split.outcome)
    for bands in (2, 4, 8):
        cuts = lloyd_cuts(outcome.values, outcome.many, bands)
        band = [np.searchsorted(cuts, outcome.residual.of(lines), side="right")]
        yield f"{bands} exact bands of what is left", fitted(band), band


def compare(name: str) -> None:
    """The floors of one split."""
    judge = Judge(load(name))
    print(f"\n{name}: mean |coefficient| {np.abs(judge.beta).mean():.4f}")
    print(f"{'told without noise':36}{'tables':>8}{'coef':>8}")
    for told, shares, groups in floors(judge):
        lines = tuple(code_rows(judge.target, judge.split.given))
        made = RowShares(judge.split.schema, judge.split.private, shares, (*groups, *lines), judge.target)
        drawn = (made.attach(judge.target, np.random.default_rng(s)) for s in range(_DRAWS))
        tables, coefficients = np.mean([judge.errors(d) for d in drawn], axis=0)
        print(f"{told:36}{tables:8.4f}{coefficients:8.4f}", flush=True)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or NAMES:
        compare(wanted)
