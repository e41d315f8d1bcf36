"""The blends on a table with known structure: associations survive, rules hold, a bad relative does no harm."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.answers import StandInGate
from hedgerow.errors import JobError
from hedgerow.pipeline import draw_copies
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema, violations
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import RECIPES
from hedgerow.recipes.blend.noisy_tables import NoisyTables, TreeModel

SCHEMA = """
[columns.age]
kind = "integer"
bins = { low = 10, high = 69, width = 1 }
[columns.marital]
kind = "categorical"
values = ["married", "single"]
[columns.sex]
kind = "categorical"
values = ["F", "M"]
[columns.pay]
kind = "integer"
bins = { low = 0, high = 100, width = 10 }
[[zero]]
where = { marital = ["married"], age = { below = 15 } }
"""


def people(n: int, seed: int, *, women: float = 0.5) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(10, 70, n)
    married = (age >= 15) & (rng.random(n) < (age - 10) / 60)
    sex = rng.random(n) < women
    pay = np.clip(age + 20 * (1 - sex) + rng.normal(0, 8, n), 0, 99).astype(int)
    return pl.DataFrame(
        {
            "age": age,
            "marital": np.where(married, "married", "single"),
            "sex": np.where(sex, "F", "M"),
            "pay": pay,
        }
    )


def error(here: pl.DataFrame, there: pl.DataFrame, schema: Schema) -> float:
    """The mean L1 distance of marital x pay, sex x pay, age x marital."""
    found = []
    tables = [CodedTable.read(f, schema) for f in (here, there)]
    for a, b in (("marital", "pay"), ("sex", "pay"), ("age", "marital")):
        size, cells = schema.size((a, b)), []
        for t in tables:
            codes = t.codes((a, b))
            flat = codes[a].astype(np.int64) * schema.size((b,)) + codes[b]
            cells.append(np.bincount(flat, minlength=size) / t.rows)
        found.append(np.abs(cells[0] - cells[1]).sum())
    return float(np.mean(found))


def released(
    name: str, secret: pl.DataFrame, relative: pl.DataFrame | None, epsilon: str, seed: int = 5
) -> pl.DataFrame:
    schema, budget = Schema.loads(SCHEMA), Budget(epsilon, "1e-6")
    public = PublicData(schema, None if relative is None else CodedTable.read(relative, schema))
    tariff = Tariff(schema.coding, Guarantee(), budget.measure)
    gate = StandInGate(tariff, budget, CodedTable.read(secret, schema), secret.height, np.random.default_rng(seed))
    return draw_copies(RECIPES[name]().fit(gate, public), public, copies=1, seed=3).records[0]


def test_a_tree_blend_keeps_associations_and_structural_zeros() -> None:
    schema, secret = Schema.loads(SCHEMA), people(20_000, 1)
    made = released("tree_blend", secret, None, "1")
    assert error(secret, made, schema) < 0.5 * error(secret, released("independent", secret, None, "10"), schema)
    assert not violations(schema, made).any()
    assert abs(made.height - 20_000) < 500


def test_a_tree_blend_works_its_margins_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each path of the tree all columns were projected anew: a plan with 300 columns did not end."""
    seen, tree = list[NoisyTables](), NoisyTables.tree

    def kept(noisy: NoisyTables) -> TreeModel:
        seen.append(noisy)
        return tree(noisy)

    monkeypatch.setattr(NoisyTables, "tree", kept)
    released("tree_blend", people(2_000, 1), None, "1")
    assert seen and all(x is y for x, y in zip(seen[-1].margins(), seen[-1].margins(), strict=True))


def scrambled(frame: pl.DataFrame) -> pl.DataFrame:
    """Every column shuffled by itself: the right one-way tables, nothing else."""
    rng = np.random.default_rng(9)
    return frame.select(pl.Series(c, frame[c].to_numpy()[rng.permutation(frame.height)]) for c in frame.columns)


RELATIVES = {
    "alike": (people(20_000, 2), 1.02),
    "shifted": (people(20_000, 2, women=0.8), 1.02),
    "small": (people(300, 2), 1.1),
    "scrambled": (scrambled(people(20_000, 2)), 1.1),
}


@pytest.mark.parametrize(
    ("kind", "epsilon"),
    [("alike", "0.1"), ("alike", "10"), ("shifted", "1"), ("shifted", "10"), ("small", "10"), ("scrambled", "10")],
)
def test_a_public_blend_is_no_worse_than_the_public_table_or_measuring_alone(kind: str, epsilon: str) -> None:
    schema, secret = Schema.loads(SCHEMA), people(20_000, 1)
    relative, allowed = RELATIVES[kind]
    made, alone = (
        [released(name, secret, relative, epsilon, seed=s) for s in range(2)]
        for name in ("public_blend", "tree_blend")
    )
    here, there = (float(np.mean([error(secret, m, schema) for m in found])) for found in (made, alone))
    assert here < allowed * min(error(secret, relative, schema), there)
    assert not any(violations(schema, m).any() for m in made)


def test_two_copies_of_a_blend_differ() -> None:
    schema, secret, budget = Schema.loads(SCHEMA), people(2_000, 1), Budget("1", "1e-6")
    gate = StandInGate(
        Tariff(schema.coding, Guarantee(), budget.measure),
        budget,
        CodedTable.read(secret, schema),
        2_000,
        np.random.default_rng(0),
    )
    public = PublicData(schema)
    first, second = draw_copies(RECIPES["tree_blend"]().fit(gate, public), public, copies=2, seed=1).records
    assert not first.sort(pl.all()).equals(second.sort(pl.all()))


def test_a_public_blend_without_a_public_table_says_what_to_do() -> None:
    schema, budget = Schema.loads(SCHEMA), Budget("1", "1e-6")
    with pytest.raises(JobError, match="tree_blend"):
        RECIPES["public_blend"]().requests(
            Tariff(schema.coding, Guarantee(), budget.measure), budget, PublicData(schema)
        )


def test_shares_that_are_no_shares_are_refused() -> None:
    with pytest.raises(JobError, match="first_share"):
        RECIPES["tree_blend"](first_share=1.5)
    with pytest.raises(JobError, match="tail"):
        RECIPES["public_blend"](tail=-1.0)


WIDE = """
[columns.pay]
kind = "integer"
bins = { low = 0, high = 200, width = 2 }
[columns.age]
kind = "integer"
bins = { low = 0, high = 99, width = 1 }
[columns.sex]
kind = "categorical"
values = ["F", "M"]
"""


def test_two_wide_columns_are_measured_in_bands_and_their_correlation_is_kept() -> None:
    rng = np.random.default_rng(3)
    age = np.clip(rng.normal(45, 12, 8000), 18, 70)
    pay = np.clip(40 + 1.2 * (age - 45) + rng.normal(0, 9, 8000), 10, 110)
    frame = pl.DataFrame({"pay": pay.astype(int), "age": age.astype(int), "sex": np.where(age % 2 < 1, "F", "M")})
    schema = Schema.loads(WIDE)
    secret = CodedTable.read(frame, schema)
    tariff, asked = Tariff(schema.coding, Guarantee(), "zcdp"), list[Any]()
    gate = StandInGate(tariff, Budget("0.5", "1e-6"), secret, secret.rows, np.random.default_rng(1))
    measure = gate.measure

    def listening(questions: Any, *args: Any, **kwargs: Any) -> Any:
        asked.extend(questions)
        return measure(questions, *args, **kwargs)

    gate.measure = listening  # type: ignore[method-assign]
    made = draw_copies(RECIPES["tree_blend"]().fit(gate, PublicData(schema)), PublicData(schema), copies=1, seed=1)
    banded = [q for q in asked if q.tree and set(q.tree.columns) == {"pay", "age"}]
    assert banded and all(q.leaves < 1000 for q in banded)  # 10,000 cells would drown in noise
    drawn = made.records[0]
    assert np.corrcoef(drawn["pay"], drawn["age"])[0, 1] > 0.6  # truth 0.84; 0 where the pair is dropped
    assert int((drawn["pay"] > 160).sum()) < 8  # nobody is there; even noise would put some hundred there
