"""Distances of tables of counts, against slow computations by other means."""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hedgerow.evaluate.base import DoesNotApply
from hedgerow.evaluate.cells import Cells, every_cells, expected_distance, joint_cells, like_sample
from hedgerow.evaluate.marginals import KMarginal, OneWayDistance, ThreeWayDistance, TwoWayDistance
from hedgerow.evaluate.panels import JointProportions, JointScatter
from hedgerow.evaluate.small_groups import RareCells, SmallGroups
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, shares, total_variation
from tests.unit.evaluate import tables
from tests.unit.evaluate.tables import needs_shared

RNG = np.random.default_rng(0)


def coded(table: CodedTable, names: list[str]) -> pd.DataFrame:
    return pd.DataFrame({n: table.codes([n])[n] for n in names})


def slow_distance(a: pd.DataFrame, b: pd.DataFrame, columns: list[str]) -> float:
    p, q = (f.groupby(columns).size() / len(f) for f in (a, b))
    return float(p.subtract(q, fill_value=0).abs().sum() / 2)


@needs_shared
@pytest.mark.parametrize(("metric", "ways"), [(OneWayDistance, 1), (TwoWayDistance, 2), (ThreeWayDistance, 3)])
def test_marginal_distances_are_those_of_groupby(metric: Any, ways: int) -> None:
    a, b, schema = tables.adult()
    names = ["sex", "race", "education-num", "relationship", "age"]
    one, other = coded(a, names), coded(b, names)
    slow = {" x ".join(s): slow_distance(one, other, list(s)) for s in combinations(names, ways)}
    found = metric(columns=tuple(names)).of(a, b, rng=RNG)
    got = dict(zip(found.table["table"], found.table["distance"], strict=True))
    assert got == pytest.approx(slow, abs=1e-12)
    assert found.value == pytest.approx(np.mean(list(slow.values())))


@needs_shared
def test_k_marginal_on_acs_ma_is_the_slow_reference() -> None:
    a, b, schema = tables.massachusetts()
    names = [c.name for c in schema.columns if c.name != "PUMA" and c.size > 1]
    one, other = (coded(t, [*names, "PUMA"]) for t in (a, b))
    pairs = [list(p) for p in combinations(names, 2)]
    overall = np.mean([(2 - 2 * slow_distance(one, other, p)) * 500 for p in pairs])
    total: Any = 0.0
    for columns in pairs:
        within = []
        for frame in (one, other):
            counts = frame.groupby(["PUMA", *columns]).size()
            within.append(counts / counts.groupby("PUMA").transform("sum"))
        total = total + within[0].subtract(within[1], fill_value=0).abs().groupby("PUMA").sum()
    groups = (2 - total / len(pairs)) * 500
    found = KMarginal(group=("PUMA",)).of(a, b, rng=RNG)
    labels = schema.cell_labels("PUMA")
    got = dict(zip(found.table["group"], found.table["score"], strict=True))
    assert found.parts["pooled"] == pytest.approx(overall, abs=1e-9)
    assert got == pytest.approx({labels[k]: v for k, v in groups.items()}, abs=1e-9)
    assert found.value == pytest.approx(groups.mean()), "the headline is the mean of the groups, as NIST's"
    assert found.table["score"].is_sorted()


def test_sparse_and_dense_counting_agree() -> None:
    a, b, schema = tables.pair()
    names = ("year", "sex", "race", "supervisory")
    dense = next(every_cells(a, b, [names]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hedgerow.evaluate.cells.DENSE", 10)
        sparse = joint_cells(a, b, names)

    def as_dict(cells: Cells) -> dict[tuple[int, ...], tuple[int, int]]:
        return {tuple(k): (int(x), int(y)) for k, x, y in zip(cells.codes.tolist(), cells.a, cells.b, strict=True)}

    assert as_dict(dense) == as_dict(sparse)
    assert dense.a.sum() == a.rows


def test_panel_a_shows_the_shares_of_sex_race_and_a_third_column() -> None:
    a, b, schema = tables.pair()
    found = JointProportions(columns=("sex", "race", "year")).of(a, b, rng=RNG)
    frame = coded(a, ["sex", "race", "year"])
    top = frame.groupby(["sex", "race", "year"]).size().sort_values(ascending=False) / len(frame)
    assert found.table["a"][0] == pytest.approx(top.iloc[0])
    names = [schema.cell_labels(c)[k] for c, k in zip(("sex", "race", "year"), top.index[0], strict=True)]
    assert found.table["category"][0] == ", ".join(names)
    assert found.figures[0].kind == "bars"


def test_panel_b_is_the_correlation_over_cells_in_use() -> None:
    a, b, schema = tables.pair()
    names = ["sex", "race", "education", "supervisory"]
    p, q = (coded(t, names).groupby(names).size() / t.rows for t in (a, b))
    both = pd.concat([p, q], axis=1).fillna(0)
    found = JointScatter(columns=tuple(names)).of(a, b, rng=RNG)
    assert found.value == pytest.approx(np.corrcoef(both[0], both[1])[0, 1])
    assert found.parts["categories"] == len(both)


def test_the_null_of_a_distance_is_what_two_samples_show() -> None:
    rng = np.random.default_rng(1)
    p = np.array([0.5, 0.3, 0.15, 0.04, 0.01])
    seen = [total_variation(*(shares(rng.multinomial(n, p)) for n in (800, 500))) for _ in range(600)]
    assert expected_distance(p, 800, 500) == pytest.approx(np.mean(seen), rel=0.06)


def test_like_a_sample_says_the_share_whose_sample_errs_as_much() -> None:
    rng = np.random.default_rng(2)
    population = rng.multinomial(20_000, [0.4, 0.3, 0.2, 0.1])
    rows = np.repeat(np.arange(4), population)
    p = shares(population)
    for share in (0.1, 0.5):
        size = int(share * len(rows))
        errors = [
            total_variation(p, shares(np.bincount(rng.choice(rows, size, replace=False), minlength=4)))
            for _ in range(150)
        ]
        assert like_sample(float(np.mean(errors)), p, len(rows)) == pytest.approx(share, rel=0.2)


def test_rare_cells_are_counted_by_their_size_in_a() -> None:
    schema = Schema.loads(
        "\n".join(f'[columns.{c}]\nkind = "categorical"\nvalues = ["x", "y", "z"]' for c in ("one", "two"))
    )
    import polars as pl

    a = pl.DataFrame({"one": ["x"] * 60 + ["y"] * 8 + ["z"] * 2, "two": ["x"] * 60 + ["y"] * 8 + ["z"] * 2})
    b = pl.DataFrame({"one": ["x"] * 30 + ["y"] * 40, "two": ["x"] * 30 + ["y"] * 39 + ["z"]})
    found = RareCells().of(tables.table(a, schema), tables.table(b, schema), rng=RNG)
    rows = {r["rows_in_a"]: r for r in found.table.iter_rows(named=True)}
    assert rows["20 to 99"]["relative_error"] == pytest.approx(0.5)  # 60 becomes 30
    assert rows["5 to 19"]["relative_error"] == pytest.approx(31 / 8)  # 8 becomes 39
    assert rows["1 to 4"]["vanished"] == 1
    assert found.parts["in_b_only"] == 1
    assert found.value == pytest.approx((0.5 + 31 / 8) / 2)


def test_small_groups_are_judged_within_themselves() -> None:
    a, b, schema = tables.pair()
    found = SmallGroups(group="agency", small=10_000).of(a, b, rng=RNG)
    one, other = (coded(t, ["agency", "sex"]) for t in (a, b))
    first = found.table.row(0, named=True)
    code = schema.cell_labels("agency").index(first["group"])
    assert first["a_rows"] == int((one.agency == code).sum())
    only_sex = SmallGroups(group="agency", small=10_000)
    few = [c for c in schema.columns if c.name in ("agency", "sex")]
    narrow = Schema(tuple(few))
    got = only_sex.of(tables.table(a.frame, narrow), tables.table(b.frame, narrow), rng=RNG)
    row = next(r for r in got.table.iter_rows(named=True) if r["group"] == first["group"])
    mine = slow_distance(one[one.agency == code], other[other.agency == code], ["sex"])
    assert row["distance"] == pytest.approx(mine)


def test_a_metric_says_why_it_does_not_apply() -> None:
    a, b, schema = tables.pair()
    with pytest.raises(DoesNotApply, match="height"):
        OneWayDistance(columns=("height",)).of(a, b, rng=RNG)
    with pytest.raises(DoesNotApply, match="fewer than 2"):
        TwoWayDistance(columns=("sex",)).of(a, b, rng=RNG)
