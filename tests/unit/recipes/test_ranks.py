"""Public values that moved as a whole, as pay does with prices, keep what goes with them."""

from unittest.mock import patch

import numpy as np
import polars as pl
import pytest

from hedgerow.answers import StandInGate
from hedgerow.public import CodedTable, Guarantee, PublicData, Schema, Tariff, budget_for
from hedgerow.recipes import PublicBlend
from hedgerow.recipes.blend import ranks
from hedgerow.recipes.blend.ranks import by_rank
from hedgerow.records import draw_one

GRADES, PAYS, ROWS = 8, 30, 8000
SCHEMA = Schema.loads(
    f'[columns.grade]\nkind = "ordered"\nvalues = {[*map(str, range(GRADES))]}\n'
    f'[columns.pay]\nkind = "ordered"\nvalues = {[*map(str, range(PAYS))]}\n'
    '[columns.sex]\nkind = "categorical"\nvalues = ["0", "1"]\n'
    '[columns.place]\nkind = "categorical"\nvalues = ["0", "1", "2", "3"]\n'
)


def people(rise: int, seed: int, *, backwards: bool = False) -> CodedTable:
    """Pay goes with grade, sex and place, and stands ``rise`` cells higher; ``backwards``: it falls with grade."""
    rng = np.random.default_rng(seed)
    grade, sex, place = rng.binomial(GRADES - 1, 0.5, ROWS), rng.integers(0, 2, ROWS), rng.integers(0, 4, ROWS)
    worth = GRADES - 1 - grade if backwards else grade
    pay = np.clip(2 * worth + sex + place // 2 + rise + rng.integers(0, 2, ROWS), 0, PAYS - 1)
    columns = {"grade": grade, "pay": pay, "sex": sex, "place": place}
    return CodedTable.read(pl.DataFrame({c: v.astype(str) for c, v in columns.items()}), SCHEMA)


def released(secret: CodedTable, public: CodedTable, epsilon: str) -> tuple[pl.DataFrame, str]:
    """Records with pretended noise, and what is found of the public table."""
    tariff, budget = Tariff(SCHEMA.coding, Guarantee(), "gdp"), budget_for(epsilon, "1e-6", "gdp")
    gate, known = StandInGate(tariff, budget, secret, ROWS, np.random.default_rng(4)), PublicData(SCHEMA, public)
    model = PublicBlend().fit(gate, known)
    again = StandInGate(tariff, budget, secret, ROWS, np.random.default_rng(4))
    return draw_one(model, known, np.random.default_rng(3)).frame, " ".join(PublicBlend().findings(again, known))


def correlation(table: pl.DataFrame) -> float:
    """That of pay and grade."""
    grade, pay = (table[c].cast(pl.Float64).to_numpy() for c in ("grade", "pay"))
    return float(np.corrcoef(grade, pay)[0, 1])


@pytest.mark.parametrize(("rise", "epsilon"), [(3, "0.1"), (3, "1"), (9, "1")])
def test_what_goes_with_pay_is_kept_when_all_pay_has_risen(rise: int, epsilon: str) -> None:
    """By three cells it is taken for the same people's, by nine for that of others, until pairs speak for ranks."""
    secret, public = people(rise, 1), people(0, 0)
    made, said = released(secret, public, epsilon)
    with patch.object(ranks, "with_ranks", lambda prior: prior):
        raked, _ = released(secret, public, epsilon)
    truth = correlation(secret.frame)
    assert abs(correlation(made) - truth) < 0.05 < abs(correlation(raked) - truth)
    assert "The answers place pay elsewhere than the public table does" in said


def test_a_run_does_not_depend_on_one_before_it_with_other_noise() -> None:
    """What is kept of the public table for all runs knows nothing of the ranks of one."""
    secret, public = people(9, 1), people(0, 0)

    def drawn(known: PublicData, epsilon: str, seed: int) -> pl.DataFrame:
        tariff, budget = Tariff(SCHEMA.coding, Guarantee(), "gdp"), budget_for(epsilon, "1e-6", "gdp")
        gate = StandInGate(tariff, budget, secret, ROWS, np.random.default_rng(seed))
        return draw_one(PublicBlend().fit(gate, known), known, np.random.default_rng(3)).frame

    known = PublicData(SCHEMA, public)
    drawn(known, "0.3", 5)
    assert drawn(known, "1", 4).equals(drawn(PublicData(SCHEMA, public), "1", 4))


def test_a_public_table_that_has_not_moved_keeps_its_values() -> None:
    _, said = released(people(3, 1), people(3, 0), "1")
    assert said == "Nothing in the answers speaks against the public table: all its columns were used."


def test_ranks_that_the_answers_contradict_are_not_taken() -> None:
    """Pay moved and falls with grade: the same rank would be the wrong one."""
    _, said = released(people(9, 1, backwards=True), people(0, 0), "10")
    assert "same rank" not in said


def test_values_without_an_order_and_the_weight_of_rows_are_kept() -> None:
    column = np.array([0, 1, 1, 3, 0], np.uint16)  # the last value, 3, is that of unknown pay
    moved = by_rank(column, np.array([1.0, 1.0, 1.0, 5.0, 1.0]), np.array([0.0, 2.0, 2.0, 9.0]), 3)
    assert moved.tolist() == [1, 2, 2, 3, 1]
    assert by_rank(column, np.ones(5), np.array([0.0, 0.0, 0.0, 1.0]), 3).tolist() == column.tolist()
