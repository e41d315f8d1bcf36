"""A job as plain values: what to publish, from what, under which promise, and for which uses.

The same values come from a job file (``job/file.py``) and from Python; they are equal when they say the same.
Tables are paths or frames.  Nothing is read here but the header of a frame.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from hedgerow.errors import NOTHING, JobError
from hedgerow.figures import value_in_words
from hedgerow.job.recipe import FOREIGN, name_of, recipe_of
from hedgerow.planning import LeafInterval
from hedgerow.public import (
    MOST_OUTSIDE,
    Budget,
    Guarantee,
    Relation,
    Schema,
    budget_for,
    default_ledger,
    open_public,
    open_source,
)
from hedgerow.recipes import RECIPES, AbstractRecipe
from hedgerow.stand_in import Rehearsal
from hedgerow.uses import AbstractUse

FORMATS = ("csv", "dta", "sav", "arrow", "xpt")
"""The formats of records besides Parquet, which is always written."""


T = TypeVar("T")


def refuse(condition: bool, text: str) -> None:
    """Refuse a value that cannot be meant, while nothing has been read."""
    if condition:
        raise JobError(f"{text} {NOTHING}")


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


@named_arguments
@dataclass(frozen=True)
class Person:
    """The unit of protection when it is a person: all rows with the same value in ``column``.

    Attributes:
        column: the column of the confidential table that names the person.
        rows: at most so many rows of a person count; the gate drops the rest, and rows that name nobody.
    """

    column: str
    rows: int = 1

    def __post_init__(self) -> None:
        wrong = not isinstance(self.column, str) or not self.column
        refuse(
            wrong,
            f"Person takes the name of a column, as in Person('id', rows=4); got {value_in_words(self.column)}.",
        )
        whole = isinstance(self.rows, int) and not isinstance(self.rows, bool) and self.rows >= 1
        refuse(not whole, f"Person: rows is {value_in_words(self.rows)}; it must be a whole number of 1 or more.")


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
            object.__setattr__(self, "table", absolute(self.table, Path.cwd()))
        else:
            refuse(self.table is None, f"{type(self).__name__} needs a table: a path, or a frame.")
            open_it = open_source if isinstance(self, Confidential) else open_public
            open_it(self.table)  # the header only: a frame that could not be read is refused here

    @property
    def is_frame(self) -> bool:
        """Whether the table is a frame in memory, not a file."""
        return not isinstance(self.table, Path)

    def _values(self) -> tuple[Any, ...]:
        rest = (getattr(self, f.name) for f in fields(self) if f.name != "table")  # type: ignore[arg-type]
        return (id(self.table) if self.is_frame else self.table, *rest)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._values() == self._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        parts = [repr("frame" if self.is_frame else str(self.table))]
        for f in fields(self):  # type: ignore[arg-type]
            if f.name != "table" and (value := getattr(self, f.name)) != f.default:
                parts.append(f"{f.name}={value!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


@named_arguments
@dataclass(frozen=True, eq=False, repr=False)
class Confidential(_Table):
    """The table to protect. Only the gate reads its rows.

    Attributes:
        table: a path, ``duckdb:FILE#TABLE``, or a frame (pandas, Polars, PyArrow, whatever narwhals takes).
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
            object.__setattr__(self, "name", _name_of(str(self.table)))
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
        object.__setattr__(self, "public_columns", _names("Confidential: public_columns", self.public_columns))
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


@named_arguments
@dataclass(frozen=True, eq=False, repr=False)
class Public(_Table):
    """The public relative: a table that anyone may see, such as last year's release.

    Attributes:
        table: a path, ``duckdb:FILE#TABLE``, or a frame.
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
class Target(_Table):
    """The public rows that receive private columns.

    Attributes:
        table: a path, ``duckdb:FILE#TABLE``, or a frame.
        count: of a table of counts, the column that says how many records, and so rows of the release, a line is.
    """

    table: Any
    count: str = ""

    def __post_init__(self) -> None:
        self._settle()
        self._check_count()


@named_arguments
@dataclass(frozen=True, kw_only=True)
class JobValues:
    """What a job says. ``Job`` adds the verbs.

    Attributes:
        confidential: the table to protect.
        budget: what is promised; with a recipe that asks for Gaussian noise only, in its own measure.
        schema: what the columns mean; the path of a schema file is read at once.
        public: the public relative, if there is one.
        target: the rows that receive private columns, if the job attaches some.
        recipe: a recipe, the name of one, or nothing: then the best for what the job has.
        uses: what the release must get right.
        ledger: a path, or the address of a database; else the office's (``hedgerow ledger use``), or ledger.db here.
        seed: of sampling; the noise has none.
        copies: synthetic copies, all from one measurement.
        formats: of records, besides Parquet.
        csv: how cells stand in CSV files: ``exact``, or for a ``spreadsheet``, which must not take one for a formula.
        title: what the release is called.
        out: the folder of the release when a run names none.
        memory_gb: the most memory that a run may need; this machine's by default.
        outside: the share of the public or target table's rows that may stand outside a column of the schema.
        interval: for attach jobs, what a plan holds the leaves of trees against.
    """

    confidential: Confidential
    budget: Budget
    schema: Schema
    public: Public | None = None
    target: Target | None = None
    recipe: AbstractRecipe = None  # type: ignore[assignment]  # settled below
    uses: tuple[AbstractUse, ...] = ()
    ledger: str = ""
    seed: int = 0
    copies: int = 1
    formats: tuple[str, ...] = ("csv",)
    csv: Literal["exact", "spreadsheet"] = "exact"
    title: str = ""
    out: Path = Path("release")
    memory_gb: float | None = None
    outside: float = MOST_OUTSIDE
    interval: LeafInterval = field(default_factory=LeafInterval)
    text: str = field(default="", init=False, compare=False, repr=False)
    """The job file as it was read, comments and all; empty for a job made in Python."""
    path: Path | None = field(default=None, init=False, compare=False, repr=False)
    """Where that file is."""
    rehearsal: Rehearsal | None = field(default=None, init=False, compare=False, repr=False)
    """The latest rehearsal of this very object: a run takes its forecast from it."""

    def __post_init__(self) -> None:
        for name, kind, cure in (
            ("confidential", Confidential, "Confidential(frame_or_path, name='personnel')"),
            ("budget", Budget, "Budget(epsilon=1.0)"),
            ("public", Public | None, "Public(frame_or_path, provenance='released in 2023')"),
            ("target", Target | None, "Target(frame_or_path)"),
            ("interval", LeafInterval, "the [plan] of a job file"),
            ("title", str, "a text"),
        ):
            value = getattr(self, name)
            refuse(not isinstance(value, kind), f"Job: {name} is {value_in_words(value)}; write {name}={cure}.")
        self._set("schema", _schema(self.schema))
        self._set("recipe", recipe_of(self.recipe, target=self.target is not None, public=self.public is not None))
        told = self.budget
        self._set("budget", budget_for(told.epsilon, told.delta, self.recipe.accounting))
        self._set("uses", _uses(self.uses))
        refuse(
            not isinstance(self.ledger, str | Path),
            f"Job: ledger is {value_in_words(self.ledger)}; write a path or an address.",
        )
        here = str(self.ledger) or default_ledger() or "ledger.db"
        self._set("ledger", here if "://" in here else str(absolute(here, Path.cwd())))
        for name, least, most in (("seed", 0, None), ("copies", 1, 1000)):
            n = getattr(self, name)
            fits = isinstance(n, int) and not isinstance(n, bool) and n >= least and (most is None or n <= most)
            span = f"of {least} or more" if most is None else f"between {least} and {most}"
            refuse(not fits, f"Job: {name} is {value_in_words(n)}; it must be a whole number {span}.")
        self._set("formats", _names("Job: formats", self.formats))
        unknown = [f for f in self.formats if f not in FORMATS]
        refuse(bool(unknown), f"Job: no format {', '.join(unknown)}: choose among {', '.join(FORMATS)}.")
        refuse(
            self.csv not in ("exact", "spreadsheet"),
            f"Job: csv is {value_in_words(self.csv)}; choose 'exact', or 'spreadsheet' for files that one may open.",
        )
        refuse(
            not isinstance(self.out, str | Path),
            f"Job: out is {value_in_words(self.out)}; write the path of a folder.",
        )
        self._set("out", absolute(self.out, Path.cwd()))
        memory = self.memory_gb
        wrong = memory is not None and (
            not isinstance(memory, int | float) or isinstance(memory, bool) or memory <= 0
        )
        refuse(wrong, f"Job: memory_gb is {value_in_words(memory)}; it must be a number above 0.")
        share = self.outside
        wrong = not isinstance(share, int | float) or isinstance(share, bool) or not 0 <= share <= 1
        refuse(wrong, f"Job: outside is {value_in_words(share)}; it must be a share of rows from 0 to 1.")
        self._settle_public_columns()
        self._fits_together()

    def _settle_public_columns(self) -> None:
        """Under label-change a target says which columns are public row by row: its own, but for what is attached."""
        secret, target = self.confidential, self.target
        if (secret.relation or self.recipe.relation) != "label-change" or secret.public_columns or target is None:
            return
        if not target.is_frame and not file_exists(target.table):
            return  # the bundle of a job has no tables, and whoever reads this one will say what is missing
        parts = {j.name: j.columns for j in self.schema.joined}
        drawn = {c for name in self.recipe.private_columns for c in parts.get(name, (name,))}
        there = set(open_public(target.table).columns) - drawn
        given = tuple(c.name for c in self.schema.columns if c.name in there)
        self._set("confidential", replace(secret, public_columns=given))

    def _fits_together(self) -> None:
        """What can be said of the values of a job side by side."""
        refuse(
            self.recipe.attaches and self.target is None,
            f"{self.recipe.name} writes private columns onto given rows, and the job names none. Add\n"
            "[target] table = '...' (in Python target=Target(...)): those rows, without the private columns. For\n"
            "whole records take another recipe.",
        )
        refuse(
            self.copies not in (1, self.recipe.paid_copies or self.copies),
            f"each copy of a drawn table has its price, so copies = {self.copies} of the job is no use.\n"
            f"Write copies = {self.copies} in [{self.recipe.name}] instead.",
        )
        for role, other in (("public", self.public), ("target", self.target)):
            refuse(
                other is not None and other.is_frame and other.table is self.confidential.table,
                f"[{role}] names the confidential table itself. What a job calls public is read freely and its\n"
                "hash is published. Name another table.",
            )
        described = {c.name for c in self.schema.columns}
        for part in filter(None, (self.confidential, self.public, self.target)):
            refuse(
                part.count != "" and part.count in described,
                f"{part.count!r} says how many records a line of the {type(part).__name__.lower()} table is worth,\n"
                f"and is a column of the schema as well. Take [columns.{part.count}] out of it, or leave count out.",
            )
        self.guarantee  # noqa: B018  a promise that cannot be made is refused here
        if self.schema.is_resolved:
            self.schema.shape(self.guarantee.public_columns)
            for use in self.uses:
                use.check(self.schema)

    def __hash__(self) -> int:  # settings of a recipe may hold what cannot be hashed
        return hash((self.confidential, self.budget, self.seed, self.out))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def where(self) -> str:
        """The job file, as a message names it."""
        return "JOB.toml" if self.path is None else str(self.path)

    @property
    def table(self) -> str:
        """The steward's name of the confidential table, under which the ledger books."""
        return self.confidential.name

    @property
    def guarantee(self) -> Guarantee:
        """Who is protected against which change."""
        return self.confidential.guarantee(self.recipe.relation)

    @property
    def stated_recipe(self) -> str:
        """The recipe as the statement of a run names it: by what it is, not by what it calls itself."""
        ours = RECIPES.get(self.recipe.name) is type(self.recipe)
        return self.recipe.stated if ours else name_of(self.recipe) + FOREIGN

    @property
    def wanted_tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table that an intended use is read from."""
        return tuple(dict.fromkeys(u.table for u in self.uses if u.table))


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


def file_exists(table: str | Path) -> bool:
    """Whether the file of a path, or of ``duckdb:FILE#TABLE``, is there; nothing of it is read."""
    name = str(table)
    return Path(name.removeprefix("duckdb:").rpartition("#")[0] if name.startswith("duckdb:") else name).exists()


def _name_of(table: str) -> str:
    """The ledger's name for a table that is given none: the file's, or the TABLE of ``duckdb:FILE#TABLE``."""
    return table.rpartition("#")[2] if table.startswith("duckdb:") else Path(table).stem


def _names(what: str, given: Any) -> tuple[str, ...]:
    wrong = not isinstance(given, list | tuple)  # a column of a frame would give its values away as names
    refuse(wrong, f"{what} must be a list of names, such as ['sex'], not {value_in_words(given)}.")
    found = tuple(given)
    odd = [n for n in found if not isinstance(n, str)]
    refuse(
        bool(odd),
        f"{what} must be a list of names, such as ['sex']; it holds {value_in_words(odd[0]) if odd else ''}.",
    )
    return found


def _schema(given: Any) -> Schema:
    if isinstance(given, str | Path):
        return Schema.load(given)
    refuse(
        not isinstance(given, Schema),
        f"Job: schema is {value_in_words(given)}; write schema=Schema.load('schema.toml'), or Schema.draft(public).",
    )
    return given  # type: ignore[no-any-return]


def _uses(given: Any) -> tuple[AbstractUse, ...]:
    wrong = isinstance(given, str | AbstractUse) or not isinstance(given, Iterable)
    refuse(
        wrong,
        f"Job: uses is {value_in_words(given)}; write a list, as in uses=[uses.Table(['race'], tolerance=0.01)].",
    )
    found = tuple(given)
    for use in found:
        refuse(not isinstance(use, AbstractUse), f"Job: uses holds {value_in_words(use)}, which is no intended use.")
    twice = sorted({u.name for u in found if sum(v.name == u.name for v in found) > 1})
    refuse(bool(twice), f"Job: two uses are called {', '.join(map(repr, twice))}; give each a name of its own.")
    return found
