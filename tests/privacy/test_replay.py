"""Record a run on one table, replay its answers on a neighbour, compare.

Every request must be worth its price on the pair; and with the noisy answers equal, every byte that leaves the
building, every line on the terminal and every file name must be equal too.  (The idea of Re:cord-play, arXiv
2602.17454; it needs no instrumentation of recipes, because there is one gate.)
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.privacy.checks import check_run, check_verbs, quick_folder
from tests.privacy.world import GUARANTEES, neighbours

FEW = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
TWO = settings(max_examples=2, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
SOME = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("delta", ["0", "1e-6"], ids=["pure", "zcdp"])
@pytest.mark.parametrize("kind", GUARANTEES)
@given(data=st.data())
@SOME
def test_every_gate_verb_is_worth_its_price(kind: str, delta: str, data: st.DataObject) -> None:
    guarantee = GUARANTEES[kind]
    check_verbs(guarantee, delta, data.draw(neighbours(guarantee)))


@pytest.mark.thorough
@pytest.mark.parametrize("delta", ["0", "1e-6"], ids=["pure", "zcdp"])
@pytest.mark.parametrize("kind", GUARANTEES)
@given(data=st.data())
@MANY
def test_every_gate_verb_is_worth_its_price_on_many_pairs(kind: str, delta: str, data: st.DataObject) -> None:
    guarantee = GUARANTEES[kind]
    check_verbs(guarantee, delta, data.draw(neighbours(guarantee)))


@pytest.mark.parametrize("delta", ["0", "1e-6"], ids=["pure", "zcdp"])
@pytest.mark.parametrize("kind", GUARANTEES)
@given(data=st.data())
@FEW
def test_every_byte_of_a_release_is_the_same_on_neighbours(kind: str, delta: str, data: st.DataObject) -> None:
    guarantee = GUARANTEES[kind]
    with quick_folder() as folder:
        check_run(Path(folder), guarantee, delta, data.draw(neighbours(guarantee)))


@pytest.mark.parametrize("recipe", ["integer_counts", "dirichlet_multinomial", "beta_binomial", "gamma_poisson"])
@pytest.mark.parametrize(
    ("kind", "delta"), [(k, "0" if i % 2 else "1e-6") for i, k in enumerate(GUARANTEES)], ids=list(GUARANTEES)
)
@given(data=st.data())
@TWO
def test_every_byte_of_a_table_of_counts_is_the_same_on_neighbours(
    kind: str, delta: str, recipe: str, data: st.DataObject
) -> None:
    guarantee = GUARANTEES[kind]
    with quick_folder() as folder:
        check_run(Path(folder), guarantee, delta, data.draw(neighbours(guarantee)), recipe=recipe)
