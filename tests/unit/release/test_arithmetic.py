"""What verify works out from the noise, against what the gate charges for it."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from hedgerow.public.costs.accounting import Guarantee, Relation, noise_for, selection_rate
from hedgerow.release.checks import cost_of, selection_cost

rhos = st.fractions(Fraction(1, 10**6), Fraction(20), max_denominator=10**6)
RELATIONS: list[Relation] = ["add-remove", "replace-one", "label-change"]


@given(cost=rhos, relation=st.sampled_from(RELATIONS), m=st.integers(1, 9))
def test_noise_is_never_worth_more_than_its_cost(cost: Fraction, relation: Relation, m: int) -> None:
    guarantee = Guarantee("person", m, relation, ("x",) if relation == "label-change" else (), "id")
    assert cost_of(noise_for(cost, "laplace", "pure", guarantee), "pure", guarantee) == cost
    assert cost_of(noise_for(cost, "gaussian", "zcdp", guarantee), "zcdp", guarantee) == cost
    assert cost_of(noise_for(cost, "laplace", "zcdp", guarantee), "zcdp", guarantee) <= cost
    assert selection_cost(selection_rate(cost, "pure", guarantee), "pure", guarantee) == cost
    assert selection_cost(selection_rate(cost, "zcdp", guarantee), "zcdp", guarantee) <= cost
