"""A grid from end to end on the public table: tidy rows, figures, a page, and a stop in the middle."""

import json
from pathlib import Path

import polars as pl
import pytest

from hedgerow.api.job import Job
from hedgerow.counting.plan import CountPlan
from hedgerow.errors import JobError
from hedgerow.experiment import runs
from hedgerow.experiment.grid import Grid
from hedgerow.experiment.runs import GridStandIn, Progress, run_cell
from hedgerow.experiment.study import curve_section, experiment, page, person_epsilon
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public.costs.question import Marginal
from hedgerow.public.files import open_source
from hedgerow.public.toml import document
from hedgerow.simulate.personnel import personnel_schema
from tests.jobs import loads
from tests.unit.experiment.world import GRID, write


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def done(grid: Path) -> tuple[Path, list[Progress]]:
    seen: list[Progress] = []
    experiment(grid, workers=2, watch=seen.append)
    return grid.parent / "study", seen


def test_it_never_needs_a_confidential_table(done: tuple[Path, list[Progress]], grid: Path) -> None:
    assert not (grid.parent / "confidential.parquet").exists()
    assert not (grid.parent / "ledger.db").exists()
    assert "read no confidential row and cost nothing" in (done[0] / "README.md").read_text("utf-8")


def test_results_are_tidy_and_complete(done: tuple[Path, list[Progress]]) -> None:
    table = pl.read_parquet(done[0] / "results.parquet")
    names = [
        "epsilon",
        "recipe",
        "seed",
        "measure",
        "term",
        "at",
        "authentic",
        "synthetic",
        "error",
        "seconds",
        "note",
    ]
    assert table.columns == names
    model = table.filter(pl.col("measure") == "pay model")
    assert model.height == 4 * 2 * 2 * 4  # cells, seeds, coefficients, years
    assert sorted(model["at"].unique()) == ["2001", "2002", "2003", "2004"]
    assert set(model["term"]) == {"sex[F]", "race[D]"}
    assert table["error"].is_finite().all() and (table["note"] == "").all()
    assert model.group_by("seed", "term", "at").agg(pl.col("authentic").n_unique())["authentic"].max() == 1


def test_progress_tells_how_much_is_left(done: tuple[Path, list[Progress]]) -> None:
    seen = done[1]
    assert [p.done for p in seen] == list(range(9)) and {p.total for p in seen} == {8}
    assert seen[0].left is None and seen[-1].left == 0
    assert str(Progress(3, 8, 125.2)) == "3 of 8 runs done, about 2 min 05 s left"


def test_figures_and_effects_are_written(done: tuple[Path, list[Progress]]) -> None:
    figures = {p.name for p in (done[0] / "figures").iterdir()}
    assert figures == {"01-epsilon-by-recipe.svg", "what-matters-pay-model.svg", "what-matters-sex-by-race.svg"}
    drawn = (done[0] / "figures" / "01-epsilon-by-recipe.svg").read_text("utf-8")
    assert "stroke-dasharray" in drawn
    effects = pl.read_csv(done[0] / "effects.csv")
    assert set(effects["effect"]) == {"epsilon", "recipe", "epsilon x recipe"}


def test_a_second_call_runs_nothing_and_a_changed_level_runs_only_what_is_new(
    done: tuple[Path, list[Progress]], grid: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[object] = []
    original = runs.run_to_file

    def run_to_file(*args: object) -> None:
        ran.append(args[1:3])
        original(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(runs, "run_to_file", run_to_file)
    first = experiment(grid, workers=1).results
    assert ran == []
    one = next((done[0] / "cells").glob("*.parquet"))
    one.unlink()
    (done[0] / "cells" / "killed.parquet.123.part").write_bytes(b"half")
    again = experiment(grid, workers=1).results
    assert len(ran) == 1
    assert again.drop("seconds").equals(first.drop("seconds"))
    text = grid.read_text("utf-8")
    other = grid.with_name("other.toml")
    other.write_text(
        text.replace("levels = [0.05, 20.0]", "levels = [0.05, 30.0]").replace(
            "of = [0.05, 20.0]", "of = [0.05, 30.0]"
        ),
        "utf-8",
    )
    ran.clear()
    experiment(other, workers=1)
    assert len(ran) == 4


def test_a_run_does_not_depend_on_who_ran_before_it(grid: Path) -> None:
    tables = GridStandIn(Grid.load(grid))
    one = run_cell(tables, (1, 1), 1)
    run_cell(tables, (0, 0), 0)
    two = run_cell(tables, (1, 1), 1)
    assert one.drop("seconds").equals(two.drop("seconds"))


def test_halves_share_no_person_and_no_row(grid: Path) -> None:
    tables = GridStandIn(Grid.load(grid))
    (one, mine, other), (two, *_) = tables.halves(0), tables.halves(1)
    assert one.rows + other.rows == tables.public.rows
    person = tables.prepared.person
    assert mine is not None and person is not None
    mine_counts, all_counts = (
        s.value_counts().sort("person") for s in (mine.alias("person"), person.alias("person"))
    )
    assert mine_counts.equals(all_counts.filter(pl.col("person").is_in(mine.unique().implode()))), "persons are whole"
    assert not one.frame.equals(two.frame)


def test_a_setting_that_the_recipe_refuses_is_a_result(tmp_path: Path) -> None:
    path = write(tmp_path, recipe="tree_blend")
    text = path.read_text("utf-8")
    start, end = text.index("[[factor]]"), text.index("[[measure]]")
    factor = '[[factor]]\nname = "first"\nset = "tree_blend.first_share"\nlevels = [0.2, 2.0]\n'
    path.write_text(text[:start] + factor + text[end : text.index("[[finding]]")], "utf-8")
    study = experiment(path, workers=1)
    assert study.failed == 2
    assert "first_share" in study.results.filter(pl.col("note") != "")["note"][0]
    assert json.dumps(study.to_json(), default=str)
    assert "2 runs were refused, the first with: " in study.refusals and "first_share" in study.refusals
    assert "No run is left with first = 2.0" in study.refusals
    assert study.refusals in (path.parent / "study" / "README.md").read_text("utf-8")


WRONG = {
    "no such factor": ('factors = ["epsilon"]', 'factors = ["epsilom"]', "epsilom"),
    "promise varied": ('set = "budget.epsilon"', 'set = "confidential.relation"', "promise is not varied"),
    "one level": ("levels = [0.05, 20.0]", "levels = [0.05]", "levels"),
    "no such coefficient": ('"sex[F]", ', '"sex[X]", ', r"sex\[X\]"),
    "unknown key": ("seeds = 2", "sedes = 2", "sedes"),
    "bad model": ("ln(pay) ~ sex", "ln(pay) sex", "cannot be read"),
    "unknown column": ('columns = ["sex", "race"]', 'columns = ["sex", "rice"]', "rice"),
    "taken name": ('name = "recipe"', 'name = "error"', "cannot be called 'error'"),
    "unknown setting": ('"budget.epsilon"', '"budget.epsillon"', "did you mean 'epsilon'"),
    "unknown table": ('"budget.epsilon"', '"bugdet.epsilon"', "did you mean 'budget'"),
    "unknown recipe": (
        '"independent", "public_blend"',
        '"independent", "publik_blend"',
        "did you mean 'public_blend'",
    ),
    "unused recipe": ('"budget.epsilon"', '"tree_blend.first_share"', "no cell uses the recipe tree_blend"),
    "unknown level": ('measure = "sex by race"\n', 'measure = "sex by race"\nat = { recipe = "x" }\n', "no level"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_show_before_the_first_run(tmp_path: Path, name: str) -> None:
    old, new, said = WRONG[name]
    path = write(tmp_path, rows=200)
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(JobError, match=said) as refusal:
        experiment(path, workers=1)
    assert "nothing was spent" in str(refusal.value) or name == "unknown column"
    assert not (tmp_path / "study" / "cells").exists()


def test_the_confidential_table_cannot_be_the_stand_in(tmp_path: Path) -> None:
    path = write(tmp_path, rows=200, confidential=True)
    text = path.read_text("utf-8").replace("seeds = 2", 'seeds = 2\nstand_in = "confidential.parquet"')
    path.write_text(text, "utf-8")
    with pytest.raises(JobError, match="confidential table itself"):
        experiment(path, workers=1)


def test_the_job_of_a_cell_is_a_job_file_that_says_the_same(grid: Path) -> None:
    loaded = Grid.load(grid)
    job = loads(document(loaded.job_tables((0, 1))), loaded.job_path)
    assert loaded.job_of((0, 1)) == job
    assert job.recipe.name == "public_blend" and float(job.budget.epsilon) == 0.05
    data = {"a": 1, "t": {"x": [1, "two"], "in": {"y z": True}}, "l": [{"k": 1.5}, {"k": "\u00e9"}]}
    import tomllib

    assert tomllib.loads(document(data)) == data


def test_settings_of_a_recipe_leave_cells_of_other_recipes_alone(tmp_path: Path) -> None:
    path = write(tmp_path, rows=200)
    text = path.read_text("utf-8").replace('set = "budget.epsilon"\nlevels = [0.05, 20.0]', "{set}", 1)
    path.write_text(text.replace("{set}", 'set = "public_blend.tail"\nlevels = [0.05, 20.0]'), "utf-8")
    loaded = Grid.load(path)
    assert "public_blend.tail" in loaded.settings((1, 0))
    assert loaded.job_of((1, 0)).recipe.name == "independent"
    assert loaded.job_tables((1, 1))["public_blend"] == {"tail": 20.0}


COUNTED = """
[integer_counts]
columns = ["sex", "race"]
[dirichlet_multinomial]
columns = ["sex", "race"]
size = 500
"""


def counted(folder: Path, recipes: str) -> Path:
    """A grid whose cells are tables of counts, or some of them."""
    path = write(folder, recipe="integer_counts")
    (folder / "job.toml").write_text((folder / "job.toml").read_text("utf-8") + COUNTED, "utf-8")
    path.write_text(path.read_text("utf-8").replace('["independent", "public_blend"]', recipes), "utf-8")
    return path


def test_tables_of_counts_are_measured_like_records(tmp_path: Path) -> None:
    path = counted(tmp_path, '["integer_counts", "dirichlet_multinomial", "independent"]')
    text = path.read_text("utf-8")
    model = text[text.index('[[measure]]\nname = "pay model"') : text.index('[[measure]]\nname = "sex by race"')]
    path.write_text(text.replace(model, ""), "utf-8")
    study = experiment(path, workers=1)
    assert study.failed == 0 and study.verdicts[0].held
    best = {r: e for r, e in study.results.group_by("recipe").agg(pl.col("error").min()).rows()}
    assert best["integer_counts"] < best["independent"] < best["dirichlet_multinomial"] < 0.1


def test_a_model_in_a_table_of_counts_is_refused_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="no model can be fitted: leave 'pay model' out"):
        experiment(counted(tmp_path, '["integer_counts", "dirichlet_multinomial"]'), workers=1)


def test_a_level_can_be_a_multiple_of_another_setting(tmp_path: Path) -> None:
    path = write(tmp_path, rows=200)
    text = path.read_text("utf-8").replace(
        "levels = [0.05, 20.0]\n", 'levels = [0.05, 20.0]\ntimes = "confidential.rows_per_person"\n', 1
    )
    path.write_text(text, "utf-8")
    assert Grid.load(path).settings((0, 0))["budget.epsilon"] == 0.2


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_an_experiment_counts_the_rows_that_a_gate_counts(tmp_path: Path, suffix: str) -> None:
    """Rows that name no person do not count, and a name with blanks around it is the same name."""
    path, who = write(tmp_path, rows=400), pl.col("person").cast(pl.String)
    place = pl.int_range(pl.len()) % 7
    named = pl.when(place == 0).then(None).when(place == 1).then(pl.lit("  ")).when(place == 2).then(" " + who)
    table = pl.read_parquet(tmp_path / "public.parquet").with_columns(person=named.otherwise(who))
    table = pl.concat([table, table, table, table])  # so that the cap of four rows bites
    getattr(table, f"write_{suffix}")(tmp_path / f"other.{suffix}")
    path.write_text(GRID.replace("seeds = 2", f'seeds = 2\nstand_in = "other.{suffix}"'), "utf-8")
    stage = GridStandIn(Grid.load(path))
    counted = stage.parts(0, stage.schema)[0].counted
    rows = ConfidentialRows(open_source(tmp_path / f"other.{suffix}"), stage.schema.coding, stage.job.guarantee)
    question = Marginal(("sex", "race"))
    (gate,) = rows.count(CountPlan([question], stage.schema.coding))
    assert 0 < gate.sum() == counted.rows < 5 * table.height // 7
    codes = counted.codes(question.columns)
    assert CountPlan([question], stage.schema.coding).count(codes).tolist() == gate.tolist()


def test_levels_have_names_errors_a_curve_and_settings_a_price(tmp_path: Path) -> None:
    grid = write(tmp_path, recipe="public_blend")
    named = 'levels = [0.05, 1, 20.0]\nlabels = ["low", "one", "high"]'
    text = grid.read_text("utf-8").replace("levels = [0.05, 20.0]", named)
    text = text.replace("of = [0.05, 20.0]", 'of = ["low", "high"]')
    text = text.replace("seeds = 2", "seeds = 2\ntolerance = 0.2")
    text += """
[[figure]]
measure = "sex by race"
against = "epsilon"
lines = "recipe"
[[figure]]
lines = "epsilon"
at = { recipe = "independent" }
"""
    grid.write_text(text, "utf-8")
    study = experiment(grid, workers=1)
    assert study.verdicts[0].held is not None
    drawn = {p.name: p.read_text("utf-8") for p in (study.grid.out / "figures").glob("0*.svg")}
    curve = drawn["01-epsilon-by-recipe.svg"]
    assert "mean error against epsilon" in curve and "recipe = independent: least" in curve
    assert "epsilon = low" in drawn["02-epsilon.svg"] and "epsilon = 0.05" not in drawn["02-epsilon.svg"]
    _, least = curve_section(study.grid, study.grid.file.figure[0], "sex by race", study.results)
    runs = study.results.filter((pl.col("measure") == "sex by race") & (pl.col("recipe") == "independent"))
    means = dict(runs.group_by("epsilon").agg(pl.col("error").mean()).iter_rows())
    assert least["recipe = independent"] == pytest.approx((min(means, key=means.__getitem__), min(means.values())))
    ranked = study.cheapest("sex by race")
    assert ranked and [r["epsilon_of_a_person"] for r in ranked] == sorted(r["epsilon_of_a_person"] for r in ranked)
    assert all(r["error"] <= 0.2 for r in ranked) and "the least total epsilon of a person first" in page(study, [])


def test_a_record_in_every_year_costs_a_person_every_year(tmp_path: Path) -> None:
    job = (Path(__file__).parents[3] / "examples/rdt-2019/trees.toml").read_text("utf-8")
    (tmp_path / "schema.toml").write_text(personnel_schema(years=(1988, 1996, 2003, 2011)), "utf-8")
    job = job.replace("public_columns = [", 'public_columns = ["grade", "supervisory", ')
    (tmp_path / "job.toml").write_text(job, "utf-8")
    assert person_epsilon(Job.load(tmp_path / "job.toml")) == 4 * 0.75
    person = job.replace("relation =", 'unit = "person"\nperson = "person"\nrows_per_person = 4\nrelation =')
    (tmp_path / "job.toml").write_text(person, "utf-8")
    assert person_epsilon(Job.load(tmp_path / "job.toml")) == 0.75


def test_a_curve_is_drawn_against_numbers(tmp_path: Path) -> None:
    grid = write(tmp_path)
    grid.write_text(grid.read_text("utf-8") + '[[figure]]\nagainst = "recipe"\n', "utf-8")
    with pytest.raises(JobError, match="against recipe, whose levels are not numbers"):
        experiment(grid)
