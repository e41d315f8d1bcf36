"""Choosing on the confidential table: one line in the ledger, only the best run on disk, and what is refused."""

import json
import re
import shlex
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hedgerow.answers import Reply
from hedgerow.errors import JobError
from hedgerow.experiment import choosing
from hedgerow.experiment.choosing import Choosing, carry_out, prepare
from hedgerow.ledger.book import BudgetExhausted, Ledger, RunAccount
from hedgerow.private import selection
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.question import TOTAL, Measurement
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.costs.stopping import Stopping
from hedgerow.public.schema import Schema
from hedgerow.release import manifest, measurements
from hedgerow.release.verify import verify
from hedgerow.run_gate import Journal
from tests.end_to_end.conftest import ROWS, Command
from tests.end_to_end.conftest import hedgerow as hedgerow
from tests.jobs import loads
from tests.privacy.test_replay_attach import attach_job
from tests.privacy.world import SCHEMA, frame
from tests.unit.experiment.world import write

FEW = Stopping("logarithmic", Fraction(1, 3))
RECIPE = '[[factor]]\nname = "recipe"\nset = "job.recipe"\nlevels = ["independent", "public_blend"]\n'


def narrowed(folder: Path) -> Path:
    """A grid of two recipes, judged by one table."""
    path = write(folder, rows=800, confidential=True)
    text = path.read_text("utf-8")
    tables = text[text.index('[[measure]]\nname = "sex by race"') : text.index("[[finding]]")]
    path.write_text(f'[experiment]\njob = "job.toml"\n{RECIPE}{tables}', "utf-8")
    return path


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    return narrowed(tmp_path)


def asked(grid: Path, epsilon: str = "4", stopping: Stopping = FEW) -> Choosing:
    return prepare(grid, epsilon=epsilon, stopping=stopping)


def test_the_best_run_leaves_with_its_answers_and_its_price(grid: Path, tmp_path: Path) -> None:
    made = carry_out(asked(grid), tmp_path / "choice")
    names = {p.name for p in (tmp_path / "choice").iterdir()}
    texts = {"choice.json", "job.toml", "schema.toml", "README.md", "MANIFEST.json"}
    assert names == {*texts, "measurements.parquet", "records.parquet"}
    assert (tmp_path / "choice" / "choice.json").read_text("utf-8") == made.dumps()
    facts = made.to_json()
    assert facts["chosen"]["recipe"] in ("independent", "public_blend")
    assert facts["epsilon_of_one_run"] == {"answers": "8/5", "score": "2/5"}
    assert "runs" not in set(facts) and set(facts["stopping"]) == {"law", "gamma"}
    answers = measurements.load(tmp_path / "choice" / "measurements.parquet")
    assert answers and pl.read_parquet(tmp_path / "choice" / "records.parquet").height > 0
    entries = Ledger.open(str(tmp_path / "ledger.db")).entries()
    kinds = [e.kind for e in entries]
    assert kinds.count("promise") == kinds.count("spend") == kinds.count("draw") == 1
    booked = next(e for e in entries if e.kind == "spend")
    assert booked.facts["request"] == facts["ledger"]["request"] and booked.facts["run"] == facts["ledger"]["run"]
    assert facts["ledger"]["anchor"] == next(e.hash for e in entries if e.kind == "promise")


def test_the_job_of_the_best_run_says_its_own_budget_and_what_the_choice_cost(grid: Path, tmp_path: Path) -> None:
    made = carry_out(asked(grid), tmp_path / "choice")
    text = (tmp_path / "choice" / "job.toml").read_text("utf-8")
    assert "the choice cost epsilon 4: see choice.json" in text
    job = loads(text, tmp_path / "job.toml")
    assert job.budget == Budget("1.6") and job.recipe.name == made.run.recipe
    said = (tmp_path / "choice" / "README.md").read_text("utf-8")
    assert "cost epsilon 4**" in said
    assert "Records in this folder are synthetic in every column" in said or "the rows of “" in said


@pytest.fixture(scope="module")
def choice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("choice")
    carry_out(asked(narrowed(folder)), folder / "choice")
    return folder / "choice"


def held(folder: Path) -> dict[str, bool | None]:
    return {c.name: c.held for c in verify(folder)}


def test_a_reader_can_check_a_choice(choice: Path, hedgerow: Command) -> None:
    assert all(held(choice).values())
    said = hedgerow("verify", choice)
    assert said.code == 0 and "epsilon 4 = 2 x 2 (logarithmic law), among 2 settings" in said.out
    assert "The choice holds." in said.out


@pytest.mark.parametrize("named", [True, False])
def test_a_choice_of_attached_columns_holds_with_the_command_that_its_page_prints(
    named: bool, tmp_path: Path, hedgerow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the target alone says which columns are public."""
    frame(ROWS).write_csv(tmp_path / "secret.csv")
    given = Guarantee(relation="label-change", public_columns=("pay", "area"))
    job = attach_job(tmp_path, given, "guided_tree")
    if not named:
        job.write_text(re.sub(r"relation = .*\npublic_columns = .*\n", "", job.read_text("utf-8")), "utf-8")
    factor = '[[factor]]\nname = "prior"\nset = "guided_tree.prior"\nlevels = ["leaves", "none"]\n'
    measure = '[[measure]]\nname = "sex"\ncolumns = ["sex"]\n'
    (tmp_path / "grid.toml").write_text(f'[experiment]\njob = "job.toml"\n{factor}{measure}', "utf-8")
    carry_out(asked(tmp_path / "grid.toml"), tmp_path / "choice")
    monkeypatch.chdir(tmp_path / "choice")
    page = (tmp_path / "choice" / "README.md").read_text("utf-8")
    (command,) = re.findall(r"`hedgerow (verify [^`]+)`", page)
    assert command == "verify . --public ../public.csv --target ../target.csv"
    done = hedgerow(*shlex.split(command))
    assert done.code == 0, done.out
    for table in ("public.csv", "target.csv"):
        (tmp_path / table).unlink()
    assert hedgerow("verify", ".").code == 7 and "exit code 7" in page


def test_a_choice_is_held_against_the_ledger_it_was_paid_from(
    choice: Path, tmp_path: Path, hedgerow: Command
) -> None:
    book = choice.parent / "ledger.db"
    said = hedgerow("verify", choice, "--ledger", book)
    assert said.code == 0 and "ok     the ledger has it, at its price: entry 2: epsilon 4; 1 request paid" in said.out
    Ledger.open(str(tmp_path / "other.db")).cap("personnel", Budget("9"))
    other = hedgerow("verify", choice, "--ledger", tmp_path / "other.db")
    assert other.code == 6 and "FAILED the ledger has it" in other.out


TAMPERED = {
    "a smaller price": ("choice.json", '"epsilon": "4"', '"epsilon": "2"'),
    "another winner": ("choice.json", '"position": ', '"position": 1'),
    "another law": ("choice.json", '"law": "logarithmic"', '"law": "geometric"'),
    "less noise": ("choice.json", '"scale": "', '"scale": "1'),
    "another budget": ("job.toml", "epsilon = 1.6", "epsilon = 0.6"),
    "another recipe": ("job.toml", 'recipe = "', 'recipe = "dpsyn" # "'),
    "a cheaper page": ("README.md", "cost epsilon 4**", "cost epsilon 1**"),
    "another schema": ("schema.toml", "width = ", "width = 1"),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_a_choice_that_was_altered_does_not_hold(choice: Path, tmp_path: Path, how: str) -> None:
    """Also when whoever altered it wrote the manifest anew."""
    name, old, new = TAMPERED[how]
    shutil.copytree(choice, tmp_path / "c")
    text = (tmp_path / "c" / name).read_text("utf-8")
    assert old in text
    (tmp_path / "c" / name).write_text(text.replace(old, new, 1), "utf-8")
    assert not held(tmp_path / "c")["files are those of the manifest"]
    files = {p.name: manifest.facts_of(p) for p in (tmp_path / "c").iterdir() if p.name != manifest.NAME}
    (tmp_path / "c" / manifest.NAME).write_text(manifest.dumps(files), "utf-8")
    assert not all(held(tmp_path / "c").values()), how


def test_nothing_is_hidden_in_the_distance_or_the_order_of_a_choice(choice: Path, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    shutil.copytree(choice, folder)
    shutil.copy(choice.parent / "public.parquet", tmp_path / "public.parquet")
    text = (folder / "choice.json").read_text("utf-8")
    distance = f'"noisy_distance": {json.loads(text)["noisy_distance"]},'
    (folder / "choice.json").write_text(text.replace(distance, f'"noisy_distance": {10**400},'), "utf-8")
    pl.read_parquet(folder / "records.parquet").reverse().write_parquet(folder / "records.parquet")
    files = {p.name: manifest.facts_of(p) for p in folder.iterdir() if p.name != manifest.NAME}
    (folder / manifest.NAME).write_text(manifest.dumps(files), "utf-8")
    found = {c.name: c.held for c in verify(folder)}
    assert found.pop("price of the choice follows from its law") is False
    assert found.pop("records were drawn from the answers") is False, "the same libraries draw the same bytes"
    assert all(found.values()), found


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("notes.txt", "notes.txt does not belong in a choice"),
        ("statement-2.json", "statement-2.json does not belong in a choice"),
        ("-README.md", "README.md is missing"),
        ("-records.parquet", "neither records nor counts"),
    ],
)
def test_a_file_too_many_or_too_few_is_named(choice: Path, tmp_path: Path, wanted: str, said: str) -> None:
    """Also when it stands in the manifest, or was taken out of it."""
    folder = tmp_path / "c"
    shutil.copytree(choice, folder)
    if wanted.startswith("-"):
        (folder / wanted.removeprefix("-")).unlink()
    else:
        (folder / wanted).write_text("{}", "utf-8")
    files = {p.name: manifest.facts_of(p) for p in folder.iterdir() if p.name != manifest.NAME}
    (folder / manifest.NAME).write_text(manifest.dumps(files), "utf-8")
    (found,) = [c for c in verify(folder) if c.name == "files are those of the manifest"]
    assert not found.held and said in found.detail


def test_half_a_folder_does_not_hold(choice: Path, tmp_path: Path, hedgerow: Command) -> None:
    shutil.copytree(choice, tmp_path / "c")
    (tmp_path / "c" / "measurements.parquet").unlink()
    said = hedgerow("verify", tmp_path / "c")
    assert said.code == 6 and "The choice does NOT hold." in said.out and "Traceback" not in said.err


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
    made = carry_out(asked(grid, "400"), tmp_path / "choice")
    assert made.candidates[made.chosen].levels == {"recipe": "public_blend"}


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


def test_a_choice_cut_short_twice_is_read_from_the_files_that_it_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while the best run is saved, drawn again with fewer answers, killed before the release stands."""
    journal = Journal(tmp_path / "choice.run")
    tariff = Tariff(Schema.loads(SCHEMA).coding, Guarantee(), "pure")

    def answer(count: int) -> Reply:
        spend = tariff.measure_all([TOTAL], Fraction(1, 10))
        return Reply(spend, (Measurement(TOTAL, np.array([count]), spend.asked[0].noise),))

    with journal.held():
        assert journal.folder.stat().st_mode & 0o777 == 0o700, "an answer may lie here before it is marked"
        journal.start("run", "job")
        first, note = [answer(1), answer(2), answer(3)], Journal.note
        with monkeypatch.context() as killed, pytest.raises(KeyError):
            facts: dict[str, str] = {}
            killed.setattr(Journal, "note", lambda j, n, f: facts[n] if n == "choice.json" else note(j, n, f))
            choosing._save(journal, first[0].spend, selection.Chosen(0, 1, first))
        assert len([*journal.folder.glob("best-*.json")]) == 3
        choosing._save(journal, first[0].spend, selection.Chosen(1, 2, [answer(4)]))
        assert len([*journal.folder.glob("best-*.json")]) == 1, "what was thrown away is gone"
        journal.keep(1, answer(5), "best")  # nor is a file read that the choice does not list
        account = RunAccount(Ledger.open(str(tmp_path / "ledger.db")), table="t", run="run")
        monkeypatch.setattr(RunAccount, "mark", lambda *rest: None)
        found = choosing._saved(journal, account, first[0].spend)
    assert found is not None and found.candidate == 1
    assert [int(r.measurements[0].counts[0]) for r in found.made] == [4]


WRONG = {
    "epsilon is a factor": ('set = "job.recipe"', 'set = "budget.epsilon"', "varies settings of recipes only"),
    "no tables": ('columns = ["sex", "race"]', 'model = "pay ~ sex"', "tables of counts"),
    "unknown column": ('columns = ["sex", "race"]', 'columns = ["sex", "rice"]', "rice"),
    "unknown recipe": ('"public_blend"', '"no_such"', "no recipe"),
    "a draw from urns": ('"public_blend"', '"dirichlet_multinomial"', "draws from urns"),
    "settings that refuse": ('"public_blend"', '"integer_counts"', r"recipe = integer_counts\) cannot be run"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_chosen_is_refused_before_anything_is_read(grid: Path, tmp_path: Path, name: str) -> None:
    old, new, said = WRONG[name]
    text = grid.read_text("utf-8").replace(old, new, 1)
    if name == "a draw from urns":
        settings = '[dirichlet_multinomial]\ncolumns = ["sex", "race"]\nsize = 100\n'
        (tmp_path / "job.toml").write_text((tmp_path / "job.toml").read_text("utf-8") + settings, "utf-8")
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


def test_the_papers_own_sequence_can_be_chosen_among(tmp_path: Path) -> None:
    """Its second request relabels rows, which a run inside a choice must be able to ask for as well."""
    frame(ROWS * 5).write_csv(tmp_path / "secret.csv")
    attach_job(
        tmp_path, Guarantee(relation="label-change", public_columns=("pay", "area")), "random_trees, papers-2018"
    )
    levels = '[[factor]]\nname = "trees"\nset = "random_trees.trees"\nlevels = [1, 2]\n'
    table = '[[measure]]\nname = "sex by race"\ncolumns = ["sex", "race"]\n'
    (tmp_path / "grid.toml").write_text(f'[experiment]\njob = "job.toml"\n{levels}{table}', "utf-8")
    carry_out(asked(tmp_path / "grid.toml"), tmp_path / "choice")
    assert all(held(tmp_path / "choice").values())
    assert '"relabel"' in (tmp_path / "choice" / "choice.json").read_text("utf-8")
