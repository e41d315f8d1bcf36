"""A request has the same name for ever: ledgers and published choices hold it."""

from fractions import Fraction

import pytest

from hedgerow.public.coding import CodedColumn, Coding
from hedgerow.public.costs.accounting import Guarantee, Measure
from hedgerow.public.costs.question import TOTAL, Marginal
from hedgerow.public.costs.spend import Tariff

CODING = Coding(
    (
        CodedColumn("sex", "text", 3, 2, 2, ("F", "M"), (0, 1)),
        CodedColumn("a", "text", 4, 3, 3, ("1", "2"), (0, 1)),
    )
)
NAMES: dict[Measure, tuple[str, str]] = {
    "pure": ("7f6d6e39b35b6942d27bd386bd7d90d4", "a50a5dac0b3d7acf7ac0d2c7617149e8"),
    "zcdp": ("48fde9d21e40715f3ffc839eafa36db4", "e51d7a73d3c60818a24d99375ea04155"),
}


@pytest.mark.parametrize("measure", NAMES)
def test_the_digest_of_a_request_does_not_change(measure: Measure) -> None:
    tariff, tables = Tariff(CODING, Guarantee(relation="replace-one"), measure), [Marginal(("sex",))]
    weights = [Fraction(1), Fraction(2), Fraction(5, 7)]
    measured = tariff.measure_all([*tables, Marginal(("sex", "a")), TOTAL], Fraction(1, 3), weights=weights)
    chosen = tariff.select_one([TOTAL, Marginal(("a",))], Fraction(1, 9))
    assert (measured.digest[:32], chosen.digest[:32]) == NAMES[measure]
