"""What a plan says of a table of counts: every recipe side by side, a warning, a figure; nothing is read."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.api.job import Job
from hedgerow.cli.main import app
from hedgerow.planning.tables import error_curves
from hedgerow.public.costs.accounting import Budget

EXAMPLE = Path(__file__).parents[3] / "examples" / "tabulate-ce"


@pytest.fixture
def ce(tmp_path: Path) -> Path:
    for name in ("dirichlet.toml", "integer.toml", "schema.toml"):  # and no confidential table
        (tmp_path / name).write_bytes((EXAMPLE / name).read_bytes())
    return tmp_path


def test_all_recipes_stand_side_by_side_in_text_and_json(ce: Path) -> None:
    for job in ("dirichlet", "integer"):
        said = CliRunner().invoke(app, ["plan", str(ce / f"{job}.toml")])
        assert said.exit_code == 0, said.output
        for name in ("integer_counts", "dirichlet_multinomial", "beta_binomial", "gamma_poisson"):
            assert name in said.output
    found = json.loads(CliRunner().invoke(app, ["plan", str(ce / "integer.toml"), "--json"]).stdout)
    forecasts = {f["recipe"]: f for f in found["tables_side_by_side"]}
    assert len(forecasts) == 4 and forecasts["integer_counts"]["chosen"]
    assert forecasts["beta_binomial"]["total_variation"] is None and "two cells" in forecasts["beta_binomial"]["note"]
    assert forecasts["gamma_poisson"]["prior_weight"] == forecasts["dirichlet_multinomial"]["prior_weight"]
    assert found["confidential_rows_read"] == 0


def test_the_warning_is_plain_and_grows_as_epsilon_falls(ce: Path) -> None:
    text = (ce / "dirichlet.toml").read_text("utf-8")
    said = {}
    for epsilon in ("0.1", "1", "3", "8"):
        (ce / "job.toml").write_text(text.replace("epsilon = 5", f"epsilon = {epsilon}"), "utf-8")
        said[epsilon] = CliRunner().invoke(app, ["plan", str(ce / "job.toml")]).output
    assert "mostly its prior: 98 %" in said["0.1"] and "mostly its prior: 78 %" in said["1"]
    assert "a good part prior: 24 %" in said["3"]
    assert "WARNING" not in said["8"]


def test_the_warning_says_for_how_many_rows_the_prior_has_its_weight(ce: Path) -> None:
    """Of rows that nobody declared as many are taken as are drawn: the share is that of such a table alone."""
    text = (ce / "dirichlet.toml").read_text("utf-8").replace("epsilon = 5", "epsilon = 1")
    for rows, said in (("", "taken to have 994 rows"), ("assumed_rows = 5000", "taken to have 5,000 rows")):
        (ce / "job.toml").write_text(text.replace("assumed_rows = 994", rows), "utf-8")
        (warning,) = {f.warning for f in Job.load(ce / "job.toml").plan().recipe_forecasts if f.chosen}
        assert said in warning


def test_the_figure_shows_error_against_epsilon_for_each_recipe(ce: Path) -> None:
    done = CliRunner().invoke(app, ["plan", str(ce / "dirichlet.toml"), "--figure", str(ce / "errors.svg")])
    assert done.exit_code == 0, done.output
    assert (ce / "errors.svg").stat().st_size > 2000
    table = Job.load(ce / "dirichlet.toml").plan().imagined
    assert table is not None
    curves = error_curves(table, [Budget(e) for e in ("0.1", "1", "10")], np.random.default_rng(0))
    for points in curves.values():
        assert [e for e, _ in points] == [0.1, 1.0, 10.0]
        assert sorted((d for _, d in points), reverse=True) == [d for _, d in points]
    assert all(a[1] < b[1] for a, b in zip(*curves.values(), strict=True)), "ours is closer at every epsilon"


def test_a_figure_that_cannot_be_drawn_is_refused(ce: Path) -> None:
    for name in ("errors.pdf", "nowhere/errors.svg"):
        done = CliRunner().invoke(app, ["plan", str(ce / "integer.toml"), "--figure", str(ce / name)])
        assert done.exit_code != 0


def test_the_plan_prints_alpha_and_says_which_table_its_errors_are_for(ce: Path) -> None:
    said = CliRunner().invoke(app, ["plan", str(ce / "dirichlet.toml")]).output
    assert "alpha = 6.742953 for every cell, the least that this epsilon allows for S = 994" in said
    assert "for a made-up table of 994 rows with shares 1, 1/2, 1/3, ...: no public table says more" in said
    found = json.loads(CliRunner().invoke(app, ["plan", str(ce / "dirichlet.toml"), "--json"]).stdout)
    assert "made-up" in found["side_by_side_on"]
    CliRunner().invoke(app, ["plan", str(ce / "dirichlet.toml"), "--figure", str(ce / "errors.svg")])
    assert "made-up table of 994 rows" in (ce / "errors.svg").read_text("utf-8")
    text = (ce / "dirichlet.toml").read_text("utf-8")
    (ce / "copies.toml").write_text(text.replace("size = 994", "size = 994\ncopies = 5"), "utf-8")
    assert "alpha = 33.714765" in CliRunner().invoke(app, ["plan", str(ce / "copies.toml")]).output


def test_what_a_refused_table_of_counts_is_told_to_write_is_accepted() -> None:
    answers = pl.DataFrame({"sex": ["F", "M"] * 50, "area": ["north", "south", "east", "west"] * 25})

    def plan(recipe: hr.recipes.AbstractRecipe, schema: hr.Schema) -> object:
        secret = hr.Confidential(answers.head(80), name="survey")
        known = hr.Public(answers, provenance="an earlier survey")
        return hr.Job(confidential=secret, public=known, schema=schema, budget=hr.Budget(1.0), recipe=recipe).plan()

    draft = hr.Schema.draft(answers)
    with pytest.raises(hr.errors.JobError, match=r"one number \(size = 5000\),\nor 'public'"):
        plan(hr.recipes.GammaPoisson(columns=["area"]), draft)
    plan(hr.recipes.GammaPoisson(columns=["area"], size="public"), draft)
    with pytest.raises(hr.errors.JobError, match="has 3: F, M, other.(.*\n)+.*name one of the values, other = 'F'"):
        plan(hr.recipes.BetaBinomial(column="sex", size="public"), draft)
    two = hr.Schema.loads(draft.dumps().replace('other = "other"', "other = 'F'", 1))
    plan(hr.recipes.BetaBinomial(column="sex", size="public"), two)
