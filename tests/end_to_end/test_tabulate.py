"""Tables of counts through the whole road: the example of the lecture, copies, groups, odd tables, the steward."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from hedgerow.api.job import Job
from hedgerow.cli.main import app
from hedgerow.errors import JobError, VerifyFailed
from hedgerow.release import checks, sampling
from hedgerow.release.bundle import BundleReader
from hedgerow.steward.exact import FILES, side_by_side
from tests.holding import assert_holds
from tests.oracles import dirichlet_multinomial as dm

EXAMPLE = Path(__file__).parents[2] / "examples" / "tabulate-ce"
CE = [816, 109, 7, 39, 6, 17]


@pytest.fixture
def ce(tmp_path: Path) -> Path:
    for file in EXAMPLE.iterdir():
        if file.is_file() and file.name != "ledger.db":  # of somebody who has run the example
            (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def job(folder: Path, rows: pl.DataFrame, recipe: str, settings: str, more: str = "") -> Path:
    """A job on a small table of area, year and answer."""
    (folder / "schema.toml").write_text(
        '[columns.area]\nkind = "categorical"\nvalues = ["n", "s"]\nother = "s"\n'
        '[columns.year]\nkind = "integer"\nbins = { low = 2000, high = 2001, width = 1 }\nother = 2001\n'
        '[columns.answer]\nkind = "categorical"\nvalues = ["yes", "no"]\nother = "no"\n'
    )
    rows.write_csv(folder / "secret.csv")
    file = folder / "job.toml"
    file.write_text(
        f'[job]\nrecipe = "{recipe}"\n[{recipe}]\n{settings}\n[schema]\nfile = "schema.toml"\n'
        f'[confidential]\ntable = "secret.csv"\n{more}\n[budget]\nepsilon = 2\n'
    )
    return file


def people(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    columns = {"area": ["n", "s"], "year": ["2000", "2001"], "answer": ["yes", "no"]}
    return pl.DataFrame(
        {c: rng.choice(v, rows) for c, v in columns.items()} | {"id": [f"p{i // 4}" for i in range(rows)]},
        schema_overrides=dict.fromkeys([*columns, "id"], pl.String),
    )


def test_the_lectures_table_original_and_synthetic_side_by_side(ce: Path) -> None:
    folder = Job.load(ce / "dirichlet.toml").run().folder
    urn = json.loads((folder / "statement.json").read_text())["events"][0]["detail"]["urn"]
    assert urn == {"alphas": [6742953], "copies": 1, "grain": 1000000, "groups": 0, "sizes": [994]}
    seen = CliRunner().invoke(app, ["steward", "table", str(ce / "dirichlet.toml")])
    assert seen.exit_code == 0, seen.output
    assert "INSIDE ONLY" in seen.output
    for label, count in zip(("White", "Black", "Native American"), CE, strict=False):
        assert re.search(rf"{label} +{count} +[0-9]", seen.output)
    inside = ce / "release-dirichlet-INSIDE-ONLY"
    assert sorted(f.name for f in inside.iterdir()) == sorted(FILES)
    assert all("INSIDE ONLY" in (inside / f).read_text("utf-8") for f in FILES), "every file is watermarked"
    assert all((inside / f).stat().st_mode & 0o077 == 0 for f in FILES), "nobody else may read them"
    table = pl.read_csv(inside / "side-by-side.csv", comment_prefix="#")
    assert table["original"].to_list() == CE
    assert table["synthetic"].sum() == 994
    assert "worked out for the actual table, 994 rows" in (inside / "errors.svg").read_text("utf-8")
    assert_holds(folder)  # nothing of it went into the release


def test_the_steward_cannot_write_into_a_release_nor_print_the_object(ce: Path) -> None:
    folder = Job.load(ce / "integer.toml").run().folder
    for place in (folder, folder / "inside", ce):
        told = CliRunner().invoke(app, ["steward", "table", str(ce / "integer.toml"), "--out", str(place)])
        assert isinstance(told.exception, JobError) and "must not lie beside what is published" in str(told.exception)
    found = side_by_side(Job.load(ce / "integer.toml"))
    assert "816" not in f"{found!r}{found}" and "hidden" in repr(found)
    assert "hidden" in repr(found.reveal())


def test_the_readme_of_the_example_runs(ce: Path) -> None:
    commands = re.findall(r"^    hedgerow ([^#\n]+)", (ce / "README.md").read_text("utf-8"), re.MULTILINE)
    assert len(commands) >= 5
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ce)
        for command in commands:
            done = CliRunner().invoke(app, command.split())
            assert done.exit_code == 0, f"{command}: {done.output}"
    assert (ce / "errors.svg").read_text("utf-8").startswith("<?xml")


def test_copies_are_published_with_what_they_cost(ce: Path) -> None:
    text = (ce / "dirichlet.toml").read_text("utf-8")
    (ce / "three.toml").write_text(text.replace("size = 994", "size = 994\ncopies = 3"), "utf-8")
    folder = Job.load(ce / "three.toml").run().folder
    assert_holds(folder)
    statement = json.loads((folder / "statement.json").read_text())
    (event,) = statement["events"]
    assert statement["spent"] == "5" and len(event["asked"]) == 3
    assert event["detail"]["urn"]["alphas"] == [round(10**6 * float(dm.alpha_for(5, 3 * 994)))]
    sums = [pl.read_csv(folder / f"counts{k}.csv")["count"].sum() for k in ("", "-2", "-3")]
    assert sums == [994, 994, 994]
    assert "3 copies come from the same urns" in (folder / "privacy-statement.md").read_text("utf-8")
    with pytest.raises(JobError, match="not repeated for free"):
        sampling.sample(folder, ce, copies=4, seed=1)
    again = sampling.sample(folder, ce, copies=3, seed=9)
    assert [c["count"].sum() for c in again.counts] == sums
    (folder / "counts-2.csv").write_text("Race,count\n", "utf-8")
    with pytest.raises(VerifyFailed, match="counts-2"):
        assert_holds(folder)


def test_compare_takes_a_release_of_counts_as_python_does(tmp_path: Path) -> None:
    """Every copy, each cell as so many records; and a folder without a table is refused in words."""
    table = tmp_path / "public.csv"
    settings = 'columns = ["area", "answer"]\nsize = 200\ncopies = 2'
    release = Job.load(job(tmp_path, people(400), "dirichlet_multinomial", settings)).run(forecast=False)
    people(300).drop("id").write_csv(table)
    words = ["compare", str(table), str(release.folder), "--only", "one-way,two-way"]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    said, known = json.loads(done.stdout), release.compare(table, only=["one-way", "two-way"]).to_json()
    assert said["b"] == {"name": str(release.folder / "counts.csv"), "rows": 200, "copies": 2}
    assert said["results"] == json.loads(json.dumps(known))["results"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(JobError, match="no records.*parquet and no counts.csv"):
        CliRunner().invoke(app, ["compare", str(table), str(tmp_path / "empty")], catch_exceptions=False)
    (tmp_path / "empty" / "counts.csv").write_bytes((release.folder / "counts.csv").read_bytes())
    with pytest.raises(JobError, match="no counts.csv of a release .with its statement.json"):
        CliRunner().invoke(app, ["compare", str(table), str(tmp_path / "empty")], catch_exceptions=False)


def test_counts_that_were_not_drawn_do_not_verify(ce: Path) -> None:
    bundle = BundleReader(Job.load(ce / "dirichlet.toml").run().folder)
    assert checks.tables_fit(bundle).endswith("6 cells of counts")
    counts = pl.read_parquet(bundle.folder / "counts.parquet")
    counts.with_columns(pl.col("count").shuffle(seed=1)).write_parquet(bundle.folder / "counts.parquet")
    with pytest.raises(VerifyFailed, match="not those that were drawn"):
        checks.tables_fit(BundleReader(bundle.folder))


def test_a_total_that_is_public_anyway_is_not_worth_its_price(ce: Path) -> None:
    text = (ce / "integer.toml").read_text("utf-8").replace("total = 994", "margins = [[]]")
    (ce / "job.toml").write_text(text, "utf-8")
    assert any("number of rows is public" in r for r in Job.load(ce / "job.toml").plan().remarks)


def test_free_copies_are_not_promised_for_a_draw(ce: Path) -> None:
    text = (ce / "dirichlet.toml").read_text("utf-8").replace("[job]", "[job]\ncopies = 4")
    (ce / "four.toml").write_text(text, "utf-8")
    with pytest.raises(JobError, match=r"copies = 4 in \[dirichlet_multinomial\]"):
        Job.load(ce / "four.toml").run()
    assert not (ce / "ledger.db").exists()


@pytest.mark.parametrize(
    ("recipe", "settings"),
    [
        ("integer_counts", 'columns = ["answer"]\ngroups = ["area", "year"]\nmargins = [["area"], []]'),
        ("dirichlet_multinomial", 'columns = ["answer"]\ngroups = ["area", "year"]\nsize = 10'),
        ("beta_binomial", 'column = "answer"\ngroups = ["area", "year"]\nsize = [1, 2, 3, 4]'),
    ],
)
def test_area_by_year_by_person(tmp_path: Path, recipe: str, settings: str) -> None:
    more = 'unit = "person"\nperson = "id"\nrows_per_person = 2'
    folder = Job.load(job(tmp_path, people(200), recipe, settings, more)).run().folder
    assert_holds(folder)
    counts = pl.read_csv(folder / "counts.csv")
    assert counts.columns == ["area", "year", "answer", "count"] and len(counts) == 8
    if recipe == "integer_counts":
        assert counts["count"].sum() < 180, "four rows of a person stand in the table, and two are counted"
    else:
        sums = counts.group_by("area", "year", maintain_order=True).agg(pl.col("count").sum())["count"].to_list()
        assert sums == ([10] * 4 if recipe == "dirichlet_multinomial" else [1, 2, 3, 4])
    wide = pl.read_csv(folder / "counts-wide.csv")
    assert wide.columns == ["area", "year", "yes", "no", "total"]


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize(
    ("recipe", "settings"),
    [
        ("integer_counts", 'columns = ["area", "answer"]'),
        ("dirichlet_multinomial", 'columns = ["area", "answer"]\nsize = 3'),
        ("beta_binomial", 'column = "answer"\nsize = 1'),
        ("gamma_poisson", 'columns = ["area"]\nsize = 2\nexposures = [1, 9]'),
    ],
)
def test_empty_tables_and_tables_of_one_row(tmp_path: Path, recipe: str, settings: str, rows: int) -> None:
    folder = Job.load(job(tmp_path, people(rows), recipe, settings)).run().folder
    assert_holds(folder)
    counts = pl.read_csv(folder / "counts.csv")["count"]
    assert (counts >= 0).all()
    assert recipe == "integer_counts" or counts.sum() == {"beta_binomial": 1, "gamma_poisson": 2}.get(recipe, 3)


def test_a_table_of_one_cell(tmp_path: Path) -> None:
    file = job(tmp_path, people(40), "integer_counts", 'columns = ["area"]')
    (tmp_path / "schema.toml").write_text('[columns.area]\nkind = "categorical"\nvalues = ["n"]\nother = "n"\n')
    folder = Job.load(file).run().folder
    assert_holds(folder)
    assert len(pl.read_csv(folder / "counts.csv")) == 1


def test_the_report_draws_bars_with_intervals_where_noise_was_added(ce: Path) -> None:
    noisy, drawn = (
        (Job.load(ce / f"{name}.toml").run().folder / "report.html").read_text("utf-8")
        for name in ("integer", "dirichlet")
    )
    assert noisy.count('class="bar"') == 6 and noisy.count('class="band"') == 18
    assert "95\u00a0% interval" in noisy
    assert drawn.count('class="bar"') == 6 and 'class="band"' not in drawn
    assert "the same epsilon covers add-remove" in drawn
