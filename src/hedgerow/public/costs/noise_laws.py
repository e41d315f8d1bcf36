"""The laws of noise: what everybody but the gate must know of them, one frozen class per law.

The gate prices noise (``accounting.noise_for``) and draws it exactly in whole numbers (``private/noise.py``); what
pages, plans, models and stand-ins say of it is here.  ``law_of`` refuses a law that it does not know.  A new law is
a class that answers everything below, a name in ``LAWS``, a price in ``noise_for``, a curve in ``private/noise.py``.

    >>> law_of(Noise("laplace", Fraction(10))).half_width(), law_of(Noise("gaussian", Fraction(100))).half_width()
    (30.0, 19.6)
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import exp, log, log1p, nan, pi, sqrt
from typing import ClassVar, final

import numpy as np
import numpy.typing as npt

from hedgerow.errors import JobError
from hedgerow.public.costs.accounting import Guarantee, Measure
from hedgerow.public.costs.gaussian import ROUNDING, SHARE
from hedgerow.public.costs.question import Counts, Noise

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class NoiseLaw(ABC):
    """One law of noise at one scale.

    Attributes:
        scale: as in ``Noise``, exact.
        added: whether it is noise on true counts; not so when the counts themselves are drawn.
        normal: whether its privacy loss is that of the normal law; of any other the loss is never above epsilon.
        deviations: half the width of a 95 % interval, in standard deviations.
        gap: (a, b, c) for the size of this noise plus a drift: its mean is about sqrt(a variance + b variance of the
            drift), its variance c times the square of that.
    """

    scale: Fraction
    added: ClassVar[bool] = True
    normal: ClassVar[bool]
    deviations: ClassVar[float]
    gap: ClassVar[tuple[float, float, float]]

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the noise on one cell, or an upper bound of it."""

    @property
    @abstractmethod
    def mean_absolute(self) -> float:
        """The mean size of the noise on one cell."""

    def half_width(self, cells: int = 1) -> float:
        """Within this of the truth lies a noisy count (or a sum of ``cells`` of them) 95 times in 100."""
        return 1.96 * sqrt(cells * self.variance)

    def estimate_half_width(self, variance: float, *, alone: bool) -> float:
        """Half the 95 % interval of an estimate of this variance from such counts; ``alone``: from one count."""
        return self.deviations * sqrt(variance)

    @abstractmethod
    def sample(self, rng: np.random.Generator, n: int) -> Counts:
        """Seeded noise of about this law, floating point rounded: for stand-ins, where nothing is confidential."""

    def sample_whole(self, rng: np.random.Generator, n: int) -> Counts:
        """The same, of the discrete law itself where that is as easily drawn: for forecasts of small scales."""
        return self.sample(rng, n)

    @abstractmethod
    def log_weights(self, k: Counts) -> _Floats:
        """The logarithm of how likely each value of the noise is, up to a constant."""

    @abstractmethod
    def cost(self, measure: Measure, guarantee: Guarantee) -> Fraction | None:
        """What this noise on one table of counts costs: the inverse of ``noise_for``; None where no cost suffices."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The law and how wide it is, for readers."""


@final
@dataclass(frozen=True)
class Laplace(NoiseLaw):
    """The discrete Laplace (two-sided geometric) law: P(k) in proportion to q^|k|, q = exp(-1 / scale)."""

    normal = False
    deviations = 2.118283  # log(20) / sqrt(2), rounded up
    gap = (0.5, 0.8, 1.0)

    @property
    def variance(self) -> float:
        """Exact: 2 q / (1 - q)^2."""
        q = np.exp(-1 / float(self.scale))
        return float(2 * q / (1 - q) ** 2)

    @property
    def mean_absolute(self) -> float:
        """Exact: 2 q / (1 - q^2)."""
        q = float(np.exp(-1 / float(self.scale)))
        return 2 * q / (1 - q * q)

    def half_width(self, cells: int = 1) -> float:
        """Of one count exact: the least k with P(|noise| > k) = 2 q^(k+1) / (1 + q) at most 0.05; of a sum, normal.

        >>> Laplace(Fraction(1)).half_width(), Laplace(Fraction(1, 10)).half_width()
        (3.0, 0.0)
        """
        if cells > 1:
            return super().half_width(cells)
        scale = float(self.scale)
        k = max(0, int(scale * (log(2 / 0.05) - log1p(exp(-1 / scale)))) - 2)
        while 2 * exp(-(k + 1) / scale) / (1 + exp(-1 / scale)) > 0.05:
            k += 1
        return float(k)

    def estimate_half_width(self, variance: float, *, alone: bool) -> float:
        """Exact where the estimate is one noisy count."""
        return self.half_width() if alone else super().estimate_half_width(variance, alone=alone)

    def sample(self, rng: np.random.Generator, n: int) -> Counts:
        """Continuous Laplace noise, rounded: wider than the discrete law where the scale is well below 1."""
        return np.rint(rng.laplace(0, float(self.scale), n)).astype(np.int64)

    def sample_whole(self, rng: np.random.Generator, n: int) -> Counts:
        """The difference of two geometric numbers."""
        end = 1 - exp(-1 / float(self.scale))
        return rng.geometric(end, n) - rng.geometric(end, n)

    def log_weights(self, k: Counts) -> _Floats:
        """-|k| / scale."""
        return np.asarray(-np.abs(k.astype(np.float64)) / float(self.scale))

    def cost(self, measure: Measure, guarantee: Guarantee) -> Fraction | None:
        """Epsilon = l1 / scale; epsilon^2 / 2 in rho; refused beside Gaussian noise alone."""
        epsilon = guarantee.l1 / self.scale
        return {"pure": epsilon, "zcdp": epsilon**2 / 2}.get(measure)

    @property
    def words(self) -> str:
        """With its scale."""
        return f"discrete Laplace, scale {decimal(self.scale)}"


@final
@dataclass(frozen=True)
class Gaussian(NoiseLaw):
    """The discrete Gaussian law (Canonne, Kamath, Steinke 2020): P(k) in proportion to exp(-k^2 / (2 scale))."""

    normal = True
    deviations = 1.959963984540054
    gap = (2 / pi, 2 / pi, pi / 2 - 1)

    @property
    def variance(self) -> float:
        """The variance parameter: an upper bound, tight above 1/2."""
        return float(self.scale)

    @property
    def mean_absolute(self) -> float:
        """Of the normal law of this variance."""
        return sqrt(2 / pi * float(self.scale))

    def sample(self, rng: np.random.Generator, n: int) -> Counts:
        """Normal noise, rounded."""
        return np.rint(rng.normal(0, float(self.scale) ** 0.5, n)).astype(np.int64)

    def log_weights(self, k: Counts) -> _Floats:
        """-k^2 / (2 scale)."""
        return np.asarray(-(k.astype(np.float64) ** 2) / (2 * float(self.scale)))

    def cost(self, measure: Measure, guarantee: Guarantee) -> Fraction | None:
        """Rho = l2^2 / (2 scale), in "gdp" after the allowance for whole numbers; no epsilon is pure."""
        left = self.scale * (1 - SHARE) - ROUNDING if measure == "gdp" else self.scale
        return None if measure == "pure" or left <= 0 else guarantee.l2_squared / (2 * left)

    @property
    def words(self) -> str:
        """With its standard deviation."""
        return f"discrete Gaussian, standard deviation {float(self.scale) ** 0.5:,.4g}"


@final
@dataclass(frozen=True)
class UrnDraw(NoiseLaw):
    """No noise on counts: the counts themselves are drawn, from urns whose least prior weight is ``scale``."""

    added = False
    normal = False
    deviations = nan
    gap = (nan, nan, nan)

    @property
    def variance(self) -> float:
        """NaN: how far a drawn count is from the truth depends on the truth."""
        return nan

    @property
    def mean_absolute(self) -> float:
        """NaN, as the variance."""
        return nan

    def sample(self, rng: np.random.Generator, n: int) -> Counts:
        """Refused."""
        raise _nothing_added()

    def log_weights(self, k: Counts) -> _Floats:
        """Refused."""
        raise _nothing_added()

    def cost(self, measure: Measure, guarantee: Guarantee) -> Fraction | None:
        """None: the price of a draw follows from the whole urn (``price_urn``)."""
        return None

    @property
    def words(self) -> str:
        """With the least prior weight."""
        return f"drawn from an urn, least prior weight {decimal(self.scale, 9)}"


LAWS: Mapping[str, type[NoiseLaw]] = {"laplace": Laplace, "gaussian": Gaussian, "urn": UrnDraw}
"""The laws by the names that stand in statements and ledgers."""


def law_of(noise: Noise) -> NoiseLaw:
    """The law of this noise; refused when there is none of that name."""
    if noise.law not in LAWS:
        raise JobError(f"There is no noise law {noise.law!r}: there are {', '.join(LAWS)}. Nothing was made of it.")
    return LAWS[noise.law](noise.scale)


def _nothing_added() -> JobError:
    return JobError("Counts drawn from an urn have no noise added to them. Ask their urn. Nothing was made of it.")


def decimal(value: Fraction, digits: int = 5) -> str:
    """The number in decimals: exact when it is short, else rounded up at the last of ``digits`` that count."""
    whole = Context(prec=max(digits, len(str(int(value)))), rounding=ROUND_CEILING)
    shown = whole.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
    return f"{shown:,f}" if shown == 0 or shown.adjusted() >= -7 else f"{shown:e}".replace("e-0", "e-")
