"""Where the tables of a job are, and which engine counts the confidential one. Nothing is opened here."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from hedgerow.errors import NOTHING, JobError
from hedgerow.figures import value_in_words
from hedgerow.public import is_address, is_spark, shown_address

ENGINES = ("local", "duckdb", "postgresql", "spark")


def refuse(condition: bool, text: str) -> None:
    """Refuse a value that cannot be meant, while nothing has been read."""
    if condition:
        raise JobError(f"{text} {NOTHING}")


@dataclass(frozen=True)
class Engine:
    """Who counts the confidential table: all count alike, and only counts come to the gate.

    Attributes:
        name: ``local``, ``duckdb``, ``postgresql`` or ``spark``; by default what the table asks for.
        master: of Spark, such as ``local[2]`` or ``spark://HOST:7077``; the session that runs by default.
    """

    name: str = ""
    master: str = ""

    def __post_init__(self) -> None:
        known = isinstance(self.name, str) and self.name in ("", *ENGINES)
        refuse(not known, f"Engine: name is {value_in_words(self.name)}; choose among {', '.join(ENGINES)}.")
        wrong = not isinstance(self.master, str)
        refuse(wrong, f"Engine: master is {value_in_words(self.master)}; write 'local[2]' or an address.")
        refuse(
            bool(self.master) and self.name not in ("", "spark"),
            f"Engine: master is the address of a Spark cluster, and {self.name} has none. Leave it out.",
        )

    def of(self, table: Any) -> str:
        """The engine that counts ``table``; refused where it cannot."""
        name, kind = str(table) if isinstance(table, str | Path) else "", ""
        if is_spark(table) or name.startswith("spark:") or self.master:
            kind = "spark"
        elif isinstance(table, str):
            kind = "postgresql" if name.startswith("postgres") else "spark"
        chosen = self.name or kind or "local"
        fits = {
            "local": not kind,
            "duckdb": name.startswith("duckdb:"),
            "postgresql": kind == "postgresql",
            "spark": kind == "spark" or (isinstance(table, Path) and not name.startswith("duckdb:")),
        }
        wanted = {
            "local": "a file, a frame or duckdb:FILE#TABLE",
            "duckdb": "duckdb:FILE#TABLE",
            "postgresql": "postgresql://HOST/DATABASE#TABLE",
            "spark": "a Spark frame, spark:TABLE, or a folder or file of Parquet",
        }
        refuse(
            not fits[chosen],
            f"The engine {chosen} counts {wanted[chosen]}, and the confidential table is\n"
            f"{name or type(table).__name__}. Change [engine] name (in Python: Engine(...)), or name another table.",
        )
        return chosen


def absolute(table: str | Path, folder: Path) -> Path:
    """A path, or ``duckdb:FILE#TABLE``, that starts from ``folder``."""
    name = str(table)
    impossible = "\0" in name or any(len(part.encode("utf-8", "replace")) > 255 for part in Path(name).parts)
    refuse(impossible, "A path of the job names no possible file: it is too long, or holds a zero byte.")
    if not name.startswith("duckdb:"):
        return (folder / name).resolve()
    file, _, inner = name.removeprefix("duckdb:").rpartition("#")
    refuse(not (file and inner), f"{name!r} names no table: write duckdb:FILE#TABLE.")
    return Path(f"duckdb:{(folder / file).resolve()}#{inner}")


def table_place(table: str | Path, folder: Path) -> Path | str:
    """The place of a table: a path that starts from ``folder``, or the address of one on a server, as it is.

    >>> table_place("spark:office.personnel", Path()), table_place("postgresql://db/office#personnel", Path())
    ('spark:office.personnel', 'postgresql://db/office#personnel')
    """
    name = str(table)
    if not is_address(name):
        return absolute(table, folder)
    lacks = name.startswith("postgres") and not name.rpartition("#")[1]
    refuse(lacks, f"{published_place(name)!r} names no table: write postgresql://HOST/DATABASE#TABLE.")
    return name


def on_this_disk(table: Any) -> Any:
    """The path of a table that is named by an address of this machine's disk; any other as it is.

    >>> on_this_disk("file:///office/all%20people.parquet").as_posix(), on_this_disk("hdfs://name/people")
    ('/office/all people.parquet', 'hdfs://name/people')
    """
    here = isinstance(table, str) and table.lower().startswith("file://")
    return Path(unquote(urlsplit(table).path)) if here else table


def published_place(table: str | Path) -> str:
    """The name of a table as a release has it: no place of a machine, no address, no user.

    >>> published_place("duckdb:/office/data.db#people"), published_place("hdfs://name/a/people")
    ('duckdb:data.db#people', 'hdfs://people')
    """
    name = str(table)
    if name.startswith("duckdb:"):
        file, _, inner = name.removeprefix("duckdb:").rpartition("#")
        return f"duckdb:{Path(file).name}#{inner}"
    return shown_address(name) if is_address(table) else Path(name).name


def file_exists(table: str | Path) -> bool:
    """Whether the file of a path, or of ``duckdb:FILE#TABLE``, is there; nothing is read. Of an address: taken so."""
    name = str(table)
    path = name.removeprefix("duckdb:").rpartition("#")[0] if name.startswith("duckdb:") else name
    return is_address(table) or Path(path).exists()


def name_of_table(table: str) -> str:
    """The ledger's name for a table that is given none: the file's, or the TABLE of an address."""
    if table.startswith(("duckdb:", "postgres")):
        return table.rpartition("#")[2]
    return table.removeprefix("spark:") if table.startswith("spark:") else Path(table).stem
