"""Formulas: what is written can be read again, and levels are compared with one that no table can change."""

from dataclasses import replace

import pytest

from hedgerow.errors import JobError
from hedgerow.public.formula import Formula
from hedgerow.public.schema import Schema

SCHEMA = Schema.loads(
    """
    [columns.sex]
    kind = "categorical"
    labels = { F = "female", M = "male" }

    [columns.union]
    kind = "yes-no"

    [columns.school]
    kind = "ordered"
    values = ["8", "12", "16"]

    [columns.pay]
    kind = "integer"
    bins = { low = 0, high = 100, width = 10 }
    """
)


@pytest.mark.parametrize(
    "text",
    [
        "ln(pay) ~ sex + C(race, ref=E) + age + I(age^2) | agency + occupation",
        "sex=F ~ number(school) + ln(pay)",
        "`net pay` ~ C(sex) + `of age` | `the place`",
    ],
)
def test_a_formula_is_written_as_it_is_read(text: str) -> None:
    assert str(Formula.parse(text)) == text
    assert Formula.parse(str(Formula.parse(text))) == Formula.parse(text)


def test_kinds_decide_what_a_plain_column_is_and_the_schema_what_it_is_compared_with() -> None:
    formula = Formula.parse("pay ~ sex + union + school").bound(SCHEMA)
    assert formula.names(SCHEMA) == ("sex[female]", "union[yes]", "school[8]", "school[12]")
    assert Formula.parse("pay ~ number(school)").bound(SCHEMA).names(SCHEMA) == ("school",)


@pytest.mark.parametrize("name", ["sex[female]", "sex[F]", "sex=F", "sex=female"])
def test_a_coefficient_may_be_named_by_value_or_label(name: str) -> None:
    assert Formula.parse("pay ~ union + sex").bound(SCHEMA).place(name, SCHEMA) == 1


def test_a_column_without_a_coefficient_of_its_own_is_taken_for_its_first_level() -> None:
    open_ended = replace(SCHEMA, columns=tuple(replace(c, missing=True) for c in SCHEMA.columns))
    with pytest.raises(JobError, match=r"no coefficient 'union'. Did you mean 'union\[yes\]'\?"):
        Formula.parse("pay ~ union").bound(open_ended).place("union", open_ended)


def test_the_level_others_are_compared_with_has_no_coefficient_and_can_be_chosen() -> None:
    with pytest.raises(JobError, match=r"has no coefficient 'sex\[M\]'. It has: sex\[female\]"):
        Formula.parse("pay ~ sex").bound(SCHEMA).place("sex[M]", SCHEMA)
    for chosen in (Formula.parse("pay ~ C(sex, ref=female)"), Formula.parse("pay ~ sex", {"sex": "F"})):
        assert chosen.bound(SCHEMA).names(SCHEMA) == ("sex[male]",)


def test_codes_that_are_numbers_can_be_the_response_if_the_formula_says_so() -> None:
    with pytest.raises(JobError, match=r"school=VALUE can, and so can number\(school\)"):
        Formula.parse("school ~ pay").bound(SCHEMA)
    assert Formula.parse("number(school) ~ pay").bound(SCHEMA).response.form == "number"
    with pytest.raises(JobError, match="sex=VALUE can. "):
        Formula.parse("sex ~ pay").bound(SCHEMA)
