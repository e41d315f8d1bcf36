"""A job as plain values: what to publish, from what, under which promise, and for which uses.

The same values come from a job file (``job/file.py``) and from Python; they are equal when they say the same.
Tables are paths or frames.  Nothing is read here but the header of a frame.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal

from hedgerow.errors import MissingExtra
from hedgerow.figures import value_in_words
from hedgerow.job.places import Engine, absolute, file_exists, refuse
from hedgerow.job.recipe import FOREIGN, name_of, recipe_of
from hedgerow.job.tables import Confidential, Person, Public, Target, name_list, named_arguments
from hedgerow.planning import LeafInterval
from hedgerow.public import (
    MOST_OUTSIDE,
    Budget,
    Fact,
    Guarantee,
    PublicData,
    Schema,
    Statistic,
    budget_for,
    default_ledger,
    is_address,
)
from hedgerow.recipes import RECIPES, AbstractRecipe, person_facts
from hedgerow.stand_in import Rehearsal
from hedgerow.uses import AbstractUse, Verdict

FORMATS = ("csv", "dta", "sav", "arrow", "xpt", "xlsx")
"""The formats of records besides Parquet, which is always written."""


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
        engine: who counts the confidential table, if not this process.
        outside: the share of the public or target table's rows that may stand outside a column of the schema.
        interval: for attach jobs, what a plan holds the leaves of trees against.
    """

    of_a_bundle: ClassVar[bool] = False
    """Whether a bundle holds it: then no address that it names is asked for anything."""
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
    engine: Engine = field(default_factory=Engine)
    outside: float = MOST_OUTSIDE
    interval: LeafInterval = field(default_factory=LeafInterval)
    text: str = field(default="", init=False, compare=False, repr=False)
    """The job file as it was read, comments and all; empty for a job made in Python."""
    path: Path | None = field(default=None, init=False, compare=False, repr=False)
    """Where that file is."""
    rehearsal: Rehearsal | None = field(default=None, init=False, compare=False, repr=False)
    """The latest rehearsal of this very object: a run takes its forecast from it."""
    foretold: tuple[str, tuple[Verdict, ...]] = field(default=("", ()), init=False, compare=False, repr=False)
    """What its latest plan foretold, after a hash of what that depends on: a run takes it from here."""

    def __post_init__(self) -> None:
        for name, kind, cure in (
            ("confidential", Confidential, "Confidential(frame_or_path, name='personnel')"),
            ("budget", Budget, "Budget(epsilon=1.0)"),
            ("public", Public | None, "Public(frame_or_path, provenance='released in 2023')"),
            ("target", Target | None, "Target(frame_or_path)"),
            ("interval", LeafInterval, "the [plan] of a job file"),
            ("engine", Engine, "Engine('spark', master='local[2]')"),
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
        self._set("formats", name_list("Job: formats", self.formats))
        unknown = [f for f in self.formats if f not in FORMATS]
        refuse(bool(unknown), f"Job: no format {', '.join(unknown)}: choose among {', '.join(FORMATS)}.")
        if "xlsx" in self.formats and find_spec("xlsxwriter") is None:  # not after the budget is spent
            raise MissingExtra(needed_for="formats = ['xlsx']", extra="excel")
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
        if self.of_a_bundle and is_address(target.table):
            return  # a stranger may have written it
        parts = {j.name: j.columns for j in self.schema.joined}
        drawn = {c for name in self.recipe.private_columns for c in parts.get(name, (name,))}
        there = set(target.columns(self.engine.master)) - drawn
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
        self._people_fit()
        self._order_fits(self.engine.of(self.confidential.table))  # one that cannot count this table is refused here
        if self.schema.is_resolved:
            self.schema.shape(self.guarantee.public_columns)
            for use in self.uses:
                use.check(self.schema)

    def _order_fits(self, engine: str) -> None:
        """Which rows of a person count is said by a column where rows stand in no order, and by no protected one.

        Engines refuse the same; here a plan does, before Spark is started or a server asked.
        """
        unit, promise = self.confidential.unit, self.guarantee  # a promise that cannot be made is refused here
        all_count = bool(self.recipe.career_time) or bool(self.target and self.target.person)
        if not isinstance(unit, Person) or all_count:
            return
        refuse(
            engine in ("postgresql", "spark") and not unit.order,
            f"Of a person {unit.rows} rows count, and in a table that {engine} counts rows stand in no order that\n"
            "says which. Name a column whose values do: [confidential] order = 'date' (in Python: Person('id',\n"
            "rows=4, order='date')).",
        )
        protected = promise.relation == "label-change" and unit.order not in promise.public_columns
        refuse(
            bool(unit.order and promise.public_columns) and protected,
            f"Under label-change {unit.order!r} is protected, and it would say which rows of a person count. Order\n"
            "by a public column of the schema, or choose relation = 'replace-one'.",
        )

    def _people_fit(self) -> None:
        """Labels once per person: who is protected is who gets a label, counted once."""
        target, unit = self.target, self.confidential.unit
        time = self.recipe.career_time
        named = target.person if target else unit.column if time and isinstance(unit, Person) else ""
        for use in self.uses:
            wanted = getattr(use, "person", "")
            refuse(
                bool(wanted) and wanted != named,
                f"The use {use.name!r} looks at people ({wanted}), and the release will not say whose each row is.\n"
                f"It does so where labels are attached once per person: [target] person = {wanted!r}; and where the\n"
                "recipe is careers.",
            )
        if time:
            self._careers_fit(unit)
            return
        if target is None or not named:
            return
        refuse(
            not self.recipe.attaches,
            f"[target] person = {target.person!r} gives people labels, and {self.recipe.name} attaches none.",
        )
        refuse(
            not self.recipe.counts_people,
            f"[target] person = {target.person!r} counts people by facts, which {self.recipe.name} cannot use;\n"
            "guided_tree can. Change recipe in [job], or take person out of [target].",
        )
        refuse(
            not isinstance(unit, Person) or unit.column != target.person or unit.rows != 1,
            f"[target] person = {target.person!r} counts people, each once, however many rows they have. Say\n"
            f"so of the confidential table too: [confidential] unit = 'person', person = {target.person!r}, and no\n"
            f"rows_per_person (in Python: Confidential(..., unit=Person({target.person!r}))).",
        )
        described = {c.name for c in self.schema.columns}
        refuse(
            target.person in described,
            f"{target.person!r} names people and is a column of the schema as well. Take [columns.{target.person}]\n"
            "out of it: names are no values to count.",
        )

    def _careers_fit(self, unit: Any) -> None:
        """Careers are people's: who is protected is a person, with two rows or more that count."""
        refuse(
            self.target is not None,
            f"{self.recipe.name} makes whole records of synthetic people, and [target] names rows. Take one out.",
        )
        refuse(
            not isinstance(unit, Person) or unit.rows < 2,
            f"{self.recipe.name} makes people with several records each. Say who is a person, and how many rows of\n"
            "one count: [confidential] unit = 'person', person = 'id', rows_per_person = 5 (in Python:\n"
            "Confidential(..., unit=Person('id', rows=5))). Two or more: steps go from one to the next.",
        )
        refuse(
            bool(unit.order),
            f"[confidential] order = {unit.order!r}: {self.recipe.name} puts a person's rows in order by its own\n"
            f"time, {self.recipe.career_time!r}. Take order out.",
        )
        refuse(
            unit.column in {c.name for c in self.schema.columns},
            f"{unit.column!r} names people and is a column of the schema as well. Take [columns.{unit.column}]\n"
            "out of it: names are no values to count.",
        )

    def __hash__(self) -> int:  # settings of a recipe may hold what cannot be hashed
        return hash((self.confidential, self.budget, self.seed, self.out))

    def rows_of(self, part: Public | Target) -> Any:
        """What is read of the public table or the target: a path, a frame, or rows that were brought here once."""
        return part.rows(self.engine.master)

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
    def order(self) -> str:
        """The column by which a person's rows come first; empty: as they stand."""
        return self.confidential.unit.order if isinstance(self.confidential.unit, Person) else ""

    @property
    def stated_recipe(self) -> str:
        """The recipe as the statement of a run names it: by what it is, not by what it calls itself."""
        ours = RECIPES.get(self.recipe.name) is type(self.recipe)
        return self.recipe.stated if ours else name_of(self.recipe) + FOREIGN

    @property
    def wanted_tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table that an intended use is read from."""
        return tuple(dict.fromkeys(u.table for u in self.uses if u.table and u.statistic is None))

    @property
    def wanted_figures(self) -> tuple[Statistic, ...]:
        """The figures of intended uses that are told by less than a table."""
        return tuple(dict.fromkeys(u.statistic for u in self.uses if u.statistic is not None))

    @property
    def predicted(self) -> tuple[str, ...]:
        """The columns that intended uses predict from all others."""
        return tuple(dict.fromkeys(u.predicted for u in self.uses if u.predicted))

    @property
    def read_by(self) -> tuple[str, ...]:
        """The columns by which figures of intended uses are read, those that most uses name first."""
        named = Counter(c for u in self.uses if not u.figures_are_counts for c in u.groups)
        return tuple(c for c, _ in named.most_common())


def facts_for(job: JobValues, public: PublicData) -> tuple[Fact, ...]:
    """What people are counted by, by the job and what its target shows; none when rows are counted."""
    target, recipe = job.target, job.recipe
    if target is None or not target.person:
        return ()
    return person_facts(recipe, public, person=target.person, time=target.time, said=target.facts)


def only_rows(job: JobValues, what: str) -> None:
    """Refuse, for what is done with rows alone, a job that counts people."""
    refuse(
        bool(job.recipe.career_time) or (job.target is not None and bool(job.target.person)),
        f"{what} counts rows, and this job counts people"
        f"{' (careers)' if job.recipe.career_time else ' ([target] person)'}. Rehearse it instead (hedgerow\n"
        "rehearse, in Python job.rehearse()), or take a job that counts rows.",
    )


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
