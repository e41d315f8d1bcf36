"""What estimates say of themselves."""

from hedgerow.inference.estimate import EstimateTable


def test_no_estimate_says_why() -> None:
    assert "no figure was asked for" in repr(EstimateTable())
