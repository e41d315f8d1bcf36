"""Verify: no byte, file, record, link or rubbish escapes it, and none of them makes it stumble."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hedgerow.errors import TableMismatch, VerifyFailed
from hedgerow.public import whole
from hedgerow.release import checks, manifest
from hedgerow.release.bundle import BundleReader, read_bundle, write_bundle
from hedgerow.release.verify import CHECKS, verify
from tests.holding import assert_holds
from tests.unit.release.made import a_release
from tests.unit.release.tampering import failed, only, rehash


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
        assert set(failed(tmp_path / str(i))) == {"tables lie inside the schema"}


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
                checks.files_are_listed(BundleReader(forged))
        path.write_bytes(data)
    assert not failed(forged)


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
    ],
)
@only("pure")
def test_a_record_outside_the_schema_is_caught(honest: Path, tmp_path: Path, name: str, value: object) -> None:
    contents = read_bundle(honest)
    wrong = replace(contents, records=(_first(whole(contents.records[0]), name, value),))
    write_bundle(tmp_path / "r", wrong)
    found = failed(tmp_path / "r")
    assert set(found) == {"tables lie inside the schema"}
    assert f"1 value of {name}" in found["tables lie inside the schema"]


@pytest.mark.parametrize(("name", "value"), [("pay", "NN"), ("supervisor", None)])
@only("pure")
def test_a_record_that_the_schema_has_no_place_for_is_neither_written_nor_passed(
    honest: Path, tmp_path: Path, name: str, value: object
) -> None:
    contents = read_bundle(honest)
    wrong = _first(whole(contents.records[0]), name, value)
    with pytest.raises(TableMismatch):
        write_bundle(tmp_path / "r", replace(contents, records=(wrong,)))
    forged = tmp_path / "forged"
    shutil.copytree(honest, forged)
    wrong.write_parquet(forged / "records.parquet")
    rehash(forged)
    assert failed(forged)


@only("pure")
def test_a_record_that_breaks_a_structural_zero_is_caught(honest: Path, tmp_path: Path) -> None:
    contents = read_bundle(honest)
    young = _first(_first(whole(contents.records[0]), "age", 17), "education", "4")
    write_bundle(tmp_path / "r", replace(contents, records=(young,)))
    assert "structural zero" in failed(tmp_path / "r")["tables lie inside the schema"]


@only("pure")
def test_a_record_that_the_schema_allows_is_not_complained_of(honest: Path, tmp_path: Path) -> None:
    contents = read_bundle(honest)
    allowed = whole(contents.records[0])
    for name, value in [("sex", None), ("pay", "N"), ("pay", "99999"), ("age", 75), ("agency", "other agencies")]:
        allowed = _first(allowed, name, value)
    write_bundle(tmp_path / "r", replace(contents, records=(allowed,)))
    assert not failed(tmp_path / "r")


@only("pure")
def test_columns_that_are_not_in_the_schema_are_caught(honest: Path, tmp_path: Path) -> None:
    contents = read_bundle(honest)
    frame = whole(contents.records[0]).with_columns(exact_pay=pl.lit(1, pl.Int64))
    write_bundle(tmp_path / "r", replace(contents, records=(frame,)))
    assert "its columns must be" in failed(tmp_path / "r")["tables lie inside the schema"]


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
        assert name in failed(forged)["files are those of the manifest"]
        if name == "notes.txt":
            rehash(forged)
            assert "notes.txt does not belong" in failed(forged)["files are those of the manifest"]
            (forged / name).unlink()
            rehash(forged)
            make(forged / name)
        (forged / name).rmdir() if name == "folder" else (forged / name).unlink()
    assert not failed(forged)


@pytest.mark.parametrize(
    "name", ["statement.json", "measurements.parquet", "records.parquet", "job.toml", "schema.toml"]
)
@only("zcdp")
def test_a_link_out_of_the_folder_is_never_followed(forged: Path, tmp_path: Path, name: str) -> None:
    (forged / name).rename(tmp_path / "moved")
    (forged / name).symlink_to(tmp_path / "moved")
    found = failed(forged)
    assert "is a link" in found["files are those of the manifest"]
    assert any("plain file" in detail for detail in found.values())


RUBBISH = [b"", b"\x00\xff\xfe", b"[" * 100_000, b"null", b"PAR1" + b"\xff" * 500 + b"PAR1"]


@pytest.mark.parametrize("mended", [False, True], ids=["manifest old", "manifest mended"])
@only("zcdp")
def test_rubbish_in_place_of_any_file_fails_in_a_sentence(forged: Path, mended: bool) -> None:
    for path in sorted(forged.iterdir()):
        kept = path.read_bytes()
        for rubbish in (*RUBBISH, kept[: len(kept) // 2]):
            path.write_bytes(rubbish)
            if mended and path.name != manifest.NAME:
                rehash(forged)
            found = failed(forged)
            assert found, f"{path.name}: {rubbish[:20]!r}"
            assert all(detail.strip() for detail in found.values())
        path.write_bytes(kept)
        rehash(forged)


@only("pure")
def test_every_file_that_is_missing_is_named(forged: Path) -> None:
    for path in sorted(forged.iterdir()):
        kept = path.read_bytes()
        path.unlink()
        assert path.name in " ".join(failed(forged).values())
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
    rehash(forged)
    assert "edited" in failed(forged)["statement follows from its events"]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=30))
@example(text='{"files": {"../../etc/passwd": {"bytes": 1, "sha256": ""}}, "format": "hedgerow-manifest/1"}')
@example(text='{"format": "hedgerow-manifest/1", "files": []}')
@only("pure")
def test_no_manifest_makes_it_stumble(forged: Path, text: str) -> None:
    (forged / manifest.NAME).write_text(text, encoding="utf-8")
    assert "files are those of the manifest" in _listed(forged)


def _listed(folder: Path) -> set[str]:
    try:
        checks.files_are_listed(BundleReader(folder))
    except VerifyFailed:
        return {CHECKS[0][0]}
    return set()
