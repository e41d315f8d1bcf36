"""The bundle: there in full or not at all, a function of its contents, and safe to publish."""

import base64
import hashlib
import html
import json
import re
import socket
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import frictionless
import polars as pl
import pytest

from hedgerow.errors import JobError
from hedgerow.figures.page import script
from hedgerow.public import whole
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.release import bundle
from hedgerow.release.bundle import read_bundle, write_bundle
from hedgerow.release.contents import Contents
from hedgerow.uses import Table, Verdict
from tests.unit.release.made import a_release

EVERY = {
    "records.parquet",
    "records.csv",
    "statement.json",
    "privacy-statement.md",
    "measurements.parquet",
    "schema.toml",
    "codebook.html",
    "datapackage.json",
    "DATACARD.md",
    "job.toml",
    "report.html",
    "combine.R",
    "MANIFEST.json",
}


def _bytes(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle") / "release"
    write_bundle(folder, a_release(pairs=True))
    return folder


def test_holds_every_file_of_the_design_and_nothing_else(written: Path) -> None:
    assert {p.name for p in written.iterdir()} == EVERY


def test_the_manifest_has_the_size_and_hash_of_every_other_file(written: Path) -> None:
    listed = json.loads((written / "MANIFEST.json").read_text())["files"]
    assert set(listed) == EVERY - {"MANIFEST.json"}
    for name, facts in listed.items():
        data = (written / name).read_bytes()
        assert facts == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def test_equal_contents_give_equal_bytes_at_another_time_and_place(tmp_path: Path) -> None:
    formats = ("csv", "dta", "sav", "arrow", "xpt")
    write_bundle(tmp_path / "here", a_release(rows=200, formats=formats))
    time.sleep(1.1)  # Stata, SPSS and SAS files carry a clock that counts seconds
    (tmp_path / "far" / "away").mkdir(parents=True)
    write_bundle(tmp_path / "far" / "away" / "other", a_release(rows=200, formats=formats))
    assert _bytes(tmp_path / "here") == _bytes(tmp_path / "far" / "away" / "other")


def test_no_host_user_path_or_year_of_today_is_in_it(tmp_path: Path) -> None:
    write_bundle(tmp_path / "release", a_release(rows=100))
    telling = [str(tmp_path), socket.gethostname(), time.strftime("%Y-%m-%d"), time.strftime("%d %b %Y")]
    for name, data in _bytes(tmp_path / "release").items():
        for word in telling:
            assert word.encode() not in data, f"{name} tells {word}"


def test_a_password_in_the_job_is_not_published(written: Path) -> None:
    assert all(b"hunter2" not in data for data in _bytes(written).values())
    assert "postgresql://steward:***@ledger.example/hedgerow" in (written / "job.toml").read_text()


def test_a_password_in_the_query_of_an_address_is_not_published_either() -> None:
    job = 'url = "postgresql://host/db?user=steward&password=hunter2&sslmode=require"'
    assert a_release(rows=20, job=job).job == job.replace("hunter2", "***")


@pytest.mark.parametrize(
    "job",
    [
        """url = 'postgresql://steward:HUN"TER@host/db'   # was postgresql://steward:HUNTER@host""",
        """url = "postgresql://steward:HUN\\"T'ER@host/db?sslpassword=HUN'TER&sslmode=require\"""",
    ],
)
def test_a_password_with_quotes_in_it_is_not_published_either(job: str) -> None:
    told = a_release(rows=20, job=job).job
    assert "HUN" not in told and "TER" not in told and "steward:***@host" in told


def test_reads_back_to_the_same_contents(written: Path, tmp_path: Path) -> None:
    write_bundle(tmp_path / "again", read_bundle(written))
    assert _bytes(tmp_path / "again") == _bytes(written)


def test_several_copies_are_numbered(tmp_path: Path) -> None:
    contents = a_release(rows=60, copies=3, formats=())
    write_bundle(tmp_path / "release", contents)
    found = sorted(p.name for p in (tmp_path / "release").glob("records*"))
    assert found == ["records-1.parquet", "records-2.parquet", "records-3.parquet"]
    for name, frame in zip(found, contents.records, strict=True):
        assert pl.read_parquet(tmp_path / "release" / name).equals(whole(frame))
    assert "mean of 3 copies" in (tmp_path / "release" / "report.html").read_text()


def test_counts_may_stand_without_records(tmp_path: Path) -> None:
    counts = pl.DataFrame({"sex": ["F", "M"], "count": [10, 12]})
    write_bundle(tmp_path / "release", a_release(rows=50, records=(), counts=counts))
    names = {p.name for p in (tmp_path / "release").iterdir()}
    assert names == EVERY - {"records.parquet", "records.csv", "combine.R"} | {
        "counts.csv",
        "counts.parquet",
        "counts-wide.csv",
        "counts-wide.parquet",
    }
    assert (tmp_path / "release" / "counts.csv").read_text() == "sex,count\nF,10\nM,12\n"
    assert "A table of 2 synthetic counts" in (tmp_path / "release" / "DATACARD.md").read_text()


@pytest.mark.parametrize("contents", [{"records": ()}, {"formats": ("docx",)}])
def test_refuses_what_cannot_be_released(contents: dict[str, Any]) -> None:
    with pytest.raises(JobError, match="Nothing was written"):
        a_release(rows=20, **contents)


def test_never_writes_over_what_is_not_a_release(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(JobError, match="exists and is not a release"):
        write_bundle(tmp_path, a_release(rows=20))
    (tmp_path / "file").write_text("")
    with pytest.raises(JobError, match="exists and is not a release"):
        write_bundle(tmp_path / "file", a_release(rows=20))
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_never_replaces_a_release(tmp_path: Path) -> None:
    place = tmp_path / "release"
    place.mkdir()  # an empty folder is as good as none
    write_bundle(place, a_release(rows=20))
    before = _bytes(place)
    with pytest.raises(JobError, match="holds a release already"):
        write_bundle(place, a_release(rows=30))
    assert _bytes(place) == before
    assert [p.name for p in tmp_path.iterdir()] == ["release"]


@pytest.mark.parametrize("stage", ["write_tables", "pages", "write_whole", "put_in_place"])
def test_a_failure_leaves_no_half_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    place, contents = tmp_path / "release", a_release(rows=20)
    write_bundle(place, contents)
    before = _bytes(place)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundle, stage, full)
    with pytest.raises(JobError, match="No space left on device"):
        write_bundle(tmp_path / "new", contents)
    assert _bytes(place) == before
    assert [p.name for p in tmp_path.iterdir()] == ["release"]


def test_what_came_to_stand_there_meanwhile_is_never_moved_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two writers, neither of which saw the other when it began: the second is refused, and the first stays whole."""
    place, fill = tmp_path / "release", bundle._fill
    other = a_release(rows=20)

    def slowly(folder: Path, contents: Contents) -> None:
        monkeypatch.setattr(bundle, "_fill", fill)
        write_bundle(place, other)
        fill(folder, contents)

    monkeypatch.setattr(bundle, "_fill", slowly)
    with pytest.raises(JobError, match="holds a release already"):
        write_bundle(place, a_release(rows=30), draft=tmp_path / "draft")
    write_bundle(tmp_path / "same", other)
    assert _bytes(place) == _bytes(tmp_path / "same")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["release", "same"]


def test_the_data_package_is_valid_and_its_records_fit_it(written: Path) -> None:
    described = json.loads((written / "datapackage.json").read_text())
    assert not list(frictionless.Package.metadata_validate(described))
    resource = next(r for r in described["resources"] if r["path"] == "records.csv")
    report = frictionless.Resource.from_descriptor(resource, basepath=str(written)).validate()
    assert report.valid, report.flatten(["type", "note"])
    assert report.task.stats["rows"] == 4003


def test_the_statement_in_words_says_unit_relation_odds_limits_and_inputs(written: Path) -> None:
    text = (written / "privacy-statement.md").read_text()
    for needed in (
        "at most about 73 chances in 100",
        "one record",
        "`add-remove`",
        "epsilon = 1, delta = 0",
        "## What it does not protect",
        "personnel-2008.csv",
        "released in 2009, independent",
        "operating system's entropy",
    ):
        assert needed in text, needed


def test_delta_and_person_are_said_when_they_are_there(tmp_path: Path) -> None:
    guarantee = Guarantee(unit="person", person="id", rows_per_person=4, relation="replace-one")
    write_bundle(tmp_path / "r", a_release(rows=50, guarantee=guarantee, budget=Budget("0.5", "1e-6")))
    text = (tmp_path / "r" / "privacy-statement.md").read_text()
    assert "delta = 0.000001" in text and "at most 4 rows" in text
    assert "chance of at most about 1 in " in text and "1 in 1,000,000" not in text
    assert "the number of people" in text


HOSTILE = '</title><script>alert(1)</script> | `x` [a](http://evil.example) "quoted" & <b>'


def test_what_a_steward_typed_is_shown_and_never_obeyed(tmp_path: Path) -> None:
    verdict = Verdict(Table(["sex"], tolerance=0.1, name=HOSTILE), 0.05, 0.5, HOSTILE)
    write_bundle(tmp_path / "r", a_release(rows=20, title=HOSTILE, verdicts=(verdict,), job=f"# {HOSTILE}\n"))
    for page in ("report.html", "codebook.html"):
        text = (tmp_path / "r" / page).read_text()
        assert text.count("<script") == 1 and f"<script>{script()}</script>" in text and "alert(1)" in text
    for page in ("DATACARD.md", "privacy-statement.md"):
        text = (tmp_path / "r" / page).read_text()
        shown = [line for line in text.splitlines() if not line.startswith("    ")]  # indented lines are verbatim
        assert "<script" not in "".join(shown).replace("\\<script", "") and "[a](http" not in "".join(shown)


class _Page(HTMLParser):
    """Every tag that is opened is closed, in order; links and tables are noted."""

    void = {"meta", "br", "rect", "line", "link", "img", "hr", "input", "polyline", "polygon"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in self.void:
            self.open.append(tag)
        for key, value in attrs:
            self.links += [value or ""] if key in ("href", "src") else []
            self.ids += [value or ""] if key == "id" else []

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.void:
            assert self.open.pop() == tag


@pytest.mark.parametrize("name", ["report.html", "codebook.html"])
def test_pages_are_whole_and_fetch_nothing(written: Path, name: str) -> None:
    text = (written / name).read_text()
    page = _Page()
    page.feed(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert not {"iframe", "object", "embed", "link", "img", "form"} & set(page.seen)
    (own,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
    assert page.seen.count("script") == 1 and f"script-src 'sha256-{digest}'" in html.unescape(text)
    for link in page.links:
        assert link.removeprefix("#") in page.ids if link.startswith("#") else link in EVERY, link
    assert set(re.findall(r"https?://[^\"'\s<]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert "url(" not in text and "@import" not in text
    assert (
        "default-src 'none'" in html.unescape(text)
        and "prefers-color-scheme: dark" in text
        and "@media print" in text
    )


def test_the_report_opens_with_what_matters_and_has_a_table_behind_every_figure(written: Path) -> None:
    text = (written / "report.html").read_text()
    order = ["Personnel 2009", "What it is good for", "What it promises", "What it does not protect"]
    order += ["What was measured", "Column by column", "Columns together", "What holds of every record"]
    order += ["How it was made", "What was spent", "How to verify", "cite"]
    places = [text.index(f">{o}" if o not in ("cite",) else o) for o in order]
    assert places == sorted(places)
    for word in ("expected to be met", "expected to be missed", "not judged"):
        assert f">{word}<" in text, word
    assert "like a sample of 62\u00a0%<" in text and "Error 8.1\u00a0%; tolerance 5.0\u00a0%" in text
    assert ">Expected: about 113 in 10,000 records counted in a wrong cell; allowed: 200 in 10,000<" in text
    cards = re.findall(r'<section class="card" data-name.*?</section>', text, re.DOTALL)
    drawn = [c for c in cards if "<svg" in c]
    assert len(drawn) == len(cards) >= len(a_release(rows=10).schema.attributes) + 1
    assert all("The same as a table" in c and c.count("<tr>") > 1 for c in drawn)


def test_the_codebook_has_every_column_with_its_labels(written: Path) -> None:
    text = (written / "codebook.html").read_text()
    for word in ("Female", "other agencies", "graduate school", "not paid", "Sex as on file", "age below 20", "2003"):
        assert word in text, word


def test_contents_are_checked_once_and_put_in_one_order() -> None:
    contents = a_release(rows=20, formats=("xpt", "csv"), title="  ")
    assert isinstance(contents, Contents)
    assert contents.formats == ("csv", "xpt") and contents.title == "personnel"
    lost = a_release(
        rows=20, verdicts=(Verdict(Table(["sex"], tolerance=0.1, name="u"), float("inf"), float("nan"), ""),)
    )
    assert lost.verdicts[0].error is None and lost.verdicts[0].like_sample is None
