"""What the studio writes of intended uses, of whatever kind."""

import html
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from hedgerow.api.job import Job
from hedgerow.uses import USES, Rate
from tests.unit.studio.visiting import Studio, a_folder, said, send


def test_uses_are_added_in_words_changed_and_removed(tmp_path: Path) -> None:
    studio = Studio(a_folder(tmp_path))
    mean = {"act": "add", "kind": "mean", "of": "pay", "by": ["sex"], "tolerance": "3", "way": "relative", "name": ""}
    rate = {
        "act": "add",
        "kind": "rate",
        "of": "sex",
        "values": "F",
        "tolerance": "1",
        "way": "points",
        "name": "women",
    }
    table = {
        "act": "add",
        "kind": "table",
        "columns": ["sex", "race"],
        "tolerance": "2",
        "way": "share",
        "name": "both",
    }
    model = {
        "act": "add",
        "kind": "coefficient",
        "formula": "ln(pay) ~ sex + age",
        "term": "sex[F]",
        "tolerance": "0.02",
    }
    for form in (mean, rate, table, {**model, "way": "own", "name": "gap"}):
        assert send(studio, "uses", form) == 303
    uses = {u.name: u for u in Job.load(tmp_path / "job.toml").uses}
    assert [u.tolerance for u in uses.values()] == [0.02, 0.03, 0.01, 0.02, 0.02]
    within = ["total-variation", "relative", "absolute", "total-variation", "absolute"]
    assert [u.within for u in uses.values()] == within
    text = studio.ask("job/job.toml/uses").text
    assert "within 2 in 100" in text and "within 3 in 100" in text and "within 1 percentage points" in text
    assert send(studio, "uses", mean) == 409, "a name of its own"
    assert send(studio, "uses", {"act": "change", "place": "0", "tolerance": "0.5"}) == 303
    assert send(studio, "uses", {"act": "remove", "place": "1"}) == 303
    assert [u["name"] for u in said(tmp_path)["use"]] == ["race", "women", "both", "gap"]
    assert said(tmp_path)["use"][0]["tolerance"] == 0.5
    assert send(studio, "uses", {"act": "add", "kind": "mean", "of": "nothing", "tolerance": "3"}) == 409
    assert send(studio, "uses", {"act": "suggested", "data": "{"}) == 409


def test_every_kind_of_use_has_a_form_and_a_new_one_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass(frozen=True)
    class Odd(Rate):  # type: ignore[misc]  # final, but for this
        """Something that nobody has thought of.

        Attributes:
            learner: how it is learnt.
            depth: how deep it goes.
        """

        kind: ClassVar[str] = "odd"
        learner: Literal["tree", "line"] = field(default="tree", kw_only=True)
        depth: int = field(default=3, kw_only=True)

    monkeypatch.setitem(USES, "odd", Odd)
    studio = Studio(a_folder(tmp_path))
    text = studio.ask("job/job.toml/uses").text
    assert re.findall(r'name="kind" value="([^"]+)"', text) == [k for k in USES if k != "person-rate"]
    assert "will not say whose each row is" in text, "a rate among people needs people"
    assert "Something that nobody has thought of." in text and "how deep it goes" in text
    assert '<option value="line">line</option>' in text
    odd = {
        "act": "add",
        "kind": "odd",
        "of": "sex",
        "values": "F",
        "learner": "line",
        "depth": "5",
        "tolerance": "0.1",
    }
    assert send(studio, "uses", {**odd, "depth": "deep"}) == 409
    assert send(studio, "uses", {**odd, "way": "own", "over": "worst", "by": ["race"], "group_size": "30"}) == 303
    last = said(tmp_path)["use"][-1]
    assert (last["learner"], last["depth"], last["over"], last["by"]) == ("line", 5, "worst", ["race"])
    assert (last["group_size"], last["tolerance"]) == (30, 0.1)
    guess = {"act": "add", "kind": "prediction", "of": "race", "values": "A", "tolerance": "0.02", "way": "own"}
    assert send(studio, "uses", guess) == 303
    assert said(tmp_path)["use"][-1]["values"] == ["A"] and said(tmp_path)["use"][-1]["tolerance"] == 0.02
    assert send(studio, "uses", {**guess, "of": "pay", "name": "bins have no listed values"}) == 409


def test_careers_and_what_is_asked_of_people(tmp_path: Path, started: list[list[str]]) -> None:
    studio = Studio(a_folder(tmp_path))
    form = {"kind": "careers", "confidential": "confidential.csv", "public": "public.csv"}
    assert send(studio, "tables", form) == 303
    text = studio.ask("job/job.toml/tables").text
    assert "and the one of time" in text and "1 Tables</a>" in text, "not done yet"
    assert send(studio, "tables", {**form, "person": "person", "career_time": "year"}) == 303
    assert "1 Tables<span" in studio.ask("job/job.toml/tables").text
    job = Job.load(tmp_path / "job.toml")
    assert job.recipe.name == "careers" and job.guarantee.rows_per_person == 5
    rose = {"act": "add", "kind": "person-rate", "of": "grade", "person": "person", "change": "rises", "time": "year"}
    assert send(studio, "uses", {**rose, "by": ["sex"], "tolerance": "2"}) == 303
    ever = {"act": "add", "kind": "person-rate", "of": "grade", "person": "person", "values": "12", "time": "year"}
    assert send(studio, "uses", {**ever, "tolerance": "2"}) == 303
    _, rises, is_12 = said(tmp_path)["use"]
    assert (rises["change"], rises["time"], rises["by"], rises["tolerance"]) == ("rises", "year", ["sex"], 0.02)
    assert is_12["values"] == ["12"] and "time" not in is_12
    assert "all rows, counted once and by at most 4 steps" in studio.ask("job/job.toml/run").text
    assert send(studio, "tables", {"kind": "records", "confidential": "confidential.csv"}) == 303
    assert "careers" not in said(tmp_path) and "recipe" not in said(tmp_path).get("job", {})


def test_labels_once_per_person(tmp_path: Path, started: list[list[str]]) -> None:
    studio = Studio(a_folder(tmp_path))
    form = {"kind": "attach", "confidential": "confidential.csv", "public": "public.csv", "target": "target.csv"}
    form |= {"unit": "person", "person": "person", "target_person": "person", "target_time": "year"}
    assert send(studio, "tables", {**form, "columns_shown": "yes", "columns": "sex"}) == 303
    job = Job.load(tmp_path / "job.toml")
    assert job.target is not None and (job.target.person, job.target.time) == ("person", "year")
    assert 'value="person-rate"' in studio.ask("job/job.toml/uses").text


def test_every_suggestion_can_be_taken(tmp_path: Path) -> None:
    studio = Studio(a_folder(tmp_path))
    found = re.findall(r'name="data" value="([^"]*)"', studio.ask("job/job.toml/uses").text)
    assert len(found) >= 4 and {json.loads(html.unescape(f)).get("kind", "table") for f in found} >= {"mean", "table"}
    for data in found:
        assert send(studio, "uses", {"act": "suggested", "data": html.unescape(data)}) == 303
    Job.load(tmp_path / "job.toml").prepare().uses  # noqa: B018  each can be judged
