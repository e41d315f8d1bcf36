"""What a noisy count of agreeing parts says of the share that agrees: a posterior, exact but for a fine grid.

Of M parts each agrees with probability r; noise of a known law is added to their number.  With r equally likely
anywhere between 0 and 1 beforehand, the posterior of r is a sum of binomial terms weighted by the noise.

    >>> from fractions import Fraction
    >>> a = AgreementPosterior(47, 50, Noise("laplace", Fraction(2)))
    >>> round(a.estimate, 2), [round(x, 2) for x in a.interval(0.9)], a.verdict
    (0.91, [0.84, 1.0], 'holds')
"""

from dataclasses import dataclass
from functools import cached_property
from math import lgamma
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from hedgerow.public.costs.question import Noise

Floats = npt.NDArray[np.float64]
Verdict = Literal["holds", "does not hold", "cannot tell"]
_GRID = 2000
SURE = 0.95
"""The posterior probability at which a verdict is given."""


@final
@dataclass(frozen=True)
class AgreementPosterior:
    """A noisy count of the parts that agree with a claim.

    Attributes:
        noisy: the count that came out; noise may take it below 0 or above ``parts``.
        parts: how many there are.
        noise: the law of what was added.
    """

    noisy: int
    parts: int
    noise: Noise

    @cached_property
    def _posterior(self) -> tuple[Floats, Floats]:
        """A grid of shares and the probability of each."""
        share = (np.arange(_GRID) + 0.5) / _GRID
        k = np.arange(self.parts + 1)
        ways = np.array([lgamma(self.parts + 1) - lgamma(i + 1) - lgamma(self.parts - i + 1) for i in k])
        log = ways + k * np.log(share)[:, None] + (self.parts - k) * np.log1p(-share)[:, None]
        noise = _log_weights(self.noise, self.noisy - k)
        mass = np.exp(log + noise - noise.max()).sum(axis=1)
        return share, mass / mass.sum()

    @property
    def estimate(self) -> float:
        """The posterior mean of the share that agrees."""
        share, mass = self._posterior
        return float(share @ mass)

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """The shortest interval that holds the share with this posterior probability; it may reach 0 or 1.

        Equal tails would always leave the ends out, and often enough all parts agree, or none.
        """
        share, mass = self._posterior
        likely = np.argsort(-mass, kind="stable")
        held = share[likely[: int(np.searchsorted(np.cumsum(mass[likely]), level)) + 1]]
        return max(float(held.min()) - 0.5 / _GRID, 0.0), min(float(held.max()) + 0.5 / _GRID, 1.0)

    @property
    def most_agree(self) -> float:
        """The posterior probability that a part is more likely to agree than not."""
        share, mass = self._posterior
        return float(mass[share > 0.5].sum())

    @property
    def verdict(self) -> Verdict:
        """What may be said when one wants to be 95 % sure."""
        if self.most_agree >= SURE:
            return "holds"
        return "does not hold" if self.most_agree <= 1 - SURE else "cannot tell"

    def to_json(self) -> dict[str, Any]:
        """The answer and what it says, as plain data."""
        low, high = self.interval(0.9)
        return {
            "parts": self.parts,
            "noisy_count": self.noisy,
            "noise": {"law": self.noise.law, "scale": str(self.noise.scale)},
            "share": {"estimate": self.estimate, "low": low, "high": high, "level": 0.9},
            "probability_that_most_agree": self.most_agree,
            "verdict": self.verdict,
        }


def chances(share: float, parts: int, noise: Noise) -> dict[Verdict, float]:
    """How likely each verdict is when every part agrees with probability ``share``: the power of a check."""
    reach = int(8 * noise.variance**0.5) + 2
    seen = np.arange(-reach, parts + reach + 1)
    k = np.arange(parts + 1)
    p = min(max(share, 1e-12), 1 - 1e-12)
    ways = np.array([lgamma(parts + 1) - lgamma(i + 1) - lgamma(parts - i + 1) for i in k])
    binomial = np.exp(ways + k * np.log(p) + (parts - k) * np.log1p(-p))
    weights = np.exp(_log_weights(noise, seen[:, None] - k))
    weights /= np.exp(_log_weights(noise, np.arange(-4 * reach, 4 * reach + 1))).sum()
    found: dict[Verdict, float] = {"holds": 0.0, "does not hold": 0.0, "cannot tell": 0.0}
    for s, mass in zip(seen.tolist(), (weights * binomial).sum(axis=1).tolist(), strict=True):
        found[AgreementPosterior(s, parts, noise).verdict] += mass
    return found


def _log_weights(noise: Noise, k: npt.NDArray[np.int64]) -> Floats:
    """The logarithm of how likely each value of the noise is, up to a constant."""
    scale, x = float(noise.scale), k.astype(np.float64)
    return np.asarray(-np.abs(x) / scale if noise.law == "laplace" else -(x**2) / (2 * scale))
