"""Files that are either there in full or not at all, also after a crash or a power cut."""

import os
import stat
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from hedgerow.errors import JobError


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
        "Make room there, or choose another folder with --out, then go on with --resume.\n"
        "What was there before is unchanged. Writing reads no confidential row and spends nothing."
    )
