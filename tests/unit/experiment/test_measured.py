"""The small least-squares kernel agrees with well-kept libraries, with and without fixed effects."""

import numpy as np
import polars as pl
import pytest

from hedgerow.errors import JobError
from hedgerow.experiment.grid import Measure
from hedgerow.experiment.runs import coefficients, figures, readings
from hedgerow.public.formula import Formula
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable
from hedgerow.simulate.personnel import personnel, personnel_schema

TABLE = personnel(rows=3000, seed=8).confidential
SCHEMA = Schema.loads(personnel_schema())
MODEL = "ln(pay) ~ sex + race + age + I(age^2) + number(education) | agency + occupation"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_coefficients_agree_with_statsmodels() -> None:
    formula = pytest.importorskip("statsmodels.formula.api")
    text = 'np.log(pay) ~ C(sex, Treatment("M")) + C(race, Treatment("E")) + age + I(age**2) + education'
    fit = formula.ols(text + " + C(agency) + C(occupation)", {c: TABLE[c].to_numpy() for c in TABLE.columns}).fit()
    model = Formula.parse(MODEL, {"sex": "M", "race": "E"}).bound(SCHEMA)
    fitted = list(coefficients(model, CodedTable(SCHEMA, TABLE), "")[""].values())
    ours = {
        n: fitted[model.place(n, SCHEMA)] for n in ("sex[F]", *(f"race[{r}]" for r in "ABCD"), "age", "education")
    }
    ours["I(age^2)"] = fitted[model.place("I(age^2)", SCHEMA)]
    assert ours["sex[F]"] == pytest.approx(fit.params['C(sex, Treatment("M"))[T.F]'], rel=1e-7)
    for r in "ABCD":
        assert ours[f"race[{r}]"] == pytest.approx(fit.params[f'C(race, Treatment("E"))[T.{r}]'], rel=1e-7)
    for a, b in (("age", "age"), ("I(age^2)", "I(age ** 2)"), ("education", "education")):
        assert ours[a] == pytest.approx(fit.params[b], rel=1e-6)


def test_a_coefficient_that_is_lost_counts_as_no_effect() -> None:
    measure = Measure(name="m", model="ln(pay) ~ sex", reference={"sex": "M"})
    men = TABLE.filter(pl.col("sex") == "M")
    (found,) = readings(measure, *(figures(measure, CodedTable(SCHEMA, t)) for t in (TABLE, men)))
    assert np.isnan(found.synthetic) and found.error == abs(found.authentic) > 0


def test_groups_are_fitted_by_themselves() -> None:
    formula = Formula.parse("pay ~ sex", {"sex": "M"}).bound(SCHEMA)
    found = coefficients(formula, CodedTable(SCHEMA, TABLE), "year")
    for year, fit in found.items():
        part = TABLE.filter(pl.col("year") == int(year))
        gap = part.filter(pl.col("sex") == "F")["pay"].mean() - part.filter(pl.col("sex") == "M")["pay"].mean()  # type: ignore[operator]
        assert fit["sex[female]"] == pytest.approx(gap, rel=1e-9)


def test_a_level_without_rows_has_no_coefficient_and_rows_without_a_number_are_left_out() -> None:
    frame = TABLE.filter(pl.col("race") != "A").with_columns(
        pay=pl.when(pl.col("age") < 30).then(None).otherwise(pl.col("pay"))
    )
    formula = Formula.parse("ln(pay) ~ C(race, ref=A) + sex").bound(SCHEMA)
    found, kept = (
        coefficients(formula, CodedTable(SCHEMA, f), "")[""] for f in (frame, frame.filter(pl.col("age") >= 30))
    )
    assert np.isnan(list(found.values())).sum() == 1  # nobody is A, so one of the others is the constant
    assert found["sex[female]"] == pytest.approx(kept["sex[female]"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pay sex", "cannot be read"),
        ("pay ~ sex + sex", "twice"),
        ("pay ~ sex:race", "not a term"),
        ("sex ~ pay", "not a number"),
        ("pay ~ ln(sex)", "needs a number"),
        ("pay ~ sex | ln(age)", r"after \|"),
        ("C(pay) ~ sex", "response"),
        ("pay ~ sox", "no column"),
        ("pay ~ pay", "twice"),
        ("sex=X ~ age", "no value"),
        ("C(sex) ~ age", "sex=VALUE can"),
    ],
)
def test_models_that_cannot_be_read_are_refused(text: str, said: str) -> None:
    with pytest.raises(JobError, match=said):
        Formula.parse(text).bound(SCHEMA)


def test_references_must_be_values_of_the_model() -> None:
    with pytest.raises(JobError, match="no value"):
        Formula.parse("pay ~ sex", {"sex": "X"}).bound(SCHEMA)
    with pytest.raises(JobError, match="reference"):
        Formula.parse("pay ~ sex", {"race": "A"}).bound(SCHEMA)
