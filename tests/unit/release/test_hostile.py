"""A stranger's bundle: links, pipes, deep texts and bombs end in a sentence, within bounds, whoever opens it."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import hedgerow as hr
from hedgerow.cli.release import compare
from hedgerow.errors import HedgerowError, VerifyFailed
from hedgerow.public import fraction_of, spend_from_json
from hedgerow.release import bundle as bundles
from hedgerow.release.bundle import read_bundle
from hedgerow.release.confined import Limits, must_open, open_all, verify_confined
from hedgerow.release.verify import booked_statement
from tests.unit.release.tampering import failed, only, rehash

pytestmark = pytest.mark.confined
SMALL = Limits(memory=400 * 10**6, seconds=20)


def _rows(place: Path) -> None:
    """Twenty million rows in some kilobytes: one value, told once."""
    frame = pl.select(pl.repeat(0, 2 * 10**7, dtype=pl.Int64).alias("sex"))
    frame.with_columns(age="sex", pay="sex").write_parquet(place, compression="zstd", row_group_size=2 * 10**7)


def _page(place: Path) -> None:
    """One value of half a gigabyte in some kilobytes."""
    pl.DataFrame({"sex": ["F" * (5 * 10**8)]}).write_parquet(place, compression="zstd", statistics=False)


BOMBS: dict[str, Callable[[Path], None]] = {"rows": _rows, "page": _page}


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bombs")
    for name, make in BOMBS.items():
        make(folder / f"{name}.parquet")
        assert (folder / f"{name}.parquet").stat().st_size < 3 * 10**6
    return folder


@pytest.mark.parametrize("bomb", BOMBS)
@only("pure")
def test_a_parquet_bomb_is_refused_within_bounds(forged: Path, bombs: Path, bomb: str) -> None:
    for name in ("records.parquet", "measurements.parquet"):
        kept = (forged / name).read_bytes()
        (forged / name).write_bytes((bombs / f"{bomb}.parquet").read_bytes())
        rehash(forged)
        begun = time.process_time()
        found = verify_confined(forged, limits=SMALL)
        with pytest.raises(VerifyFailed):
            must_open(forged, SMALL)
        assert found.failed and found.exit_code == 6
        assert time.process_time() - begun < 5, "it was opened here"
        (forged / name).write_bytes(kept)


@only("pure")
def test_bounds_grow_with_the_bundle_and_not_with_what_it_says(forged: Path) -> None:
    here = Limits.of(forged)
    assert here.memory < 4 * 10**9 and here.seconds < 400
    (forged / "link").symlink_to("/dev/zero")
    assert Limits.of(forged).memory < here.memory + 10**5
    assert Limits.of(forged / "nowhere").memory == 3 * 10**9


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _link(path: Path) -> None:
    path.rename(path.parent.parent / "outside")
    path.symlink_to(path.parent.parent / "outside")


def _deep_question(path: Path) -> None:
    frame = pl.read_parquet(path)
    frame.with_columns(question=pl.lit("[" * 10**5)).write_parquet(path)


HOSTILE: dict[str, tuple[str, Callable[[Path], object]]] = {
    "pipe": ("records.parquet", _pipe),
    "link": ("records.parquet", _link),
    "device": ("records.parquet", _device),
    "deep statement": ("statement.json", lambda p: p.write_text("[" * 10**6)),
    "deep package": ("datapackage.json", lambda p: p.write_text('{"hedgerow":' * 10**5)),
    "deep schema": ("schema.toml", lambda p: p.write_text("a = " + "[" * 10**5)),
    "deep job": ("job.toml", lambda p: p.write_text("a = " + "[" * 10**5)),
    "deep answers": ("measurements.parquet", _deep_question),
    "endless answers": ("measurements.parquet", _pipe),
}


@pytest.mark.parametrize("what", HOSTILE)
@only("pure")
def test_verify_sample_and_compare_refuse_what_is_no_release(forged: Path, tmp_path: Path, what: str) -> None:
    name, make = HOSTILE[what]
    make(forged / name)
    assert failed(forged)
    with pytest.raises((HedgerowError, RecursionError)):  # the latter ends the process that tries it
        open_all(forged)
    if what in ("pipe", "deep schema"):  # as a user meets it: each begins with a process of its own
        pl.DataFrame({"sex": ["F"]}).write_parquet(tmp_path / "a.parquet")
        with pytest.raises(VerifyFailed, match="cannot be opened"):
            hr.Release.read(forged).sample(1)
        with pytest.raises(VerifyFailed, match="cannot be opened"):
            compare(str(tmp_path / "a.parquet"), [str(forged)])
        assert not hr.Release.read(forged).verify()


@only("pure")
def test_a_number_that_no_memory_holds_is_refused_wherever_a_file_has_one(forged: Path, tmp_path: Path) -> None:
    """A choice is also read to be held against the ledger, here and not in a process of its own."""
    bomb, made = "1e999999999", read_bundle(forged).statement
    stopping, promised = {"law": "logarithmic", "gamma": "1/50"}, {"epsilon": "1", "delta": "0"}
    choice = {"noisy_distance": 1, "promised": promised, "stopping": stopping, "best_run": made.to_json()}
    choice |= {"tables": [], "candidates": [], "position": 0}
    for path in (("promised", "epsilon"), ("stopping", "gamma"), ("best_run", "promised", "epsilon")):
        data = json.loads(json.dumps(choice))
        place = data
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = bomb
        (tmp_path / "choice.json").write_text(json.dumps(data))
        with pytest.raises(VerifyFailed, match="can read"):
            booked_statement(tmp_path)
    with pytest.raises(ValueError, match="no fraction"):
        spend_from_json({"verb": "measure", "cost": bomb, "rate": "0", "asked": [], "candidates": []})
    with pytest.raises(ValueError, match="no fraction"):
        fraction_of(bomb)


@only("pure")
def test_an_honest_bundle_opens_within_bounds_and_so_does_a_folder_of_copies(forged: Path, tmp_path: Path) -> None:
    must_open(forged)
    found = verify_confined(forged)
    assert not found.failed and [c.name for c in found.checks][0] == "files are those of the manifest"
    (tmp_path / "copies").mkdir()
    pl.DataFrame({"sex": ["F", "M"]}).write_parquet(tmp_path / "copies" / "records-seed1-1.parquet")
    must_open(tmp_path / "copies")


@only("pure")
def test_no_module_is_taken_from_the_folder_of_a_stranger(
    forged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (forged / "polars.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(forged)
    verify_confined(forged)
    assert not (tmp_path / "ran").exists()


@only("pure")
def test_a_text_without_end_is_not_read(forged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "LONGEST_TEXT", 1000)
    (forged / "job.toml").write_text("#" * 1001)
    with pytest.raises(VerifyFailed, match="more than 1,000 bytes"):
        bundles.BundleReader(forged).text("job.toml")
