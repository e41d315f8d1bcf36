"""What must stay inside: values worked out from confidential rows without noise, and the folder they may lie in.

An ``InsideOnly`` value shows nothing of itself: printed or formatted it is hidden; it cannot be compared,
written as JSON or pickled.
``reveal`` takes it out, and a test allows that word in this folder only; import contracts let nothing but the command
line import this folder, so that no part of the program that publishes can hold such a value, let alone open it.

    >>> pay_gap = InsideOnly(-0.08)
    >>> pay_gap
    InsideOnly(hidden)
    >>> f"{pay_gap}"
    'InsideOnly(hidden)'
    >>> pay_gap.map(abs).reveal()
    0.08
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar, final

import polars as pl

from hedgerow.errors import HedgerowError, JobError

T = TypeVar("T")
U = TypeVar("U")

WATERMARK = "INSIDE ONLY"
WARNING = (
    "These numbers come from the confidential rows without noise. They are for the steward's eyes: publishing one of "
    "them, or choosing by them what to publish, breaks the promise of the release."
)
SUFFIX = "-INSIDE-ONLY"
"""What the name of a release's folder gets for the folder of its exact numbers."""
_MARKS = ("MANIFEST.json", "statement.json", "choice.json")


@final
class InsideOnly(Generic[T]):
    """A value that depends on confidential rows without noise."""

    __slots__ = ("__value",)

    def __init__(self, value: T) -> None:
        self.__value = value

    def map(self, work: Callable[[T], U]) -> "InsideOnly[U]":
        """What ``work`` makes of the value, still inside."""
        return InsideOnly(work(self.__value))

    def reveal(self) -> T:
        """The value itself. Only for what is shown to the steward."""
        return self.__value

    def __repr__(self) -> str:
        return "InsideOnly(hidden)"

    def __eq__(self, other: object) -> bool:
        raise TypeError("A value that must stay inside is not compared: map() it.")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError("A value that must stay inside decides nothing: map() it.")

    def __reduce__(self) -> NoReturn:
        raise TypeError("A value that must stay inside cannot be pickled or copied.")


def in_fixed_words(work: Callable[[], InsideOnly[Any]]) -> InsideOnly[Any]:
    """What ``work`` gives; if it fails with rows in hand, words that quote none of them."""
    try:
        return work()
    except HedgerowError:
        raise
    except (Exception, pl.exceptions.PanicException) as wrong:  # a panic in Rust is no Exception
        kind = type(wrong).__name__
    raise HedgerowError(  # outside of `except`: the first error may quote a row
        f"The exact look stopped ({kind}); what it said is not repeated, for it may quote a confidential row.\n"
        "Try fewer measures with --only (in Python: only=...), and tell us which one fails. Nothing was spent."
    )


def inside_folder(asked: Path, releases: tuple[Path, ...]) -> Path:
    """The folder, if exact numbers may be written there: not in a release, and no release within it."""
    asked = asked.resolve()
    for place in (p.resolve() for p in releases):
        if asked == place or place in asked.parents or asked in place.parents:
            raise JobError(
                f"Exact numbers must not lie beside what is published: {asked} and the release {place} are one\n"
                f"inside the other. Choose another --out (in Python: out=...), such as {place.name}{SUFFIX}.\n"
                "Nothing was read or written."
            )
    for folder in (asked, *asked.parents):
        if any((folder / name).exists() for name in _MARKS):
            raise JobError(
                f"{folder} looks like a release. Exact numbers must not lie there: choose another --out (in\n"
                "Python: out=...). Nothing was read or written."
            )
    return asked


def write_inside(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files of exact numbers into ``folder``, readable by their owner only."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    for name, text in texts.items():
        (folder / name).unlink(missing_ok=True)  # a link may lead out of here, and an old file be open to others
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
