"""Every command in a block of the reference and explanation pages runs, on small tables; the rest is in one list.

Guides are typed as they stand by ``test_howto.py``.  Pages of reference name files that the reader has: here they are
made of simulated personnel, and words in capitals, options in brackets and large numbers get values.
"""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from hedgerow.simulate.personnel import personnel, personnel_schema
from tests.docs.test_commands import BLOCK, PAGES, ROOT, lines
from tests.docs.test_howto import GUIDES, exit_code

pytestmark = pytest.mark.usefixtures("short_forecasts")
NOT_RUN = {
    "hedgerow reproduce rdt-2018": "takes minutes: test_reproduce.py makes the page of every paper in its quick form",
    "hedgerow studio DIR": "serves until somebody stops it: the tests of the studio start it and press its buttons",
}
VALUES = {"PUBLIC": "public.csv", "BOOK": "codes.csv", "SCHEMA": "schema.toml", "DIR": "played"}
SMALLER = {
    "--copies 20": "--copies 2",
    "--replicates 20": "--replicates 2",
    "--runs 9": "--runs 2",
    "--runs 10": "--runs 2",
    "--workers 0": "--workers 1",
}
RELEASES = {
    "hedgerow sample release --copies 20 --seed 1": "from-tree-blend",
    "hedgerow verify release --public last_year.csv --target rows.csv": "attached",
}
"""Lines about a release of another recipe than the page's other lines."""
REFERENCE = [p for p in PAGES if p.is_relative_to(ROOT / "docs") and p not in GUIDES and lines(p)]
ROWS, ROWS_OF_A_MODEL = 600, 2000

_JOB = """
[job]
recipe = "{recipe}"
out = "{out}"

[confidential]
table = "confidential.parquet"
name = "personnel"
unit = "person"
person = "person"
rows_per_person = 4
{relation}
[budget]
epsilon = 2.0

[[use]]
name = "pay gap of women"
kind = "coefficient"
formula = "ln(pay) ~ sex + age | agency"
term = "sex[F]"
tolerance = 0.5
{more}
"""
_PUBLIC = '[public]\ntable = "last_year.csv"\nprovenance = "an earlier period, already released"\n'
_ATTACH = """relation = "label-change"
public_columns = ["year", "agency", "occupation", "age", "education", "grade", "supervisory", "pay"]
"""
_TARGET = '[target]\ntable = "rows.csv"\n'
_TREES = '[random_trees]\ncolumns = ["sex", "race"]\n'


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables by the names that the pages use, and a release of each kind."""
    place = tmp_path_factory.mktemp("office")
    tables(place, ROWS)
    with pytest.MonkeyPatch.context() as here:
        here.chdir(place)
        for recipe, out, relation, more in (
            ("public_blend", "release", "", _PUBLIC),
            ("tree_blend", "from-tree-blend", "", ""),
            ("guided_tree", "attached", _ATTACH, _PUBLIC + _TARGET),
        ):
            job(place, recipe, out, relation, more)
            assert exit_code(shlex.split("hedgerow run job.toml --yes --no-forecast")) == 0, recipe
    return place


def tables(place: Path, rows: int) -> None:
    made = personnel(rows=rows, seed=1, agencies=4, occupations=5)
    made.confidential.write_parquet(place / "confidential.parquet")
    for name in ("public", "a", "b1", "b2"):
        made.public.write_parquet(place / f"{name}.parquet")
    for name in ("public", "last_year"):
        made.public.write_csv(place / f"{name}.csv")
    made.public.drop("person").head(rows // 2).write_csv(place / "synthetic.csv")
    made.target.write_csv(place / "rows.csv")
    (place / "schema.toml").write_text(personnel_schema(agencies=4, occupations=5), "utf-8")
    (place / "codes.csv").write_text("column,value,label\nsex,F,women\nsex,M,men\n", "utf-8")


def job(place: Path, recipe: str, out: str = "release", relation: str = "", more: str = "") -> None:
    written = _JOB.format(recipe=recipe, out=out, relation=relation, more=more)
    (place / "job.toml").write_text(written, "utf-8")


def typed(line: str) -> list[str]:
    """A line with values for what the page leaves to the reader."""
    words = re.sub(r" \[(-[^\]]*|[A-Z]+)\]", r" \1", line.partition(" #")[0])
    for large, small in SMALLER.items():
        words = re.sub(rf"{large}\b", small, words)
    release = RELEASES.get(line.partition(" #")[0].strip(), "release")
    stand = VALUES | {"release": release}
    if "3f0c..." in words:
        stand["3f0c..."] = json.loads(Path("release/statement.json").read_text("utf-8"))["ledger"]["anchor"]
    yes = ["--yes"] if re.match(r"hedgerow (verify-model|experiment \S+ --choose)", line) else []
    return [*(stand.get(w, w) for w in shlex.split(words)), *yes]


@pytest.mark.parametrize("page", REFERENCE, ids=lambda p: p.stem)
def test_the_commands_of_a_page_run(
    page: Path, office: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "here"
    shutil.copytree(office, place)
    monkeypatch.chdir(place)
    job(place, "public_blend", more=_PUBLIC)
    if page.stem == "ledger":  # a cap is set before anything is spent
        for made in (*place.glob("ledger.db*"), place / "release"):
            shutil.rmtree(made) if made.is_dir() else made.unlink()
    if page.stem == "verify-model":  # fifty parts, each with rows enough for the model
        shutil.rmtree(place / "release")
        tables(place, ROWS_OF_A_MODEL)
        job(place, "independent")
        assert exit_code(shlex.split("hedgerow run job.toml --yes --no-forecast")) == 0
    if page.stem == "experiment":
        for fenced, _ in BLOCK.findall(page.read_text("utf-8")):
            if "[experiment]" in fenced:
                name = "choose.toml" if fenced.startswith("# choose.toml") else "grid.toml"
                (place / name).write_text(fenced.replace("seeds = 4", "seeds = 1"), "utf-8")
        job(place, "random_trees", "trees", _ATTACH, _PUBLIC + _TARGET + _TREES)
    for line in lines(page):
        if not any(line.startswith(left) for left in NOT_RUN):
            assert exit_code(typed(line)) == 0, line
            if line.startswith("hedgerow ledger cap"):
                assert exit_code(shlex.split("hedgerow run job.toml --yes --no-forecast")) == 0


def test_what_is_not_run_is_on_a_page() -> None:
    every = [line for page in REFERENCE for line in lines(page)]
    assert all(any(line.startswith(left) for line in every) for left in NOT_RUN)
    assert set(RELEASES) <= {line.partition(" #")[0].strip() for line in every}
