"""Every recipe for whole records on neighbours: equal answers give equal bytes, at the price paid."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.files import open_source
from hedgerow.public.schema import Schema
from tests.privacy.checks import check_run, quick_folder, run_job
from tests.privacy.recipe_world import JOBS, PUBLIC, write_dpsyn
from tests.privacy.watch import Tape, watched
from tests.privacy.world import GUARANTEES, PERSON, SCHEMA, frame, neighbours

FEW = settings(max_examples=2, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))


def cases() -> Iterator[Any]:
    """Every job under every promise; each with one of the two measures, in turn, and thoroughly with the other."""
    for number, job in enumerate(JOBS):
        kinds = GUARANTEES if "blend" in job else ["record, add-remove", "person, add-remove", "person, replace-one"]
        for place, kind in enumerate(kinds):
            now, later = ("0", "1e-6") if (number + place) % 2 else ("1e-6", "0")
            if "two_way" in job:
                yield pytest.param(job, kind, "1e-6")
            else:
                yield pytest.param(job, kind, now)
                yield pytest.param(job, kind, later, marks=pytest.mark.thorough)


@pytest.mark.parametrize(("job", "kind", "delta"), list(cases()))
@given(data=st.data())
@FEW
def test_every_byte_is_the_same_on_neighbours(job: str, kind: str, delta: str, data: st.DataObject) -> None:
    guarantee = GUARANTEES[kind]
    with quick_folder() as folder:
        check_run(Path(folder), guarantee, delta, data.draw(neighbours(guarantee)), JOBS[job])


@pytest.mark.parametrize(
    ("relation", "more"),
    [
        ("record, add-remove", "reuse = true\n"),
        ("person, replace-one", "rows = 20\n"),
        ("person, add-remove", "groups = []\n"),
        ("record, replace-one", 'groups = ["race", "pay"]\n'),
    ],
)
@given(data=st.data())
@settings(FEW, max_examples=1)
def test_every_byte_is_the_same_with_dpsyns_other_settings(relation: str, more: str, data: st.DataObject) -> None:
    guarantee = GUARANTEES[relation]

    def write(folder: Path, given: Guarantee, *, delta: str) -> Path:
        job = write_dpsyn(folder, given, "one_way", delta=delta)
        text = job.read_text("utf-8")
        job.write_text((text.replace('groups = ["pay"]\n', "") if "groups" in more else text) + more, "utf-8")
        return job

    with quick_folder() as folder:
        check_run(Path(folder), guarantee, "1e-6", data.draw(neighbours(guarantee)), write)


@pytest.mark.parametrize("total", [-400, 0, 400])
def test_the_regime_follows_from_the_noisy_number_of_rows_alone(tmp_path: Path, total: int) -> None:
    """Whatever rows there are: a number that seems to be none or fewer never buys the richer tables."""
    coding = Schema.loads(SCHEMA).coding
    cells = [coding.cells(c) for c in (("pay",), ("sex_area", "race"))]
    tape = Tape([np.array([total]), *(np.ones(n, np.int64) for n in cells)])
    for name, rows in (("none", PUBLIC[:0]), ("few", PUBLIC[:3]), ("many", PUBLIC * 20)):
        job = write_dpsyn(place := tmp_path / name, PERSON, "two_way", one_way="5")
        frame(rows).write_csv(place / "secret.csv")
        with watched(tape, play=True, public=[place / "public.csv"]) as requests:
            run_job(job)
        asked = [[len(answer) for _, answer in r.noises] for r in requests if r.noises]
        assert asked == [[1], cells[:1], cells[1:]][: 3 if total > 0 else 2], f"with {name} rows"


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_a_person_with_many_rows_counts_for_theta_of_them_only(tmp_path: Path, delta: str) -> None:
    job = write_dpsyn(tmp_path, PERSON, "one_way", delta=delta)
    frame((("F", "A", "5", "n", "me"),) * 50).write_csv(tmp_path / "secret.csv")
    with watched(Tape(), play=False, public=[tmp_path / "public.csv"]) as requests:
        run_job(job)
    assert max(int(c.sum()) for r in requests for c in r.counted) == PERSON.rows_per_person


def test_only_the_very_file_handed_in_as_public_is_read_unseen(tmp_path: Path) -> None:
    public, other = tmp_path / "public.csv", tmp_path / "elsewhere" / "public.csv"
    other.parent.mkdir()
    for file in (public, other):
        frame(PUBLIC).write_csv(file)
    (tmp_path / "link.csv").symlink_to(other)
    with watched(Tape(), play=False, public=[public]) as requests:
        list(open_source(public).batches(["sex"]))
        assert requests[0].steps == []
        list(open_source(other).batches(["sex"]))
        list(open_source(tmp_path / "link.csv").batches(["sex"]))
        assert requests[0].steps == ["read"] * 2, "another file of the same name went unseen"
        shutil.copy(tmp_path / "link.csv", public)
        list(open_source(public).batches(["sex"]))
        assert requests[0].steps == ["read"] * 2, "the same bytes are the same table"
        frame(PUBLIC[:3]).write_csv(public)
        list(open_source(public).batches(["sex"]))
        assert requests[0].steps == ["read"] * 3, "what was written over the public table went unseen"
