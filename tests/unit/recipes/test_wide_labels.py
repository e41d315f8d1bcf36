"""Two private columns of a thousand values are a million labels for every row: refused in words, before any array."""

import numpy as np
import polars as pl
import pytest

from hedgerow.errors import JobError
from hedgerow.planning import outline
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import GuidedTree, RandomTrees
from hedgerow.recipes.base import AbstractRecipe

WIDE = Schema.loads(
    "\n".join(
        f'[columns.{name}]\nkind = "integer"\nbins = {{ low = 0, high = {size - 1}, width = 1 }}\nmissing = true'
        for name, size in {"given": 5, "one": 1000, "other": 1000}.items()
    )
)


def outlined(recipe: AbstractRecipe) -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({c: rng.integers(0, 5, 3000) for c in ("given", "one", "other")})
    public = PublicData(
        WIDE, CodedTable.read(frame, WIDE), CodedTable.read(frame.select("given"), WIDE, role="target")
    )
    tariff = Tariff(WIDE.coding, Guarantee(relation="label-change", public_columns=("given",)), "pure")
    outline(recipe, public, tariff=tariff, budget=Budget(1), rng=rng, limit=16 * 10**9)


@pytest.mark.parametrize("recipe", [GuidedTree(), RandomTrees()])
def test_a_million_labels_are_refused_before_an_array_is_made(recipe: AbstractRecipe) -> None:
    with pytest.raises(JobError, match=r"GB of memory(.|\n)*1,002,001 cells(.|\n)*nothing was spent"):
        outlined(recipe)


def test_columns_that_are_drawn_in_turn_are_not_refused() -> None:
    outlined(RandomTrees(sequence="chain"))
