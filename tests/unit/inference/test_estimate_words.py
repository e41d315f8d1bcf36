"""What estimates say of themselves."""

from hedgerow.inference.estimate import EstimateTable, refused, with_interval


def test_no_estimate_says_why() -> None:
    assert "no figure was asked for" in repr(EstimateTable())


def test_groups_of_the_same_name_stand_under_the_use_that_they_are_of() -> None:
    told = with_interval("race", "Black", 0.25, {"noise": 0.01}, level=0.95, basis="Measured.")
    other = refused("released by race", "Black", 0.95, "too few rows")
    shown = repr(EstimateTable([told, other])).split("\n\n")
    assert [part.splitlines()[0] for part in shown] == ["race", "released by race"]
    assert "0.25" in shown[0] and "Measured." in shown[0] and "too few rows" in shown[1]
    assert "Measured." not in shown[1]
