"""The three tables of a job, and who is protected in the first: paths or frames, whose rows nobody has read."""

import re
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import polars as pl

from hedgerow.errors import NOTHING, JobError
from hedgerow.figures import value_in_words
from hedgerow.job.places import Engine, name_of_table, refuse, table_place
from hedgerow.public import (
    Guarantee,
    Relation,
    brought,
    brought_source,
    columns_at,
    is_address,
    is_spark,
    open_public,
    open_source,
)

T = TypeVar("T")


def named_arguments(cls: type[T]) -> type[T]:
    """Make a class answer a mistyped keyword with the names it knows, instead of Python's own words."""
    init, known = cls.__init__, [f.name for f in fields(cls) if f.init]  # type: ignore[arg-type]

    def checked(self: Any, *args: Any, **given: Any) -> None:
        if args and all(f.kw_only for f in fields(cls) if f.init):  # type: ignore[arg-type]
            raise JobError(f"{type(self).__name__} takes its values by name, as in {known[0]}=.... {NOTHING}")
        for name in given:
            if name not in known:
                close = get_close_matches(name, known, 1)
                hint = f"Did you mean {close[0]}?" if close else f"It knows: {', '.join(known)}."
                raise JobError(f"{type(self).__name__} does not know {name!r}. {hint} {NOTHING}")
        try:
            init(self, *args, **given)
        except TypeError as wrong:
            if "argument" not in str(wrong):
                raise
            said = str(wrong).partition("()")[2].strip().replace("required keyword-only ", "")
            raise JobError(f"{type(self).__name__} is {said}. {NOTHING}") from None

    checked.__wrapped__ = init  # type: ignore[attr-defined]  # help() shows the true signature
    cls.__init__ = checked  # type: ignore[method-assign]
    return cls


MOST_ROWS = 10**6
"""The most rows of a person that may count: more is a slip of the pen, and would fail when it is paid for."""


@named_arguments
@dataclass(frozen=True)
class Person:
    """The unit of protection when it is a person: all rows with the same value in ``column``.

    Attributes:
        column: the column of the confidential table that names the person.
        rows: at most so many rows of a person count; the gate drops the rest, and rows that name nobody.
        order: the column by which a person's rows come first, by number, then by text; as they stand by default.
    """

    column: str
    rows: int = 1
    order: str = ""

    def __post_init__(self) -> None:
        wrong = not isinstance(self.column, str) or not self.column
        refuse(
            wrong,
            f"Person takes the name of a column, as in Person('id', rows=4); got {value_in_words(self.column)}.",
        )
        whole = isinstance(self.rows, int) and not isinstance(self.rows, bool) and 1 <= self.rows <= MOST_ROWS
        refuse(
            not whole,
            f"Person: rows is {value_in_words(self.rows)}; it must be a whole number from 1 to {MOST_ROWS:,}.",
        )
        wrong = not isinstance(self.order, str)
        refuse(wrong, f"Person: order is {value_in_words(self.order)}; write the name of a column.")


class _Table:
    """What the three tables of a job have in common: a path or a frame, compared by path or by identity."""

    table: Any
    count: str

    def _check_count(self) -> None:
        wrong = not isinstance(self.count, str)
        refuse(wrong, f"{type(self).__name__}: count is {value_in_words(self.count)}; write the name of a column.")

    def _settle(self) -> None:
        """The table with its path made absolute, or the frame seen to be one."""
        if isinstance(self.table, str | Path):
            object.__setattr__(self, "table", table_place(self.table, Path.cwd()))
        elif is_spark(self.table):
            if not isinstance(self, Confidential):  # that is looked at by its engine alone
                object.__setattr__(self, "table", open_source(brought(self.table)))
        else:
            refuse(self.table is None, f"{type(self).__name__} needs a table: a path, or a frame.")
            open_it = open_source if isinstance(self, Confidential) else open_public
            open_it(self.table)  # the header only: a frame that could not be read is refused here

    @property
    def is_frame(self) -> bool:
        """Whether the table is a frame, not a file or an address."""
        return not isinstance(self.table, Path | str)

    def _values(self) -> tuple[Any, ...]:
        rest = (getattr(self, f.name) for f in fields(self) if f.name != "table")  # type: ignore[arg-type]
        return (id(self.table) if self.is_frame else self.table, *rest)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._values() == self._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        # of an address no user, no password, and no options, which may hold one
        place = "frame" if self.is_frame else re.sub(r"(?<=://)(?:.*@)?([^?#]*)[^#]*", r"\1", str(self.table))
        parts = [repr(place)]
        for f in fields(self):  # type: ignore[arg-type]
            if f.name != "table" and (value := getattr(self, f.name)) != f.default:
                parts.append(f"{f.name}={value!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


@named_arguments
@dataclass(frozen=True, eq=False, repr=False)
class Confidential(_Table):
    """The table to protect. Only the gate reads its rows.

    Attributes:
        table: a path, ``duckdb:FILE#TABLE``, ``postgresql://HOST/DATABASE#TABLE``, ``spark:TABLE``, or a frame
            (pandas, Polars, PyArrow, Spark, whatever narwhals takes).
        name: under which the ledger books; a file's own name by default, needed for a frame.
        unit: who is protected: ``"record"``, or a ``Person``.
        relation: add-remove, replace-one or label-change; the recipe's own by default.
        public_columns: under label-change, the columns that are public row by row; those of the target by default.
        assumed_rows: a public guess of the number of records, for plans; the public table's by default.
        count: of a table of counts, the column that says how many records a line stands for.
    """

    table: Any
    name: str = ""
    unit: Literal["record"] | Person = "record"
    relation: Relation | None = None
    public_columns: tuple[str, ...] = ()
    assumed_rows: int | None = None
    count: str = ""

    def __post_init__(self) -> None:
        refuse(
            "lazy" in type(self.table).__name__.lower(),
            "A lazy frame may look at some rows to decide how others are read. Name the file of the confidential\n"
            "table, or collect() the frame.",
        )
        self._settle()
        refuse(not isinstance(self.name, str), f"Confidential: name is {value_in_words(self.name)}, not text.")
        if not self.name:
            refuse(self.is_frame, "Give the confidential frame a name: Confidential(frame, name='personnel').")
            object.__setattr__(self, "name", name_of_table(str(self.table)))
        wrong = not isinstance(self.unit, Person) and not (isinstance(self.unit, str) and self.unit == "record")
        refuse(wrong, f"unit is {value_in_words(self.unit)}: write 'record', or Person('COLUMN', rows=4).")
        known = self.relation is None or (isinstance(self.relation, str) and self.relation in get_args(Relation))
        refuse(
            not known, f"relation is {value_in_words(self.relation)}: choose add-remove, replace-one or label-change."
        )
        person = self.unit.column if isinstance(self.unit, Person) else ""
        index = [*getattr(getattr(self.table, "index", None), "names", ())]
        refuse(
            bool(person) and person in index,
            f"{person!r} is the index of the frame, and a person is named by a column: write frame.reset_index().",
        )
        object.__setattr__(self, "public_columns", name_list("Confidential: public_columns", self.public_columns))
        rows = self.assumed_rows
        wrong = rows is not None and (not isinstance(rows, int) or isinstance(rows, bool) or rows < 1)
        refuse(wrong, f"assumed_rows is {value_in_words(rows)}; it must be a whole number of 1 or more.")
        self._check_count()
        refuse(
            bool(self.count) and isinstance(self.unit, Person),
            f"count = {self.count!r} and a person do not go together: a line that stands for several records names\n"
            "nobody. Protect records (unit = 'record'), or give one line per record and leave count out.",
        )

    def guarantee(self, relation: Relation) -> Guarantee:
        """The promise to this table's units, under ``relation`` where the table names none."""
        person = self.unit if isinstance(self.unit, Person) else None
        return Guarantee(
            unit="person" if person else "record",
            rows_per_person=person.rows if person else 1,
            relation=self.relation or relation,
            public_columns=self.public_columns,
            person=person.column if person else "",
            count=self.count,
        )


class _PublicTable(_Table):
    """What a table that anyone may see has besides: rows that may be read, and brought here if they are elsewhere."""

    _brought: pl.DataFrame | None = None

    def rows(self, master: str = "") -> Any:
        """What is read of it: the path or the frame; of a table at an address its rows, brought here once.

        ``master`` is Spark's, where no session runs yet.
        """
        if not is_address(self.table):
            return self.table
        held = self._brought
        if held is None:
            held = brought(self.table, master)
            object.__setattr__(self, "_brought", held)
        return brought_source(held, self.table)

    def columns(self, master: str = "") -> tuple[str, ...]:
        """The names of its columns, from the header."""
        return columns_at(self.table, master) if is_address(self.table) else open_public(self.table).columns


@named_arguments
@dataclass(frozen=True, eq=False, repr=False)
class Public(_PublicTable):
    """The public relative: a table that anyone may see, such as last year's release.

    Attributes:
        table: a path, ``duckdb:FILE#TABLE``, ``postgresql://HOST/DATABASE#TABLE``, ``spark:TABLE``, or a frame.
        provenance: where it comes from, for people; it is published.
        count: of a table of counts, the column that says how many records a line stands for.
    """

    table: Any
    provenance: str = ""
    count: str = ""

    def __post_init__(self) -> None:
        self._settle()
        self._check_count()
        wrong = not isinstance(self.provenance, str)
        refuse(
            wrong,
            f"Public: provenance is {value_in_words(self.provenance)}; write in words where the table comes from.",
        )


@named_arguments
@dataclass(frozen=True, eq=False, repr=False)
class Target(_PublicTable):
    """The public rows that receive private columns.

    Attributes:
        table: a path, ``duckdb:FILE#TABLE``, ``postgresql://HOST/DATABASE#TABLE``, ``spark:TABLE``, or a frame.
        count: of a table of counts, the column that says how many records, and so rows of the release, a line is.
        person: the column that names the person: then every person gets one label, which all of their rows carry,
            and the gate counts people, each once; the other tables have the same column.
        time: the column that orders a person's rows, for facts about the first and the last.
        facts: what people are counted by, such as ``"last grade"``, ``"most agency"``, ``"rows"``,
            ``"residual pay"``; by default what the target shows to change within people, and what not.
    """

    table: Any
    count: str = ""
    person: str = ""
    time: str = ""
    facts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._settle()
        self._check_count()
        for name in ("person", "time"):
            value = getattr(self, name)
            wrong = not isinstance(value, str)
            refuse(wrong, f"Target: {name} is {value_in_words(value)}; write the name of a column.")
        object.__setattr__(self, "facts", name_list("Target: facts", self.facts))
        refuse(
            not self.person and bool(self.time or self.facts),
            "Target: time and facts say how people are counted; name the column that names them, as in person='id'.",
        )
        refuse(
            bool(self.person) and bool(self.count),
            f"Target: count = {self.count!r} and person = {self.person!r} do not go together: a line that\n"
            "stands for several records names nobody.",
        )


def name_list(what: str, given: Any) -> tuple[str, ...]:
    """A list of names as a tuple; ``what`` it is, for a refusal of anything else."""
    wrong = not isinstance(given, list | tuple)  # a column of a frame would give its values away as names
    refuse(wrong, f"{what} must be a list of names, such as ['sex'], not {value_in_words(given)}.")
    found = tuple(given)
    odd = [n for n in found if not isinstance(n, str)]
    refuse(
        bool(odd),
        f"{what} must be a list of names, such as ['sex']; it holds {value_in_words(odd[0]) if odd else ''}.",
    )
    return found


named_arguments(Engine)
