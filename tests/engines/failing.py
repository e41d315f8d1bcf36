"""Mappings that workers of Spark run in tests: they must be importable there."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Any

from hedgerow.public import Codes


@dataclass(frozen=True)
class Tells:
    """Fails with a confidential value in its text, and on standard error."""

    secret: str

    def __call__(self, codes: Mapping[str, Codes]) -> Mapping[str, Codes]:
        os.write(2, f"panicked at {self.secret}\n".encode())
        raise ValueError(f"could not convert {self.secret}")


@dataclass(frozen=True)
class FailsOnce:
    """Fails in the first task that comes to its second piece of codes, after it counted the first one."""

    marker: Path

    def __call__(self, codes: Mapping[str, Codes]) -> Mapping[str, Codes]:
        pieces = self.marker / str(os.getpid())
        if pieces.exists() and not (self.marker / "failed").exists():
            (self.marker / "failed").touch()
            raise ValueError("lost")
        pieces.touch()
        return codes


@dataclass(frozen=True)
class HangsOnce:
    """Work on a partition; the first process that comes here leaves its number, and never gets any further."""

    marker: Path
    work: Any

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        try:
            written = os.open(self.marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            yield from self.work(batches)
            return
        os.write(written, str(os.getpid()).encode())
        os.close(written)
        sleep(600)
