"""The law of an urn by exhaustion: every sequence of whole numbers the operating system could give."""

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hedgerow.private import urns
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Counts, Marginal
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.costs.urn import Urn, exp_floor, price_urn
from hedgerow.public.schema import Schema
from hedgerow.public.table import PublicData
from hedgerow.recipes.counts.urns import UrnPlan
from tests.oracles import dirichlet_multinomial as dm
from tests.privacy.world import SCHEMA

Law = dict[tuple[int, ...], Fraction]


def law_of(urn: Urn, counts: tuple[int, ...], groups: int) -> Law:
    """The exact chance of every outcome of ``urns.draw``."""
    bounds: list[Counts] = []

    def note(b: Counts) -> Counts:
        bounds.append(b)
        return np.zeros(len(b), np.int64)

    def give(u: tuple[int, ...]) -> Callable[[Counts], Counts]:
        return lambda b: np.array(u, np.int64)

    law: Law = defaultdict(Fraction)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(urns, "below_each", note)
        urns.draw(urn, np.array(counts, np.int64), groups)
        assert bounds, "the urn was drawn from without uniform whole numbers"
        for u in product(*(range(int(b)) for b in bounds[0])):
            patch.setattr(urns, "below_each", give(u))
            law[tuple(urns.draw(urn, np.array(counts, np.int64), groups).ravel().tolist())] += 1
    ways = sum(law.values())
    return {z: n / ways for z, n in law.items()}


CASES = (((2, 1), (1, 1), 1, 3), ((0, 3), (1, 1), 2, 3), ((1, 0, 1), (1, 2, 1), 1, 3), ((4,), (1,), 1, 2))


def check_urn_law() -> None:
    """The draw has exactly the Dirichlet-multinomial law, whatever the counts."""
    for counts, alphas, grain, size in CASES:
        due = dm.pmf(counts, [Fraction(a, grain) for a in alphas], size)
        assert law_of(Urn((size,), alphas, grain), counts, 1) == due, "the urn does not follow its law"


def check_crossing() -> None:
    """A row replaced by one of another group, or whose private group is another: what both groups tell is paid for.

    The worst is nearly met when the group it leaves is large and its cell holds only it, and the other is empty.
    """
    schema, table = Schema.loads(SCHEMA), Marginal(("area", "sex"))
    for guarantee in (Guarantee(relation="replace-one"), Guarantee(relation="label-change", public_columns=("pay",))):
        tariff = Tariff(schema.coding, guarantee, "pure")
        urn = UrnPlan("toy", table, 1, 4).urn(tariff, Fraction(1), PublicData(schema))
        price_urn(tariff, table, urn, Fraction(1))
        weights = [Fraction(urn.alphas[0], urn.grain)] * 2
        left = dm.probability((4, 0), (1, 5000), weights) / dm.probability((4, 0), (0, 5000), weights)
        entered = dm.probability((0, 4), (0, 0), weights) / dm.probability((0, 4), (1, 0), weights)
        assert left * entered <= exp_floor(Fraction(1)), "a row that changes its group tells more than its price"
