"""The blends on neighbours with groups, declared tables, triples and uses: equal answers give equal bytes."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hedgerow.model.constants import TREE_BLEND
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.recipes import TreeBlend
from hedgerow.recipes.blend import tree_blend
from hedgerow.release.bundle import BundleReader
from tests.privacy.checks import check_run, quick_folder
from tests.privacy.recipe_world import write_blend
from tests.privacy.world import COLUMNS, GUARANTEES, Pair, Row, frame, neighbours

FEW = settings(max_examples=1, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
MORE = {
    "groups": 'groups = ["race", "pay"]\n',
    "tables": 'tables = [["sex_area", "race", "pay"]]\n',
    "triples": "triples = 1\n",
}


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("recipe", ["tree_blend", "public_blend"])
@given(data=st.data())
@FEW
def test_every_byte_is_the_same_with_groups_tables_and_triples(recipe: str, more: str, data: st.DataObject) -> None:
    guarantee = next(iter(GUARANTEES.values()))

    def write(folder: Path, given: Guarantee, *, delta: str) -> Path:
        job = write_blend(folder, given, recipe, delta=delta)
        job.write_text(job.read_text("utf-8") + f"[{recipe}]\n{MORE[more]}", "utf-8")
        return job

    with quick_folder() as folder:
        check_run(Path(folder), guarantee, "1e-6", data.draw(neighbours(guarantee)), write)


USES = """
[[use]]
name = "mean pay"
kind = "mean"
of = "pay"
by = ["race"]
tolerance = 5
[[use]]
name = "a coefficient"
kind = "coefficient"
formula = "pay ~ race"
term = "race[B]"
tolerance = 5
"""


def _others(seed: int) -> tuple[Row, ...]:
    """Enough people, one row each, for the bands of a coefficient to be worth their noise."""
    rng = np.random.default_rng(seed)
    race, pay = rng.choice(3, 1200, p=[0.6, 0.3, 0.1]), rng.integers(0, 14, 1200)
    each = zip(rng.choice(["F", "M"], 1200), race, pay, rng.choice(["n", "s"], 1200), strict=True)
    return tuple((str(s), "ABC"[r], str(9 * r + p), str(a), f"other {i}") for i, (s, r, p, a) in enumerate(each))


@pytest.mark.parametrize("kind", ["record, add-remove", "person, replace-one"])
@given(data=st.data())
@FEW
def test_every_byte_is_the_same_where_declared_uses_are_measured_and_estimated(
    kind: str, data: st.DataObject
) -> None:
    guarantee, pair, others = GUARANTEES[kind], data.draw(neighbours(GUARANTEES[kind])), _others(1)

    def write(folder: Path, given: Guarantee, *, delta: str) -> Path:
        job = write_blend(folder, given, "public_blend", delta=delta)
        frame(_others(2)).select(COLUMNS).write_csv(folder / "public.csv")
        job.write_text(job.read_text("utf-8") + USES, "utf-8")
        return job

    with quick_folder() as folder:
        check_run(Path(folder), guarantee, "1e-6", Pair(others + pair.here, others + pair.there), write)
        made = BundleReader(Path(folder) / "here" / "release")
        asked, told = [m.question for _, m in made.answers], {e.name for e in made.contents.estimates}
    assert any(q.tree for q in asked), "no bands of the coefficient were asked"
    assert told >= {"mean pay", "a coefficient"}


@given(data=st.data())
@FEW
def test_every_byte_is_the_same_where_pairs_are_looked_at_by_signs(data: st.DataObject) -> None:
    guarantee, others = next(iter(GUARANTEES.values())), _others(1)
    pair = data.draw(neighbours(guarantee))

    def write(folder: Path, given: Guarantee, *, delta: str) -> Path:
        return write_blend(folder, given, "tree_blend", delta=delta)

    with quick_folder() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(TreeBlend, "_resolutions", lambda *_: ([(0, 1)], {}))  # noise leaves the other pairs out
        check_run(Path(folder), guarantee, "1e-6", Pair(others + pair.here, others + pair.there), write)
        made = BundleReader(Path(folder) / "here" / "release")
        trees = [m.question.tree for _, m in made.answers if m.question.tree]
    assert any(t.leaves == 4 and len(t.columns) == 3 for t in trees), "nothing was looked at by signs"


@given(data=st.data())
@FEW
def test_every_byte_is_the_same_where_some_pairs_are_looked_at_by_signs_and_some_cell_by_cell(
    data: st.DataObject,
) -> None:
    guarantee, others = next(iter(GUARANTEES.values())), _others(1)
    pair = data.draw(neighbours(guarantee))

    def write(folder: Path, given: Guarantee, *, delta: str) -> Path:
        job = write_blend(folder, given, "tree_blend", delta=delta)
        text = (folder / "schema.toml").read_text("utf-8")  # race and pay stand in order, the other column does not
        ordered = text.replace('[columns.race]\nkind = "categorical"', '[columns.race]\nkind = "ordered"')
        (folder / "schema.toml").write_text(ordered, "utf-8")
        return job

    def cell_by_cell(self: TreeBlend, axes: Any, *args: Any) -> tuple[list[tuple[int, ...]], dict[Any, Any]]:
        return list(args[4] if len(args) > 4 else combinations(range(len(axes.names)), 2)), {}

    with quick_folder() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(TreeBlend, "_resolutions", cell_by_cell)
        patch.setattr(tree_blend, "TREE_BLEND", replace(TREE_BLEND, sign_noise=0.0))  # cells are never quiet
        check_run(Path(folder), guarantee, "1e-6", Pair(others + pair.here, others + pair.there), write)
        asked = [m.question for _, m in BundleReader(Path(folder) / "here" / "release").answers]
    assert any(q.tree and q.leaves == 2 and len(q.tree.columns) == 2 for q in asked), "nothing was looked at by signs"
    assert any(q.tree is None and len(q.columns) == 2 for q in asked), "nothing was looked at cell by cell"


def _related(seed: int, *, against: bool) -> tuple[Row, ...]:
    """People, two rows each, whose pay and area go with race; ``against``: pay does the other way about."""
    rng = np.random.default_rng(seed)
    race = rng.choice(3, 1200, p=[0.4, 0.2, 0.4])
    with_pay = 2 - race if against else race
    pay, area = 12 * with_pay + rng.integers(0, 14, 1200), np.where(rng.random(1200) < 0.2 + 0.3 * race, "n", "s")
    each = zip(rng.choice(["F", "M"], 1200), race, pay, area, strict=True)
    return tuple((str(s), "ABC"[r], str(p), str(a), f"other {i // 2}") for i, (s, r, p, a) in enumerate(each))


@pytest.mark.parametrize(("kind", "against"), [("record, label-change", False), ("person, add-remove", True)])
@given(data=st.data())
@FEW
def test_every_byte_is_the_same_and_every_price_right_where_the_public_relations_are_tried(
    kind: str, against: bool, data: st.DataObject
) -> None:
    guarantee, pair = GUARANTEES[kind], data.draw(neighbours(GUARANTEES[kind]))
    others = _related(1, against=against)

    def write(folder: Path, given: Guarantee, *, delta: str) -> Path:
        job = write_blend(folder, given, "public_blend", delta=delta)
        frame(_related(2, against=False)).select(COLUMNS).write_csv(folder / "public.csv")
        return job

    with quick_folder() as folder:
        check_run(Path(folder), guarantee, "1e-6", Pair(others + pair.here, others + pair.there), write)
        made = BundleReader(Path(folder) / "here" / "release")
        sides = [m for _, m in made.answers if m.question.tree and len(m.counts) == 2]
        put_aside = any("do not bear out how the columns" in s for s in made.contents.findings)
    assert sides, "no relation was tried"
    assert put_aside == against
