"""``verify_model`` on neighbours, its planted bugs, and the laws it leans on."""

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hedgerow.errors import JobError
from hedgerow.ledger.book import Ledger, RunAccount
from hedgerow.private import Gate, verification
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.claim import Claim, plain
from hedgerow.public.costs.question import Counts
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.files import open_source
from hedgerow.public.schema import Schema
from tests.privacy.mutants import caught_by
from tests.privacy.verification_checks import CLAIMS, MODELS, check_verification, claim_of
from tests.privacy.verification_mutants import MUTANTS, check_everything
from tests.privacy.world import GUARANTEES, SCHEMA, frame, neighbours

SOME = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("delta", ["0", "1e-6"], ids=["pure", "zcdp"])
@pytest.mark.parametrize("kind", GUARANTEES)
@given(data=st.data())
@SOME
def test_one_unit_moves_the_count_of_agreeing_parts_by_at_most_one(
    kind: str, delta: str, data: st.DataObject
) -> None:
    guarantee = GUARANTEES[kind]
    claim = claim_of(data.draw(st.sampled_from(MODELS)), data.draw(st.sampled_from(CLAIMS)))
    tape = data.draw(st.lists(st.integers(0, 2), min_size=24, max_size=24))
    check_verification(guarantee, delta, data.draw(neighbours(guarantee)), claim, tape)


def test_the_checks_pass_without_a_planted_bug() -> None:
    check_everything()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.__name__)
def test_every_planted_bug_is_caught(mutant: Callable[[pytest.MonkeyPatch], None]) -> None:
    assert caught_by(mutant, check_everything) is not None, f"nobody saw: {mutant.__doc__}"


def test_all_rows_of_a_person_fall_into_one_part_and_people_into_several() -> None:
    units = np.repeat(np.arange(40, dtype=np.uint32), 10)
    parts = verification.parts_of(units, 10).reshape(40, 10)
    assert (parts == parts[:, :1]).all()
    assert len(set(parts[:, 0].tolist())) > 3


def test_parts_are_about_even_and_never_the_same_twice() -> None:
    one, two = (verification.draw_parts(20_000, 50) for _ in range(2))
    sizes = np.bincount(one, minlength=50)
    assert abs(sizes - 400).max() < 6 * 20
    assert (one != two).any()


class _Sly(Claim):  # type: ignore[misc]
    def holds(self, counts: Sequence[Counts]) -> bool:
        raise AssertionError("code from outside looked at counts")


def sly(claim: Claim) -> Claim:
    return _Sly(*(getattr(claim, f.name) for f in fields(Claim)))


class _Text(str):
    """A name that could be equal to whatever it likes."""


class _Told(np.ndarray[Any, Any]):
    """An array that would see what it is multiplied with."""


ODD: dict[str, Callable[[Claim], Claim]] = {
    "a subclass": sly,
    "a design for another column": lambda c: replace(c, designs=c.designs[::-1]),
    "a row of a design too few": lambda c: replace(c, designs=(c.designs[0][:-1], *c.designs[1:])),
    "usable codes too few": lambda c: replace(c, usable=(c.usable[0][:-1], *c.usable[1:])),
    "two columns in one place": lambda c: replace(c, places=(*c.places[:-1], c.places[-1] * 0)),
    "a coefficient of no interest": lambda c: replace(c, which=c.interest),
    "the response of interest": lambda c: replace(c, interest=sum(map(len, c.places)) - 1),
    "a name that is not plain text": lambda c: replace(c, columns=(_Text(c.columns[0]), *c.columns[1:])),
}


@pytest.mark.parametrize("how", ODD)
def test_a_claim_that_is_not_plain_or_does_not_fit_is_refused_before_it_is_booked(how: str) -> None:
    with pytest.raises(JobError, match="no claim about columns"):
        plain(ODD[how](claim_of(MODELS[0], CLAIMS[0])), Schema.loads(SCHEMA).coding)


def test_a_claim_is_taken_as_data_and_nothing_else() -> None:
    claim = claim_of(MODELS[1], CLAIMS[0])
    object.__setattr__(claim, "holds", lambda counts: True)  # an instance may hide its class's methods
    watching = replace(claim, designs=tuple(d.view(_Told) for d in claim.designs))
    for odd in (claim, watching):
        taken = plain(odd, Schema.loads(SCHEMA).coding)
        assert "holds" not in vars(taken) and {type(d) for d in taken.designs} == {np.ndarray}
        assert all((a == b).all() for a, b in zip(taken.designs, claim.designs, strict=True))
        claim.designs[0][0, 0] += 1  # a later change of the original does not reach what was taken
        assert taken.designs[0][0, 0] == claim.designs[0][0, 0] - 1


def test_the_gate_takes_claims_so(tmp_path: Path) -> None:
    book = Ledger.open(str(tmp_path / "ledger.db"))
    budget, schema = Budget(1), Schema.loads(SCHEMA)
    account = RunAccount(book, table="t", run="r")
    gate = Gate(open_source(frame(())), Tariff(schema.coding, Guarantee(), "pure"), budget, account)
    with pytest.raises(JobError, match="no claim"):
        verification.verify_model(gate, sly(claim_of(MODELS[0], CLAIMS[0])), 3, budget.total)
    assert [e.kind for e in book.entries()] == ["format", "promise"], "nothing but the promise is booked"
