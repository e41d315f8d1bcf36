"""What every recipe is: settings, the requests it will make, and how answers become a model."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from math import isfinite, isqrt
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

from hedgerow.answers import Answers, NoisierAnswers
from hedgerow.errors import JobError
from hedgerow.figures import value_in_words
from hedgerow.model.base import SHARD, Fitted
from hedgerow.model.constants import GUIDED_TREE
from hedgerow.public import Budget, Measure, PublicData, Relation, Schema, Spend, Tariff, law_of

_NOTHING = "Nothing was read or spent."
MOST_RECORDS = 200_000_000
"""Records of one copy: more fit no common machine."""


def drawable(total: int) -> int:
    """The estimated number of records, unless it is more than can be drawn."""
    if total > MOST_RECORDS:
        raise JobError(
            f"By its noisy counts the table has about {total:,} records; {MOST_RECORDS:,} can be drawn.\n"
            "If its lines stand for several records, check [confidential] count; a recipe for tables of counts,\n"
            "such as integer_counts, writes cells instead. What was answered is saved and stays paid."
        )
    return total


@dataclass(frozen=True)
class TableSettings:
    """What a recipe for a table of counts says of that table: with it a plan sets all such recipes side by side.

    Attributes:
        groups: so many columns come first and divide the table.
        size: how many counts are drawn in each group, if they are drawn: one number, one per group, or ``public``.
        alpha: the prior weights: ``equal``, ``public``, or one per cell.
        copies: how many tables are paid for.
        rows: the number of rows, when it is public.
    """

    groups: int = 0
    size: int | str | Sequence[int] = 0
    alpha: str | Sequence[int | float | str] = "equal"
    copies: int = 1
    rows: int | None = None


@dataclass(frozen=True)
class Spared:
    """What a run does without, of all that a recipe plans for: CPU seconds, and bytes of memory."""

    seconds: float = 0.0
    memory: int = 0


class AbstractRecipe(ABC):
    """A named way to spend a budget. Settings are fields; the plan is the body; it never holds a table.

    A recipe of your own is a frozen dataclass with this base, in any module; a job takes an instance of it and treats
    it as one of ours, and the statement of its release says that it is not.  It must define

    - ``name``: the table of its settings in a job file, and the first word of its refusals;
    - ``requests``: what it will ask, priced by the tariff, before anything is read;
    - ``fit``: it asks the gate it is handed, and returns an ``AbstractModel`` (whole records), an
      ``AbstractAttachment`` (private columns for the target's rows; then ``attaches`` is True), an
      ``AbstractTabulation`` (a table of counts) or an ``AbstractPeople`` (people with several records each; then
      ``career_time`` names a column), all of ``hedgerow.model.base``.

    ``fit`` sees noisy answers and public tables and nothing else: whatever it does with them costs nothing more.  It
    must ask what ``requests`` says, at that cost, and may ask more after the first answers while budget is left.
    All else has a default.  Settings are checked when a recipe is made, from Python or from a job file, in the same
    words: their names, their types as annotated, then ``rules`` (a recipe with a ``__post_init__`` of its own calls
    this one first).  Lists become tuples.

        >>> from dataclasses import dataclass
        >>> from fractions import Fraction
        >>> from hedgerow.model.records.models import fit_product
        >>> from hedgerow.public import Marginal
        >>> @dataclass(frozen=True)
        ... class Halves(AbstractRecipe):
        ...     "Every attribute's own table, with a part of the budget; the rest is not spent."
        ...     name = "halves"
        ...     part: float = 0.5
        ...     def rules(self):
        ...         return {"part lies above 0 and is at most 1": 0 < self.part <= 1}
        ...     def requests(self, tariff, budget, public):
        ...         tables = [Marginal((a,)) for a in public.schema.attributes]
        ...         return (tariff.measure_all(tables, budget.total * Fraction(str(self.part))),)
        ...     def fit(self, gate, public):
        ...         (request,) = self.requests(gate.tariff, gate.budget, public)
        ...         tables = [a.question for a in request.asked]
        ...         return fit_product(public.schema.coding, gate.measure(tables, request.cost))
        >>> Halves(part=0.25)
        Halves(part=0.25)
        >>> Halves(part=3)
        Traceback (most recent call last):
        hedgerow.errors.JobError: [halves] part lies above 0 and is at most 1, not 3. Nothing was read or spent.
        >>> Halves(parts=0.25)
        Traceback (most recent call last):
        hedgerow.errors.JobError: [halves] does not know: parts. Did you mean part? It knows: part.
        Nothing was read or spent.
        >>> Halves(part="half")
        Traceback (most recent call last):
        hedgerow.errors.JobError: [halves] part is a number, not 'half'. Nothing was read or spent.
    """

    name: ClassVar[str]
    relation: ClassVar[Relation] = "add-remove"
    """The relation of a job that does not say one."""
    attaches: ClassVar[bool] = False
    """Whether it writes private columns onto the rows of a target, which the job must name.

    The public table may lack those columns then.
    """

    @property
    def draws_from_public(self) -> bool:
        """Whether what is drawn depends on the public table, where there is one: drawing again takes it then."""
        return True

    counts_people: ClassVar[bool] = False
    """Whether it can give labels to people, each counted once by facts, which all of their rows carry."""

    def __new__(cls, *given: Any, **settings: Any) -> Self:
        """A recipe whose settings have been checked, but for ``rules``, which see the finished one."""
        if "__dataclass_fields__" in vars(cls):
            names = [f.name for f in fields(cls) if f.init]  # type: ignore[arg-type]
            _check_names(cls.name, settings, names)
            _check_types(cls, dict(zip(names, given, strict=False)) | settings)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for f in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, f.name, _as_tuples(getattr(self, f.name)))
        if broken := [rule for rule, holds in self.rules().items() if not holds]:
            said = {f.name: f", not {value_in_words(getattr(self, f.name))}" for f in fields(self)}  # type: ignore[arg-type]
            refuse(self.name, (rule + said.get(rule.split()[0], "") for rule in broken))

    def rules(self) -> Mapping[str, bool]:
        """What holds of good settings, in sentences that begin with the setting's name, and whether it does hold."""
        return {}

    @property
    def stated(self) -> str:
        """The recipe as a statement names it."""
        return self.name

    @property
    def accounting(self) -> Measure:
        """In what costs add up if a job has a delta; ``gdp``: it asks for counts with Gaussian noise and no more."""
        return "zcdp"

    @property
    def private_columns(self) -> tuple[str, ...]:
        """The private columns that the settings name, for a recipe that attaches; empty: those the target lacks."""
        return ()

    @property
    def outcome_columns(self) -> tuple[str, ...]:
        """The given columns that are outcomes of models with private columns, for a recipe that measures them."""
        return ()

    @property
    def career_time(self) -> str:
        """The column by which a person's records follow each other, for a recipe that counts careers; else empty."""
        return ""

    @property
    def own_rows(self) -> bool:
        """Whether the settings say that the target has the confidential table's own rows."""
        return False

    @property
    def paid_copies(self) -> int | None:
        """How many copies the budget pays for; None: as many as one likes, from the same answers."""
        return None

    @property
    def table_settings(self) -> TableSettings | None:
        """What it says of its table, if a table of counts is what it makes."""
        return None

    @abstractmethod
    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """What will be asked, as far as it is known before the first answer."""

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """What a plan should say of this recipe besides its requests, in lines for people."""
        return ()

    def findings(self, answers: Answers, public: PublicData) -> tuple[str, ...]:
        """What the answers told of the public table, in sentences for the report; ``answers`` are all on record."""
        return ()

    def memory(self, public: PublicData, rows: int) -> int:
        """About how many bytes the recipe holds at its widest, for a table of ``rows`` rows; from public facts."""
        target = public.target.rows if public.target is not None else rows
        shares = self.labels(public) * (16 * target + 24 * min(rows, GUIDED_TREE.public_rows))  # of labels
        return len(public.schema.columns) * (24 * min(rows, SHARD) + 3 * rows) + shares  # one shard decoded; codes

    def labels(self, public: PublicData) -> int:
        """How many cells the private columns that are drawn at once have; 0 if it attaches none."""
        return public.schema.size(names) if (names := self.attached(public)) else 0

    def given_values(self, public: PublicData) -> int:
        """How many values all attributes have together that are not attached."""
        return sum(public.schema.shape([a for a in public.schema.attributes if a not in self.attached(public)]))

    def attached(self, public: PublicData) -> list[str]:
        """The private columns: those that the settings name, or that the target lacks; none if it attaches none."""
        if not self.attaches or public.target is None:
            return []
        schema, had = public.schema, set(public.target.frame.columns)
        lacks = [a for a in schema.attributes if not set(schema.coding.needs([a])) <= had]
        return [a for a in self.private_columns if a in schema.attributes] or lacks

    def surplus(self, requests: Sequence[Spend]) -> int:
        """How many records more than the table has rows the noise of ``requests`` may make; 0 if it makes none."""
        return 0

    def lighter(self, public: PublicData, rows: int) -> str:
        """Which of the recipe's own settings make it need less memory, if any do; for a refusal."""
        if (labels := self.labels(public)) < 1000:
            return ""
        return (
            f"Its private columns are drawn at once, in {labels:,} cells for every row: attach them in several\n"
            "jobs, or with [random_trees] sequence = 'chain', one after another."
        )

    def seconds(self, public: PublicData, rows: int) -> float:
        """About how many CPU seconds the recipe takes for a table of ``rows`` rows; from public facts."""
        return 5e-7 * rows * len(public.schema.columns)

    def spared(self, requests: Sequence[Spend], public: PublicData, rows: int) -> Spared:
        """What of ``seconds`` and ``memory`` the noise of ``requests`` shows not to be needed: pairs drown in it."""
        return Spared()

    def asking_memory(self, public: PublicData, rows: int) -> int:
        """About how many bytes ``requests`` may hold: those of the run, where it is not known to be less."""
        return self.memory(public, rows)

    @abstractmethod
    def fit(self, gate: Answers, public: PublicData) -> Fitted:
        """Ask until the plan is done, and return what the answers become."""

    def fit_again(self, gate: NoisierAnswers, public: PublicData, other: PublicData) -> Fitted:
        """What ``fit`` would make of noisier answers to the same questions, and of another public table; replicates.

        A recipe whose questions depend on answers asks ``gate.known``; one whose questions depend on the public
        table asks by ``public``.  What is not asked may come from ``other``, whose rows are public ones that drift.
        """
        return self.fit(gate, public)


def refuse(recipe: str, mistakes: Iterator[str] | Sequence[str]) -> None:
    """Refuse settings for these reasons: nothing has been read yet."""
    raise JobError(f"[{recipe}] {'; '.join(mistakes)}. {_NOTHING}")


def pair_cells(schema: Schema, names: Sequence[str]) -> int:
    """The cells of all two-way tables of ``names`` together."""
    shape = schema.shape(names)
    return (sum(shape) ** 2 - sum(s * s for s in shape)) // 2


def pair_records_memory(schema: Schema, names: Sequence[str], *, records: int) -> int:
    """Bytes for records fitted to all pairs of ``names``.

    Record fitting: three square arrays of 4 bytes over all values of all columns.  Records: a few copies of 2-byte
    codes, then the decoded table.
    """
    values = sum(schema.shape(names))
    fitting = 3 * 4 * values * (values + 16)
    rows = records * (8 * len(names) + 24 * len(schema.columns))
    return pair_tables_memory(schema, names) + fitting + rows


def pair_tables_memory(schema: Schema, names: Sequence[str]) -> int:
    """Bytes for the tables of all pairs of ``names``: answers, estimates and their variances.

    About a dozen numbers of 8 bytes a cell, and 40 kB of small objects for each pair.
    """
    return 100 * pair_cells(schema, names) + 20_000 * len(names) * (len(names) - 1)


def noise_on_total(requests: Sequence[Spend]) -> int:
    """Three standard deviations of the noise on the number of rows, told by the best of the tables asked for."""
    asked = [a for r in requests for a in r.asked]
    return 3 * min((isqrt(round(a.cells * law_of(a.noise).variance)) for a in asked), default=0)


def _check_names(recipe: str, given: Mapping[str, Any], names: Sequence[str]) -> None:
    if unknown := sorted(set(given) - set(names)):
        close = [c for u in unknown for c in get_close_matches(u, names, 1)]
        hint = f" Did you mean {', '.join(dict.fromkeys(close))}?" if close else ""
        raise JobError(
            f"[{recipe}] does not know: {', '.join(unknown)}.{hint} It knows: {', '.join(sorted(names)) or 'none'}.\n"
            f"{_NOTHING}"
        )


def _check_types(cls: type[AbstractRecipe], given: Mapping[str, Any]) -> None:
    try:
        kinds = get_type_hints(cls)
    except NameError:  # an annotation that only a type checker can follow
        return
    wrong = {n: v for n, v in given.items() if not _is_a(v, kinds[n])}
    if wrong:
        refuse(cls.name, [f"{n} is {_words(kinds[n])}, not {value_in_words(v)}" for n, v in wrong.items()])


def _is_a(value: Any, kind: Any) -> bool:
    """Whether a value is what its setting's annotation says; what no job file can hold is not judged."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(_is_a(value, k) for k in args)
    if origin is Literal:
        return value in args
    if origin is Sequence:
        return isinstance(value, Sequence) and not isinstance(value, str) and all(_is_a(v, args[0]) for v in value)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_is_a(k, args[0]) and _is_a(v, args[1]) for k, v in value.items())
    if kind in (int, float):
        return isinstance(value, int if kind is int else int | float) and type(value) is not bool and isfinite(value)
    return isinstance(value, kind) if kind in (str, bool, NoneType) else True


def _words(kind: Any) -> str:
    """A kind of value as a refusal names it."""
    plain = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", NoneType: "left out"}
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(_words(k) for k in args)
    if origin is Literal:
        return " or ".join(map(repr, args))
    if origin is Sequence:
        return 'a list of names, such as ["sex"]' if args[0] is str else f"a list, each {_words(args[0])}"
    if origin is Mapping:
        return "a table of names, each with " + _words(args[1])
    return plain.get(kind, "another kind of value")


def _as_tuples(value: Any) -> Any:
    """Lists as tuples, which cannot change: a recipe from Python equals the same one from a job file."""
    return tuple(map(_as_tuples, value)) if isinstance(value, list | tuple) else value
