"""The blends on neighbours: with the noisy answers equal, every byte of a release is equal."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hedgerow.public.accounting import Guarantee
from tests.privacy import checks
from tests.privacy.watch import PUBLIC
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


def job_with(recipe: str, guarantee: Guarantee, settings: str = "") -> Callable[..., Path]:
    """A writer of jobs with this recipe, a public table and these settings."""

    def job_of(folder: Path, given: object, *, delta: str) -> Path:
        frame(RELATIVE * 5).select(COLUMNS).write_csv(folder / PUBLIC)
        job = write_job(folder, guarantee, delta=delta, recipe=recipe)
        public = f'[public]\ntable = "{PUBLIC}"\n' if recipe == "public_blend" else ""
        own = f"[{recipe}]\n{settings}" if settings else ""
        job.write_text(job.read_text("utf-8") + public + own, "utf-8")
        return job

    return job_of


@pytest.mark.parametrize("recipe", ["tree_blend", "public_blend"])
@pytest.mark.parametrize("delta", ["0", "1e-6"], ids=["pure", "zcdp"])
@pytest.mark.parametrize("kind", GUARANTEES)
@given(data=st.data())
@FEW
def test_every_byte_of_a_blend_is_the_same_on_neighbours(
    kind: str, delta: str, recipe: str, data: st.DataObject
) -> None:
    guarantee = GUARANTEES[kind]
    with checks.quick_folder() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "write_job", job_with(recipe, guarantee))
        checks.check_run(Path(folder), guarantee, delta, data.draw(neighbours(guarantee)))


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("recipe", ["tree_blend", "public_blend"])
@given(data=st.data())
@FEW
def test_so_it_is_with_groups_declared_tables_and_triples(recipe: str, more: str, data: st.DataObject) -> None:
    guarantee = next(iter(GUARANTEES.values()))
    with checks.quick_folder() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "write_job", job_with(recipe, guarantee, MORE[more]))
        checks.check_run(Path(folder), guarantee, "1e-6", data.draw(neighbours(guarantee)))
