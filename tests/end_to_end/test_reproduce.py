"""Each paper on one page: every exhibit is there, our numbers stand beside its own, and its commands exist."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer

from hedgerow.cli.main import app
from hedgerow.errors import JobError
from hedgerow.reproduce import PAPERS, reproduce
from hedgerow.reproduce.dpsyn import PERSON, map_of_a_year, temporal_map, temporal_schema, with_persons
from hedgerow.reproduce.paper import Reproduction
from hedgerow.reproduce.shapes import Shapes
from tests.chromium import PROGRAM, WHY_NOT, chromium
from tests.end_to_end.conftest import Command

ROOT = Path(__file__).parents[2]
EXAMPLES = {"ce": "tabulate-ce"}
EXHIBITS = {
    "rdt-2018": [
        *("Sections 1 to 4", "Figure 1", "Figure 2", "Figures 3 and 4"),
        *(f"Figure {i}" for i in range(5, 15)),
        *("True-classified", "Section 3: the pay mismatch"),
    ],
    "rdt-2019": [
        *("Table 1", *(f"Figure {i}" for i in range(1, 22))),
        *(f"Section 3: {part}" for part in ("findings", "two strategies", "the sweet spot", "least epsilon")),
    ],
    "dpsyn": [
        *("Extracting information from the public dataset", "Choosing among the three methods"),
        *("Public marginals only", "Using one-way marginals", "Using two-way marginals"),
        *("The temporal map", "Group sizes"),
    ],
    "ce": ["Table 1", "Step 1", "Equations (8) to (13)", "Step 2", "Step 3", "Summary", "Other models"],
}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reproduction]:
    """Pages in their quick form, each made once."""
    return {}


@pytest.fixture
def page(made: dict[str, Reproduction], tmp_path_factory: pytest.TempPathFactory, paper: str) -> Reproduction:
    if paper not in made:
        made[paper] = reproduce(paper, tmp_path_factory.mktemp("pages") / paper, quick=True)
    return made[paper]


every = pytest.mark.parametrize("paper", sorted(EXHIBITS))


@every
def test_every_figure_and_table_of_the_paper_is_on_its_page(page: Reproduction, paper: str) -> None:
    names, text = [e.name for e in page.paper.exhibits], page.page.read_text("utf-8")
    for wanted in EXHIBITS[paper]:
        assert any(n.startswith(wanted) for n in names), wanted
    assert len(set(names)) == len(names) and all(f'id="{n.replace(" ", "-")}"' in text for n in names)
    assert re.search(r"default-src &#39;none&#39;.*script-src &#39;sha256-", text)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), "nothing is fetched"


@every
def test_numbers_that_differ_say_why(page: Reproduction, paper: str) -> None:
    assert page.numbers
    for where, n in page.numbers:
        assert n.same is True or n.why, (where, n.what)


@every
def test_the_commands_behind_an_exhibit_exist_and_name_files_that_are_there(page: Reproduction, paper: str) -> None:
    lines = [c for e in page.paper.exhibits for c in e.commands]
    assert lines
    root = typer.main.get_command(app)
    for line in lines:
        words = shlex.split(line, comments=True)
        assert words[0] == "hedgerow", line
        command, rest = root, words[1:]
        while inner := getattr(command, "commands", None):
            command, rest = inner[rest[0]], rest[1:]
        command.make_context("hedgerow", rest, resilient_parsing=False)
        for word in words:
            if word.endswith(".toml"):
                assert (page.page.parent / word).is_file(), line
            if word.startswith("release-") and "run" not in words:
                assert (page.page.parent / word / "statement.json").is_file(), line


@every
def test_the_job_files_are_those_of_the_examples(paper: str) -> None:
    for file in (ROOT / "src/hedgerow/reproduce/jobs" / paper).iterdir():
        assert file.read_bytes() == (ROOT / "examples" / EXAMPLES.get(paper, paper) / file.name).read_bytes(), (
            file.name
        )


def test_every_paper_has_a_page_and_others_are_refused(hedgerow: Command, tmp_path: Path) -> None:
    done = hedgerow("reproduce", "origin-of-species", "--out", tmp_path / "x")
    assert done.code == 2 and all(name in done.err for name in PAPERS)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.md").write_text("do not touch", "utf-8")
    done = hedgerow("reproduce", "ce", "--out", tmp_path / "mine")
    assert done.code == 2 and (tmp_path / "mine/thesis.md").exists()


def test_the_lecture_in_one_command_and_again(hedgerow: Command, tmp_path: Path) -> None:
    for _ in range(2):
        done = hedgerow("reproduce", "ce", "--quick", "--out", tmp_path / "ce", "--json")
        assert done.code == 0, done.err
    found = {n["what"]: n for n in json.loads(done.out)["numbers"]}
    assert found["min alpha = 994 / (exp(5) - 1)"]["ours"] == "6.742953"
    assert found["equation (10) equals the ratio of (8)"]["same"] is False
    assert found["equation (10) with i and i' exchanged"]["same"] is True
    assert all(found[f"count of {r}"]["same"] for r in ("White", "Black", "Asian"))


@pytest.mark.skipif(PROGRAM is None, reason=WHY_NOT)
@pytest.mark.parametrize(("paper", "ends"), [("ce", ("epsilon 5", "epsilon 0.1")), ("dpsyn", ("2012", "2012"))])
def test_the_slider_moves_from_card_to_card(page: Reproduction, paper: str, ends: tuple[str, str]) -> None:
    cards = "[...document.querySelectorAll('[data-slide] > .card')]"
    seen = f"{cards}.filter(c => c.offsetHeight > 0).map(c => c.dataset.name)"
    with chromium() as browser:
        browser.open(page.page)
        first = browser.run(seen)
        browser.run(
            "(() => { const s = document.querySelector('input[type=range]'); s.value = 0;"
            " s.dispatchEvent(new Event('input')); })()"
        )
        second = browser.run(seen)
        assert not browser.complaints and all(u.startswith("file:") for u in browser.fetched)
    assert len(first) == len(second) == 1
    assert first[0].startswith(ends[0]) and second[0].startswith(ends[1])


@pytest.mark.parametrize("paper", ["rdt-2018"])
def test_two_releases_stand_side_by_side_and_rates_are_the_stewards(
    hedgerow: Command, page: Reproduction, paper: str
) -> None:
    folder = page.page.parent
    line = next(c for e in page.paper.exhibits if e.name == "Figure 9" for c in e.commands if "--beside" in c)
    with pytest.MonkeyPatch.context() as here:
        here.chdir(folder)
        done = hedgerow(*shlex.split(line)[1:])
        assert done.code == 0 and done.out.count("correlate") + done.out.count("Slopes") >= 2, done.err
        told = hedgerow("steward", "rates", "pay25-trees5-plain-eps0.4-nb1000.toml", "--leaf-min", 1)
    html = (folder / "panels.html").read_text("utf-8")
    assert html.count('class="both"') == 4 and html.count("<h3>") >= 8, "each of four panels twice"
    for words in (
        "INSIDE ONLY",
        "private column",
        "by chance",
        "without a value in one of them: 0 of",
        "leaf table of",
    ):
        assert words in told.out
    found = {n.what: n for _, n in page.numbers}
    assert found["least n for a width of 0.05 there"].ours == "874"
    assert found["empirical and exact ends correspond"].same
    assert found["rows that match one authentic row alone"].ours == "80 %"


@pytest.mark.parametrize("paper", ["rdt-2019"])
def test_weight_vectors_have_names_and_settings_are_ranked_by_what_they_cost_a_person(
    page: Reproduction, paper: str
) -> None:
    text = page.page.read_text("utf-8")
    assert "weights = agency and occupation 10" in text and "weights = pay 40" in text and "{&#34;age" not in text
    spots = [n for where, n in page.numbers if where == "Section 3: the sweet spot"]
    assert len(spots) == 4 and all("error" in n.ours for n in spots)
    ranked = next(e for e in page.paper.exhibits if e.name == "Section 3: least epsilon").tables
    for table in ranked:
        costs = [float(r[0]) for r in table.rows]
        assert costs == sorted(costs) and all(float(r[-1]) <= 0.03 for r in table.rows)


@pytest.mark.parametrize("paper", ["dpsyn"])
def test_scores_and_sizes_of_every_area_and_year_are_in_a_file(page: Reproduction, paper: str) -> None:
    found = sorted(page.page.parent.glob("scores-*.csv"))
    assert len(found) == 6, "three regimes, two variants"
    truth = pl.read_parquet(page.page.parent / "confidential.parquet")
    for file in found:
        table = pl.read_csv(file)
        assert table.columns == ["PUMA", "YEAR", "score", "rows", "synthetic_rows", "size_error"]
        assert table["rows"].sum() == truth.height and table["score"].is_between(0, 1000).all()
        if file.stem.endswith("-paper"):
            made = table["synthetic_rows"]
            assert (made % 10 == 0).all() and (made >= 300).all(), "multiples of K, and the floor"
        off = (table["synthetic_rows"] - table["rows"]).abs() / table["rows"]
        assert np.allclose(table["size_error"], off), "fewer records than there are is an error too"
    text = page.page.read_text("utf-8")
    assert "regime two_way" in text and "the paper&#39;s scales" in text
    for exhibit in page.paper.exhibits[2:5]:
        (_, _, paper, _, their_off, noise), (_, _, ours, _, our_off, our_noise) = exhibit.tables[0].rows
        assert ("The repaired variant scores lower here" in exhibit.about) == (int(ours) < int(paper)), exhibit.name
        assert ("further off in size" in exhibit.about) == (float(our_off) > float(their_off)), exhibit.name
        if "further off in size" in exhibit.about and float(our_noise) > 1.05 * float(noise):
            assert f"standard deviation {our_noise} against {noise}" in exhibit.about


def _square(west: float, side: float = 1.0) -> list[list[float]]:
    east, north = west + side, 40 + side
    return [[west, 40.0], [east, 40.0], [east, north], [west, north], [west, 40.0]]


def _geojson(path: Path, **changed: object) -> Path:
    """Three areas side by side: one with a hole, one of two parts, one with a name that needs care."""
    hole, island = _square(-89.7, 0.4), _square(-86.5, 0.2)
    shapes = (
        ("Polygon", [_square(-90), hole]),
        ("MultiPolygon", [[_square(-88)], [island]]),
        ("Polygon", [_square(-85)]),
    )
    features: list[dict[str, object]] = [
        {"properties": {"PUMA": name, "name": "the same"}, "geometry": {"type": kind, "coordinates": at}}
        for name, (kind, at) in zip(('<North> "A"', "00104", "South"), shapes, strict=True)
    ]
    features[0] |= changed
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), "utf-8")
    return path


def test_a_map_of_ones_own_names_the_areas_and_draws_their_borders(tmp_path: Path) -> None:
    shapes = Shapes.read(_geojson(tmp_path / "three.geojson"))
    made = temporal_map(900, 1, areas=shapes.names[:2], most_rows=3)
    assert set(made.areas) == {'<North> "A"', "00104"} == set(made.public["PUMA"])
    assert tomllib.loads(temporal_schema(made.areas))["columns"]["PUMA"]["values"] == list(made.areas)
    row = {"score": 870.0, "size_error": 0.3, "rows": 100, "synthetic_rows": 130}
    at = dict.fromkeys(made.areas, row)
    drawn = map_of_a_year(at, made.areas, 2012, shapes)
    assert drawn.count("<path") == 6 and drawn.count('class="q2 border"') == 2 == drawn.count('class="q3 border"')
    assert drawn.count('class="border none"') == 2, "the third area is not in the survey"
    assert drawn.count("Z") == 10, "a hole and an island have borders of their own"
    assert "&lt;North&gt; &#34;A&#34;, 2012: score 870" in drawn and "<North>" not in drawn
    tiled = map_of_a_year(at, made.areas, 2012, None)
    assert "<path" not in tiled and tiled.count("<rect") == 4


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"geometry": {"type": "Point", "coordinates": [0, 0]}}, "a feature is a Point"),
        ({"geometry": {"type": "Polygon", "coordinates": [_square(500_000)]}}, "not in degrees"),
        ({"geometry": {"type": "Polygon", "coordinates": [_square(-90)[:2]]}}, "fewer than four points"),
        ({"geometry": None}, "is not understood"),
        ({"properties": {"PUMA": "South"}}, "no property names every area"),
    ],
)
def test_a_map_that_cannot_be_drawn_is_refused(tmp_path: Path, changed: dict[str, object], said: str) -> None:
    with pytest.raises(JobError, match=said) as refused:
        reproduce("dpsyn", tmp_path / "page", map_file=_geojson(tmp_path / "a.geojson", **changed))
    assert "FeatureCollection" in str(refused.value) and not (tmp_path / "page").exists()


def test_only_the_paper_with_a_map_takes_one(hedgerow: Command, tmp_path: Path) -> None:
    file = _geojson(tmp_path / "a.geojson")
    done = hedgerow("reproduce", "ce", "--map", file, "--out", tmp_path / "ce")
    assert done.code == 2 and "has no map" in done.err and not (tmp_path / "ce").exists()
    done = hedgerow("reproduce", "dpsyn", "--map", tmp_path / "none.geojson", "--out", tmp_path / "dpsyn")
    assert done.code == 2 and "cannot be read" in done.err and not (tmp_path / "dpsyn").exists()


def test_made_up_persons_have_a_record_a_year_and_few_in_all() -> None:
    table = temporal_map(3000, 1, areas=4, most_rows=3).confidential
    each = table.group_by(PERSON).agg(pl.len(), pl.col("YEAR").n_unique().alias("years"))
    assert (
        each["len"].max() == 3 and (each["len"] == each["years"]).all() and (each["len"] > 1).sum() > each.height / 2
    )
    again = with_persons(table.drop(PERSON), "YEAR", 7, np.random.default_rng(0))
    assert again.height == table.height and again.drop(PERSON).equals(table.drop(PERSON))
