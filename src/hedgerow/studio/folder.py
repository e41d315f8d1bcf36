"""The one folder that the studio can reach, and the TOML files in it.

A name that a browser sends is a name in this folder, links followed; anything else is refused.  Files are changed key
by key, so that comments and order stay; and only when they are still as the page that was changed has shown them.
"""

import hashlib
import os
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from hedgerow.errors import NOTHING, JobError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

OWN = ".studio"
"""What the studio keeps for itself in the folder: its key, and the work that it has started."""
SUFFIXES = tuple(
    [
        ".csv",
        ".tsv",
        ".txt",
        ".csv.gz",
        ".tsv.gz",
        ".txt.gz",
        ".xlsx",
        ".parquet",
        ".arrow",
        ".feather",
        ".ipc",
        ".dta",
        ".sav",
        ".por",
        ".sas7bdat",
        ".zsav",
        ".xpt",
    ]
)
"""Of files that may be tables: said again, as the first page is shown before any library for tables is loaded."""
_LEFT_OUT = ("-INSIDE-ONLY", ".run")
_MADE = ("statement.json", "rehearsal.json", "forecast.json", "effects.csv")
"""What a release, a rehearsal or a study has in it: their folders hold results, and no tables to begin with."""


def is_served(table: str) -> bool:
    """Whether a table is on a server or a cluster, named by an address: the studio opens none, a run does.

    >>> is_served("spark:office.personnel"), is_served("postgresql://db/office#people"), is_served("people.csv")
    (True, True, False)
    """
    return table.startswith("spark:") or "://" in table


class ChangedMeanwhile(JobError):
    """A file is not as the page has shown it: somebody has changed it, in an editor or another tab."""


@final
@dataclass(frozen=True)
class TextFile:
    """A file of text as it was read: empty, with the digest of nothing, when it is not there."""

    path: Path
    text: str
    there: bool

    @property
    def digest(self) -> str:
        """A short hash, by which a form says which version it changes."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16] if self.there else "new"

    @cached_property
    def tables(self) -> dict[str, Any]:
        """What it says as TOML; a refusal when it is none."""
        try:
            return tomllib.loads(self.text)
        except (ValueError, RecursionError) as wrong:
            raise JobError(f"{self.path.name}: this is not TOML: {wrong}. Mend it in an editor. {NOTHING}") from None


@final
@dataclass(frozen=True)
class Folder:
    """A folder; ``root`` is where it really is."""

    root: Path

    @property
    def own(self) -> Path:
        """Where the studio keeps its own, for this user alone."""
        place = self.root / OWN
        place.mkdir(0o700, exist_ok=True)
        if place.is_symlink() or place.stat().st_uid != os.getuid():
            whose = "a link" if place.is_symlink() else "somebody else's"
            raise JobError(f"{place} is {whose}, and the studio keeps its key there. Take it away. {NOTHING}")
        place.chmod(0o700)
        return place

    def place(self, name: str) -> Path:
        """The path that a name means, if it lies in this folder, links followed.

        >>> Folder(Path("/tmp").resolve()).place("../etc/passwd")
        Traceback (most recent call last):
        ...
        hedgerow.errors.JobError: '../etc/passwd' is not in the folder of this studio. ...
        """
        inside = name.removeprefix("duckdb:").rpartition("#")[0] if name.startswith("duckdb:") else name
        found = Path("/") if "\0" in inside or not inside.strip() else (self.root / inside).resolve()
        if found == self.root or self.root not in found.parents or self.root / OWN in (found, *found.parents):
            raise JobError(
                f"{name!r} is not in the folder of this studio. Put the file there, or start the studio in the\n"
                f"folder that holds it: hedgerow studio DIR. {NOTHING}"
            )
        return found

    def holds(self, path: Path) -> bool:
        """Whether a path, or the FILE of ``duckdb:FILE#TABLE``, lies here."""
        try:
            self.place(str(path))
        except JobError:
            return False
        return True

    def name(self, path: Path) -> str:
        """What a path in the folder is called from there."""
        return path.relative_to(self.root).as_posix()

    def read(self, name: str) -> TextFile:
        """A file of text, there or not."""
        path = self.place(name)
        try:
            return TextFile(path, path.read_text("utf-8"), there=True)
        except FileNotFoundError:
            return TextFile(path, "", there=False)
        except (OSError, UnicodeDecodeError):
            raise JobError(f"{name} cannot be read as text. {NOTHING}") from None

    def write(self, file: TextFile, text: str) -> TextFile:
        """Put a text in the place of a file that is still as it was read."""
        if self.read(self.name(file.path)).digest != file.digest:
            raise ChangedMeanwhile(
                f"{file.path.name} was changed meanwhile, in an editor or in another tab, so this change was NOT "
                "saved. Below is what it says now: make your change again."
            )
        beside = file.path.with_name(f".{file.path.name}.new")
        try:
            beside.unlink(missing_ok=True)  # a link that somebody put there would be followed
            with open(beside, "x", encoding="utf-8", newline="\n") as made:
                made.write(text)
            if file.there:
                beside.chmod(file.path.stat().st_mode & 0o777)
            os.replace(beside, file.path)
        except OSError as wrong:
            raise JobError(f"Cannot write {file.path.name}: {wrong.strerror or wrong}. {NOTHING}") from None
        return TextFile(file.path, text, there=True)

    def edit(self, file: TextFile, change: "Callable[[TOMLDocument], None]") -> TextFile:
        """Change a TOML file key by key; comments, blank lines and order stay."""
        import tomlkit

        document = tomlkit.parse(file.text)
        change(document)
        return self.write(file, tomlkit.dumps(document))

    def jobs(self) -> list[str]:
        """The job files of the folder: TOML files that name a confidential table."""
        found = []
        for path in sorted(self.root.glob("*.toml")):
            try:
                if "confidential" in self.read(path.name).tables:
                    found.append(path.name)
            except JobError:
                if "[confidential]" in self._glance(path):
                    found.append(path.name)
        return found

    def _glance(self, path: Path) -> str:
        try:
            return self.read(path.name).text
        except JobError:
            return ""

    def tables(self) -> list[str]:
        """The files that may be tables, here and one folder down, and folders of Parquet; nothing of them is read."""
        found = self._parquet_folders()
        for name in self._files():
            if name.lower().endswith(".duckdb"):
                from hedgerow.public import duckdb_tables

                found += [f"duckdb:{name}#{table}" for table in duckdb_tables(self.root / name)]
            elif name.lower().endswith(SUFFIXES) and name.partition("/")[0] not in found:
                found.append(name)
        return sorted(found)

    def _parquet_folders(self) -> list[str]:
        """The folders that hold Parquet files and nothing else, as engines write them: each is one table."""
        files = list(self._files())
        held = {name.partition("/")[0] for name in files if "/" in name}
        pieces = {h: [n for n in files if n.startswith(f"{h}/") and not n.startswith(f"{h}/_")] for h in held}
        return sorted(h for h, p in pieces.items() if len(p) > 1 and all(n.endswith(".parquet") for n in p))

    def books(self) -> list[str]:
        """The files that may be code books."""
        return [n for n in self._files() if n.lower().endswith((".csv", ".json"))]

    def _files(self) -> Iterator[str]:
        for path in sorted([*self.root.glob("*"), *self.root.glob("*/*")]):
            parts = path.relative_to(self.root).parts
            ours = any(p.startswith(".") or p.endswith(_LEFT_OUT) for p in parts)
            made = len(parts) > 1 and any((self.root / parts[0] / name).exists() for name in _MADE)
            if not ours and not made and path.is_file() and self.holds(path):
                yield path.relative_to(self.root).as_posix()


def set_key(document: "TOMLDocument", table: str, key: str, value: Any) -> None:
    """Set a key of a table, in its place if it is there; empty values take it away, and an empty table with it."""
    import tomlkit

    if value in (None, "", [], ()):
        if table in document and key in document[table]:
            document[table].remove(key)
        return
    if table not in document:
        if document.as_string().strip() and not document.as_string().endswith("\n\n"):
            document.add(tomlkit.nl())
        document.append(table, tomlkit.table())
    here: Any = document[table]
    if key not in here or here[key] != value:
        here[key] = value


def reasons_in(body: str) -> dict[str, tuple[str, ...]]:
    """The comments that stand in the block of each column, as sentences."""
    found: dict[str, list[str]] = {}
    import tomlkit

    columns: Any = tomlkit.parse(body).get("columns", {})
    for name in columns:
        block = getattr(columns[name], "value", None)
        notes: list[str] = []
        for _, item in getattr(block, "body", ()):
            if type(item).__name__ == "Comment":
                notes.append(item.as_string().strip().removeprefix("#").strip())
        found[str(name)] = notes
    return {name: _sentences(notes) for name, notes in found.items()}


def _sentences(notes: list[str]) -> tuple[str, ...]:
    """Wrapped lines put together again; a suggestion stays a line of its own."""
    out: list[str] = []
    for note in notes:
        fresh = not out or out[-1].endswith((".", ":")) or "    #" in note or " = " in note.split("#")[0]
        out = [*out, note] if fresh else [*out[:-1], f"{out[-1]} {note}"]
    return tuple(out)
