"""The law of the number of runs of a choice: its mean, the gamma for a mean, and its generating function."""

from fractions import Fraction
from math import log

from hedgerow.errors import JobError
from hedgerow.public.costs.stopping import Stopping

_NOTHING = "No confidential row was read and nothing was spent."


def expected_runs(stopping: Stopping) -> float:
    """The mean number of runs.

    >>> round(expected_runs(Stopping("logarithmic", Fraction(1, 50))), 1)
    12.5
    """
    g = float(stopping.gamma)
    return (1 - g) / (g * log(1 / g)) if stopping.law == "logarithmic" else 1 / g


def gamma_for(runs: float, law: str) -> Fraction:
    """The gamma with about so many runs in the mean, as a fraction of small numbers.

    >>> gamma_for(10, "geometric")
    Fraction(1, 10)
    """
    if not 1 < runs <= 1000:
        raise JobError(f"The mean number of runs must be above 1 and at most 1,000; got {runs:g}. {_NOTHING}")
    if law == "geometric":
        return Fraction(1 / runs).limit_denominator(10_000)
    low, high = 1e-4, 1 - 1e-6
    for _ in range(60):
        middle = (low * high) ** 0.5
        more = (1 - middle) / (middle * log(1 / middle)) > runs
        low, high = (middle, high) if more else (low, middle)
    return max(Fraction(high).limit_denominator(10_000), Fraction(1, 10_000))


def all_runs_agree(stopping: Stopping, x: float) -> float:
    """The chance that all runs give what one run gives with chance ``x``: the law's generating function.

    With it the cost of a small example is worked out exactly: see ``docs/experiment.md``, "is it n x epsilon?".
    """
    g = float(stopping.gamma)
    return log(1 - (1 - g) * x) / log(g) if stopping.law == "logarithmic" else g * x / (1 - (1 - g) * x)
