"""The recipe of a job: one of ours by its name or by default, or somebody else's."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar

from hedgerow.answers import Answers
from hedgerow.errors import NOTHING, JobError
from hedgerow.figures import value_in_words
from hedgerow.model.base import Fitted
from hedgerow.public import Budget, PublicData, Spend, Tariff
from hedgerow.recipes import RECIPES, AbstractRecipe, default_recipe

FOREIGN = " (not one of Hedgerow's recipes)"
"""What a statement says of a recipe that somebody else wrote."""


def recipe_of(given: Any, *, target: bool, public: bool) -> AbstractRecipe:
    """The recipe that a job was given: itself, by its name, or by default the best for what the job has."""
    if isinstance(given, AbstractRecipe):
        if not getattr(given, "name", ""):
            raise JobError(f"{type(given).__name__} has no name: write name = '...' in the class. {NOTHING}")
        return given
    empty = given is None or (isinstance(given, str) and not given)
    name = default_recipe(target=target, public=public) if empty else given
    if isinstance(name, type) and issubclass(name, AbstractRecipe):
        raise JobError(f"Job: recipe is the class {name.__name__}; write recipe={name.__name__}(). {NOTHING}")
    if not isinstance(name, str):
        raise JobError(
            f"Job: recipe is {value_in_words(name)}; write a recipe, as in recipes.PublicBlend(). {NOTHING}"
        )
    return recipe_class(name)()


def recipe_class(name: str) -> type[AbstractRecipe]:
    """The recipe of that name, or a refusal that says which there are."""
    if name not in RECIPES:
        close = get_close_matches(name, RECIPES, 1)
        raise JobError(
            f"there is no recipe {name!r}.{f' Did you mean {close[0]}?' if close else ''}\n"
            f"Choose one of: {', '.join(RECIPES)}; or name none, and the best for this job is taken.\n{NOTHING}"
        )
    return RECIPES[name]


@dataclass(frozen=True)
class ForeignRecipe(AbstractRecipe):
    """A recipe that is not one of ours, as a bundle names it: it can say so, and nothing else."""

    path: str
    name: ClassVar[str] = "foreign"

    @property
    def stated(self) -> str:
        """The recipe as a statement names it."""
        return self.path + FOREIGN

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """Refused: the code is not here."""
        raise JobError(
            f"{self.path} is not one of Hedgerow's recipes: what it asks and makes is known to its own code only.\n"
            "Use the release object of the run that made it. Nothing confidential was read or spent."
        )

    def fit(self, gate: Answers, public: PublicData) -> Fitted:
        """Refused: the code is not here."""
        self.requests(gate.tariff, gate.budget, public)
        raise AssertionError("a foreign recipe has been fitted")


def name_of(recipe: AbstractRecipe) -> str:
    """The name of one of our recipes; the place of the class of any other, a subclass of ours included."""
    if type(recipe) is ForeignRecipe:
        return recipe.path
    kind = type(recipe)
    return recipe.name if RECIPES.get(recipe.name) is kind else f"{kind.__module__}.{kind.__qualname__}"
