"""The blends on neighbours with groups, declared tables and triples: equal answers give equal bytes."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hedgerow.public.costs.accounting import Guarantee
from tests.privacy.checks import check_run, quick_folder
from tests.privacy.recipe_world import write_blend
from tests.privacy.world import GUARANTEES, neighbours

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
