"""Verify: an honest bundle holds, and one whose promise, costs or words were edited fails loudly."""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import typer

from hedgerow import __version__
from hedgerow.cli import release as release_command
from hedgerow.errors import VerifyFailed
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.question import Measurement
from hedgerow.public.costs.statement import PublicInput, Statement
from hedgerow.release.bundle import BundleReader, read_bundle, write_bundle
from hedgerow.release.verify import CHECKS, DRAWN, TOLD, Verification, verify
from tests.holding import assert_holds
from tests.unit.release.made import a_release
from tests.unit.release.tampering import BUDGETS, failed, only, rehash, restate, unchecked

GUARANTEES = [
    Guarantee(),
    Guarantee(relation="replace-one"),
    Guarantee(relation="label-change", public_columns=("pay", "age")),
    Guarantee(unit="person", person="id", rows_per_person=3),
]


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "zcdp"])
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda g: f"{g.unit}-{g.relation}")
def test_an_honest_bundle_holds(tmp_path: Path, guarantee: Guarantee, budget: Budget) -> None:
    write_bundle(tmp_path / "r", a_release(rows=40, pairs=True, copies=2, guarantee=guarantee, budget=budget))
    checks = assert_holds(tmp_path / "r")
    assert [c.name for c in checks] == [*(name for name, _ in CHECKS), DRAWN, TOLD]
    assert all(c.held and c.detail for c in checks[:-2])
    assert checks[-2].held is None and "is not one of Hedgerow's recipes" in checks[-2].detail


@only("pure")
def test_the_failure_is_one_paragraph_with_every_reason_and_exit_code_6(forged: Path) -> None:
    (forged / "report.html").write_text("better")
    (forged / "records.parquet").unlink()
    with pytest.raises(VerifyFailed) as refused:
        assert_holds(forged)
    assert refused.value.exit_code == 6
    for said in (
        "does not hold",
        "records.parquet",
        "checks failed",
        "No confidential row was read, nothing was spent",
    ):
        assert said in str(refused.value)


def _numbers(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where numbers stand in a statement, those written as text included."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from _numbers(value, (*path, key))
    text = isinstance(data, str) and data.replace("/", "", 1).isdigit()
    if text or (isinstance(data, int | float) and not isinstance(data, bool)):
        yield path


def _edited(data: dict[str, Any], path: tuple[Any, ...], change: str) -> dict[str, Any]:
    out = copy.deepcopy(data)
    place = out
    for key in path[:-1]:
        place = place[key]
    old = place[path[-1]]
    number = Fraction(str(old))
    new = {"double": number * 2, "halve": number / 2, "more": number + 1, "none": Fraction(0), "less": -number}[
        change
    ]
    new = new if new != number else number + 3
    place[path[-1]] = str(new) if isinstance(old, str) else int(new) if isinstance(old, int) else float(new)
    return out


@pytest.mark.parametrize("change", ["double", "halve", "more", "none", "less"])
def test_editing_any_number_of_the_statement_fails_though_the_manifest_was_mended(forged: Path, change: str) -> None:
    data = json.loads((forged / "statement.json").read_text())
    places = list(_numbers(data))
    assert len(places) > 30
    for path in places:
        edited = _edited(data, path, change)
        if edited == data:
            continue
        restate(forged, edited)
        bundle = BundleReader(forged)
        held = {name: True for name, _ in CHECKS}
        for name, check in CHECKS[1:7]:
            try:
                check(bundle)
            except Exception:
                held[name] = False
        assert held[CHECKS[0][0]] and not all(held.values()), f"{path} was changed ({change}) and nobody noticed"


WORDS: list[tuple[tuple[Any, ...], object]] = [
    (("guarantee", "relation"), "replace-one"),
    (("guarantee", "unit"), "person"),
    (("guarantee", "public_columns"), ["age"]),
    (("measure",), "gdp"),
    (("events", 1, "asked", 0, "law"), "gaussian"),
    (("events", 1, "asked", 0, "law"), "cauchy"),
    (("events", 1, "asked", 0, "columns"), ["agency"]),
    (("events", 1, "asked", 0, "columns"), ["no such column"]),
    (("events", 1, "verb"), "select"),
    (("events", 1, "verb"), "peek"),
    (("events", 1, "verb"), "relabel"),
    (("events", 2, "candidates"), []),
    (("events", 1, "asked"), []),
    (("events",), []),
    (("choices",), []),
    (("choices", 0, 1), ["pay"]),
    (("invariants",), []),
    (("promised",), {"epsilon": "1e999999999", "delta": "0"}),
    (("promised",), {"epsilon": "1/0", "delta": "0"}),
    (("promised",), {"epsilon": 1, "delta": 0}),
    (("spent_epsilon",), "0.1"),
    (("guarantee", "rows_per_person"), True),
    (("events", 0, "cost"), 0.1),
    (("table",), 7),
    (("table",), "another table"),
    (("recipe",), "another recipe"),
    (("format",), "hedgerow-statement/0"),
    (("exact",), 3),
]


@pytest.mark.parametrize(("path", "value"), WORDS, ids=lambda x: str(x)[:40])
def test_editing_any_word_of_the_promise_fails(forged: Path, path: tuple[Any, ...], value: object) -> None:
    data = json.loads((forged / "statement.json").read_text())
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value if place.__class__ is not dict or place.get(path[-1]) != value else "laplace"
    restate(forged, data)
    assert set(failed(forged)) & {name for name, _ in CHECKS[1:7]}


def test_a_forger_who_writes_every_page_anew_is_still_caught(honest: Path, tmp_path: Path) -> None:
    """Half the noise, claimed at the old price: everything is rewritten by our own code."""
    contents = read_bundle(honest)
    first, *rest = contents.statement.spends
    cheap = replace(first.asked[0], noise=replace(first.asked[0].noise, scale=first.asked[0].noise.scale / 2))
    statement = replace(contents.statement, spends=(replace(first, asked=(cheap,)), *rest))
    answers = tuple((i, replace(m, noise=cheap.noise)) if i == 0 else (i, m) for i, m in contents.answers)
    write_bundle(tmp_path / "r", replace(contents, statement=statement, answers=answers))
    assert set(failed(tmp_path / "r")) == {"every cost follows from its noise"}


@pytest.mark.parametrize("change", ["another", "none", "twice"])
@only("pure")
def test_pages_that_judge_other_uses_than_the_job_asks_for_are_caught(
    honest: Path, tmp_path: Path, change: str
) -> None:
    """As everything else that they say of uses follows from no other file, at least nothing may be kept back."""
    contents = read_bundle(honest)
    first, *rest = contents.verdicts
    other = replace(first, use=replace(first.use, tolerance=0.5))
    judged = {"another": (other, *rest), "none": (), "twice": (first, first, *rest)}[change]
    write_bundle(tmp_path / "r", replace(contents, verdicts=judged))
    assert "do not agree on the intended uses" in failed(tmp_path / "r")["job asked for this promise"]


@only("pure")
def test_a_title_or_an_origin_of_the_public_table_that_the_job_does_not_give_is_caught(
    honest: Path, tmp_path: Path
) -> None:
    contents, check = read_bundle(honest), "job asked for this promise"
    write_bundle(tmp_path / "title", replace(contents, title="The very register"))
    assert "on the title" in failed(tmp_path / "title")[check]
    inputs = tuple(replace(i, provenance="anywhere") for i in contents.statement.public_inputs if i.role == "public")
    statement = replace(contents.statement, public_inputs=(contents.statement.public_inputs[0], *inputs))
    write_bundle(tmp_path / "origin", replace(contents, statement=statement))
    assert "where the public table comes from" in failed(tmp_path / "origin")[check]
    made_up = replace(statement, version="0.0.1")
    write_bundle(tmp_path / "version", replace(contents, statement=made_up))
    assert any("where the public table" in said for said in failed(tmp_path / "version").values()), (
        "whichever it says"
    )


def test_a_request_that_costs_less_than_its_tables_is_caught(honest: Path, tmp_path: Path) -> None:
    contents = read_bundle(honest)
    first, second, *rest = contents.statement.spends
    cheap = replace(contents.statement, spends=(first, replace(second, cost=second.cost / 2), *rest))
    write_bundle(tmp_path / "r", replace(contents, statement=cheap))
    assert set(failed(tmp_path / "r")) == {"every cost follows from its noise"}


def test_a_table_with_fewer_cells_than_the_schema_gives_it_is_caught(honest: Path, tmp_path: Path) -> None:
    """Noise on the cells that were seen only, told the same way in the statement and in the answers."""
    contents = read_bundle(honest)
    *spends, last = contents.statement.spends
    fewer = replace(last, asked=(replace(last.asked[0], cells=17),))
    i, m = contents.answers[-1]
    answers = (*contents.answers[:-1], (i, Measurement(m.question, m.counts[:-1], m.noise)))
    statement = replace(contents.statement, spends=(*spends, fewer))
    write_bundle(tmp_path / "r", replace(contents, statement=statement, answers=answers))
    assert set(failed(tmp_path / "r")) == {"cells follow from the schema"}


def test_spending_more_than_promised_is_caught(honest: Path, tmp_path: Path) -> None:
    contents = read_bundle(honest)
    spends, answers = contents.statement.spends, contents.answers
    more = tuple((i + len(spends), m) for i, m in answers)
    choices = (*contents.statement.choices, (2 + len(spends), contents.statement.choices[0][1]))
    statement = replace(contents.statement, spends=spends * 2, choices=choices)
    write_bundle(tmp_path / "r", replace(contents, statement=statement, answers=(*answers, *more)))
    assert "costs keep the promise" in failed(tmp_path / "r")


def test_an_answer_nobody_paid_for_is_caught(honest: Path, tmp_path: Path) -> None:
    contents = read_bundle(honest)
    for name, answers in {
        "more": (*contents.answers, contents.answers[-1]),
        "fewer": contents.answers[:-1],
        "swapped": (contents.answers[0], *contents.answers[:0:-1]),
    }.items():
        write_bundle(tmp_path / name, replace(contents, answers=answers))
        assert "noisy answers were paid for" in failed(tmp_path / name), name


def test_an_answer_without_some_cells_is_caught(honest: Path, tmp_path: Path) -> None:
    contents = read_bundle(honest)
    i, m = contents.answers[-1]
    short = Measurement(m.question, m.counts[:-1], m.noise)
    write_bundle(tmp_path / "r", replace(contents, answers=(*contents.answers[:-1], (i, short))))
    assert "17 cells" in failed(tmp_path / "r")["noisy answers were paid for"]


@only("pure")
def test_words_of_a_page_that_say_more_than_the_statement_are_caught(forged: Path) -> None:
    for name, old, new in [
        ("privacy-statement.md", "at most about", "at least"),
        ("report.html", ">expected to be missed<", ">expected to be met<"),
        ("DATACARD.md", "noise", "love"),
        ("codebook.html", "Female", "Males"),
        ("datapackage.json", '"title": "Personnel 2009"', '"title": "Personnel 2010"'),
    ]:
        kept = (forged / name).read_text(encoding="utf-8")
        assert old in kept
        (forged / name).write_text(kept.replace(old, new), encoding="utf-8")
        rehash(forged)
        assert "pages say what the files say" in failed(forged), name
        (forged / name).write_text(kept, encoding="utf-8")


def test_pages_of_another_version_must_still_state_the_promise(honest: Path, tmp_path: Path) -> None:
    contents = read_bundle(honest)
    write_bundle(tmp_path / "r", replace(contents, statement=replace(contents.statement, version="0.0.1")))
    page = tmp_path / "r" / "report.html"
    page.write_text(page.read_text(encoding="utf-8").replace("Release report", "Report"), encoding="utf-8")
    rehash(tmp_path / "r")
    assert not failed(tmp_path / "r")
    assert "pages say what the files say" in unchecked(tmp_path / "r")
    page.write_text(page.read_text(encoding="utf-8").replace("at most about", "at least"), encoding="utf-8")
    rehash(tmp_path / "r")
    assert set(failed(tmp_path / "r")) == {"pages say what the files say"}


def test_a_script_in_a_page_that_claims_another_version_does_not_hold(
    honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contents = read_bundle(honest)
    write_bundle(tmp_path / "r", replace(contents, statement=replace(contents.statement, version="0.0.1")))
    page = tmp_path / "r" / "report.html"
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", "<script>steal()</script></body>"), "utf-8")
    rehash(tmp_path / "r")
    found = Verification(verify(tmp_path / "r"))
    assert not found and not found.holds and found.exit_code == 7
    assert found.failed == () and "pages say what the files say" in found.unchecked
    assert "Pages not checked: report.html were written by version 0.0.1" in str(unchecked(tmp_path / "r"))
    assert "pages say what the files say" in repr(found) and "does not hold" not in repr(found)
    with pytest.raises(typer.Exit) as left:
        release_command.verify(tmp_path / "r", as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert left.value.exit_code == 7
    assert not said["holds"] and not said["failed"] and "pages say what the files say" in said["unchecked"]
    assert None in [c["held"] for c in said["checks"]]
    with pytest.raises(typer.Exit):
        release_command.verify(tmp_path / "r")
    assert "NOT confirmed" in capsys.readouterr().out


def test_pages_of_another_version_that_this_one_would_write_alike_hold(honest: Path, tmp_path: Path) -> None:
    contents = read_bundle(honest)
    write_bundle(tmp_path / "r", replace(contents, statement=replace(contents.statement, version="0.0.1")))
    assert {c.name: c.held for c in verify(tmp_path / "r")}["pages say what the files say"]


@pytest.mark.parametrize("version", [__version__, "0.0.1"])
def test_a_schema_that_is_not_the_stated_one_is_caught_whatever_version_it_claims(
    honest: Path, tmp_path: Path, version: str
) -> None:
    contents = read_bundle(honest)
    inputs = tuple(i for i in contents.statement.public_inputs if i.role != "schema")
    other = replace(contents.statement, version=version)
    for place, changed in {
        "another": replace(other, public_inputs=(PublicInput("schema", "schema.toml", "0" * 64), *inputs)),
        "none": replace(other, public_inputs=inputs),
    }.items():
        write_bundle(tmp_path / place, replace(contents, statement=changed))
        assert set(failed(tmp_path / place)) == {"schema is the one that was stated"}


def test_the_statement_reads_back_to_itself(honest: Path) -> None:
    text = (honest / "statement.json").read_text()
    assert Statement.from_json(json.loads(text)).dumps() == text
