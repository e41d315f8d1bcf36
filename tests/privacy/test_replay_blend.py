"""The blends on neighbours: with the noisy answers equal, every byte of a release is equal."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

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


@pytest.mark.parametrize("recipe", ["tree_blend", "public_blend"])
@pytest.mark.parametrize("delta", ["0", "1e-6"], ids=["pure", "zcdp"])
@pytest.mark.parametrize("kind", GUARANTEES)
@given(data=st.data())
@FEW
def test_every_byte_of_a_blend_is_the_same_on_neighbours(
    kind: str, delta: str, recipe: str, data: st.DataObject
) -> None:
    guarantee = GUARANTEES[kind]

    def job_of(folder: Path, given: object, *, delta: str) -> Path:
        frame(RELATIVE * 5).select(COLUMNS).write_csv(folder / PUBLIC)
        job = write_job(folder, guarantee, delta=delta, recipe=recipe)
        public = f'[public]\ntable = "{PUBLIC}"\n' if recipe == "public_blend" else ""
        job.write_text(job.read_text("utf-8") + public, "utf-8")
        return job

    with checks.quick_folder() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "write_job", job_of)
        checks.check_run(Path(folder), guarantee, delta, data.draw(neighbours(guarantee)))
