"""A job whose noise is all Gaussian: its promise is in a measure of its own, from the ledger to the pages."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from hedgerow.api.job import Job
from hedgerow.errors import VerifyFailed
from hedgerow.ledger.book import Ledger, LedgerEntry
from hedgerow.public.costs.accounting import Budget, Guarantee, noise_for
from hedgerow.public.costs.gaussian import GaussianBudget
from hedgerow.steward import ledger_book
from tests.privacy.accounting_checks import check_gaussian
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
