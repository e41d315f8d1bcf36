"""Verify: an honest bundle holds, a tampered one fails loudly, and rubbish never makes it stumble."""

import copy
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hedgerow.errors import VerifyFailed
from hedgerow.public.accounting import Budget, Guarantee
from hedgerow.public.question import Measurement
from hedgerow.public.statement import Statement
from hedgerow.release import manifest, outside
from hedgerow.release.bundle import read_bundle, write_bundle
from hedgerow.release.opened import Opened
from hedgerow.release.verify import CHECKS, assert_holds, verify
from tests.unit.release.made import a_release

GUARANTEES = [
    Guarantee(),
    Guarantee(relation="replace-one"),
    Guarantee(relation="label-change", public_columns=("pay", "age")),
    Guarantee(unit="person", person="id", rows_per_person=3),
]
BUDGETS = [Budget(1), Budget("0.3", "1e-6")]


@pytest.fixture(scope="module", params=BUDGETS, ids=["pure", "zcdp"])
def honest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verify") / "release"
    write_bundle(folder, a_release(rows=80, pairs=True, budget=request.param))
    return folder


@pytest.fixture
def forged(honest: Path, tmp_path: Path) -> Path:
    """A copy to tamper with."""
    shutil.copytree(honest, tmp_path / "forged")
    return tmp_path / "forged"


def only(budget: str) -> pytest.MarkDecorator:
    """For tests of files rather than of arithmetic: one budget will do."""
    return pytest.mark.parametrize("honest", [BUDGETS[budget == "zcdp"]], indirect=True, ids=[budget])


def _failed(folder: Path) -> dict[str, str]:
    return {c.name: c.detail for c in verify(folder) if not c.held}


def _rehash(folder: Path) -> None:
    """What a tamperer does who knows of the manifest."""
    (folder / manifest.NAME).unlink()
    listed = manifest.dumps({p.name: manifest.facts_of(p) for p in folder.iterdir()})
    (folder / manifest.NAME).write_text(listed, encoding="utf-8")


def _restate(folder: Path, data: dict[str, Any]) -> None:
    """What a tamperer does who also knows how a statement is written."""
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    (folder / "statement.json").write_text(text, encoding="utf-8")
    _rehash(folder)


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "zcdp"])
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda g: f"{g.unit}-{g.relation}")
def test_an_honest_bundle_holds(tmp_path: Path, guarantee: Guarantee, budget: Budget) -> None:
    write_bundle(tmp_path / "r", a_release(rows=40, pairs=True, copies=2, guarantee=guarantee, budget=budget))
    checks = assert_holds(tmp_path / "r")
    assert [c.name for c in checks] == [name for name, _ in CHECKS]
    assert all(c.held and c.detail for c in checks)


def test_a_bundle_of_counts_holds_unless_the_schema_does_not_know_them(tmp_path: Path) -> None:
    good = pl.DataFrame({"sex": ["F", "M", None], "education": ["1", "2", "graduate school"], "count": [10, 0, 12]})
    write_bundle(tmp_path / "good", a_release(rows=50, records=(), counts=good))
    assert_holds(tmp_path / "good")
    for i, wrong in enumerate(
        [
            good.with_columns(sex=pl.lit("X")),
            good.with_columns(count=pl.lit(-1)),
            good.with_columns(count=pl.lit(0.5)),
            good.rename({"sex": "person"}),
            good.select("count", "sex"),
        ]
    ):
        write_bundle(tmp_path / str(i), a_release(rows=50, records=(), counts=wrong))
        assert set(_failed(tmp_path / str(i))) == {"tables lie inside the schema"}


@only("pure")
def test_the_failure_is_one_paragraph_with_every_reason_and_exit_code_6(forged: Path) -> None:
    (forged / "report.html").write_text("better")
    (forged / "records.parquet").unlink()
    with pytest.raises(VerifyFailed) as failed:
        assert_holds(forged)
    assert failed.value.exit_code == 6
    for said in (
        "does not hold",
        "records.parquet",
        "checks failed",
        "No confidential row was read, nothing was spent",
    ):
        assert said in str(failed.value)


@only("pure")
def test_flipping_any_byte_of_any_file_fails(forged: Path) -> None:
    rng = np.random.default_rng(3)
    for path in sorted(forged.iterdir()):
        data = path.read_bytes()
        spots = {0, len(data) - 1, *rng.integers(0, len(data), 60).tolist()}
        for spot in spots:
            flipped = bytearray(data)
            flipped[spot] ^= 1 << int(rng.integers(0, 8))
            path.write_bytes(flipped)
            with pytest.raises(VerifyFailed):
                outside.files_are_listed(Opened(forged))
        path.write_bytes(data)
    assert not _failed(forged)


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
        _restate(forged, edited)
        bundle = Opened(forged)
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
    _restate(forged, data)
    assert set(_failed(forged)) & {name for name, _ in CHECKS[1:7]}


def test_a_forger_who_writes_every_page_anew_is_still_caught(honest: Path, tmp_path: Path) -> None:
    """Half the noise, claimed at the old price: everything is rewritten by our own code."""
    contents = read_bundle(honest)
    first, *rest = contents.statement.spends
    cheap = replace(first.asked[0], noise=replace(first.asked[0].noise, scale=first.asked[0].noise.scale / 2))
    statement = replace(contents.statement, spends=(replace(first, asked=(cheap,)), *rest))
    answers = tuple((i, replace(m, noise=cheap.noise)) if i == 0 else (i, m) for i, m in contents.answers)
    write_bundle(tmp_path / "r", replace(contents, statement=statement, answers=answers))
    assert set(_failed(tmp_path / "r")) == {"every cost follows from its noise"}


def test_spending_more_than_promised_is_caught(honest: Path, tmp_path: Path) -> None:
    contents = read_bundle(honest)
    spends, answers = contents.statement.spends, contents.answers
    more = tuple((i + len(spends), m) for i, m in answers)
    choices = (*contents.statement.choices, (2 + len(spends), contents.statement.choices[0][1]))
    statement = replace(contents.statement, spends=spends * 2, choices=choices)
    write_bundle(tmp_path / "r", replace(contents, statement=statement, answers=(*answers, *more)))
    assert "costs keep the promise" in _failed(tmp_path / "r")


def test_an_answer_nobody_paid_for_is_caught(honest: Path, tmp_path: Path) -> None:
    contents = read_bundle(honest)
    for name, answers in {
        "more": (*contents.answers, contents.answers[-1]),
        "fewer": contents.answers[:-1],
        "swapped": (contents.answers[0], *contents.answers[:0:-1]),
    }.items():
        write_bundle(tmp_path / name, replace(contents, answers=answers))
        assert "noisy answers were paid for" in _failed(tmp_path / name), name


def test_an_answer_without_some_cells_is_caught(honest: Path, tmp_path: Path) -> None:
    contents = read_bundle(honest)
    i, m = contents.answers[-1]
    short = Measurement(m.question, m.counts[:-1], m.noise)
    write_bundle(tmp_path / "r", replace(contents, answers=(*contents.answers[:-1], (i, short))))
    assert "17 cells" in _failed(tmp_path / "r")["noisy answers were paid for"]


@only("pure")
def test_words_of_a_page_that_say_more_than_the_statement_are_caught(forged: Path) -> None:
    for name, old, new in [
        ("privacy-statement.md", "at most about", "at least"),
        ("report.html", ">missed<", ">met<"),
        ("DATACARD.md", "noise", "love"),
        ("codebook.html", "Female", "Males"),
        ("datapackage.json", '"title": "Personnel 2009"', '"title": "Personnel 2010"'),
    ]:
        kept = (forged / name).read_text(encoding="utf-8")
        assert old in kept
        (forged / name).write_text(kept.replace(old, new), encoding="utf-8")
        _rehash(forged)
        assert "pages say what the files say" in _failed(forged), name
        (forged / name).write_text(kept, encoding="utf-8")


def test_pages_of_another_version_must_still_state_the_promise(honest: Path, tmp_path: Path) -> None:
    contents = read_bundle(honest)
    write_bundle(tmp_path / "r", replace(contents, statement=replace(contents.statement, version="0.0.1")))
    page = tmp_path / "r" / "report.html"
    page.write_text(page.read_text(encoding="utf-8").replace("Release report", "Report"), encoding="utf-8")
    _rehash(tmp_path / "r")
    assert not _failed(tmp_path / "r")
    page.write_text(page.read_text(encoding="utf-8").replace("at most about", "at least"), encoding="utf-8")
    _rehash(tmp_path / "r")
    assert set(_failed(tmp_path / "r")) == {"pages say what the files say"}


def _first(frame: pl.DataFrame, name: str, value: object) -> pl.DataFrame:
    changed = pl.Series(name, [value, *frame[name].to_list()[1:]], dtype=frame[name].dtype)
    return frame.with_columns(changed)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sex", "X"),
        ("agency", None),
        ("age", 15),
        ("age", 76),
        ("pay", "100000"),
        ("pay", "NN"),
        ("supervisor", None),
    ],
)
@only("pure")
def test_a_record_outside_the_schema_is_caught(honest: Path, tmp_path: Path, name: str, value: object) -> None:
    contents = read_bundle(honest)
    wrong = replace(contents, records=(_first(contents.records[0], name, value),))
    write_bundle(tmp_path / "r", wrong)
    failed = _failed(tmp_path / "r")
    assert set(failed) == {"tables lie inside the schema"}
    assert f"1 value of {name}" in failed["tables lie inside the schema"]


@only("pure")
def test_a_record_that_breaks_a_structural_zero_is_caught(honest: Path, tmp_path: Path) -> None:
    contents = read_bundle(honest)
    young = _first(_first(contents.records[0], "age", 17), "education", "4")
    write_bundle(tmp_path / "r", replace(contents, records=(young,)))
    assert "structural zero" in _failed(tmp_path / "r")["tables lie inside the schema"]


@only("pure")
def test_a_record_that_the_schema_allows_is_not_complained_of(honest: Path, tmp_path: Path) -> None:
    contents = read_bundle(honest)
    allowed = contents.records[0]
    for name, value in [("sex", None), ("pay", "N"), ("pay", "99999"), ("age", 75), ("agency", "other agencies")]:
        allowed = _first(allowed, name, value)
    write_bundle(tmp_path / "r", replace(contents, records=(allowed,)))
    assert not _failed(tmp_path / "r")


@only("pure")
def test_columns_that_are_not_in_the_schema_are_caught(honest: Path, tmp_path: Path) -> None:
    contents = read_bundle(honest)
    frame = contents.records[0].with_columns(exact_pay=pl.lit(1, pl.Int64))
    write_bundle(tmp_path / "r", replace(contents, records=(frame,)))
    assert "its columns must be" in _failed(tmp_path / "r")["tables lie inside the schema"]


@only("pure")
def test_files_that_do_not_belong_are_caught(forged: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("outside")
    makers: dict[str, Callable[[Path], object]] = {
        "notes.txt": lambda p: p.write_text("?"),
        "link.txt": lambda p: p.symlink_to(tmp_path / "secret.txt"),
        "folder": lambda p: p.mkdir(),
        "pipe": lambda p: os.mkfifo(p),
    }
    for name, make in makers.items():
        make(forged / name)
        assert name in _failed(forged)["files are those of the manifest"]
        if name == "notes.txt":
            _rehash(forged)
            assert "notes.txt does not belong" in _failed(forged)["files are those of the manifest"]
            (forged / name).unlink()
            _rehash(forged)
            make(forged / name)
        (forged / name).rmdir() if name == "folder" else (forged / name).unlink()
    assert not _failed(forged)


@pytest.mark.parametrize(
    "name", ["statement.json", "measurements.parquet", "records.parquet", "job.toml", "schema.toml"]
)
@only("zcdp")
def test_a_link_out_of_the_folder_is_never_followed(forged: Path, tmp_path: Path, name: str) -> None:
    (forged / name).rename(tmp_path / "moved")
    (forged / name).symlink_to(tmp_path / "moved")
    failed = _failed(forged)
    assert "is a link" in failed["files are those of the manifest"]
    assert any("plain file" in detail for detail in failed.values())


RUBBISH = [b"", b"\x00\xff\xfe", b"[" * 100_000, b"null", b"PAR1" + b"\xff" * 500 + b"PAR1"]


@pytest.mark.parametrize("mended", [False, True], ids=["manifest old", "manifest mended"])
@only("zcdp")
def test_rubbish_in_place_of_any_file_fails_in_a_sentence(forged: Path, mended: bool) -> None:
    for path in sorted(forged.iterdir()):
        kept = path.read_bytes()
        for rubbish in (*RUBBISH, kept[: len(kept) // 2]):
            path.write_bytes(rubbish)
            if mended and path.name != manifest.NAME:
                _rehash(forged)
            failed = _failed(forged)
            assert failed, f"{path.name}: {rubbish[:20]!r}"
            assert all(detail.strip() for detail in failed.values())
        path.write_bytes(kept)
        _rehash(forged)


@only("pure")
def test_every_file_that_is_missing_is_named(forged: Path) -> None:
    for path in sorted(forged.iterdir()):
        kept = path.read_bytes()
        path.unlink()
        assert path.name in " ".join(_failed(forged).values())
        path.write_bytes(kept)


def test_no_folder_at_all_is_a_failure_and_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "nowhere", tmp_path / "file", tmp_path):
        assert not any(c.held for c in verify(place))
    with pytest.raises(VerifyFailed):
        assert_holds(tmp_path / "nowhere")


@only("pure")
def test_a_statement_with_a_key_said_twice_is_refused(forged: Path) -> None:
    path = forged / "statement.json"
    path.write_text(path.read_text().replace('  "measure"', '  "measure": "pure",\n  "measure"', 1))
    _rehash(forged)
    assert "edited" in _failed(forged)["statement follows from its events"]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=30))
@example(text='{"files": {"../../etc/passwd": {"bytes": 1, "sha256": ""}}, "format": "hedgerow-manifest/1"}')
@example(text='{"format": "hedgerow-manifest/1", "files": []}')
@only("pure")
def test_no_manifest_makes_it_stumble(forged: Path, text: str) -> None:
    (forged / manifest.NAME).write_text(text, encoding="utf-8")
    assert "files are those of the manifest" in _failed_files(forged)


def _failed_files(folder: Path) -> set[str]:
    try:
        outside.files_are_listed(Opened(folder))
    except VerifyFailed:
        return {CHECKS[0][0]}
    return set()


def test_the_statement_reads_back_to_itself(honest: Path) -> None:
    text = (honest / "statement.json").read_text()
    assert Statement.from_json(json.loads(text)).dumps() == text
