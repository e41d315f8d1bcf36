"""Attach jobs as a steward meets them: plan, run, verify, more copies; and what is said when something is wrong."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hedgerow.public.costs.accounting import Guarantee
from tests.end_to_end.conftest import ROWS, Command
from tests.privacy.test_replay_attach import attach_job
from tests.privacy.world import frame
from tests.unit.release.tampering import failed, restate

GUARANTEE = Guarantee(relation="label-change", public_columns=("pay", "area"))


@pytest.fixture(params=["random_trees", "guided_tree"])
def attach(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    frame(ROWS).write_csv(tmp_path / "secret.csv")
    return attach_job(tmp_path, GUARANTEE, request.param)


def test_plan_run_verify_and_more_copies(hedgerow: Command, attach: Path) -> None:
    told = json.loads(hedgerow("plan", attach, "--json").out)
    assert told["confidential_rows_read"] == 0 and told["minutes"] >= 0
    assert sum(t["epsilon"] for t in told["attach"]["trees"]) <= told["budget"]["epsilon"] + 1e-9
    assert "no confidential row was read" in hedgerow("plan", attach).out.lower()
    assert hedgerow("run", attach, "--yes").code == 0
    release, folder = attach.parent / "release", attach.parent
    assert hedgerow("verify", release).code == 0
    given = ["--public", folder / "public.csv", "--target", folder / "target.csv"]
    assert hedgerow("sample", release, "--copies", 2, "--seed", 5, *given).code == 0
    copies = [pl.read_parquet(folder / "release-copies" / f"records-seed5-{i}.parquet") for i in (1, 2)]
    target = pl.read_csv(folder / "target.csv", infer_schema=False)
    for copy in copies:
        assert copy.height == target.height and copy["sex"].null_count() == 0
        assert copy["area"].equals(target["area"])
    assert not copies[0].equals(copies[1])


def test_the_steward_sees_how_often_an_attached_value_is_the_true_one(hedgerow: Command, attach: Path) -> None:
    assert hedgerow("run", attach, "--yes").code == 0
    told = json.loads(hedgerow("steward", "compare", attach, "--only", "one-way", "--json").out)["classification"]
    made = pl.read_parquet(attach.parent / "release" / "records.parquet").cast(pl.String)
    true = frame(ROWS).cast(pl.String)
    keys = ["pay", "area"]
    alone = true.filter(pl.len().over(keys) == 1)
    both = made.join(alone, keys, how="inner", nulls_equal=True)
    assert told["rows"] == made.height and told["match_rate"] == pytest.approx(both.height / made.height)
    assert set(told["true_rate"]) == set(told["by_chance"]) == {"sex", "race"}
    assert "INSIDE ONLY" in told["mark"]
    if not both.height:
        assert told["true_rate"] == {"sex": None, "race": None}, "a rate of nothing is no rate of 0"
    else:
        assert told["true_rate"]["sex"] == pytest.approx((both["sex"] == both["sex_right"]).mean())
    said = hedgerow("steward", "compare", attach, "--only", "one-way").out
    assert said.startswith("INSIDE ONLY") and "How often an attached value is the true one" in said


def test_panels_of_a_release_score_its_private_columns_alone(hedgerow: Command, attach: Path) -> None:
    folder = attach.parent
    pays = {"F": ("5", "5", "12"), "M": ("5", "12")}
    rows = [(sex, race, pay, area, who) for sex, race, _, _, who in ROWS for pay in pays[sex or "F"] for area in "ns"]
    private = ["sex", "race"]
    for name, less in (("secret", []), ("public", []), ("target", private)):
        told = rows * 5 if name == "secret" else rows[1:] * 5  # the secret's own rows are refused as public
        frame(tuple(told)).drop(less).write_csv(folder / f"{name}.csv")
    done = hedgerow("run", attach, "--yes")
    assert done.code == 0, done.err
    only = ["--only", "joint-scatter,slopes", "--json"]
    exact = json.loads(hedgerow("steward", "compare", attach, *only).out)["release"]["results"]
    public = json.loads(hedgerow("compare", folder / "public.csv", folder / "release", *only).out)["results"]
    for joint, slopes in (exact, public):
        assert {e["of"] for e in slopes["each"]} == {"sex", "race"} and slopes["parts"]["pairs_apart"] > 0
        assert joint["parts"]["columns"].startswith("sex x race")
    words = ["--only", "slopes", "--csv", folder / "numbers"]
    assert hedgerow("compare", folder / "public.csv", folder / "release", *words).code == 0
    assert (folder / "numbers" / "slopes.csv").read_text("utf-8").startswith("private,with,scored")


def test_a_public_table_without_the_private_columns_is_enough(hedgerow: Command, attach: Path) -> None:
    folder = attach.parent
    text = attach.read_text("utf-8").replace("sequence = 'chain'", "sequence = 'joint'")  # a chain splits by labels
    attach.write_text(text, "utf-8")
    pl.read_csv(folder / "public.csv", infer_schema=False).drop("sex", "race").write_csv(folder / "public.csv")
    told = json.loads(hedgerow("plan", attach, "--json").out)
    assert told["attach"]["expected_total_variation"] is None, "without labels nobody can tell"
    done = hedgerow("run", attach, "--yes")
    assert done.code == 0, done.err
    assert hedgerow("verify", folder / "release").code == 0
    given = ["--public", folder / "public.csv", "--target", folder / "target.csv"]
    assert hedgerow("sample", folder / "release", *given).code == 0
    made = pl.read_parquet(folder / "release" / "records.parquet")
    assert set(made["sex"]) == {"F", "M"}
    rehearsed = hedgerow("rehearse", attach)
    assert rehearsed.code == 2 and "judges intended uses" in rehearsed.err, "it has none"
    use = '[[use]]\nname = "sex"\ncolumns = ["sex"]\ntolerance = 0.9\n'
    attach.write_text(f"{attach.read_text('utf-8')}\n{use}", "utf-8")
    rehearsed = hedgerow("rehearse", attach, "--workers", 1, "--epsilons", "1")
    assert rehearsed.code in (0, 5) and "made up from the schema" in " ".join(rehearsed.out.split()), rehearsed.err


def test_a_public_table_without_a_given_column_is_refused_with_the_cure(hedgerow: Command, attach: Path) -> None:
    file = attach.parent / "public.csv"
    pl.read_csv(file, infer_schema=False).drop("pay").write_csv(file)
    done = hedgerow("run", attach, "--yes")
    assert done.code == 3 and "pay" in done.err and "take the column out of the schema" in done.err, done.err
    assert "othing was" in done.err and not (attach.parent / "release").exists()


def test_sample_needs_the_very_target(hedgerow: Command, attach: Path) -> None:
    hedgerow("run", attach, "--yes")
    folder, release = attach.parent, attach.parent / "elsewhere" / "release"  # no table lies beside it there
    release.parent.mkdir()
    (folder / "release").rename(release)
    alone = hedgerow("sample", release, "--public", folder / "public.csv")
    assert alone.code == 2 and "--target" in alone.err
    other = hedgerow("sample", release, "--public", folder / "public.csv", "--target", folder / "public.csv")
    assert other.code == 2 and "not the target table" in other.err
    half = hedgerow("sample", release, "--target", folder / "target.csv")
    assert half.code == 2 and "--public" in half.err, "what it lacks is named, not a new run"


def test_a_papers_sequence_is_marked_in_the_statement_and_the_release_verifies(
    hedgerow: Command, tmp_path: Path
) -> None:
    frame(ROWS).write_csv(tmp_path / "secret.csv")
    job = attach_job(tmp_path, GUARANTEE, "random_trees, papers-2018")
    assert "association" in hedgerow("plan", job).out
    assert hedgerow("run", job, "--yes").code == 0
    release = tmp_path / "release"
    statement = json.loads((release / "statement.json").read_text("utf-8"))
    assert "trained on synthetic labels" in statement["recipe"] and "association" in statement["recipe"]
    assert [e["verb"] for e in statement["events"]] == ["measure", "relabel"]
    assert [law["column"] for law in statement["events"][1]["detail"]["relabel"]] == ["sex"]
    assert hedgerow("verify", release).code == 0
    given = ["--public", tmp_path / "public.csv", "--target", tmp_path / "target.csv"]
    assert hedgerow("sample", release, "--seed", 9, *given).code == 0
    for forged in _forged(statement["events"][1]["detail"]["relabel"][0]):
        statement["events"][1]["detail"] = forged
        restate(release, statement)
        assert "every cost follows from its noise" in failed(release), forged


def _forged(law: dict[str, Any]) -> list[dict[str, Any]]:
    """Details that name no laws, or say more than laws."""
    return [
        {"relabel": [law], "exact": [["F", "A", 31]]},
        {"relabel": [law | {"trees": [["F", "A", 31]]}]},
        {"relabel": [law | {"trees": []}]},
        {"relabel": [law | {"weights": "no hash"}]},
        {"relabel": [law | {"column": "no such column"}]},
        {"relabel": [law, law]},
        {"relabel": []},
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("sequence = 'chain'", "sequence = 'papers-2019'", "no epsilon covers"),
        ("n_b = 20", "n_b = 0", "n_b is 1 or more"),
        ("n_b = 20", "weights = { no = 2 }", "not a given attribute"),
        ("leaf_min = 3", "ratio = { pay = -1 }", "above 0"),
        ("columns = ['sex', 'race']", "columns = ['sex']", "lacks race"),
        ("[target]\ntable = 'target.csv'\n", "", "[target]"),
        ("[target]\ntable = 'target.csv'\n", "[target]\ntable = 'secret.csv'\n", "confidential table itself"),
    ],
)
def test_mistakes_are_named_before_anything_is_read(
    hedgerow: Command, tmp_path: Path, old: str, new: str, said: str
) -> None:
    frame(ROWS).write_csv(tmp_path / "secret.csv")
    job = attach_job(tmp_path, GUARANTEE, "random_trees")
    text = job.read_text("utf-8")
    assert old in text
    job.write_text(text.replace(old, new), "utf-8")
    done = hedgerow("run", job, "--yes")
    assert done.code in (2, 4) and said in done.err, done.err
    assert not (tmp_path / "release").exists()


def test_a_bare_job_is_told_of_its_target_and_then_takes_the_public_columns_from_it(
    hedgerow: Command, tmp_path: Path
) -> None:
    job = attach_job(tmp_path, GUARANTEE, "guided_tree")
    text = job.read_text("utf-8").replace('relation = "label-change"\n', "")
    text = text.replace("public_columns = ['pay', 'area']\n", "")
    job.write_text(text.replace("[target]\ntable = 'target.csv'\n", ""), "utf-8")
    assert "[target] table = '...'" in hedgerow("plan", job).err
    job.write_text(text, "utf-8")
    assert "Public row by row, by declaration: pay, area" in hedgerow("plan", job).out
