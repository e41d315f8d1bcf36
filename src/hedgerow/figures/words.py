"""Numbers as people read them."""

from math import ceil, isfinite, log10


def percent(share: float | None) -> str:
    """A share as a percentage, with a digit more when it is small."""
    if share is None:
        return "-"
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %" if share >= 0.001 else "below 0.1 %"


def small(value: float | None) -> str:
    """A number with two digits that count and at least three decimals; a large one without decimals.

    >>> small(0.0113), small(0.00021), small(-0.1), small(61234.5)
    ('0.011', '0.00021', '-0.100', '61,234')
    """
    if value is None or not isfinite(value):
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    places = 3 if abs(value) >= 0.01 or value == 0 else min(8, ceil(-log10(abs(value))) + 1)
    return f"{value:.{places}f}"
