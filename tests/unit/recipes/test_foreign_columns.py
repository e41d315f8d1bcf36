"""``public_blend``: which public columns are about other people."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.answers import RecordedAnswers, StandInGate
from hedgerow.model.constants import PUBLIC_BLEND
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.gaussian import budget_for
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import PublicBlend, TreeBlend
from hedgerow.recipes.blend.axes import axes_of
from hedgerow.recipes.blend.noisy_tables import NoisyTables
from hedgerow.recipes.blend.public_prior import PublicPrior
from hedgerow.recipes.blend.trust import clipped_slope, regression
from hedgerow.records import draw_one

SCHEMA = Schema.loads(
    """
[columns.sex]
kind = "categorical"
values = ["F", "M"]
[columns.place]
kind = "categorical"
values = ["a", "b", "c", "d"]
[columns.pay]
kind = "integer"
bins = { low = 0, high = 100, width = 10 }
"""
)


def people(n: int, women: float, places: str, seed: int) -> CodedTable:
    rng = np.random.default_rng(seed)
    sex = np.where(rng.random(n) < women, "F", "M")
    pay = np.clip(rng.normal(np.where(sex == "F", 35, 60), 12), 0, 99).astype(int)
    return CodedTable.read(pl.DataFrame({"sex": sex, "place": rng.choice(list(places), n), "pay": pay}), SCHEMA)


def gap(table: pl.DataFrame) -> float:
    mean = dict(table.group_by("sex").agg(pl.col("pay").mean()).iter_rows())
    return float(mean["M"] - mean["F"])


def test_shares_that_crossed_one_half_do_not_make_a_column_foreign() -> None:
    """48 % women in the public table and 53 % here: what goes with sex is kept. Other places are other places."""
    public, secret = people(20_000, 0.48, "ab", 0), people(20_000, 0.53, "cd", 1)
    tariff, data = Tariff(SCHEMA.coding, Guarantee(), "pure"), PublicData(SCHEMA, public)
    gate = StandInGate(tariff, Budget("0.05"), secret, secret.rows, np.random.default_rng(2))
    made = draw_one(PublicBlend(rows=20_000).fit(gate, data), data, np.random.default_rng(3)).frame
    assert abs(gap(made) - gap(secret.frame)) < 0.2 * gap(secret.frame)
    assert made.filter(pl.col("place").is_in(["c", "d"])).height > 0.8 * made.height


NAMES = [f"c{i}" for i in range(9)]
CODES = 8


def chain(n: int, seed: int) -> dict[str, npt.NDArray[np.int64]]:
    """Nine columns with even shares, each like the one before it."""
    rng = np.random.default_rng(seed)
    level, found = rng.random(n), {}
    for name in NAMES:
        level = np.where(rng.random(n) < 0.75, level, rng.random(n))
        found[name] = (CODES * level).astype(int)
    return found


def off(made: pl.DataFrame, secret: Mapping[str, npt.NDArray[np.int64]], name: str) -> float:
    """The mean L1 distance of the pairs of one column."""
    apart = []
    for other in (n for n in NAMES if n != name):
        cells = [np.asarray(t[name]).astype(int) * CODES + np.asarray(t[other]).astype(int) for t in (made, secret)]
        shares = [np.bincount(c, minlength=CODES**2) / len(c) for c in cells]
        apart.append(np.abs(shares[0] - shares[1]).sum())
    return float(np.mean(apart))


def test_the_pairs_of_one_relabelled_column_are_taken_from_the_answers() -> None:
    """Its one-way table is right, so that only its pairs tell; the others lean on the public table as before."""
    schema = Schema.loads("".join(f'[columns.{n}]\nkind = "categorical"\nvalues = {[*map(str, range(CODES))]}\n'
                                  for n in NAMES))  # fmt: skip
    secret, public = chain(8000, 1), chain(8000, 0)
    public["c4"] = np.array([3, 6, 1, 4, 7, 2, 5, 0])[public["c4"]]
    data = PublicData(schema, CodedTable.read(pl.DataFrame(public), schema))
    found = {}
    for recipe in (TreeBlend(), PublicBlend()):
        target = CodedTable.read(pl.DataFrame(secret), schema)
        tariff, budget = Tariff(schema.coding, Guarantee(), "gdp"), budget_for("1", "1e-6", "gdp")
        gate = StandInGate(tariff, budget, target, target.rows, np.random.default_rng(2))
        answers = RecordedAnswers(tariff, budget, [], live=gate)
        found[recipe.name] = draw_one(recipe.fit(answers, data), data, np.random.default_rng(3)).frame
    said = PublicBlend().findings(RecordedAnswers(tariff, budget, answers.record), data)
    assert said[0].startswith("In c4 the answers do not bear the public table out: ")
    assert off(found["public_blend"], secret, "c4") < 1.05 * off(found["tree_blend"], secret, "c4")
    assert off(found["public_blend"], secret, "c8") < 0.95 * off(found["tree_blend"], secret, "c8")


def test_a_noisy_edge_of_the_tree_does_not_tie_a_foreign_column_to_all_others() -> None:
    """Nothing goes with the years here, and none is in the public table: noise alone would make them go together."""
    schema = Schema.loads("".join(f'[columns.{n}]\nkind = "categorical"\nvalues = {[*map(str, range(CODES))]}\n'
                                  for n in NAMES))  # fmt: skip
    secret, public = chain(8000, 1), chain(8000, 0)
    rng = np.random.default_rng(5)
    secret["c4"], public["c4"] = rng.integers(4, CODES, 8000), rng.integers(0, 4, 8000)
    data, target = (CodedTable.read(pl.DataFrame(t), schema) for t in (public, secret))
    known, tariff = PublicData(schema, data), Tariff(schema.coding, Guarantee(), "gdp")
    budget, noise = budget_for("0.1", "1e-6", "gdp"), np.random.default_rng(1)  # noise that makes such an edge
    gate = StandInGate(tariff, budget, target, target.rows, noise)
    made = draw_one(PublicBlend().fit(gate, known), known, np.random.default_rng(3)).frame
    assert off(made, secret, "c4") < 0.15


def surveys(n: int, waves: range, seed: int) -> tuple[Schema, CodedTable]:
    """A column of yes and no for each of six waves, six rows of no wave; three columns that go together in all."""
    rng = np.random.default_rng(seed)
    wave, level = rng.choice(waves, n), rng.integers(0, 5, n)
    wave[:6] = -1
    columns = {f"y{w}": np.where(wave == w, "1", "0") for w in range(6)}
    columns |= {c: np.where(rng.random(n) < 0.8, level, rng.integers(0, 5, n)).astype(str) for c in "abc"}
    said = {c: '["0", "1"]' if c.startswith("y") else '["0", "1", "2", "3", "4"]' for c in columns}
    schema = Schema.loads("".join(f'[columns.{c}]\nkind = "categorical"\nvalues = {v}\n' for c, v in said.items()))
    return schema, CodedTable.read(pl.DataFrame(columns), schema)


def test_waves_that_public_rows_do_not_know_leave_what_they_know_of_the_rest() -> None:
    """Each column of a wave has moved by a third only; raked to all at once, the rows of no wave would be all."""
    schema, public = surveys(6000, range(3), 0)
    _, secret = surveys(6000, range(3, 6), 1)
    axes = axes_of(schema, (), recipe="public_blend")
    tariff = Tariff(schema.coding, Guarantee(), "gdp")
    gate = StandInGate(tariff, budget_for("1", "1e-6", "gdp"), secret, secret.rows, np.random.default_rng(2))
    keys: list[tuple[int, ...]] = [*((i,) for i in range(9)), *combinations(range(9), 2)]
    answers = gate.measure([axes.question(k) for k in keys], gate.left)
    noisy = NoisyTables(axes, {k: [m] for k, m in zip(keys, answers, strict=True)}, 6000)
    found = PublicPrior(noisy, axes.rows(public)).without_unlike()
    weights = found.weights
    assert weights.sum() ** 2 / (weights**2).sum() > 0.02 * len(weights)
    said = found.findings[0].partition(" the answers")[0].removeprefix("In ").split(", ")
    assert said and not {"a", "b", "c"} & {*said}


def noisy_binaries(columns: int, rows: int) -> PublicPrior:
    """Two samples of the same people, every column two values that go with one hidden number; all pairs asked."""
    lines = (f'[columns.c{i}]\nkind = "categorical"\nvalues = ["0", "1"]\n' for i in range(columns))
    schema, rng = Schema.loads("".join(lines)), np.random.default_rng(4)

    def sample() -> CodedTable:
        common = rng.normal(size=(rows, 1))
        found = (common + 1.5 * rng.normal(size=(rows, columns)) > 0).astype(int).astype(str)
        return CodedTable.read(pl.DataFrame({f"c{i}": found[:, i] for i in range(columns)}), schema)

    public, secret, axes = sample(), sample(), axes_of(schema, (), recipe="public_blend")
    tariff = Tariff(schema.coding, Guarantee(), "gdp")
    gate = StandInGate(tariff, budget_for("1", "1e-6", "gdp"), secret, rows, np.random.default_rng(2))
    keys: list[tuple[int, ...]] = [*((i,) for i in range(columns)), *combinations(range(columns), 2)]
    weights = [Fraction(1, 2 * columns)] * columns + [Fraction(1, columns * (columns - 1))] * (len(keys) - columns)
    answers = gate.measure([axes.question(k) for k in keys], gate.left, weights=weights)
    return PublicPrior(NoisyTables(axes, {k: [m] for k, m in zip(keys, answers, strict=True)}), axes.rows(public))


def test_what_does_not_hang_on_columns_of_other_people_is_as_when_worked_out_anew() -> None:
    first = noisy_binaries(6, 500)
    assert first._regressed
    kept = first._with_unlike((2,))
    anew = PublicPrior(first.noisy, first.public, unlike=(2,))
    assert kept.margins is first.margins and kept._alone is first._alone
    assert kept.foreign == anew.foreign == [2]
    assert kept._regressed == anew._regressed
    assert all(np.array_equal(kept.estimates[k], table) for k, table in anew.estimates.items())


def test_of_many_columns_none_is_of_other_people_by_chance() -> None:
    """Every public pair is right, each answer tells next to nothing: of 200 columns some are off by 2.7 errors."""
    prior, rng, told = noisy_binaries(3, 100), np.random.default_rng(3), 2 / 199
    pairs = combinations(range(200), 2)
    vars(prior)["_regressed"] = {k: (told + told**0.5 * float(rng.normal()), told) for k in pairs}
    sums = [np.sum([s for k, s in prior._regressed.items() if i in k], axis=0) for i in range(200)]
    assert min(clipped_slope(*s) for s in sums) < PUBLIC_BLEND.unlike_trust  # so two would put one aside
    assert prior._least_like() == ()
    odd = {k: (0.0 if 7 in k else told, told) for k in prior._regressed}
    vars(prior)["_regressed"] = {k: (50 * a, 50 * b) for k, (a, b) in odd.items()}
    assert prior._least_like() == (7,)


def test_of_many_columns_none_loses_its_public_one_way_table_by_chance() -> None:
    """Every public one-way table is right, and noise is five times its counts: one slope is off by 2.5 errors."""
    many, size, rng = 44, 60, np.random.default_rng(2)
    prior = noisy_binaries(3, 100)
    said = [1000 * (0.5 + np.sin(np.linspace(0, 3, size))) for _ in range(many)]
    vars(prior)["said_alone"] = said
    vars(prior.noisy)["noisy_margins"] = [(m + rng.normal(0, 5000, size), 5000.0**2) for m in said]
    told = zip(said, prior.noisy.noisy_margins, strict=True)
    slopes = [clipped_slope(*regression(t, v, m, float(m.mean()))) for m, (t, v) in told]
    assert min(slopes) < 0.1  # so two standard errors would make that table an even one
    assert min(prior._margin_trust) == 1.0
    vars(prior).pop("_margin_trust")
    vars(prior.noisy)["noisy_margins"] = [(m[::-1] if i == 5 else m, 100.0) for i, m in enumerate(_leaning(said))]
    vars(prior)["said_alone"] = _leaning(said)
    assert [i for i, t in enumerate(prior._margin_trust) if t < 0.5] == [5]


def _leaning(tables: list[npt.NDArray[np.float64]]) -> list[npt.NDArray[np.float64]]:
    return [m * np.linspace(0.1, 1.9, len(m)) for m in tables]


def test_a_column_of_other_people_does_not_lend_its_drift_to_the_others() -> None:
    """No confidential row is of a public place; the other columns are alike, and noisy tables tell nothing new."""
    names = [f"c{i}" for i in range(12)]
    schema = Schema.loads(
        "".join(
            f'[columns.{n}]\nkind = "categorical"\nvalues = {[*map(str, range(20))]}\n' for n in ("place", *names)
        )
    )

    def rows(seed: int, places: range) -> CodedTable:
        rng = np.random.default_rng(seed)
        columns = {n: (20 * rng.random(4000) ** 2).astype(int) for n in names}
        return CodedTable.read(pl.DataFrame({"place": rng.choice(places, 4000), **columns}), schema)

    public, secret = rows(0, range(19)), rows(1, range(19, 20))
    axes = axes_of(schema, (), recipe="public_blend")
    tariff = Tariff(schema.coding, Guarantee(), "gdp")
    gate = StandInGate(tariff, budget_for("0.3", "1e-6", "gdp"), secret, secret.rows, np.random.default_rng(2))
    keys = [(i,) for i in range(13)]
    answers = gate.measure([axes.question(k) for k in keys], gate.left)
    noisy = NoisyTables(axes, {k: [m] for k, m in zip(keys, answers, strict=True)}, 4000)
    found, true, known = PublicPrior(noisy, axes.rows(public)), axes.rows(secret), axes.rows(public)
    at = axes.names.index("place")

    def off(table: npt.NDArray[np.float64], i: int) -> float:
        return float(np.abs(table - np.bincount(true[:, i], minlength=20)).sum())

    others = [i for i in range(13) if i != at]
    as_it_is = sum(off(np.bincount(known[:, i], minlength=20).astype(float), i) for i in others)
    assert sum(off(found.margins[i], i) for i in others) < 1.1 * as_it_is
    assert off(found.margins[at], at) < 0.1 * 4000


def test_days_after_all_public_days_are_of_other_people_though_public_days_are_even() -> None:
    """Even public shares fit any answer as well as equal shares do, so that trust tells nothing of them."""
    schema = Schema.loads(
        "".join(
            f'[columns.{n}]\nkind = "categorical"\nvalues = {[*map(str, range(40))]}\n' for n in ("day", "a", "b")
        )
    )

    def rows(seed: int, days: range) -> CodedTable:
        rng = np.random.default_rng(seed)
        a = (40 * rng.random(4000) ** 2).astype(int)
        b = np.where(rng.random(4000) < 0.8, a, rng.integers(0, 40, 4000))
        return CodedTable.read(pl.DataFrame({"day": rng.choice(days, 4000), "a": a, "b": b}), schema)

    public, secret = rows(0, range(40)), rows(1, range(39, 40))
    axes = axes_of(schema, (), recipe="public_blend")
    tariff = Tariff(schema.coding, Guarantee(), "gdp")
    gate = StandInGate(tariff, budget_for("0.3", "1e-6", "gdp"), secret, secret.rows, np.random.default_rng(2))
    keys: list[tuple[int, ...]] = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    answers = gate.measure([axes.question(k) for k in keys], gate.left)
    noisy = NoisyTables(axes, {k: [m] for k, m in zip(keys, answers, strict=True)}, 4000)
    found = PublicPrior(noisy, axes.rows(public))
    assert [axes.names[i] for i in found.foreign] == ["day"]
    assert found.weights.sum() ** 2 / (found.weights**2).sum() > 0.5 * len(found.weights)
