"""What a release says of itself: planted bugs in it, and in verify, are seen."""

from collections.abc import Callable

import pytest

from tests.privacy.mutants import caught_by
from tests.privacy.release_mutants import MUTANTS, check_release


def test_the_check_of_a_release_passes_without_a_planted_bug() -> None:
    check_release()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.__name__)
def test_every_planted_bug_is_caught(mutant: Callable[[pytest.MonkeyPatch], None]) -> None:
    assert caught_by(mutant, check_release) is not None, f"nobody saw: {mutant.__doc__}"
