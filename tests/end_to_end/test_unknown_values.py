"""Values that the schema does not know: foretold from what is public, and told by the records after the run."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hedgerow as hr
from tests.end_to_end.conftest import Command

JOB = """
[job]
recipe = "{recipe}"
formats = ["csv"]
{settings}
[schema]
file = "schema.toml"
[confidential]
table = "secret.csv"
{more}
[public]
table = "public.csv"
[budget]
epsilon = 10
"""
KINDS = {
    "guided_tree": "[guided_tree]\ncolumns = ['year']\n[target]\ntable = 'target.csv'",
    "independent": "",
    "tree_blend": "",
    "integer_counts": "[integer_counts]\ncolumns = ['sex', 'year']",
    "dirichlet_multinomial": "[dirichlet_multinomial]\ncolumns = ['sex', 'year']\nsize = 400",
    "careers": "[careers]\ntime = 'survey_year'",
}
MORE = {
    "guided_tree": "relation = 'label-change'\npublic_columns = ['sex', 'region']",
    "careers": "unit = 'person'\nperson = 'who'\nrows_per_person = 4",
}
ONE = "year has one value in the schema, 2004. Rows of the confidential table with any other would be counted"


def an_office(folder: Path, public_years: list[int], recipe: str = "independent") -> Path:
    """Tables of 400 rows, the confidential one of 2008 and 2009; the schema is still to be drafted."""
    sexes, regions = ["F", "M"] * 200, ["n", "s", "w", "e"] * 100
    for name, years in (("public", public_years), ("secret", [2009, 2008])):
        year = (years * 400)[:400]
        table = pl.DataFrame({"sex": sexes, "region": regions, "year": year})
        table.drop("year").write_csv(folder / "target.csv")
        if recipe == "careers":
            of = np.arange(400)
            table = table.with_columns(pl.Series("survey_year", of % 4 + 2016))
            table.write_csv(folder / f"columns of {name}.csv")
            table = table.with_columns(pl.Series("who", of // 4 + 1000))
        table.write_csv(folder / f"{name}.csv")
    job = folder / "job.toml"
    job.write_text(JOB.format(recipe=recipe, settings=KINDS[recipe], more=MORE.get(recipe, "")), "utf-8")
    return job


def test_a_column_of_one_value_is_warned_of_from_the_draft_to_the_run(
    hedgerow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job = an_office(tmp_path, [2004])
    drafted = hedgerow("schema", "init", "public.csv")
    assert "WARNING: the public table has one value only in year (2004)" in drafted.err
    assert "marked CHECK, 1 in all: year" in drafted.err
    text = (tmp_path / "schema.toml").read_text("utf-8")
    assert re.search(r"\[columns\.year\]\n# CHECK: one value only in all 400 rows", text)
    planned = hedgerow("plan", job)
    assert f"WARNING    {ONE}" in " ".join(planned.out.split()).replace("WARNING ", "WARNING    ")
    assert any(w.startswith(ONE) for w in json.loads(hedgerow("plan", job, "--json").out)["warnings"])
    asked = hedgerow("run", job)
    assert asked.code == 2 and "WARNING    year has one value in the schema, 2004" in asked.err
    assert "nothing was spent" in asked.err, "it is said before anything is paid"
    with pytest.warns(UserWarning, match="year has one value"):
        hr.Job.load(job).run(tmp_path / "release")


def test_years_that_the_schema_ends_with_are_said_before_the_run(
    hedgerow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job = an_office(tmp_path, list(range(1990, 2005)))
    hedgerow("schema", "init", "public.csv")
    said = "year is known from 1990 to 2004: rows beyond are counted as missing"
    planned = hedgerow("plan", job)
    assert f"outside    {said}" in planned.out and "WARNING" not in planned.out
    assert json.loads(hedgerow("plan", job, "--json").out)["outside"] == [said]
    assert f"Outside the schema: {said}." in hedgerow("run", job).err


@pytest.mark.parametrize("recipe", KINDS)
def test_a_release_says_in_which_columns_most_is_unknown(
    recipe: str, hedgerow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The share is that of the released records, and of no other column."""
    monkeypatch.chdir(tmp_path)
    job = an_office(tmp_path, [2003, 2004], recipe)
    hedgerow("schema", "init", "columns of public.csv" if recipe == "careers" else "public.csv")
    done = hedgerow("run", job, "--yes", "--no-forecast")
    assert done.code == 0
    release = hr.Release.read(tmp_path / "release")
    if release.holds_records:
        part, what = release.records["year"].is_null().mean(), "of the records have"
        assert set(release.records.columns) >= {"sex", "region", "year"}
    else:
        counts = release.counts
        assert counts is not None
        missing = counts.filter(~pl.col("year").cast(pl.String).is_in(["2003", "2004"]))
        part, what = int(missing["count"].sum()) / int(counts["count"].sum()), "of the sum of counts has"
    assert isinstance(part, float) and part > 0.5, "the case is what it should be"
    share = "All" if part == 1 else "Over 99 %" if part >= 0.995 else f"{100 * part:.0f}"
    (said,) = release.unknown
    assert said.startswith(share) and f"{what} no year: that is the cell for what is missing, and for values" in said
    assert said.endswith("The prior weight of the urns is in it, as in every cell.") == (
        recipe == "dirichlet_multinomial"
    )
    assert f"WARNING    {said}" in re.sub(r"\n {11}", " ", done.out)
    for page in ("report.html", "DATACARD.md"):
        assert said in (release.folder / page).read_text("utf-8").replace("\u00a0%", " %"), page
    assert hedgerow("verify", "release").code == 0


@pytest.mark.parametrize("recipe", ["guided_tree", "careers", "tree_blend"])
def test_a_public_table_that_does_not_fit_is_called_the_public_one(
    recipe: str, hedgerow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attached columns and careers read it with all of its columns, as a target is read."""
    monkeypatch.chdir(tmp_path)
    job = an_office(tmp_path, [2003, 2004], recipe)
    hedgerow("schema", "init", "columns of public.csv" if recipe == "careers" else "public.csv")
    schema = tmp_path / "schema.toml"
    schema.write_text(
        schema.read_text("utf-8").replace("low = 2003, high = 2004", "low = 2008, high = 2009"), "utf-8"
    )
    refused = hedgerow("plan", job)
    assert refused.code == 3 and refused.err.startswith("The public table") and "public.csv" in refused.err


def test_a_release_whose_values_are_known_says_nothing(
    hedgerow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job = an_office(tmp_path, [2008, 2009])
    hedgerow("schema", "init", "public.csv")
    done = hedgerow("run", job, "--yes", "--no-forecast")
    assert done.code == 0 and "WARNING" not in done.out + done.err
    assert hr.Release.read(tmp_path / "release").unknown == ()
    assert json.loads(hedgerow("run", job, "--resume", "--json").out)["unknown"] == []
