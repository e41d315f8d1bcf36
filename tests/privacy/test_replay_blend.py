"""The blends with groups, declared tables and triples on neighbours: equal answers give equal bytes."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hedgerow.public.accounting import Guarantee
from tests.privacy.checks import check_run, quick_folder
from tests.privacy.world import COLUMNS, GUARANTEES, Row, frame, neighbours, write_job

FEW = settings(max_examples=2, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
RELATIVE: tuple[Row, ...] = (
    ("F", "A", "5", "n", "a"),
    ("M", "B", "12", "s", "b"),
    ("M", None, "39", "n", "c"),
    ("F", "C", "25", "s", "d"),
)
MORE = {
    "groups": 'groups = ["race", "pay"]\n',
    "tables": 'tables = [["sex_area", "race", "pay"]]\n',
    "triples": "triples = 1\n",
}


def job_with(recipe: str, settings: str) -> Callable[..., Path]:
    """A writer of jobs with this recipe, a public table and these settings."""

    def write(folder: Path, guarantee: Guarantee, *, delta: str) -> Path:
        frame(RELATIVE * 5).select(COLUMNS).write_csv(folder / "public.csv")
        job = write_job(folder, guarantee, delta=delta, recipe=recipe)
        public = '[public]\ntable = "public.csv"\n' if recipe == "public_blend" else ""
        job.write_text(f"{job.read_text('utf-8')}{public}[{recipe}]\n{settings}", "utf-8")
        return job

    return write


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("recipe", ["tree_blend", "public_blend"])
@given(data=st.data())
@FEW
def test_every_byte_is_the_same_on_neighbours(recipe: str, more: str, data: st.DataObject) -> None:
    guarantee = next(iter(GUARANTEES.values()))
    with quick_folder() as folder:
        pair = data.draw(neighbours(guarantee))
        check_run(Path(folder), guarantee, "1e-6", pair, job_with(recipe, MORE[more]))
