"""Every law of noise answers everything that is asked of one, and a law that nobody knows is refused everywhere."""

import ast
from collections.abc import Callable
from fractions import Fraction
from math import ceil, exp, isnan, log
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hedgerow
from hedgerow.answers import StandInGate
from hedgerow.errors import HedgerowError, JobError, VerifyFailed
from hedgerow.model_check import AgreementPosterior, chances
from hedgerow.private import noise as sampler
from hedgerow.public.costs.accounting import Budget, Guarantee, noise_for
from hedgerow.public.costs.noise_laws import LAWS, Gaussian, Laplace, NoiseLaw, UrnDraw, law_of
from hedgerow.public.costs.question import TOTAL, Marginal, Measurement, Noise
from hedgerow.public.costs.spend import PricedQuestion, Spend, Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import IntegerCounts
from hedgerow.release import checks, measurements

SCALES = [Fraction(1, 4), Fraction(1), Fraction(7, 3), Fraction(40)]
SCHEMA = Schema.loads('[columns.sex]\nkind = "categorical"\nvalues = ["F", "M"]\n')
ODD: Any = Noise("laplace", Fraction(3))
object.__setattr__(ODD, "law", "cauchy")  # past the types that tests check at every call
ROOT = Path(hedgerow.__file__).parent


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("law", [Laplace, Gaussian])
def test_moments_are_those_of_the_weights(law: type[NoiseLaw], scale: Fraction) -> None:
    one, k = law(scale), np.arange(-4000, 4001)
    weight = np.exp(one.log_weights(k))
    weight /= weight.sum()
    wide = scale >= 2  # the Gaussian figures are those of the normal law
    assert one.variance == pytest.approx(weight @ k**2, rel=1e-3) or (law is Gaussian and not wide)
    assert one.mean_absolute == pytest.approx(weight @ np.abs(k), rel=0.05) or (law is Gaussian and not wide)
    assert weight[np.abs(k) <= one.half_width() + 0.5].sum() >= 0.94


@pytest.mark.parametrize("law", [Laplace, Gaussian])
def test_stand_in_noise_has_the_size_of_the_law(law: type[NoiseLaw]) -> None:
    one, rng = law(Fraction(50)), np.random.default_rng(3)
    for drawn in (one.sample(rng, 200_000), one.sample_whole(rng, 200_000)):
        assert drawn.dtype == np.int64
        assert np.abs(drawn).mean() == pytest.approx(one.mean_absolute, rel=0.02)
        assert drawn.var() == pytest.approx(one.variance, rel=0.03)


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
@pytest.mark.parametrize("measure", ["pure", "zcdp"])
def test_the_cost_is_that_of_the_price(name: Any, measure: Any) -> None:
    guarantee, cost = Guarantee(relation="replace-one"), Fraction(1, 7)
    if (name, measure) == ("gaussian", "pure"):
        assert Gaussian(Fraction(2)).cost(measure, guarantee) is None
        return
    due = law_of(noise_for(cost, name, measure, guarantee)).cost(measure, guarantee)
    assert due is not None and cost * Fraction(999_999, 1_000_000) < due <= cost


def test_the_default_law_is_that_of_the_measure() -> None:
    assert noise_for(Fraction(1), None, "pure", Guarantee()).law == "laplace"
    assert noise_for(Fraction(1), None, "zcdp", Guarantee()).law == "gaussian"


def test_the_exact_half_width_of_laplace_noise_is_the_closed_form() -> None:
    for scale in (Fraction(n, 97) for n in range(5, 60_000, 61)):
        s = float(scale)
        assert Laplace(scale).half_width() == max(0, ceil(s * (log(2 / 0.05) - log(1 + exp(-1 / s))) - 1))


def test_what_is_drawn_from_an_urn_has_no_noise_on_it() -> None:
    urn = law_of(Noise("urn", Fraction(1, 2)))
    assert type(urn) is UrnDraw and not urn.added and isnan(urn.variance) and isnan(urn.mean_absolute)
    assert urn.words == "drawn from an urn, least prior weight 0.5"
    for use in (lambda: urn.sample(np.random.default_rng(0), 1), lambda: urn.log_weights(np.arange(2))):
        with pytest.raises(JobError, match="urn"):
            use()


def test_a_law_must_answer_everything() -> None:
    class Half(NoiseLaw):
        """It says nothing."""

    with pytest.raises(TypeError, match="abstract"):
        Half(Fraction(1))  # type: ignore[abstract]


def _untyped(function: Any) -> Any:
    """The function without the check of types that tests put around it."""
    return getattr(function, "__wrapped__", function)


def _answer() -> Measurement:
    return Measurement(Marginal(("sex",)), np.array([4, 5]), ODD)


def _stand_in_noise() -> object:
    table = CodedTable.read(pl.DataFrame({"sex": ["F", "M"]}), SCHEMA)
    gate = StandInGate(Tariff(SCHEMA.coding, Guarantee(), "pure"), Budget(1), table, 2, np.random.default_rng(0))
    asked = PricedQuestion(TOTAL, 1, ODD, Fraction(1))
    return gate._noisy(Spend("measure", (asked,), Fraction(1)), [np.array([2])])


def _saved() -> object:
    return measurements._noise("measurements.parquet", ODD.law, "3")


def _counts() -> object:
    return IntegerCounts(columns=["sex"]).made(PublicData(SCHEMA), (_answer(),))


PLACES: dict[str, Callable[[], object]] = {
    "law_of": lambda: law_of(ODD),
    "pricing": lambda: _untyped(noise_for)(Fraction(1), ODD.law, "pure", Guarantee()),
    "pricing in rho": lambda: _untyped(noise_for)(Fraction(1), ODD.law, "zcdp", Guarantee()),
    "the gate's check": lambda: sampler.check(ODD),
    "the gate's draw": lambda: sampler.draw(ODD, 3),
    "a stand-in's noise": _stand_in_noise,
    "verification": lambda: checks._price_is_right(PricedQuestion(TOTAL, 1, ODD, Fraction(1)), "pure", Guarantee()),
    "verification's cost": lambda: checks.cost_of(ODD, "zcdp", Guarantee()),
    "saved answers": _saved,
    "a table of counts": _counts,
    "a model check": lambda: AgreementPosterior(3, 5, ODD).estimate,
    "a model check's power": lambda: chances(0.5, 5, ODD),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_law_that_nobody_knows_is_refused(place: str) -> None:
    with pytest.raises((JobError, VerifyFailed)):
        PLACES[place]()


def test_a_law_that_can_be_drawn_must_say_how(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody adds a law to the table of scales and forgets the curve: it is not taken for another."""
    monkeypatch.setitem(sampler._LARGEST, "cauchy", 1 << 20)
    with pytest.raises(HedgerowError, match="cauchy"):
        sampler.draw(ODD, 3)


def test_nobody_else_asks_for_the_name_of_a_law() -> None:
    """A comparison with a law's name is where a new law would be taken for another one."""
    at_home = {"public/costs/noise_laws.py", "public/costs/accounting.py", "private/noise.py"}
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Compare):
                named = {c.value for c in ast.walk(node) if isinstance(c, ast.Constant) and isinstance(c.value, str)}
                if named & set(LAWS) and path.relative_to(ROOT).as_posix() not in at_home:
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert found == []
