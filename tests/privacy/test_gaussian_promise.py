"""Promises in measures of their own, from the ledger to the pages: Gaussian noise alone, and one Gaussian part."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from hedgerow.api.job import Job
from hedgerow.errors import VerifyFailed
from hedgerow.ledger.book import BudgetExhausted, Ledger, LedgerEntry
from hedgerow.public.costs.accounting import Budget, Guarantee, noise_for
from hedgerow.public.costs.gaussian import BasicBudget, GaussianBudget
from hedgerow.recipes.dpsyn.budget import split_budget
from hedgerow.release.measurements import load
from hedgerow.steward import ledger_book
from tests.privacy.accounting_checks import check_gaussian
from tests.privacy.recipe_world import write_dpsyn
from tests.privacy.world import frame, write_job

_ROWS = (("F", "A", "5", "n", "me"), ("M", "B", "12", "s", "you"))


def test_the_run_its_statement_its_pages_and_its_ledger_say_one_measure(tmp_path: Path) -> None:
    path = write_job(tmp_path, Guarantee(), delta="1e-6")
    path.write_text(path.read_text("utf-8").replace("epsilon = 1.5", "epsilon = 1"), "utf-8")
    frame(_ROWS).write_csv(tmp_path / "secret.csv")
    job = Job.load(path)
    assert job.budget == GaussianBudget(1, "1e-6")
    release = job.run()
    said = json.loads((release.folder / "statement.json").read_text("utf-8"))
    assert (said["measure"], Fraction(said["total"])) == ("gdp", job.budget.total)
    assert 0.999 < said["spent_epsilon"] <= 1
    wide, zcdp = Budget(1, "1e-6"), len(said["events"][0]["asked"])
    before = noise_for(wide.total / zcdp, None, "zcdp", Guarantee()).scale
    assert all(
        a["law"] == "gaussian" and Fraction(a["scale"]) < before * Fraction(9, 10) for a in said["events"][0]["asked"]
    )
    assert "all noise is Gaussian" in (release.folder / "privacy-statement.md").read_text("utf-8")
    assert not release.verify().failed
    ledger_book.verify(job.ledger)
    assert ledger_book.booking_of(job.ledger, release.statement)
    with pytest.raises(VerifyFailed, match="in gdp, the statement in zcdp"):
        ledger_book.booking_of(job.ledger, replace(release.statement, budget=wide))


def test_a_ledger_whose_gaussian_promise_is_worth_more_does_not_hold(tmp_path: Path) -> None:
    budget = GaussianBudget(1, "1e-6")
    for name, total in (("good", budget.total), ("bad", budget.total * Fraction(1001, 1000))):
        ledger = Ledger.open(str(tmp_path / f"{name}.db"))
        told = type("Told", (GaussianBudget,), {"total": total}) if name == "bad" else GaussianBudget
        ledger.promise("pay", "run", told(1, "1e-6"), Guarantee())
        found: list[LedgerEntry] = list(ledger.entries())
        if name == "good":
            ledger_book.check(found)
        else:
            with pytest.raises(VerifyFailed, match="worth more than its epsilon"):
                ledger_book.check(found)


def test_no_other_law_passes_the_gate() -> None:
    check_gaussian()


def _paper(folder: Path, epsilon: str) -> Job:
    path = write_dpsyn(folder, Guarantee(), "two_way", variant="paper")
    settings = (
        path.read_text("utf-8").replace("epsilon = 1.5", f"epsilon = {epsilon}").replace("high = 0.01", "high = 25")
    )
    path.write_text(settings, "utf-8")
    frame(_ROWS * 40).write_csv(folder / "secret.csv")
    return Job.load(path)


@pytest.mark.parametrize("epsilon", ["0.045", "0.2", "1"])
def test_dpsyn_as_the_paper_has_it_runs_at_the_papers_own_noise(tmp_path: Path, epsilon: str) -> None:
    """Also where zCDP would have asked for more: Laplace epsilons add up, and the pairs have the delta."""
    job = _paper(tmp_path, epsilon)
    release = job.run()
    said = json.loads((release.folder / "statement.json").read_text("utf-8"))
    assert said["measure"] == "basic" and Fraction(said["spent"]) <= Fraction(epsilon)
    rows, groups, pairs = (e["asked"] for e in said["events"])
    noisy = load(release.folder / "measurements.parquet")[0][1].counts[0]
    split = split_budget(float(epsilon), delta=1e-6, theta=1, rows=float(noisy), rule=job.recipe.rule)  # type: ignore[attr-defined]
    assert split.regime == "two_way"
    due = split.scales(1, 1e-6, pairs=len(pairs))
    assert float(Fraction(rows[0]["scale"])) == pytest.approx(due["total_laplace"], rel=1e-9)
    assert float(Fraction(groups[0]["scale"])) == pytest.approx(due["group_laplace"], rel=1e-9)
    for pair in pairs:
        assert float(Fraction(pair["scale"])) ** 0.5 == pytest.approx(due["two_way_gaussian"], rel=1e-6)
    assert [e.get("delta") for e in said["events"]] == [None, None, "1/1000000"]
    assert "one request with Gaussian noise has the delta" in (release.folder / "privacy-statement.md").read_text(
        "utf-8"
    )
    assert "delta 0.000001 of 0.000001" in (release.folder / "report.html").read_text("utf-8")
    assert not release.verify().failed
    ledger_book.verify(job.ledger)
    assert ledger_book.booking_of(job.ledger, release.statement)


def test_a_forged_delta_does_not_hold(tmp_path: Path) -> None:
    """Neither in the statement, nor in the ledger."""
    job = _paper(tmp_path, "1")
    statement = job.run().statement
    last = statement.spends[-1]
    for wrong in (replace(last, delta=Fraction(0)), replace(last, delta=last.delta / 2)):
        with pytest.raises(VerifyFailed, match="was not paid for"):
            ledger_book.booking_of(job.ledger, replace(statement, spends=(*statement.spends[:-1], wrong)))
    ledger = Ledger.open(str(tmp_path / "other.db"))
    ledger.promise("pay", "run", BasicBudget(1, "1e-6"), Guarantee())
    ledger.spend("run", "first", Fraction(1, 4), "pairs", Fraction(1, 10**6))
    with pytest.raises(BudgetExhausted, match="delta"):
        ledger.spend("run", "second", Fraction(1, 4), "pairs", Fraction(1, 10**6))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hedgerow.ledger.book._sum", lambda entries, fact: Fraction(0))
        ledger.spend("run", "second", Fraction(1, 4), "pairs", Fraction(1, 10**6))
    with pytest.raises(VerifyFailed, match="less delta left"):
        ledger_book.check(list(ledger.entries()))
