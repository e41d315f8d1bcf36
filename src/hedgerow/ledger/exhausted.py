"""The refusal of a ledger in which too little is left."""

from decimal import Decimal
from fractions import Fraction

from hedgerow.errors import Refused


class BudgetExhausted(Refused):
    """The request costs more than is left."""

    def __init__(self, asked: str, *, unit: str, cost: Fraction, used: Fraction, total: Fraction, cure: str) -> None:
        self.unit, self.cost, self.left, self.total = unit, cost, max(total - used, Fraction(0)), total
        price, left, of = (f"{Decimal(x.numerator) / x.denominator:.9g}" for x in (cost, self.left, total))
        super().__init__(
            f"Cannot {asked}: it costs {unit} = {price}, but {left} of {of} is left.\n{cure}\n"
            "No confidential row was read for this request and nothing was spent on it."
        )
