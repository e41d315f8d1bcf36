"""How ``guided_tree`` asks about an outcome: bands of what the other columns leave of it, with the private labels.

Decided by the target's public columns and the mix of public labels: how many bands, whether the private attributes
are counted together or each by itself, and how much of the budget it takes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.errors import JobError
from hedgerow.model.residual import Residual, cuts_of, unexplained, unknown
from hedgerow.public.costs.question import Marginal
from hedgerow.public.schema import Schema
from hedgerow.public.schema.column import BINNED
from hedgerow.recipes.trees.attach import is_ordered

Floats = npt.NDArray[np.float64]
_BANDS = (2, 3, 4, 6, 8, 12, 16)
_SHARES = (Fraction(1, 6), Fraction(1, 3), Fraction(1, 2))
_ENOUGH = 0.5  # of the variance that chance gives: a larger share is not taken to learn more


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """An outcome, and what the other given columns leave of it.

    Attributes:
        columns: the given attributes, of which it is one.
        residual: of each row, a sum over the codes of ``columns``.
        values: the residuals that target rows have, and ``many`` how many rows have each.
    """

    columns: tuple[str, ...]
    residual: Residual
    values: npt.NDArray[np.int64]
    many: npt.NDArray[np.int64]

    def asked(
        self, labels: Mapping[str, Floats], part: Fraction, variance: Callable[[Fraction], float]
    ) -> tuple[tuple[Marginal, ...], float]:
        """The questions with the least left unknown, and how much of the variance that chance makes they tell.

        ``labels`` has the mix of each private attribute; ``variance`` is that of a count that gets so much of the
        budget, of which the questions have a ``part`` together.
        """
        cells, found = float(np.prod([len(m) for m in labels.values()])), []
        for bands, apart in product(_BANDS, (False, True) if len(labels) > 1 else (False,)):
            cuts = cuts_of(self.values, self.many, bands)
            noise = variance(part / len(labels) if apart else part)
            each = [
                unknown(self.values, self.many, cuts, m, noise * (1.0 if apart else cells / len(m)))
                for m in labels.values()
            ]
            left, whole = np.sum(each, axis=0)
            found.append((float(left), float(whole), apart, cuts))
        left, whole, apart, cuts = min(found, key=lambda f: f[0])
        tree = self.residual.tree(self.columns, cuts)
        groups = [(p,) for p in labels] if apart else [tuple(labels)]
        return tuple(Marginal(g, tree) for g in groups), 1 - (left / max(whole, 1e-12)) ** 2


def outcome_of(schema: Schema, columns: tuple[str, ...], lines: npt.NDArray[Any], name: str) -> Outcome:
    """What the other ``columns`` leave of the one called ``name``, on target rows with the codes in ``lines``."""
    if not (is_ordered(schema, name) or schema.size([name]) == 2):
        raise JobError(
            f"[guided_tree] outcomes has {name}, whose values have no order. An outcome has an order or two values;\n"
            "for another one name the table: analyses = [[...]]. Nothing was read or spent."
        )
    at = columns.index(name)
    residual = unexplained(lines, schema.shape(columns), outcome=at, scores=_scores(schema, name, lines[at]))
    if residual is None:
        raise JobError(
            f"[guided_tree] outcomes has {name}, which the other columns of the target settle: it leaves nothing to\n"
            "measure. Take it out, or give the columns that settle it priority 0. Nothing was read or spent."
        )
    return Outcome(columns, residual, *np.unique(residual.of(lines), return_counts=True))


def _scores(schema: Schema, name: str, codes: npt.NDArray[Any]) -> Floats:
    """A number for each code: its rank; for what has no place in the order (missing, other, special) the mean one."""
    scores = np.arange(float(schema.size([name])))
    column = next((c for c in schema.columns if c.name == name), None)
    if column is not None and is_ordered(schema, name):
        placed = column.bin_count if column.kind in BINNED else len(column.values)
        scores[placed:] = codes[codes < placed].mean() if (codes < placed).any() else 0.0
    return scores


def declared(
    tables: Sequence[Marginal],
    outcomes: Sequence[Outcome],
    labels: Mapping[str, Floats],
    share: Fraction | None,
    variance: Callable[[Fraction], float],
) -> dict[Marginal, Fraction]:
    """The questions of all ``tables`` and ``outcomes``, each with its part of the budget.

    Their ``share`` together, when None, is a third; with outcomes it is the least of a sixth, a third and a half
    with which half of what chance did to each is told.  ``variance`` is that of a count that gets so much of the
    budget.
    """
    if not (tables or outcomes):
        return {}
    asked: dict[Marginal, Fraction] = {}
    for whole in (share,) if share is not None else _SHARES if outcomes else (Fraction(1, 3),):
        part = whole / (len(tables) + len(outcomes))
        asked, told = dict.fromkeys(tables, part), 1.0
        for outcome in outcomes:
            questions, known = outcome.asked(labels, part, variance)
            asked |= dict.fromkeys(questions, part / len(questions))
            told = min(told, known)
        if told >= _ENOUGH:
            break
    return asked
