"""Every page says what is synthetic and what is given, and the records bear it out: all four kinds of release."""

import html
import json
import re
import shlex
from pathlib import Path

import polars as pl
import pytest

import hedgerow as hr
from hedgerow.cli import show
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.release.bundle import BundleReader
from hedgerow.release.origin import kind_of, synthetic_columns
from tests.end_to_end.conftest import ROWS, Command
from tests.privacy.test_replay_attach import attach_job
from tests.privacy.world import frame

COUNTS = """
[job]
recipe = "{recipe}"
[{recipe}]
columns = ["sex", "area"]
{more}
[schema]
file = "schema.toml"
[confidential]
table = "secret.csv"
[budget]
epsilon = 2
"""
PAGES = ("report.html", "codebook.html", "privacy-statement.md", "DATACARD.md", "datapackage.json")
ABOUT_RECORDS = ("no row was copied", "nobody's record", "any match is an accident", "stands for no real one")
"""What may be said of whole records only."""


def a_job(folder: Path, kind: str) -> Path:
    frame(ROWS).write_csv(folder / "secret.csv")
    attach = kind if kind in ("guided_tree", "random_trees") else "guided_tree"
    given = Guarantee(relation="label-change", public_columns=("pay", "area"))
    job = attach_job(folder, given, attach)
    if kind == "records":
        text = job.read_text("utf-8").replace("[target]\ntable = 'target.csv'\n", "")
        text = re.sub(r"relation = .*\npublic_columns = .*\n", "", text)
        job.write_text(re.sub(r"recipe = .*", 'recipe = "tree_blend"', text).split("[guided_tree]")[0], "utf-8")
    elif kind in ("integer_counts", "dirichlet_multinomial"):
        more = "total = 60" if kind == "integer_counts" else "size = 60"
        job.write_text(COUNTS.format(recipe=kind, more=more), "utf-8")
    return job


KINDS = {
    "guided_tree": "attach",
    "random_trees": "attach",
    "records": "records",
    "integer_counts": "counts",
    "dirichlet_multinomial": "draws",
}


@pytest.fixture(scope="module", params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, hr.Release]:
    folder = tmp_path_factory.mktemp(request.param)
    return KINDS[request.param], hr.Job.load(a_job(folder, request.param)).run(folder / "release")


def flat(text: str) -> str:
    """A page as plain words: no markup, no line ends, no escapes."""
    return " ".join(re.sub(r"<[^>]+>|\\", "", text.replace("&#39;", "'")).split())


def test_every_page_says_which_columns_are_synthetic_and_which_are_given(made: tuple[str, hr.Release]) -> None:
    kind, release = made
    contents = BundleReader(release.folder).contents
    assert kind_of(contents) == kind
    said = {name: flat((release.folder / name).read_text("utf-8")) for name in PAGES}
    for name, text in said.items():
        if kind == "attach":
            assert "with synthetic values of sex and race. Only these are synthetic" in text, name
            assert "Everything else is given, row by row as in “target.csv”: pay and area" in text, name
            assert not any(s in text.lower() for s in ABOUT_RECORDS), name
        elif kind == "records":
            assert "every column is synthetic" in text and "nothing is given" in text, name
        else:
            assert "Given are the labels of sex and area, which are the schema's" in text, name
            assert "There are no records in it" in text, name


def test_the_records_bear_out_what_the_pages_say(made: tuple[str, hr.Release]) -> None:
    kind, release = made
    contents = BundleReader(release.folder).contents
    if kind == "attach":
        target = pl.read_csv(release.folder.parent / "target.csv", infer_schema=False)
        assert set(contents.given) == {"pay", "area"} and synthetic_columns(contents) == ("sex", "race")
        for column, replaced in contents.given.items():
            unlike = release.records[column].cast(pl.String).ne_missing(target[column]).sum()
            assert unlike == replaced, "row by row, but for so many values that the schema does not allow"
        assert "sex" not in target.columns and "race" not in target.columns
    elif kind == "records":
        assert synthetic_columns(contents) == tuple(release.records.columns)
    else:
        assert release.counts is not None
        for column in contents.labels:
            known = set(contents.schema.cell_labels(column))
            assert set(release.counts[column].cast(pl.String)) <= known
        total = "the sum of 60" if kind == "counts" else "how many counts are drawn (60)"
        assert release.counts["count"].sum() == 60
        assert total in flat((release.folder / "DATACARD.md").read_text("utf-8"))


def test_machines_are_told_column_by_column(made: tuple[str, hr.Release]) -> None:
    kind, release = made
    package = json.loads((release.folder / "datapackage.json").read_text("utf-8"))
    assert package["hedgerow"]["kind"] == kind
    if release.holds_records:
        fields = package["resources"][0]["schema"]["fields"]
        told = {f["name"] for f in fields if f["hedgerow:origin"] == "synthetic"}
        assert told == ({"sex", "race"} if kind == "attach" else set(release.records.columns))


def test_python_says_it_too(made: tuple[str, hr.Release]) -> None:
    kind, release = made
    said = {
        "attach": "given rows, with synthetic sex and race",
        "records": "synthetic records",
        "counts": "synthetic counts",
        "draws": "synthetic counts",
    }
    assert said[kind] in repr(release)


def test_the_command_line_says_it_too(hedgerow: Command, tmp_path: Path) -> None:
    done = hedgerow("run", a_job(tmp_path, "guided_tree"), "--yes")
    assert done.code == 0 and "given rows, with synthetic sex and race" in done.out


def test_values_that_the_schema_does_not_allow_are_counted_in_the_sentence(tmp_path: Path) -> None:
    job = a_job(tmp_path, "guided_tree")
    target = pl.read_csv(tmp_path / "target.csv", infer_schema=False)
    odd = target.with_columns(
        pay=pl.when(pl.int_range(pl.len()) < 2).then(pl.lit("999999")).otherwise(pl.col("pay"))  # beyond the last bin
    )
    odd.write_csv(tmp_path / "target.csv")
    before = hr.Job.load(job).run(tmp_path / "release", forecast=False)
    contents = before.contents
    assert contents.given["pay"] >= 2 and contents.given["area"] == 0
    said = flat((before.folder / "report.html").read_text("utf-8"))
    assert f"but for {contents.given['pay']} values that the schema does not allow" in said


def test_of_a_point_in_time_the_pages_say_that_the_day_alone_is_given(tmp_path: Path) -> None:
    """A drafted format with the hour broke a plan off when records were decoded, and "as in the target" was false."""
    n = 300
    seen = pl.datetime_range(pl.datetime(2017, 1, 1, 6), pl.datetime(2017, 6, 30, 6), "37m", eager=True).head(n)
    rows = pl.DataFrame(
        {"seen": seen.dt.to_string("%Y-%m-%dT%H:%M:%SZ"), "sex": ["FM"[i % 3 == 0] for i in range(n)]}
    )
    job = hr.Job(
        confidential=hr.Confidential(rows, name="stops"),
        public=hr.Public(rows.head(n - 60), provenance="made up"),
        target=hr.Target(rows.drop("sex")),
        schema=hr.Schema.draft(rows),
        budget=hr.Budget(epsilon=5),
        recipe=hr.recipes.GuidedTree(columns=["sex"]),
        formats=("csv",),
        ledger=str(tmp_path / "ledger.db"),
    )
    release = job.run(tmp_path / "release", forecast=False)
    assert release.verify() and release.records["seen"].to_list() == seen.dt.date().to_list()
    assert release.contents.given["seen"] == 0
    assert "Of seen the day alone is given, not the hour." in flat(
        (release.folder / "report.html").read_text("utf-8")
    )


@pytest.mark.parametrize("writing", ["text", "float"])
def test_a_whole_number_that_the_target_writes_otherwise_is_its_own_value(tmp_path: Path, writing: str) -> None:
    """1.0 for 1: it was published as the target has it, failed verify, or was counted as another value."""
    n = 300
    rows = pl.DataFrame({"code": [1 + i % 4 for i in range(n)], "member": [i % 2 for i in range(n)],
                         "sex": ["FM"[i % 3 == 0] for i in range(n)]})  # fmt: skip
    gap = rows.with_columns(pl.when(pl.int_range(pl.len()) > 3).then(pl.col("code", "member")).cast(pl.Float64))
    target = gap.drop("sex")
    target = target.cast(pl.String) if writing == "text" else target
    job = hr.Job(
        confidential=hr.Confidential(rows, name="people"),
        public=hr.Public(rows.head(n - 60), provenance="made up"),
        target=hr.Target(target),
        schema=hr.Schema.draft(gap),
        budget=hr.Budget(epsilon=5),
        recipe=hr.recipes.GuidedTree(columns=["sex"]),
        ledger=str(tmp_path / "ledger.db"),
    )
    release = job.run(tmp_path / "release", forecast=False)
    assert release.verify()
    assert {n: release.contents.given[n] for n in ("code", "member")} == {"code": 0, "member": 0}
    shown = release.records.select(pl.col("code", "member").cast(pl.String)).unique().rows()
    assert {x for row in shown for x in row} == {None, "0", "1", "2", "3", "4"}


def test_the_cards_own_command_draws_more_copies_where_a_reader_is(
    made: tuple[str, hr.Release], hedgerow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, release = made
    card = (release.folder / "DATACARD.md").read_text("utf-8")
    commands = re.findall(r"^    hedgerow (.+)$", card, re.MULTILINE)
    shown = next((c for c in commands if "--copies" in c), commands[-1])
    assert f"hedgerow {shown}</pre>" in html.unescape((release.folder / "report.html").read_text("utf-8"))
    monkeypatch.chdir(release.folder)
    for command in commands:
        done = hedgerow(*shlex.split(command))
        assert done.code == 0, f"{command}: {done.err}"
    if kind == "draws":
        assert commands == ["verify ."] and "A draw is not repeated for free" in card
        return
    assert [c.split()[0] for c in commands] == ["verify", "sample", "estimate", "sample"]
    assert any((release.folder.parent / "replicates").iterdir())
    copies = sorted((release.folder.parent / "release-copies").iterdir())
    assert len(copies) == 20
    assert hedgerow("verify", ".").code == 0, "the release itself is as it was"
    if release.holds_records:
        assert not any(pl.read_parquet(c).equals(release.records) for c in copies), "they are other copies"


def test_values_in_python_show_themselves_in_a_few_lines(made: tuple[str, hr.Release]) -> None:
    _, release = made
    assert len(repr(release)) < 400 and len(repr(release.statement)) < 400
    assert release.statement.recipe in repr(release.statement)
    shown = repr(release.uses).splitlines()
    assert len(shown) == 1 + len(release.uses) or shown == ["no intended use"]
    assert all(use.use.name in line for use, line in zip(release.uses, shown[1:], strict=False))
    assert isinstance(release.uses, tuple)


def test_commands_are_printed_so_that_they_work_as_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / ".venv" / "bin"
    here.mkdir(parents=True)
    (here / "hedgerow").touch(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [".venv/bin/hedgerow", "demo"])
    monkeypatch.setenv("PATH", "/nowhere")
    assert show.program() == ".venv/bin/hedgerow", "the shell would not find it by its name"
    monkeypatch.setenv("PATH", str(here))
    assert show.program() == "hedgerow"
