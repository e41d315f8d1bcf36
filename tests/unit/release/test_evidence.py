"""Estimates in a report: what cannot be worked out is said, and stops no run that is paid for."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.errors import JobError
from hedgerow.inference import Estimate, EstimateTable
from hedgerow.public import Budget, Marginal, PublicData, Tariff, Tree
from hedgerow.release import commands, evidence
from hedgerow.release.bundle import read_bundle, write_bundle
from hedgerow.release.contents import Contents
from hedgerow.release.evidence import with_estimates
from hedgerow.uses import AbstractUse, Mean, Table, Verdict
from tests.unit.release.made import a_release

SEX, PAY = Table(["sex"], name="sexes", tolerance=0.1), Mean("pay", by=["agency"], name="pay", tolerance=5)


def _estimated(*uses: AbstractUse, **changes: Any) -> Contents:
    made = a_release(rows=300, verdicts=tuple(Verdict(u, None, None, "") for u in uses), **changes)
    return with_estimates(made, [m for _, m in made.answers], PublicData(made.schema, None, None, None), uses)


def _written(contents: Contents, folder: Path) -> str:
    """The report; the bundle reads back to the same estimates."""
    write_bundle(folder, contents)
    assert read_bundle(folder).estimates == contents.estimates
    return (folder / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    "wrong",
    [
        JobError("These rows\nare too few."),
        np.linalg.LinAlgError("Singular matrix"),
        ZeroDivisionError(),
        OverflowError(),
        FloatingPointError(),
        MemoryError(),
        KeyError("pay"),
        pl.exceptions.PanicException("a fault in another language"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_a_fault_in_one_use_is_said_and_the_others_are_kept(
    wrong: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = evidence.estimates

    def faulty(known: Any, use: AbstractUse, **options: Any) -> EstimateTable:
        if use is PAY:
            raise wrong
        return real(known, use, **options)

    monkeypatch.setattr(evidence, "estimates", faulty)
    found = _estimated(SEX, PAY)
    (pay,) = found.estimates.by_name["pay"]
    assert pay.estimate is None and pay.basis.startswith("This release cannot tell: ")
    said = "These rows are too few." if isinstance(wrong, JobError) else f"({type(wrong).__name__})"
    assert said in pay.basis
    assert all(e.estimate is not None for e in found.estimates.by_name["sexes"])
    if isinstance(wrong, JobError):
        assert said in _written(found, tmp_path / "release").partition('id="intervals"')[2]


def test_a_fault_before_any_use_is_said_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(evidence, "_rows", no_memory)
    found = _estimated(SEX, PAY).estimates
    assert [e.name for e in found] == ["sexes", "pay"] and all("MemoryError" in e.basis for e in found)


def test_figures_that_are_not_finite_are_refused_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wild(*_: Any, **__: Any) -> Iterator[Estimate]:
        parts = dict.fromkeys(("sampling", "noise", "recipe", "drawing"), 1.0)
        for group, high in (("a", np.inf), ("b", np.nan), ("c", 1e300), ("d", 2.0)):
            yield Estimate("pay", group, 1.0, -high, high, 0.95, parts, "From noise.")

    monkeypatch.setattr(evidence, "estimates", lambda *_, **__: EstimateTable(wild()))
    found = _estimated(PAY)
    assert [e.estimate for e in found.estimates] == [None, None, 1.0, 1.0]
    assert "its figures are not finite" in _written(found, tmp_path / "release")


def test_a_report_says_of_too_much_who_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = Mean("pay", by=["agency", "education", "sex"], name="many", tolerance=5)
    monkeypatch.setattr(evidence, "_MOST_GROUPS", 50)
    wide = Table(["age"], name="ages", tolerance=0.1)
    found = _estimated(SEX, many, wide).estimates.by_name
    assert "hedgerow estimate" in found["many"][0].basis and found["many"].in_short == "hedgerow estimate says"
    assert len(found["ages"]) == 40 and "Of 60 figures the 40 largest" in found["ages"].notes[0]
    monkeypatch.setattr(evidence, "_MOST_RECORDS", 300)
    found = _estimated(SEX, PAY).estimates.by_name
    assert all("The file has 303 rows" in found[n].notes[0] for n in ("sexes", "pay"))


@pytest.mark.parametrize(
    ("recipe", "delta", "again", "said"),
    [
        ("tree_blend", "1e-6", False, " Of a coefficient in a model of three columns and more it tells"),
        ("public_blend", "1e-6", False, "The public table was put aside. Of a coefficient in a model of three"),
        ("public_blend", "1e-6", True, ""),
        ("public_blend", "0", False, "Should the public table have been put aside"),
        ("guided_tree", "1e-6", False, "that was not declared as a use"),
    ],
)
@pytest.mark.parametrize("tried", [False, True])
def test_the_card_warns_where_replicates_tell_too_little(
    recipe: str, delta: str, again: bool, said: str, tried: bool
) -> None:
    """``public_blend`` asks a relative's pairs together with the one-way tables again; without one, pairs alone.

    Before either it may have tried the public relations, in questions of two counts.
    """
    budget = Budget("1", delta)
    made = a_release(rows=100, budget=budget)
    tariff = Tariff(made.schema.coding, made.statement.guarantee, budget.measure)
    ones, pair = [Marginal(("sex",)), Marginal(("agency",))], Marginal(("sex", "agency"))
    trial = [Marginal((), Tree.of(("sex", "agency"), 2, [0], [0], [-1, -2]))]
    asked = [ones, *([trial] if tried else []), [*ones, pair] if again else [pair], [*ones, pair]]
    spends = tuple(tariff.measure_all(q, budget.total / 4) for q in asked)
    job, statement = made.job.replace("made.by.hand", recipe), replace(made.statement, recipe=recipe, spends=spends)
    told = commands.replicates(replace(made, statement=statement, job=job))["holds"]
    assert said in told and ("far too little" in told) == bool(said)
    warned = commands.replicates_warning(replace(made, statement=statement, job=job))
    assert said in warned and bool(warned) == bool(said), "whoever makes them reads the same"
