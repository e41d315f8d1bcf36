"""The promise in words: the odds are those of the relation, and nothing is rounded to look safer."""

import re
from fractions import Fraction
from math import exp, isclose
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.public import decimal
from hedgerow.public.coding import CodedColumn, Coding
from hedgerow.public.costs.accounting import Budget, Guarantee, epsilon_of
from hedgerow.public.costs.gaussian import BasicBudget, GaussianBudget
from hedgerow.public.costs.noise_laws import law_of
from hedgerow.public.costs.question import Law, Marginal, Noise
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.costs.statement import PublicInput, Statement
from hedgerow.release import words
from hedgerow.release.pages import pages
from hedgerow.release.words import grown, of_100, one_in, promise_of, use_rows
from hedgerow.uses import Mean, Rate, Table, Verdict
from hedgerow.uses.verdict import ExactVerdict
from tests.unit.release.made import a_release


def _statement(relation: str = "add-remove", epsilon: str = "1", delta: str = "0", **changes: object) -> Statement:
    public = ("pay",) if relation == "label-change" else ()
    guarantee = Guarantee(relation=relation, public_columns=public)  # type: ignore[arg-type]
    fields = {"table": "t", "guarantee": guarantee, "budget": Budget(epsilon, delta), "spends": (), **changes}
    return Statement(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", ["add-remove", "replace-one", "label-change"])
def test_at_epsilon_one_fifty_in_a_hundred_becomes_at_most_73(relation: str) -> None:
    promise = promise_of(_statement(relation))
    assert "50 chances in 100" in words.promise_sentence(promise)
    assert "at most about 73 chances in 100" in words.promise_sentence(promise)
    assert "10 in 100 becomes at most about 23 in 100." in words.promise_more(promise)


def test_under_add_remove_a_value_of_somebody_present_is_two_steps_away() -> None:
    """Exact: one cell each for two values, discrete Laplace of scale 1 / epsilon, all outputs enumerated."""
    epsilon = 1.0
    law = {k: exp(-abs(k) * epsilon) for k in range(-60, 61)}
    ratio = max(law[x - 1] * law[y] / (law[x] * law[y - 1]) for x in range(-20, 20) for y in range(-20, 20))
    worst = 0.5 * ratio / (0.5 * ratio + 0.5)
    promise = promise_of(_statement("add-remove"))
    assert isclose(promise.value_odds[0].after, worst, rel_tol=1e-9)
    assert promise.odds[0].after < worst, "the odds of being present are not those of a value"
    assert "known to be in the table" in " ".join(words.promise_more(promise))


@pytest.mark.parametrize("relation", ["replace-one", "label-change"])
def test_where_one_unit_changes_in_one_step_the_odds_are_said_once(relation: str) -> None:
    assert promise_of(_statement(relation)).value_odds == ()


CODING = Coding(
    (
        CodedColumn("sex", "text", 3, 2, 2, ("F", "M"), (0, 1)),
        CodedColumn("race", "text", 4, 3, 3, ("1", "2"), (0, 1)),
    )
)


def _spent(epsilon: str, delta: str, *laws: Law, tables: int = 1) -> Statement:
    """The whole budget spent in one request for each law, each asking the same number of tables."""
    budget = Budget(epsilon, delta)
    tariff = Tariff(CODING, Guarantee(), budget.measure)
    questions = [Marginal(("sex",)), Marginal(("race",)), Marginal(("sex", "race"))][:tables]
    weights = [Fraction(1 + i) for i in range(tables)]
    spends = tuple(tariff.measure_all(questions, budget.total / len(laws), weights=weights, law=w) for w in laws)
    return _statement(epsilon=epsilon, delta=delta, spends=spends)


def _exact_chance(statement: Statement) -> float:
    """That the loss of a row that comes or goes is above epsilon: every noisy count of every table, exactly."""
    law = {0.0: 1.0}
    for noise in (a.noise for s in statement.spends for a in s.asked):
        reach = int(12 * law_of(noise).variance ** 0.5) + 2
        k = np.arange(-reach, reach + 1)
        weight = np.exp(law_of(noise).log_weights(k))
        loss = law_of(noise).log_weights(k) - law_of(noise).log_weights(k - 1)
        chance = weight / weight.sum()
        summed: dict[float, float] = {}
        for old, p in law.items():
            for x, q in zip(loss, chance, strict=True):
                if p * q > 1e-16:
                    at = round(old + float(x), 9)
                    summed[at] = summed.get(at, 0.0) + p * float(q)
        law = summed
    return sum(p for loss, p in law.items() if loss > float(statement.budget.epsilon))


@pytest.mark.parametrize("delta", ["1e-6", "2.5e-5"])
@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2"])
@pytest.mark.parametrize("tables", [1, 2])
def test_the_chance_of_failing_that_is_printed_is_that_of_the_noise(epsilon: str, delta: str, tables: int) -> None:
    statement = _spent(epsilon, delta, "gaussian", tables=tables)
    said = " ".join(words.promise_more(promise_of(statement)))
    printed = 1 / int(said.split("at most about 1 in ")[1].split(", which")[0].replace(",", ""))
    exact = _exact_chance(statement)
    assert exact <= printed <= 3.5 * exact * exp(float(epsilon)), (printed, exact)
    assert printed > 2 * float(Fraction(delta)), "delta is not the chance of failing"
    assert f"Delta = {decimal(Fraction(delta))} is not that chance" in said


def test_noise_that_never_passes_epsilon_is_said_to_keep_the_bounds_always() -> None:
    statement = _spent("1", "1e-6", "laplace")
    assert _exact_chance(statement) == 0 == statement.failing
    assert "keeps these bounds always" in " ".join(words.promise_more(promise_of(statement)))
    assert "elta" not in " ".join(words.promise_more(promise_of(_spent("1", "0", "laplace"))))


@pytest.mark.parametrize("budget", [Budget("1", "1e-6"), GaussianBudget("1", "1e-6")])
def test_the_chance_of_failing_holds_for_one_who_stops_once_the_odds_have_moved_far_enough(budget: Budget) -> None:
    """Exact: ten requests, of which the rest is left out as soon as the loss is above epsilon."""
    tariff = Tariff(CODING, Guarantee(), budget.measure)
    spends = tuple(tariff.measure_all([Marginal(("sex",))], budget.total / 10, law="gaussian") for _ in range(10))
    noise = law_of(spends[0].asked[0].noise)
    reach = int(12 * noise.variance**0.5)
    weight = np.exp(noise.log_weights(np.arange(-reach, reach + 1)))
    going, failed = np.ones(1), 0.0
    for asked in range(1, 11):
        going = np.convolve(going, weight / weight.sum())
        summed = np.arange(len(going)) - len(going) // 2
        passed = (2 * summed + asked) / (2 * float(noise.scale)) > float(budget.epsilon)  # the loss of a row more
        failed += float(going[passed].sum())
        going[passed] = 0
    for made in range(1, 11):
        stopped = Statement(table="t", guarantee=Guarantee(), budget=budget, spends=spends[:made])
        assert 2e-6 < failed <= stopped.failing < 20 * failed, (made, failed, stopped.failing)


def test_with_epsilons_that_add_up_the_rest_of_the_promise_is_counted_as_if_it_were_spent() -> None:
    budget = BasicBudget("1", "1e-6")
    tariff = Tariff(CODING, Guarantee(), budget.measure, budget.delta)
    sizes = tariff.measure_all([Marginal(("sex",))], Fraction(1, 2), law="laplace")
    tables = tariff.measure_all([Marginal(("race",))], Fraction(1, 2), law="gaussian")
    both, first, alone = (
        Statement(table="t", guarantee=Guarantee(), budget=budget, spends=s)
        for s in ((sizes, tables), (tables,), (sizes,))
    )
    assert _exact_chance(both) <= both.failing == first.failing < 1e-3
    assert alone.failing == 0


def test_mixed_laws_and_several_requests_have_a_bound_that_holds() -> None:
    for laws in (("laplace", "gaussian"), ("gaussian", "gaussian")):
        statement = _spent("1", "1e-6", *laws)
        assert 0 < _exact_chance(statement) <= statement.failing < 1e-4


def test_only_gaussian_noise_alone_is_stated_as_gaussian() -> None:
    """Beside Laplace noise its epsilon would be too small: then the bound of zCDP stands."""
    mixed, alone = _spent("1", "1e-6", "laplace", "gaussian"), _spent("1", "1e-6", "gaussian", tables=2)
    assert mixed.epsilon == min(epsilon_of(mixed.spent, mixed.budget.delta), 1.0)
    assert 0.9 < alone.epsilon < 0.97 * epsilon_of(alone.spent, alone.budget.delta)
    later = _spent("1", "1e-6", "gaussian", "gaussian")  # the second could have been a choice
    assert later.epsilon == min(epsilon_of(later.spent, later.budget.delta), 1.0)


def test_what_is_not_protected_is_said_for_each_unit_and_relation() -> None:
    said = " ".join(f"{a} {b}" for a, b in promise_of(_statement("replace-one")).unprotected)
    assert "with k times the epsilon" in said and "the number of rows" in said and "group" in said
    said = " ".join(f"{a} {b}" for a, b in promise_of(_statement("replace-one", delta="1e-6")).unprotected)
    assert "more than k times the epsilon: rho grows with k squared" in said
    person = Guarantee(unit="person", person="id", rows_per_person=3)
    said = " ".join(f"{a} {b}" for a, b in promise_of(_statement(guarantee=person)).unprotected)
    assert "k times the epsilon" not in said
    used = (PublicInput("public", "old.csv", "0" * 64),)
    said = " ".join(f"{a} {b}" for a, b in promise_of(_statement(public_inputs=used)).unprotected)
    assert "made from the confidential table" in said


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**9))
def test_a_number_in_decimals_is_never_below_the_number(value: Fraction) -> None:
    shown = Fraction(decimal(value).replace(",", ""))
    assert value <= shown <= value * Fraction(10001, 10000)


@given(st.floats(0.01, 0.99), st.floats(0, 50))
def test_no_promise_is_said_to_reach_certainty(prior: float, epsilon: float) -> None:
    assert prior - 1e-12 <= grown(prior, epsilon) <= 1
    assert of_100(grown(prior, epsilon)) != "100"


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(1, 2)))
def test_one_in_so_many_is_never_rarer_than_the_truth(chance: Fraction) -> None:
    assert Fraction(1, int(one_in(chance).removeprefix("1 in ").replace(",", ""))) >= chance


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(10), Fraction(350, 3)])
def test_the_half_width_is_the_smallest_that_holds_95_in_100(scale: Fraction) -> None:
    k = np.arange(-5000, 5001)
    law = np.exp(-np.abs(k) / float(scale))
    law /= law.sum()
    width = law_of(Noise("laplace", scale)).half_width()
    assert law[np.abs(k) <= width].sum() >= 0.95 > law[np.abs(k) <= width - 1].sum()


def test_the_table_of_odds_in_the_docs_is_the_one_we_print() -> None:
    page = Path(__file__).parents[3] / "docs" / "guarantee.md"
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in page.read_text().splitlines() if "|" in line]
    start = rows.index(["epsilon", "50 in 100 becomes at most (one step)", "two steps"])
    for epsilon, once, twice in rows[start + 2 :][:5]:
        due = [of_100(grown(0.5, float(epsilon))), of_100(grown(0.5, 2 * float(epsilon)))]
        assert [once, twice] == due


def test_a_use_is_said_in_words_that_people_know_and_in_the_statisticians_terms() -> None:
    table, mean = Table(["sex", "agency"], tolerance=0.01), Mean("pay", by=["sex"], relative=0.03)
    rate = Rate("sex", ["F"], tolerance=0.02)
    (row,) = use_rows([Verdict(table, 0.0017, 0.5, "9 runs", 0.001, 0.003)])
    assert row.plain == "Expected: about 17 in 10,000 records counted in a wrong cell; allowed: 100 in 10,000"
    assert row.detail.startswith("sex x agency: total variation. Error 0.0017, in eight runs of ten 0.0010 to 0.0030")
    (row,) = use_rows([Verdict(mean, 0.02, 0.5, "9 runs", 0.01, 0.05)])
    assert row.plain == (
        "Expected: off by about 2.0 % of the true figure, on average over groups; allowed: 3.0 %; "
        "but one run in ten is off by 5.0 % or more"
    ), "the mean is within the tolerance, and the verdict is not: it says why"
    (row,) = use_rows([ExactVerdict(rate, 0.012, 0.5, "exact")])
    assert row.plain == "It came out off by about 1.2 percentage points; allowed: 2 percentage points"
    (row,) = use_rows([Verdict(table, None, None, "no public table")])
    assert row.plain == "no public table"


def test_no_page_shows_an_absurd_share() -> None:
    mean = Mean("pay", by=["sex"], relative=0.03)
    (row,) = use_rows([Verdict(mean, 6.5180051874045e11, 0.0, "a group's mean is near 0", groups=(("F", 6.5e11),))])
    assert "over 1,000 %" in row.plain and "near 0" in row.plain and "over 1,000 %" in row.detail
    contents = a_release(rows=50, verdicts=(Verdict(mean, 6.5e11, 0.0, "near 0", groups=(("F", 6.5e11),)),))
    written = pages(contents, {})
    for name in ("report.html", "DATACARD.md"):
        assert not re.search(r"[0-9]{8,} ?%|[0-9]e\+?1[0-9]", re.sub(r"<svg.*?</svg>", "", written[name], flags=re.S))


@pytest.mark.parametrize("rows", [1, 4])
def test_plurals_are_right_and_the_unit_is_said_plainly(rows: int) -> None:
    guarantee = Guarantee(unit="person", person="id", rows_per_person=rows)
    written = pages(a_release(rows=60, guarantee=guarantee), {})
    for name in ("report.html", "DATACARD.md", "privacy-statement.md", "codebook.html"):
        text = " ".join(written[name].split())
        said = re.findall(
            r"\b1 (?:rows|columns|tables|cells|uses|records|requests|copies|counts)\b|\btable\(s\)|rows at most", text
        )
        assert said == [], name
    with_rows = "1 row counted" if rows == 1 else "4 rows counted"
    assert f"protected by the promise, with at most {with_rows}" in written["report.html"]


def test_a_tiny_or_a_huge_error_is_said_as_people_say_it() -> None:
    said = [Mean("pay", relative=0.1).error_in_words(e) for e in (0.0001, 0.02)]
    assert [s.split(" of ")[0] for s in said] == ["off by less than 0.1 %", "off by about 2.0 %"]


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_what_was_spent_is_no_bound_where_the_run_stopped_before_all_of_it(delta: str) -> None:
    """Only the promise was fixed in advance. A run that spent all of it has no second figure to tell apart."""
    law: Law = "gaussian" if delta != "0" else "laplace"
    whole = _spent("1", delta, law, law)
    stopped = _statement(epsilon="1", delta=delta, spends=whole.spends[:1])
    bound = "This is what the requests that were made add up to; the bound, fixed in advance, is what is promised"
    assert bound not in words.spent_words(whole)
    said = words.spent_words(stopped)
    assert bound in said and f"{decimal(stopped.spent)} of {decimal(stopped.budget.total)}" in said
    assert bound not in words.spent_words(_statement(epsilon="1", delta=delta)), "nothing was asked, nothing adds up"


def test_what_few_runs_have_shown_is_not_called_expected() -> None:
    """The report said "Expected: about 16 in 10,000" beside "fewer than nine runs expect nothing"."""
    use = Table(["race"], tolerance=0.02)
    few, enough = Verdict(use, 0.0016, 0.5, "", high=0.002), Verdict(use, 0.0016, 0.5, "", low=0.001, high=0.002)
    assert few.in_words.startswith("Seen in few runs: about 16 in 10,000") and few.word == "within it in all runs"
    assert enough.in_words.startswith("Expected: about 16 in 10,000") and enough.word == "expected to be met"
