"""Files that are there in full or not at all, and ``MANIFEST.json``: size and hash of each, in one fixed form."""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from hedgerow.errors import JobError, VerifyFailed

NAME = "MANIFEST.json"
SIGNATURE = "MANIFEST.sig"
"""The signature of the manifest, where there is one; the only other file that the manifest does not list."""
FORMAT = "hedgerow-manifest/1"


@dataclass(frozen=True)
class Facts:
    """What a manifest knows of one file."""

    bytes: int
    sha256: str


def facts_of(path: Path) -> Facts:
    """The facts of the file at ``path``, which must be a plain file and not a link to one."""
    with open_plain(path) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Facts(file.tell(), digest)


def dumps(files: Mapping[str, Facts]) -> str:
    """The text of the manifest; equal facts give equal text."""
    listed = {name: {"bytes": f.bytes, "sha256": f.sha256} for name, f in sorted(files.items())}
    return json.dumps({"format": FORMAT, "files": listed}, indent=2, ensure_ascii=False) + "\n"


def loads(text: str) -> dict[str, Facts]:
    """The files that a manifest lists; fails loudly on a text that ``dumps`` would not write."""
    try:
        data = json.loads(text)
        found = {name: Facts(f["bytes"], f["sha256"]) for name, f in data["files"].items()}
        written = dumps(found)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise VerifyFailed(f"{NAME} is not a manifest this version can read.") from None
    if written != text:
        raise VerifyFailed(f"{NAME} is not in the form Hedgerow writes: it was edited.")
    return found


def write_whole(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Put what ``fill`` writes at ``path``, replacing what was there only once all of it is on the disk."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        settle(path.parent)
    except OSError as wrong:
        raise cannot_write(path, wrong) from None
    finally:
        partial.unlink(missing_ok=True)


def open_plain(path: Path) -> BufferedReader:
    """The file at ``path`` for reading; a link, a pipe or a folder is refused without being followed."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path.name} is not a plain file")
    return os.fdopen(handle, "rb")


def settle(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if os.name == "nt":  # a folder cannot be opened there, and its names are journalled
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def cannot_write(path: Path, wrong: OSError) -> JobError:
    """The refusal of the disk, in our words."""
    return JobError(
        f"Cannot write {path.name} in {path.parent}: {wrong.strerror or 'the disk refused'}.\n"
        "Make room there, or choose another folder with --out, then go on with --resume (in Python:\n"
        "job.run(FOLDER, resume=True)).\n"
        "What was there before is unchanged. Writing reads no confidential row and spends nothing."
    )


def as_it_was(due: Any, raw: Any) -> Any:
    """``due`` without the empty fields that ``raw``, of another version, does not have."""
    if isinstance(due, dict) and isinstance(raw, dict):
        return {k: as_it_was(v, raw.get(k)) for k, v in due.items() if v or k in raw}
    if isinstance(due, list) and isinstance(raw, list) and len(due) == len(raw):
        return [as_it_was(d, r) for d, r in zip(due, raw, strict=True)]
    return due
