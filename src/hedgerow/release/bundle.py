"""The bundle: a folder with everything a release says, there in full or not at all.

Every file is a function of the ``Contents``, which hold public inputs, noisy answers and what was computed
from them.  There is no clock, no host and no path in it: with equal noisy answers, two neighbouring
confidential tables give the same bytes.
"""

import os
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import BinaryIO

from hedgerow.errors import JobError
from hedgerow.release import manifest, measurements
from hedgerow.release.bundle_reader import BundleReader
from hedgerow.release.contents import Contents, write_tables
from hedgerow.release.manifest import cannot_write, settle, write_whole
from hedgerow.release.pages import pages

__all__ = ["Contents", "read_bundle", "write_bundle"]


def write_bundle(directory: Path | str, contents: Contents, *, replace: bool = False) -> None:
    """Write the bundle of ``contents`` at ``directory``.

    It is put together beside its place and moved there in one step.  Only an empty folder is replaced,
    or another bundle when ``replace`` is asked for.
    """
    place = Path(directory).resolve()
    _must_be_free(place, replace)
    draft = place.with_name(f".{place.name}.{os.getpid()}.partial")
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        _fill(draft, contents)
        _move(draft, place)
    except OSError as wrong:
        raise cannot_write(place, wrong) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _fill(folder: Path, contents: Contents) -> None:
    tables = {name: manifest.facts_of(folder / name) for name in write_tables(folder, contents)}
    measurements.save(folder / "measurements.parquet", contents.answers)
    complete(folder, pages(contents, tables))


def complete(folder: Path, texts: Mapping[str, str]) -> None:
    """Write texts beside what lies in ``folder``; the list of all files last, so that half a folder does not hold."""
    for name, text in texts.items():
        write_whole(folder / name, partial(_write, text.encode()))
    every = {p.name: manifest.facts_of(p) for p in folder.iterdir()}
    write_whole(folder / manifest.NAME, partial(_write, manifest.dumps(every).encode()))


def _write(data: bytes, file: BinaryIO) -> None:
    file.write(data)


def _must_be_free(place: Path, replace: bool) -> None:
    if not place.exists() or (place.is_dir() and not any(place.iterdir())):
        return
    if not (place.is_dir() and (place / manifest.NAME).is_file() and (place / "statement.json").is_file()):
        raise JobError(
            f"{place} exists and is not a release. Choose another place with --out, or move it away.\n"
            "Nothing was written; writing reads no confidential row and spends nothing."
        )
    if not replace:
        raise JobError(
            f"{place} holds a release already. Choose another place with --out, or move it away.\n"
            "Nothing was written; writing reads no confidential row and spends nothing."
        )


def _move(draft: Path, place: Path) -> None:
    """Put the finished folder in its place; a bundle that stood there goes only when the new one stands."""
    for path in (*draft.iterdir(), draft):
        settle(path)
    old = place.with_name(f".{place.name}.{os.getpid()}.old")
    if place.exists():
        os.rename(place, old)
    try:
        os.rename(draft, place)
    except OSError:
        if old.exists():
            os.rename(old, place)
        raise
    settle(place.parent)
    shutil.rmtree(old, ignore_errors=True)


def read_bundle(directory: Path | str) -> Contents:
    """The contents of the bundle at ``directory``; trust them only as far as ``verify`` goes."""
    return BundleReader(Path(directory)).contents
