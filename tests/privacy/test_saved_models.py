"""What is kept of an attach run: noisy answers and public inputs, and nothing else."""

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow import pipeline
from hedgerow.answers import RecordedAnswers
from hedgerow.public.costs.accounting import Budget
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import AbstractRecipe, GuidedTree, RandomTrees
from tests.unit.recipes.test_random_trees import SCHEMA, world

RECIPES = [RandomTrees(n_b=50, trees=2), RandomTrees(n_b=50, trees=1, sequence="chain"), GuidedTree()]


class Looking(pickle.Unpickler):
    """Loads a model and notes every class it is made of."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))
        self.found: set[str] = set()

    def find_class(self, module: str, name: str) -> Any:
        self.found.add(f"{module}.{name}")
        return super().find_class(module, name)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda r: f"{r.name} {getattr(r, 'sequence', '')}")
def test_a_saved_model_is_a_function_of_noisy_answers_and_public_inputs(
    recipe: AbstractRecipe, tmp_path: Path
) -> None:
    schema = Schema.loads(SCHEMA)
    target = CodedTable.read(world(200, 3).select("age", "job"), schema, role="target")
    public = PublicData(schema, CodedTable.read(world(400, 1), schema), target)
    gate = pipeline.open_gate(
        world(300, 2),
        schema,
        Budget("2"),
        relation="label-change",
        public_columns=("age", "job"),
        ledger=tmp_path / "ledger.db",
        name="t",
    )
    saved = pickle.dumps(recipe.fit(gate, public))
    alone = RecordedAnswers(gate.tariff, gate.budget, gate.record)  # nobody to ask: noisy answers are all there is
    loaded = Looking(saved)
    model: Any = loaded.load()
    again: Any = recipe.fit(alone, public)
    rows = [m.attach(target, np.random.default_rng(5)) for m in (model, again)]
    assert rows[0].equals(rows[1]), "the saved model knows something that the answers do not say"
    assert not [c for c in loaded.found if "private" in c or "Source" in c or "Gate" in c or "ledger" in c]
    held = _arrays(model, set())
    known = [m.counts for a in gate.record for m in a.measurements]
    assert all(any(k is h or np.array_equal(k, h) for h in held) for k in known) or isinstance(recipe, GuidedTree)


def _arrays(thing: Any, seen: set[int]) -> list[Any]:
    """Every array inside of an object."""
    if id(thing) in seen:
        return []
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return [thing]
    inside = vars(thing).values() if hasattr(thing, "__dict__") else thing if isinstance(thing, tuple | list) else ()
    return [a for x in inside for a in _arrays(x, seen)]
