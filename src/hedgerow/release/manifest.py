"""``MANIFEST.json``: the size and the hash of every file of a bundle, in one fixed form."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hedgerow.errors import VerifyFailed
from hedgerow.release.disk import open_plain

NAME = "MANIFEST.json"
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
