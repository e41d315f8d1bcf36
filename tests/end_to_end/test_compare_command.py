"""``hedgerow compare`` and ``hedgerow steward compare`` from the command line."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hedgerow.cli.main import app
from hedgerow.errors import HedgerowError
from hedgerow.release import confined
from hedgerow.simulate.personnel import personnel, personnel_schema

QUICK = ["--only", "linear-model,two-way", "--only", "k-marginal"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job with a release made of it."""
    folder = tmp_path_factory.mktemp("compare")
    made = personnel(6000, 2)
    made.public.write_parquet(folder / "public.parquet")
    made.confidential.write_parquet(folder / "confidential.parquet")
    (folder / "schema.toml").write_text(personnel_schema(), "utf-8")
    (folder / "job.toml").write_text(
        """
[job]
recipe = "independent"
copies = 2
[confidential]
table = "confidential.parquet"
unit = "person"
person = "person"
rows_per_person = 4
[public]
table = "public.parquet"
[budget]
epsilon = 20
[[use]]
name = "occupation by sex"
columns = ["occupation", "sex"]
tolerance = 0.06
""",
        "utf-8",
    )
    run(["run", str(folder / "job.toml"), "--yes"])
    return folder


def run(words: list[str]) -> str:
    got = CliRunner().invoke(app, words, catch_exceptions=True)
    if got.exception is not None and not isinstance(got.exception, SystemExit):
        raise got.exception
    assert got.exit_code == 0, got.output
    return got.stdout


def test_compare_reads_a_release_and_its_schema(place: Path) -> None:
    out = place / "report.html"
    said = run(["compare", str(place / "public.parquet"), str(place / "release"), *QUICK, "--out", str(out)])
    assert "Each pair of columns" in said and str(out) in said
    html = out.read_text("utf-8")
    assert "INSIDE ONLY" not in html
    assert not re.search(r"(src|href)=[\"']?https?:|<script src|@import|url\(", html), (
        "the page reaches for the network"
    )
    assert "default-src &#39;none&#39;" in html and html.count("<script") == 1, "one script, known by its hash"
    assert html.count("<svg") == html.count("</svg>") > 0


def test_compare_opens_a_folder_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of its own for every opening takes longer than many a comparison; one is enough."""
    opened, find = list[str](), confined.find

    def counted(task: dict[str, Any]) -> dict[str, Any]:
        opened.append(task["do"])
        return find(task)

    monkeypatch.setattr(confined, "_elsewhere", counted)
    run(["compare", str(place / "public.parquet"), str(place / "release"), "--only", "one-way"])
    assert opened == ["open"]


def test_compare_drafts_a_schema_when_none_is_given(place: Path) -> None:
    copies = [str(p) for p in sorted((place / "release").glob("records*.parquet"))]
    words = ["compare", str(place / "public.parquet"), *copies, "--json", "--only", "one-way"]
    found: Any = json.loads(run(words))
    assert found["b"]["copies"] == 2
    assert found["results"][0]["parts"]["copies"] == 2


def test_compare_fits_the_model_that_is_asked_for(place: Path) -> None:
    model = "ln(pay) ~ C(sex, ref=M) + age | agency"
    words = ["compare", str(place / "public.parquet"), str(place / "release"), "--json", "--only", "linear-model"]
    found: Any = json.loads(run([*words, "--model", model, "--by", "none", "--cluster", "grade"]))
    rows = {r["coefficient"]: r for r in found["results"][0]["table"]}
    assert set(rows) == {"sex[female]", "age"}
    assert rows["sex[female]"]["a"] < -0.05 and abs(rows["sex[female]"]["b"]) < 0.08


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "quality"], "no metric"),
        (["--model", "pay = sex"], "cannot be read"),
        (["--schema", "nowhere.toml"], "schema"),
        (["--out", "nowhere/deep/x.html", "--only", "one-way"], "Cannot write"),
    ],
)
def test_mistakes_are_refused_in_one_paragraph(place: Path, words: list[str], said: str) -> None:
    with pytest.raises(HedgerowError, match=said) as refused:
        run(["compare", str(place / "public.parquet"), str(place / "release"), *words])
    assert refused.value.exit_code == 2


def test_steward_compare_writes_apart_and_marks_everything(place: Path) -> None:
    said: Any = json.loads(run(["steward", "compare", str(place / "job.toml"), *QUICK, "--json"]))
    assert next(iter(said)) == "INSIDE ONLY"
    assert {r["metric"] for r in said["release"]["results"]} == {"linear-model", "two-way", "k-marginal"}
    assert said["public_as_it_is"]["a"]["rows"] == 6000
    folder = place / "release-INSIDE-ONLY"
    assert {p.name for p in folder.iterdir()} >= {"report.html", "public-as-it-is.html", "comparison.json"}
    text = run(["steward", "compare", str(place / "job.toml"), "--only", "one-way"])
    assert text.startswith("INSIDE ONLY")
    assert run(["verify", str(place / "release")])
    (use,) = said["uses"]
    assert use["name"] == "occupation by sex" and use["met"] is (use["error"] <= 0.06) and use["like_sample"] > 0
    assert text.index("occupation by sex") < text.index("Each column on its own"), "a report opens with the uses"
    html = (folder / "report.html").read_text("utf-8")
    assert 0 < html.index("occupation by sex") < html.index("What was measured")


def test_the_pay_gap_that_the_release_lost_is_seen(place: Path) -> None:
    """Columns drawn apart from each other keep every one-way table and lose the gap: the report must say so."""
    words = ["steward", "compare", str(place / "job.toml"), "--json", "--only", "linear-model", "--only", "one-way"]
    model = ["--model", "ln(pay) ~ C(sex, ref=M) + C(race, ref=E) + age | agency + occupation", "--by", "none"]
    found: Any = json.loads(run([*words, *model]))
    results = {r["metric"]: r for r in found["release"]["results"]}
    assert results["one-way"]["value"] < 0.08
    gap = next(r for r in results["linear-model"]["table"] if r["coefficient"] == "sex[female]")
    assert gap["overlap"] < 0.3 and gap["a"] < -0.04


def test_steward_compare_refuses_to_write_into_a_release(place: Path) -> None:
    with pytest.raises(HedgerowError, match="release") as refused:
        run(["steward", "compare", str(place / "job.toml"), "--out", str(place / "release" / "exact")])
    assert refused.value.exit_code == 2 and not (place / "release" / "exact").exists()


def test_steward_compare_without_a_release_says_what_to_type(place: Path) -> None:
    with pytest.raises(HedgerowError, match="hedgerow run"):
        run(["steward", "compare", str(place / "job.toml"), "--release", str(place / "other")])
