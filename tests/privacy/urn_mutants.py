"""Planted bugs of the urn, in the manner of ``mutants``: each must be caught."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.private import urns
from hedgerow.private.gate import Gate
from hedgerow.public.costs import urn as public_urn
from hedgerow.public.costs.accounting import floor_sqrt
from hedgerow.public.costs.question import Counts, Marginal, Measurement
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.costs.urn import Urn, exp_floor
from hedgerow.recipes.counts import urns as urn_recipes
from hedgerow.recipes.counts.urns import UrnPlan

Patch = pytest.MonkeyPatch


def urn_without_the_dirichlet_draw(patch: Patch) -> None:
    """Balls are put back without another of their cell: a multinomial of the posterior mean."""

    def draw(urn: Urn, counts: Counts, groups: int) -> Counts:
        weights = counts * urn.grain + np.array(urn.alphas, np.int64)
        ends = np.cumsum(weights.reshape(groups, -1), axis=1)
        out = np.zeros((urn.copies, groups, len(weights) // groups), np.int64)
        for g in range(groups):
            size = urn.sizes[g % len(urn.sizes)]
            u = urns.below_each(np.full(size * urn.copies, ends[g, -1]))
            cell = np.searchsorted(ends[g], u, side="right")
            for copy, c in zip(np.arange(len(cell)) // size, cell, strict=True):
                out[copy, g, c] += 1
        return out.reshape(urn.copies, -1)

    patch.setattr(urns, "draw", draw)


def urn_of_float_gamma_variates(patch: Patch) -> None:
    """Shares from floating-point gamma variates, then a multinomial: an approximate law from a seedable generator."""
    rng = np.random.default_rng()

    def draw(urn: Urn, counts: Counts, groups: int) -> Counts:
        weights = (counts + np.array(urn.alphas) / urn.grain).reshape(groups, -1)
        sizes = np.broadcast_to(urn.sizes, groups)
        theta = [rng.dirichlet(w) for w in weights]
        tables = [np.concatenate([rng.multinomial(s, t) for s, t in zip(sizes, theta, strict=True)])] * urn.copies
        return np.stack(tables).astype(np.int64)

    patch.setattr(urns, "draw", draw)


def urn_draws_as_many_as_there_are_rows(patch: Patch) -> None:
    """S = n under add-remove: the size of the output is the number of rows."""
    original = urns.draw

    def draw(urn: Urn, counts: Counts, groups: int) -> Counts:
        own = counts.reshape(groups, -1).sum(axis=1).tolist()
        return original(replace(urn, sizes=tuple(own)), counts, groups)

    patch.setattr(urns, "draw", draw)


def theta_released(patch: Patch) -> None:
    """The shares are given out, as the lecture prints them."""
    original = urns.draw_urn
    rng = np.random.default_rng()

    def draw_urn(gate: Gate, question: Marginal, urn: Urn, cost: Fraction) -> tuple[Measurement, ...]:
        seen: list[Counts] = []
        drawn = urns.draw

        def noted(held: Urn, counts: Counts, groups: int) -> Counts:
            seen.append(counts)
            return drawn(held, counts, groups)

        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(urns, "draw", noted)
            answers = original(gate, question, urn, cost)
        theta = rng.dirichlet(seen[0] + np.broadcast_to(np.array(urn.alphas) / urn.grain, seen[0].shape))
        return tuple(replace(a, counts=(theta * 10**9).astype(np.int64)) for a in answers)

    patch.setattr(urns, "draw_urn", draw_urn)


def urn_with_half_the_prior_weight(patch: Patch) -> None:
    """The prior weights are those of twice the epsilon."""
    original = urns.draw
    patch.setattr(
        urns, "draw", lambda u, c, g: original(replace(u, alphas=tuple(-(-a // 8) for a in u.alphas)), c, g)
    )


def urn_priced_at_a_third(patch: Patch) -> None:
    """The price is worked out for three times the prior weight that is used, and forgets that rows change groups."""
    original = Urn.ratio

    def ratio(self: Urn, groups: int, cells: int, *, crosses: bool) -> Fraction:
        return 1 + (original(self, groups, cells, crosses=False) - 1) / 3

    patch.setattr(Urn, "ratio", ratio)
    patch.setattr("hedgerow.recipes.counts.urns.looseness", _three_times)


def _three_times(epsilon: Fraction, cells: int, *, crosses: bool) -> Fraction:
    return 3 * (exp_floor(epsilon) - 1)


def person_pays_for_one_row_of_an_urn(patch: Patch) -> None:
    """A person with two rows is priced as one row."""

    def row_epsilon(tariff: Tariff, cost: Fraction) -> Fraction:
        return cost if tariff.measure == "pure" else floor_sqrt(2 * cost)

    patch.setattr(public_urn, "row_epsilon", row_epsilon)
    patch.setattr(urn_recipes, "row_epsilon", row_epsilon)


def copies_for_the_price_of_one(patch: Patch) -> None:
    """Two more tables are drawn from the same urns, priced as one."""
    original = Urn.ratio
    patch.setattr(
        Urn, "ratio", lambda self, g, c, *, crosses: original(replace(self, copies=1), g, c, crosses=crosses)
    )
    least = UrnPlan._least
    patch.setattr(
        UrnPlan, "_least", lambda self, *rest: replace(least(replace(self, copies=1), *rest), copies=self.copies)
    )


def groups_that_rows_cross_for_free(patch: Patch) -> None:
    """A replaced row is taken to stay in its group, so the group it enters is not paid for."""
    patch.setattr(public_urn, "rows_cross", lambda tariff, by: False)
    patch.setattr(urn_recipes, "rows_cross", lambda tariff, by: False)


def groups_by_a_private_column_taken_for_public(patch: Patch) -> None:
    """Under label-change a row is taken to stay in its group, though the column of the groups may change."""

    def crosses(tariff: Tariff, by: tuple[str, ...]) -> bool:
        return tariff.guarantee.relation == "replace-one"

    patch.setattr(public_urn, "rows_cross", crosses)
    patch.setattr(urn_recipes, "rows_cross", crosses)


URN_MUTANTS: tuple[Callable[[Patch], None], ...] = (
    urn_without_the_dirichlet_draw,
    urn_of_float_gamma_variates,
    urn_draws_as_many_as_there_are_rows,
    theta_released,
    urn_with_half_the_prior_weight,
    urn_priced_at_a_third,
    person_pays_for_one_row_of_an_urn,
    copies_for_the_price_of_one,
    groups_that_rows_cross_for_free,
    groups_by_a_private_column_taken_for_public,
)
