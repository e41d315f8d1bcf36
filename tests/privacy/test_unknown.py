"""No confidential value that the schema does not know is counted as one that it knows, or refused."""

from tests.privacy.unknown_mutants import check_unknown


def test_unknown_values_count_in_their_own_cell_and_move_no_other() -> None:
    check_unknown()
