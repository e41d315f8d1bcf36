"""Recipes: named ways to spend a budget. One recipe, one class, one docs page."""

from hedgerow.answers import Answers
from hedgerow.public import PublicData
from hedgerow.recipes.base import AbstractRecipe
from hedgerow.recipes.blend.public_blend import PublicBlend
from hedgerow.recipes.blend.tree_blend import TreeBlend
from hedgerow.recipes.careers import Careers
from hedgerow.recipes.counts.integer_counts import IntegerCounts
from hedgerow.recipes.counts.urns import BetaBinomial, DirichletMultinomial, GammaPoisson
from hedgerow.recipes.dpsyn.dpsyn import DPSyn
from hedgerow.recipes.independent import Independent
from hedgerow.recipes.trees.guided_tree import GuidedTree
from hedgerow.recipes.trees.people import counted, person_facts
from hedgerow.recipes.trees.random_trees import RandomTrees

_RECORDS = (Independent, DPSyn, PublicBlend, TreeBlend, Careers)
_COLUMNS = (RandomTrees, GuidedTree)
_TABLES = (IntegerCounts, DirichletMultinomial, BetaBinomial, GammaPoisson)

RECIPES: dict[str, type[AbstractRecipe]] = {r.name: r for r in (*_RECORDS, *_COLUMNS, *_TABLES)}
"""Every recipe by the name a job calls it. A new recipe is a new file and one line here."""


__all__ = sorted(r.__name__ for r in RECIPES.values()) + ["AbstractRecipe"]


def __dir__() -> list[str]:
    return __all__  # what completion shows of hr.recipes


def default_recipe(*, target: bool, public: bool) -> str:
    """The recipe of a job that names none: our best for what the job has.

    >>> default_recipe(target=True, public=True), default_recipe(target=False, public=True)
    ('guided_tree', 'public_blend')
    """
    return (GuidedTree if target else PublicBlend if public else TreeBlend).name
