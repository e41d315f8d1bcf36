"""Several runs on one table: they add up by the better of two ways, never beyond the cap."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.ledger.book import BudgetExhausted, Ledger
from hedgerow.public.costs.accounting import Budget, Guarantee, epsilon_of, rho_for
from hedgerow.public.costs.composition import Cap, Promised
from hedgerow.public.costs.gaussian import GaussianBudget
from hedgerow.steward import ledger_book
from tests.privacy.accounting_checks import check_accounting


def _promise(ledger: Ledger, run: str, epsilon: str, delta: str = "0") -> None:
    ledger.promise("pay", run, Budget(epsilon, delta), Guarantee())


def test_ten_runs_of_a_half_are_worth_one_and_a_half_and_not_five(ledger_url: str) -> None:
    ledger = Ledger.open(ledger_url)
    ledger.cap("pay", Budget("1.53", "1e-5"))
    for i in range(10):
        _promise(ledger, f"run{i}", "0.5", "1e-6")
    with pytest.raises(BudgetExhausted) as refused:
        _promise(ledger, "one more", "0.5", "1e-6")
    assert refused.value.unit == "epsilon" and refused.value.left < Fraction(1, 2)
    (account,) = ledger_book.accounts(ledger_url)
    assert account.promised == (Fraction(5), Fraction(1, 10**5)) and account.worth == pytest.approx(1.528, abs=1e-3)
    assert ledger_book.verify(ledger_url)[0] == 12


def test_where_basic_composition_is_better_it_counts() -> None:
    cap = Cap(Fraction(1), Fraction(1, 10**6))
    mixed = [Promised.of(Budget("0.5")), Promised.of(Budget("0.5", "1e-6"))]
    assert cap.worth(mixed) == 1 and cap.holds(mixed)
    assert not cap.holds([*mixed, Promised.of(Budget("0.01"))])
    assert not cap.holds([Promised.of(Budget("0.5")), Promised.of(Budget("0.4", "2e-6"))])


def test_many_runs_without_a_delta_gain_from_a_cap_with_one() -> None:
    many = [Promised.of(Budget("0.05"))] * 100
    assert Cap(Fraction(5), Fraction(0)).worth(many) == 5
    assert Cap(Fraction(5), Fraction(1, 10**6)).worth(many) < Fraction(27, 10)


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 9)), min_size=1, max_size=8))
def test_of_runs_with_a_delta_zcdp_is_never_worse_than_basic(runs: list[tuple[int, int]]) -> None:
    """So no run that basic composition would admit is refused, and for such runs the rule is one filter."""
    made = [Promised.of(Budget(Fraction(e, 20), Fraction(d, 10**6))) for e, d in runs]
    epsilon, delta = sum(p.epsilon for p in made), sum(p.delta for p in made)
    assert sum(p.rho for p in made) <= rho_for(Fraction(epsilon), Fraction(delta))


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 9)), min_size=2, max_size=8))
def test_of_runs_with_gaussian_noise_alone_the_exact_sum_is_never_worse_than_basic(
    runs: list[tuple[int, int]],
) -> None:
    """But for the allowance for whole numbers; so little is refused that basic composition would admit."""
    made = [Promised.of(GaussianBudget(Fraction(e, 20), Fraction(d, 10**6))) for e, d in runs]
    epsilon, delta = sum((p.epsilon for p in made), Fraction(0)), sum((p.delta for p in made), Fraction(0))
    assert Cap(epsilon, delta).worth(made) <= epsilon * (1 + Fraction(1, 10**4))


def test_runs_in_gdp_share_a_cap_as_runs_in_zcdp_do(ledger_url: str) -> None:
    """They have less noise each, and their sum is turned into epsilon exactly: ten halves are worth 1.53 again."""
    ledger, run = Ledger.open(ledger_url), GaussianBudget("0.5", "1e-6")
    ledger.cap("pay", Budget("1.53", "1e-5"))
    for i in range(10):
        ledger.promise("pay", f"run{i}", run, Guarantee())
    (account,) = ledger_book.accounts(ledger_url)
    assert account.promised == (Fraction(5), Fraction(1, 10**5)) and account.worth == pytest.approx(1.5, abs=0.03)
    with pytest.raises(BudgetExhausted):
        ledger.promise("pay", "one more", run, Guarantee())
    assert ledger_book.verify(ledger_url)[0] == 12


def test_runs_of_several_measures_add_up_as_zcdp_or_as_epsilons() -> None:
    gdp, zcdp, pure = GaussianBudget("0.5", "1e-6"), Budget("0.5", "1e-6"), Budget("0.5")
    cap = Cap(Fraction(3, 2), Fraction(2, 10**6))
    assert cap.worth([Promised.of(b) for b in (gdp, zcdp, pure)]) == Fraction(3, 2)
    both = [Promised.of(gdp), Promised.of(zcdp)] * 5
    assert cap.worth(both) == Fraction(epsilon_of(5 * (gdp.total + zcdp.total), cap.delta))


@pytest.mark.parametrize("others", ["gdp", "zcdp", "none"])
def test_a_run_in_gdp_is_admitted_with_what_is_left_and_no_more(others: str) -> None:
    kind = {"gdp": GaussianBudget, "zcdp": Budget, "none": Budget}[others]
    cap, made = Cap(Fraction(2), Fraction(1, 10**5)), [Promised.of(kind("0.3", "1e-6"))] * 7 * (others != "none")
    left = cap.left(made, Fraction(1, 10**6), "gdp")
    assert left is not None
    assert cap.holds([*made, Promised.of(GaussianBudget(left, "1e-6"))])
    assert not cap.holds([*made, Promised.of(GaussianBudget(left + Fraction(1, 10**4), "1e-6"))])


@pytest.mark.parametrize("delta", ["0", "1e-7", "1e-6"])
def test_what_is_left_is_admitted_and_no_more(delta: str) -> None:
    cap, made = Cap(Fraction(2), Fraction(1, 10**5)), [Promised.of(Budget("0.3", "1e-6"))] * 7
    left = cap.left(made, Fraction(delta))
    assert left is not None
    assert cap.holds([*made, Promised.of(Budget(left, delta))])
    assert not cap.holds([*made, Promised.of(Budget(left + Fraction(1, 10**5), delta))])
    shown, at = cap.most_left(made)
    assert at > 0 and cap.holds([*made, Promised.of(Budget(shown, at))])


def test_a_ledger_whose_promises_pass_the_cap_both_ways_does_not_verify(ledger_url: str) -> None:
    ledger = Ledger.open(ledger_url)
    ledger.cap("pay", Budget("1.53", "1e-5"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cap, "holds", lambda self, made: True)
        for i in range(11):
            _promise(ledger, f"run{i}", "0.5", "1e-6")
    with pytest.raises(ledger_book.VerifyFailed, match="above the cap of its time"):
        ledger_book.verify(ledger_url)


def test_no_run_and_no_table_passes_its_promise() -> None:
    check_accounting()
