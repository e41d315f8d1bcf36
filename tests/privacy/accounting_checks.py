"""What promises are worth, against laws that are known exactly: normal noise, and two answers at the edge of epsilon.

A run with a delta is played by normal noise of its whole rho, one without by the most telling epsilon-DP answer there
is (true with chance e^epsilon / (1 + e^epsilon)).  Losses of runs add, so the delta of all runs together at the cap's
epsilon is a sum over the ways in which the answers fall, of the delta of the normal part.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import erfc, exp, sqrt

from hedgerow.ledger.book import BudgetExhausted, Ledger
from hedgerow.public.costs.accounting import Budget, Guarantee
from tests.privacy.checks import quick_folder

CAPS = (("1.6", "1e-5"), ("0.5", "1e-9"), ("1", "0"))
STREAMS: tuple[tuple[tuple[str, str], ...], ...] = (
    (("0.5", "1e-6"),),
    (("0.1", "1e-7"), ("0.3", "1e-6")),
    (("0.1", "0"), ("0.2", "1e-6")),
    (("0.5", "0"), ("0.5", "1e-6"), ("0.25", "0")),
)


def normal_delta(epsilon: float, rho: float) -> float:
    """The delta of normal noise of cost rho at epsilon (Balle and Wang 2018)."""
    if rho == 0:
        return max(0.0, 1 - exp(epsilon)) if epsilon < 0 else 0.0
    tail = erfc((epsilon + rho) / sqrt(4 * rho)) / 2
    return erfc((epsilon - rho) / sqrt(4 * rho)) / 2 - (exp(epsilon) * tail if tail else 0.0)


def exact_delta(epsilon: float, pure: Sequence[float], rho: float) -> float:
    """The least delta with which all runs together keep epsilon."""
    losses = {0.0: 1.0}
    for e in pure:
        true, fell = exp(e) / (1 + exp(e)), dict[float, float]()
        for loss, chance in losses.items():
            for moved, p in ((e, true), (-e, 1 - true)):
                at = round(loss + moved, 9)
                fell[at] = fell.get(at, 0.0) + chance * p
        losses = fell
    return sum(chance * normal_delta(epsilon - loss, rho) for loss, chance in losses.items())


def admitted(cap: tuple[str, str], stream: Sequence[tuple[str, str]], most: int = 30) -> list[Budget]:
    """What a ledger promises when the stream is asked for again and again until all of it is refused."""
    made: list[Budget] = []
    with quick_folder() as folder:
        ledger = Ledger.open(f"{folder}/ledger.db")
        ledger.cap("pay", Budget(*cap))
        while len(made) < most:
            before = len(made)
            for asked in stream:
                try:
                    ledger.promise("pay", f"run{len(made)}", Budget(*asked), Guarantee())
                    made.append(Budget(*asked))
                except BudgetExhausted:
                    continue
            if len(made) == before:
                break
    return made


def check_accounting() -> None:
    """No run is worth more than its promise, and all runs that a ledger admits no more than the cap."""
    for stream in STREAMS:
        for budget in (Budget(*b) for b in stream if b[1] != "0"):
            own = normal_delta(float(budget.epsilon), float(budget.total))
            assert own <= float(budget.delta), f"one run at {budget} has delta {own}"
        for cap in CAPS:
            made = admitted(cap, stream)
            pure = [float(b.epsilon) for b in made if not b.delta]
            rho = float(sum((b.total for b in made if b.delta), Fraction(0)))
            found = exact_delta(float(cap[0]), pure, rho)
            assert found <= float(cap[1]) + 1e-15, f"{len(made)} runs under the cap {cap} have delta {found}"
