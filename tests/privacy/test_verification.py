"""``verify_model`` on neighbours, its planted bugs, and the laws it leans on."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hedgerow.private import verification
from tests.privacy.mutants import caught_by
from tests.privacy.verification_checks import CLAIMS, MODELS, check_verification, claim_of
from tests.privacy.verification_mutants import MUTANTS, check_everything
from tests.privacy.world import GUARANTEES, neighbours

SOME = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("delta", ["0", "1e-6"], ids=["pure", "zcdp"])
@pytest.mark.parametrize("kind", GUARANTEES)
@given(data=st.data())
@SOME
def test_one_unit_moves_the_count_of_agreeing_parts_by_at_most_one(
    kind: str, delta: str, data: st.DataObject
) -> None:
    guarantee = GUARANTEES[kind]
    claim = claim_of(data.draw(st.sampled_from(MODELS)), data.draw(st.sampled_from(CLAIMS)))
    tape = data.draw(st.lists(st.integers(0, 2), min_size=24, max_size=24))
    check_verification(guarantee, delta, data.draw(neighbours(guarantee)), claim, tape)


def test_the_checks_pass_without_a_planted_bug() -> None:
    check_everything()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.__name__)
def test_every_planted_bug_is_caught(mutant: Callable[[pytest.MonkeyPatch], None]) -> None:
    assert caught_by(mutant, check_everything) is not None, f"nobody saw: {mutant.__doc__}"


def test_all_rows_of_a_person_fall_into_the_part_drawn_first_also_across_batches() -> None:
    drawn: dict[str, int] = {}
    names = [f"p{i % 40}" for i in range(400)]
    found: dict[str, set[int]] = {}
    for start in range(0, 400, 37):
        batch = pl.DataFrame({"id": names[start : start + 37]})
        parts = verification.parts_of(batch, "id", 10, drawn)
        for name, part in zip(batch["id"], parts.tolist(), strict=True):
            found.setdefault(name, set()).add(part)
    assert {len(p) for p in found.values()} == {1}
    assert len({next(iter(p)) for p in found.values()}) > 3


def test_parts_are_about_even_and_never_the_same_twice() -> None:
    one, two = (verification.draw_parts(20_000, 50) for _ in range(2))
    sizes = np.bincount(one, minlength=50)
    assert abs(sizes - 400).max() < 6 * 20
    assert (one != two).any()
