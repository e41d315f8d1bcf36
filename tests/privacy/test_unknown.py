"""No confidential value that the schema does not know is counted as one that it knows, or refused."""

import pytest

from tests.privacy.mutants import Mutant, caught_by
from tests.privacy.unknown_mutants import UNKNOWN_MUTANTS, check_unknown


def test_unknown_values_count_in_their_own_cell_and_move_no_other() -> None:
    check_unknown()


@pytest.mark.parametrize("mutant", UNKNOWN_MUTANTS, ids=lambda m: m.__name__)
def test_a_planted_bug_in_the_coding_of_unknown_values_is_caught(mutant: Mutant) -> None:
    assert caught_by(mutant, check_unknown)
