"""Planted bugs of the urn, in the manner of ``mutants``: each must be caught."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.private import urns
from hedgerow.private.gate import Gate
from hedgerow.public.accounting import Guarantee
from hedgerow.public.question import Counts, Marginal, Measurement
from hedgerow.public.urn import Urn

Patch = pytest.MonkeyPatch


def urn_without_the_dirichlet_draw(patch: Patch) -> None:
    """Balls are put back without another of their cell: a multinomial of the posterior mean."""

    def draw(urn: Urn, counts: Counts, groups: int) -> Counts:
        weights = counts * urn.grain + np.array(urn.alphas, np.int64)
        ends = np.cumsum(weights.reshape(groups, -1), axis=1)
        out = np.zeros_like(weights).reshape(groups, -1)
        for g in range(groups):
            size = urn.sizes[g % len(urn.sizes)]
            u = urns.below_each(np.full(size, ends[g, -1]))
            np.add.at(out[g], np.searchsorted(ends[g], u, side="right"), 1)
        return out.ravel()

    patch.setattr(urns, "draw", draw)


def urn_of_float_gamma_variates(patch: Patch) -> None:
    """Shares from floating-point gamma variates, then a multinomial: an approximate law from a seedable generator."""
    rng = np.random.default_rng()

    def draw(urn: Urn, counts: Counts, groups: int) -> Counts:
        weights = (counts + np.array(urn.alphas) / urn.grain).reshape(groups, -1)
        sizes = np.broadcast_to(urn.sizes, groups)
        parts = [rng.multinomial(s, rng.dirichlet(w)) for s, w in zip(sizes, weights, strict=True)]
        return np.concatenate(parts).astype(np.int64)

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
    original = Gate.draw_urn
    rng = np.random.default_rng()

    def draw_urn(self: Gate, question: Marginal, urn: Urn, cost: Fraction) -> Measurement:
        seen: list[Counts] = []
        drawn = urns.draw

        def noted(held: Urn, counts: Counts, groups: int) -> Counts:
            seen.append(counts)
            return drawn(held, counts, groups)

        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(urns, "draw", noted)
            answer = original(self, question, urn, cost)
        theta = rng.dirichlet(seen[0] + np.broadcast_to(np.array(urn.alphas) / urn.grain, seen[0].shape))
        return replace(answer, counts=(theta * 10**9).astype(np.int64))

    patch.setattr(Gate, "draw_urn", draw_urn)


def urn_with_half_the_prior_weight(patch: Patch) -> None:
    """The prior weights are those of twice the epsilon."""
    original = urns.draw
    patch.setattr(
        urns, "draw", lambda u, c, g: original(replace(u, alphas=tuple(-(-a // 8) for a in u.alphas)), c, g)
    )


def urn_priced_at_a_third(patch: Patch) -> None:
    """The price is worked out for three times the prior weight that is used, and forgets that rows change groups."""
    original = Urn.ratio

    def ratio(self: Urn, groups: int, cells: int, *, moves: bool, crosses: bool) -> Fraction:
        return 1 + (original(self, groups, cells, moves=moves, crosses=False) - 1) / 3

    patch.setattr(Urn, "ratio", ratio)
    patch.setattr("hedgerow.recipes.urn_plan.looseness", _three_times)


def _three_times(epsilon: Fraction, cells: int, *, crosses: bool) -> Fraction:
    from hedgerow.public.accounting import exp_floor

    return 3 * (exp_floor(epsilon) - 1)


def person_pays_for_one_row_of_an_urn(patch: Patch) -> None:
    """A person with two rows is priced as one row."""
    from hedgerow.public.spend import Tariff
    from hedgerow.recipes.urn_plan import UrnPlan

    def as_record(tariff: Tariff) -> Tariff:
        g = tariff.guarantee
        return replace(tariff, guarantee=Guarantee(relation=g.relation, public_columns=g.public_columns))

    price, plan = Tariff.draw_urn, UrnPlan.urn
    patch.setattr(Tariff, "draw_urn", lambda self, q, u, c: price(as_record(self), q, u, c))
    patch.setattr(UrnPlan, "urn", lambda self, t, c, p: plan(self, as_record(t), c, p))


URN_MUTANTS: tuple[Callable[[Patch], None], ...] = (
    urn_without_the_dirichlet_draw,
    urn_of_float_gamma_variates,
    urn_draws_as_many_as_there_are_rows,
    theta_released,
    urn_with_half_the_prior_weight,
    urn_priced_at_a_third,
    person_pays_for_one_row_of_an_urn,
)
