"""Choosing on the confidential table: one line in the ledger, only the best run on disk, and what is refused."""

import json
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from hedgerow.errors import JobError
from hedgerow.experiment import choosing
from hedgerow.experiment.choosing import Choosing, carry_out, prepare
from hedgerow.ledger.book import Ledger
from hedgerow.ledger.exhausted import BudgetExhausted
from hedgerow.private import selection
from hedgerow.public.accounting import Budget
from hedgerow.public.stopping import Stopping
from hedgerow.release import measurements
from tests.end_to_end.conftest import Command
from tests.end_to_end.conftest import hedgerow as hedgerow
from tests.unit.experiment.world import write

FEW = Stopping("logarithmic", Fraction(1, 3))
RECIPE = '[[factor]]\nname = "recipe"\nset = "job.recipe"\nlevels = ["independent", "public_blend"]\n'


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    path = write(tmp_path, rows=800, confidential=True)
    text = path.read_text("utf-8")
    tables = text[text.index('[[measure]]\nname = "sex by race"') : text.index("[[finding]]")]
    path.write_text(f'[experiment]\njob = "job.toml"\n{RECIPE}{tables}', "utf-8")
    return path


def asked(grid: Path, epsilon: str = "4", stopping: Stopping = FEW) -> Choosing:
    return prepare(grid, epsilon=epsilon, stopping=stopping)


def test_the_best_run_leaves_with_its_answers_and_its_price(grid: Path, tmp_path: Path) -> None:
    facts = carry_out(asked(grid), tmp_path / "choice")
    names = {p.name for p in (tmp_path / "choice").iterdir()}
    assert names == {"choice.json", "measurements.parquet", "job.toml", "records.parquet"}
    assert facts == json.loads((tmp_path / "choice" / "choice.json").read_text("utf-8"))
    assert facts["chosen"]["recipe"] in ("independent", "public_blend")
    assert facts["epsilon_of_one_run"] == {"answers": 1.6, "score": 0.4}
    assert "runs" not in set(facts) and set(facts["stopping"]) == {"law", "gamma", "expected_runs"}
    answers = measurements.load(tmp_path / "choice" / "measurements.parquet")
    assert answers and pl.read_parquet(tmp_path / "choice" / "records.parquet").height > 0
    kinds = [e.kind for e in Ledger.open(str(tmp_path / "ledger.db")).entries()]
    assert kinds.count("promise") == kinds.count("spend") == kinds.count("draw") == 1


def test_settings_that_promise_different_things_are_not_compared(grid: Path, tmp_path: Path) -> None:
    """A recipe has a relation of its own where the job names none; all runs are priced under one."""
    grid.write_text(grid.read_text("utf-8").replace('"public_blend"', '"guided_tree"'), "utf-8")
    job = grid.with_name("job.toml")
    job.write_text(job.read_text("utf-8") + "\n[target]\ntable = 'target.csv'\n", "utf-8")
    with pytest.raises(JobError, match="must promise the same"):
        carry_out(asked(grid), tmp_path / "choice")
    assert not (tmp_path / "choice").exists() and not (tmp_path / "ledger.db").exists()


def test_with_enough_runs_and_budget_the_better_setting_is_found(
    grid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judged by pairs that the independent recipe never asks for; 14 runs miss a setting once in 16,000 times."""
    monkeypatch.setattr(selection, "number_of_runs", lambda stopping: 14)
    text = grid.read_text("utf-8").replace('columns = ["sex", "race"]', 'columns = ["occupation", "sex"]')
    grid.write_text(text, "utf-8")
    facts = carry_out(asked(grid, "400"), tmp_path / "choice")
    assert facts["chosen"] == {"recipe": "public_blend"}


def test_a_cap_stops_it_before_a_row_is_read(grid: Path, tmp_path: Path) -> None:
    Ledger.open(str(tmp_path / "ledger.db")).cap("personnel", Budget("3"))
    (tmp_path / "confidential.parquet").rename(tmp_path / "aside.parquet")
    pl.read_parquet(tmp_path / "aside.parquet").head(0).write_parquet(tmp_path / "confidential.parquet")
    with pytest.raises(BudgetExhausted):
        carry_out(asked(grid), tmp_path / "choice")
    assert not (tmp_path / "choice").exists()


def test_a_best_run_that_failed_says_so_in_fixed_words(
    grid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "choose_run", lambda *rest: selection.Chosen(0, -5, None))
    with pytest.raises(JobError, match="The best run failed"):
        carry_out(asked(grid), tmp_path / "choice")
    facts = json.loads((tmp_path / "choice" / "choice.json").read_text("utf-8"))
    assert facts["noisy_distance"] is None


WRONG = {
    "epsilon is a factor": ('set = "job.recipe"', 'set = "budget.epsilon"', "varies settings of recipes only"),
    "no tables": ('columns = ["sex", "race"]', 'model = "pay ~ sex"', "tables of counts"),
    "unknown column": ('columns = ["sex", "race"]', 'columns = ["sex", "rice"]', "rice"),
    "unknown recipe": ('"public_blend"', '"no_such"', "no recipe"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_chosen_is_refused_before_anything_is_read(grid: Path, tmp_path: Path, name: str) -> None:
    old, new, said = WRONG[name]
    text = grid.read_text("utf-8").replace(old, new, 1)
    if name == "epsilon is a factor":
        text = text.replace('levels = ["independent", "public_blend"]', "levels = [1.0, 2.0]")
    grid.write_text(text, "utf-8")
    (tmp_path / "confidential.parquet").unlink()
    with pytest.raises(JobError, match=said):
        asked(grid)
    assert not (tmp_path / "ledger.db").exists()


def test_stopping_laws_are_checked() -> None:
    with pytest.raises(JobError, match="gamma"):
        Stopping("logarithmic", Fraction(0))
    with pytest.raises(JobError, match="gamma"):
        Stopping("geometric", Fraction(3, 2))


def test_the_command_says_the_price_and_asks(grid: Path, tmp_path: Path, hedgerow: Command) -> None:
    given = ["experiment", grid, "--choose", "--epsilon", "4", "--runs", "2", "--out", tmp_path / "best"]
    assert hedgerow("experiment", grid, "--choose").code == 2
    assert hedgerow("experiment", grid, "--epsilon", "1").code == 2
    nobody = hedgerow(*given)
    assert nobody.code == 2 and "1.6 for its answers" in nobody.err and "nothing was spent" in nobody.err
    done = hedgerow(*given, "--yes", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["epsilon"] == 4.0
    assert hedgerow(*given, "--yes").code == 2  # there is something already
