"""Intended uses: what the release must get right, and the tolerance a steward states for it.

A use is a frozen dataclass whose fields are its keys in a job file.  The same code judges a public stand-in,
synthetic records, a table of synthetic counts and, inside, the steward's own table; so a forecast and an exact look
mean the same thing.  How to add a kind:

1. a file ``uses/<kind>.py`` with one subclass of ``AbstractUse``, or of ``AbstractGroupUse`` when it asks for a
   figure per group: ``kind``, ``subject``, ``figures``, ``problems`` and ``check`` say what it is;
2. its line in ``uses/verdict.py``, which gives it to job files and to the contract test
   ``tests/contract/test_every_use.py``;
3. its line in ``docs/uses.md``.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, InitVar, dataclass, fields, replace
from functools import cached_property
from math import isfinite, sqrt
from numbers import Real
from typing import Any, ClassVar, Literal, Self, TypeVar, final

import numpy as np

from hedgerow.errors import NOTHING, JobError
from hedgerow.figures import ABSURD, percent, small, value_in_words
from hedgerow.public import CodedTable, Floats, Places, Schema, Statistic, nearest

Within = Literal["total-variation", "relative", "absolute"]
Over = Literal["typical", "worst"]
A_LIST = 'must be a list, such as ["sex"]'
_HOW = {"total-variation": "total variation", "relative": "relative error", "absolute": "difference"}
_TIMES = ("ordered", "integer", "real", "date")
_OWN = ("of", "values", "at", "formula", "term", "reference", "person", "time", "change")
"""The keys that some kinds have."""
_HALVES = 12  # random halves of the rows whose mean error stands for the expected one
_U = TypeVar("_U", bound="AbstractUse")


@final
@dataclass(frozen=True, eq=False)
class Quantity:
    """What a use asks of one table: a figure per cell or group.

    Attributes:
        values: the figures; NaN where a group has none.
        sizes: the rows behind each.
        errors: the standard error of each, where one is known; else empty.
        rest: what else a use needs to hold it against another.
    """

    values: Floats
    sizes: Floats
    errors: Floats
    rest: Any = None

    @cached_property
    def total(self) -> float:
        """The rows behind all of them."""
        return float(self.sizes.sum())


@final
@dataclass(frozen=True, eq=False)
class UseError:
    """How far one synthetic table is from the true one, for one use.

    Attributes:
        error: in the terms of the use; NaN where no cell or group is large enough to judge.
        parts: the error of every cell or group; NaN where it is not judged.
        sign_kept: whether every coefficient whose sign is beyond doubt has kept it; None for other kinds.
    """

    error: float
    parts: Floats
    sign_kept: bool | None = None


@dataclass(frozen=True, kw_only=True)
class AbstractUse(ABC):
    """One thing the file must get right.

    Attributes:
        name: what people call it; by default what it is.
        tolerance: the largest error that is still good enough.
        within: ``total-variation``: half the summed difference of shares; ``relative``: the difference as a share of
            the true figure; ``absolute``: the difference itself.
        over: whether the ``typical`` cell or group counts (their mean error) or the ``worst``.
        relative: a tolerance within ``relative``, said in one word.
    """

    kind: ClassVar[str]
    unit: ClassVar[str] = "group"
    size_key: ClassVar[str] = "group_size"
    figures_are_counts: ClassVar[bool] = False
    told_by_file: ClassVar[bool] = True
    """Whether a file tells its figures by itself."""
    default_within: ClassVar[Within] = "absolute"
    default_over: ClassVar[Over] = "typical"

    name: str = ""
    tolerance: float = 0.0
    within: Within | Literal[""] = ""
    over: Over | Literal[""] = ""
    relative: InitVar[float | None] = None

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """A use, none of whose keys is mistyped."""
        known = [*(k for k in cls.allowed() if k != "kind"), "relative"]
        for name in named:
            if name not in known:
                raise JobError(f"{cls.__name__} does not know {name!r}: {nearest(name, known)} {NOTHING}")
        return super().__new__(cls)

    def __post_init__(self, relative: float | None) -> None:
        said = type(self).__name__
        if relative is not None and (self.tolerance or self.within not in ("", "relative")):
            raise JobError(f"{said}: say tolerance = ... or relative = ..., not both. {NOTHING}")
        if relative is None and self.tolerance == 0:
            raise JobError(f"{said}: say how far off it may be: tolerance = ... or relative = .... {NOTHING}")
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        values |= {"within": self.within or self.default_within, "over": self.over or self.default_over}
        if relative is not None:
            values |= {"within": "relative", "tolerance": relative}
        values |= {k: tuple(v) for k, v in values.items() if isinstance(v, list | tuple)}
        for key, wrong in self.problems(values):
            key = "relative" if key == "tolerance" and relative is not None else key
            raise JobError(f"{said}: {key}: {wrong} (got {value_in_words(values.get(key, relative))}). {NOTHING}")
        values["tolerance"] = float(values["tolerance"])
        for key, value in self.settled(values).items():
            object.__setattr__(self, key, value)
        if not self.name:
            object.__setattr__(self, "name", f"{self.subject}{self._by}")

    @classmethod
    def problems(cls, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """What is wrong with the values of some keys: the key, and what it must be."""
        if not isinstance(values.get("name", ""), str):
            yield "name", "must be a text"
        if not _is_number(given := values.get("tolerance", 1.0)) or not (given > 0 and isfinite(given)):
            yield "tolerance", "must be a number above 0"
        within = values.get("within", cls.default_within)
        if within not in _HOW:
            yield "within", f"must be one of {', '.join(_HOW)}"
        elif within not in (cls.default_within, "relative"):
            yield "within", f"kind = {cls.kind!r} cannot be judged within = {within!r}"
        if values.get("over", cls.default_over) not in ("typical", "worst"):
            yield "over", "must be typical or worst"
        size = values.get(cls.size_key, 0)
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            yield cls.size_key, "must be a whole number, 0 or more"

    @classmethod
    def settled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The values in the form in which they are kept."""
        return values

    @property
    @abstractmethod
    def subject(self) -> str:
        """What is looked at, in a few words: also the use's name when it is given none."""

    @property
    @abstractmethod
    def groups(self) -> tuple[str, ...]:
        """The columns in whose every cell there is a figure."""

    @property
    @abstractmethod
    def table(self) -> tuple[str, ...]:
        """The columns whose joint table gives the figure; none where no one table does."""

    @property
    def statistic(self) -> Statistic | None:
        """What tells the figure by less than a table; None where the table itself is wanted."""
        return None

    @property
    def predicted(self) -> str:
        """The column that is predicted from all others; empty for other kinds."""
        return ""

    @abstractmethod
    def figures(self, table: CodedTable) -> Quantity:
        """The figures of this use on ``table``."""

    @property
    def least_rows(self) -> int:
        """Only cells or groups that hold at least this many rows are judged."""
        return int(getattr(self, self.size_key))

    @property
    def _by(self) -> str:
        return f" by {' x '.join(self.groups)}" if self.groups and not self.figures_are_counts else ""

    @property
    def _aside(self) -> str:
        """What else is judged, in a few words."""
        return ""

    @property
    def what(self) -> str:
        """What is compared, in a few words."""
        large = f", {self.unit}s of {self.least_rows:,} or more" if self.least_rows else ""
        worst = ", the worst" if self.over == "worst" and self.groups else ""
        return f"{self.subject}{self._by}: {_HOW[self.within]}{large}{self._aside}{worst}"

    @property
    def as_share(self) -> bool:
        """Whether errors are shares of something, to be shown in percent."""
        return self.within == "relative"

    def size_in_words(self, error: float) -> str:
        """How large an error is, as people say it."""
        return percent(error) if self.as_share else small(error)

    def error_in_words(self, error: float) -> str:
        """What an error means to somebody who decides by it."""
        of = " of the true figure" * self.as_share
        where = f", in the worst {self.unit}" if self.over == "worst" else f", on average over {self.unit}s"
        near = "; a true figure is near 0, and shares of it mean little" if self.as_share and error > ABSURD else ""
        size = self.size_in_words(error).replace("below", "less than")
        return f"off by {'about ' * size[0].isdigit()}{size}{of}{where if self.groups else ''}{near}"

    def check(self, schema: Schema) -> None:
        """Refuse a use that the schema cannot answer, before anything is done."""
        known = (*schema.attributes, *(c.name for c in schema.columns))
        for name in self.columns_named:
            if name not in known:
                raise JobError(
                    f"The use {self.name!r} names a column {name!r} that the schema lacks: {nearest(name, known)}\n"
                    f"{NOTHING}"
                )

    @property
    def columns_named(self) -> tuple[str, ...]:
        """The columns that the use names one by one."""
        return self.groups

    def unsettled(self, schema: Schema) -> tuple[str, ...]:
        """The columns whose values are compared with one that neither use nor schema names."""
        return ()

    @property
    def compared(self) -> str:
        """What its figure is compared with, in words; empty where it is no comparison, or what it is says so."""
        return ""

    def on(self, schema: Schema) -> "AbstractUse":
        """The use with what it leaves to the schema written out."""
        return self

    def works_on(self, table: CodedTable) -> bool:
        """Whether ``table`` has what the figures are worked out from."""
        return True

    # The error -----------------------------------------------------------------------------------------------------

    def scaled(self, made: Quantity, true: Quantity) -> Floats:
        """The figures of ``made`` as they are held against ``true``."""
        return made.values

    def error(self, made: Quantity, true: Quantity, *, scale: float = 1.0) -> UseError:
        """How far ``made`` is from ``true``, whose table stands for ``scale`` times its rows."""
        large = (true.sizes * scale >= max(self.least_rows, 1)) & np.isfinite(true.values)
        # a group without synthetic rows has nothing to show
        found = self.scaled(replace(made, values=np.nan_to_num(made.values, nan=0.0)), true)
        parts = np.full(len(true.values), np.nan)
        parts[large] = np.abs(found - true.values)[large]
        if self.within == "relative":
            parts[large] /= np.maximum(np.abs(true.values[large]), 1e-12)
        if not large.any():
            return UseError(float("nan"), parts)
        error = float(parts[large].max() if self.over == "worst" else parts[large].mean())
        return UseError(error, parts, self.sign_kept(found, true, large))

    def sign_kept(self, found: Floats, true: Quantity, large: Any) -> bool | None:
        """Whether every figure that is judged and whose sign is beyond doubt has kept it; None: it has no sign."""
        return None

    def half_sample_error(
        self, table: CodedTable, true: Quantity, rng: np.random.Generator, *, scale: float = 1.0
    ) -> float:
        """The expected error of a random half of the rows of ``table`` blown up ``scale`` times.

        The mean over a dozen random halves, for kinds that know no closed form.  NaN for a table of counts.
        """
        if table.counts is not None:
            return float("nan")
        found = []
        for _ in range(_HALVES):
            kept = rng.permutation(table.rows)[: max(1, table.rows // 2)]
            found.append(self.error(self.figures(table.take(np.sort(kept))), true, scale=scale).error)
        return float(np.mean(found)) / sqrt(scale)

    def from_noise(self, size: float, cells: int, rows: int | None) -> tuple[float | None, str]:
        """The error to expect where the noise on a cell has this mean size, and what that rests on."""
        return (
            None,
            "no forecast: the job says no number of rows (assumed_rows, a public guess) and names no public table",
        )

    # Names of cells and groups -------------------------------------------------------------------------------------

    @property
    def repeats(self) -> tuple[str, ...]:
        """What the figures of one group are called, where it has several."""
        return ()

    def labels(self, schema: Schema, places: Places) -> tuple[str, ...]:
        """A label for the cells or groups at ``places``."""
        if not self.repeats:
            return cell_names(schema, self.groups, places)
        group, which = np.divmod(places, len(self.repeats))
        named = cell_names(schema, self.groups, group)
        return tuple(f"{n} {self.repeats[w]}" for n, w in zip(named, which.tolist(), strict=True))

    def over_time(self, schema: Schema, places: Places) -> tuple[tuple[str, int], ...]:
        """For the groups at ``places``, what they are besides their time, and which time of the schema's list it is.

        Empty where a use is not about a figure over time: where not exactly one of its group columns has an order, or
        fewer than three times of it are there, or rows without one.
        """
        lasts = {c.name: c.bin_count or len(c.values) for c in schema.columns if c.kind in _TIMES}
        ordered = [i for i, c in enumerate(self.groups) if c in lasts]
        if self.figures_are_counts or len(ordered) != 1:
            return ()
        repeats, shape = max(1, len(self.repeats)), schema.shape(self.groups)
        names, found = [schema.cell_labels(c) for c in self.groups], []
        for place in places.tolist():
            group, which = divmod(place, repeats)
            codes = [int(c) for c in np.unravel_index(group, shape)]
            rest = [n[c] for i, (n, c) in enumerate(zip(names, codes, strict=True)) if i not in ordered]
            rest += [self.repeats[which]] if self.repeats else []
            found.append((", ".join(rest), codes[ordered[0]]))
        times = {t for _, t in found}
        return tuple(found) if len(times) > 2 and max(times) < lasts[self.groups[ordered[0]]] else ()

    def time_labels(self, schema: Schema) -> tuple[str, ...]:
        """What the times of a use over time are called, in order."""
        (time,) = (c for c in self.groups if any(d.name == c and d.kind in _TIMES for d in schema.columns))
        return schema.cell_labels(time)

    # As plain data -------------------------------------------------------------------------------------------------

    @classmethod
    def needed(cls) -> tuple[str, ...]:
        """The keys that a use of this kind must have in a job file, besides its tolerance."""
        return tuple(f.name for f in fields(cls) if f.default is MISSING)

    @classmethod
    def allowed(cls) -> tuple[str, ...]:
        """All keys that a use of this kind may have in a job file."""
        return ("kind", *(f.name for f in fields(cls)))

    @classmethod
    def mistakes(cls, data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """What is wrong with a ``[[use]]`` of this kind: the key, and what to say of it."""
        if "tolerance" not in data:
            yield "tolerance", "is needed and is not there"
        if absent := sorted(set(cls.needed()) - set(data)):
            yield "", f"kind = {cls.kind!r} needs {', '.join(absent)}"
        for extra in sorted(set(data) - set(cls.allowed())):
            hint = nearest(extra, cls.allowed())
            close = hint if hint.startswith("did") else f"its keys are {', '.join(cls.allowed())}"
            yield extra, f"is not a key of kind = {cls.kind!r}: {close}"
        for key, wrong in cls.problems(data):
            yield key, wrong if wrong.startswith("kind =") else f"{wrong} (got {value_in_words(data.get(key))})"

    @classmethod
    def from_toml(cls: type[_U], data: Mapping[str, Any]) -> _U:
        """The use that a ``[[use]]`` of a job file says."""
        if wrong := [f"{key}: {said}" if key else said for key, said in cls.mistakes(data)]:
            raise JobError(f"The use {data.get('name', '')!r} cannot be read: {'; '.join(wrong)}. {NOTHING}")
        return cls(**{k: v for k, v in data.items() if k != "kind"})

    def to_toml(self) -> dict[str, Any]:
        """The use as a ``[[use]]`` of a job file; what is as by default is left out."""
        plain = {
            "within": self.default_within,
            "over": self.default_over,
            self.size_key: 0,
            "by": (),
            "reference": "",
            "person": "",
            "time": "",
            "change": "",
            "values": (),
        }
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        kept = {k: list(v) if isinstance(v, tuple) else v for k, v in data.items() if plain.get(k) != v}
        own = {k: v for k, v in kept.items() if k not in ("name", "tolerance", "within", "over")}
        rest = {k: v for k, v in kept.items() if k in ("tolerance", "within", "over")}
        return {"name": self.name, "kind": self.kind, **own, **rest}

    def to_json(self) -> dict[str, Any]:
        """The use as plain data, under the same keys for every kind; what is not set is left out."""
        own = {k: v for k, v in self.to_toml().items() if k in _OWN}
        shared = {
            "name": self.name,
            "columns": list(self.groups),
            "tolerance": self.tolerance,
            "within": self.within,
            "cell_size": self.least_rows,
            "kind": self.kind,
        }
        return {**shared, **own, **({} if self.over == "typical" else {"over": self.over})}

    @classmethod
    def from_json(cls: type[_U], data: Mapping[str, Any]) -> _U:
        """The use that ``to_json`` wrote down; other keys are passed over."""
        known = {f.name for f in fields(cls)}
        read = {"over": "typical", **data, cls.size_key: data["cell_size"], "by": data["columns"]}
        return cls(**{k: v for k, v in read.items() if k in known})


@dataclass(frozen=True, kw_only=True)
class AbstractGroupUse(AbstractUse):
    """A figure in every group of ``by``, or one of all rows.

    Attributes:
        by: the columns that make the groups.
        group_size: only groups of at least so many rows are judged.
    """

    by: Sequence[str] = ()
    group_size: int = 0

    @classmethod
    def problems(cls, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """What is wrong with the values of some keys."""
        yield from super().problems(values)
        if not is_names(values.get("by", ())):
            yield "by", A_LIST
        for key in cls.needed():
            if key not in ("values", "at") and key in values and not (isinstance(values[key], str) and values[key]):
                yield key, "must be a text"

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns in whose every cell there is a figure."""
        return tuple(self.by)


@dataclass(frozen=True)
class AbstractColumnUse(AbstractGroupUse):
    """A figure of one column, ``of``, in every group."""

    of: str

    @property
    def table(self) -> tuple[str, ...]:
        """The columns whose joint table gives the figure."""
        return tuple(dict.fromkeys((*self.by, self.of)))

    @property
    def columns_named(self) -> tuple[str, ...]:
        """The columns that the use names one by one."""
        return (*self.by, self.of)

    def works_on(self, table: CodedTable) -> bool:
        """Whether ``table`` has what the figures are worked out from."""
        return self.of in table.frame.columns


def cell_names(schema: Schema, columns: Sequence[str], places: Places) -> tuple[str, ...]:
    """A label for each of the cells at ``places`` of the cross of ``columns``."""
    shape, names = schema.shape(columns), [schema.cell_labels(c) for c in columns]
    found = []
    for place in places.tolist():
        codes = np.unravel_index(place, shape) if shape else ()
        found.append(", ".join(n[int(c)] for n, c in zip(names, codes, strict=True)) or "all rows")
    return tuple(found)


def like_sample(error: float, spread: float) -> float | None:
    """The share of the rows whose simple random sample has the same expected error.

    ``spread`` is the expected error of a random half of the rows.  A sample of a share f errs sqrt((1 - f) / f)
    times as much: so says the variance of a mean drawn without replacement.

    >>> like_sample(0.01, 0.01)
    0.5
    """
    if not np.isfinite(error) or not np.isfinite(spread):
        return None
    return spread**2 / (spread**2 + error**2) if spread > 0 or error > 0 else 1.0


def ratio(top: Any, bottom: Floats) -> Floats:
    """One divided by the other; NaN where there is nothing to divide by."""
    return np.asarray(np.divide(top, bottom, out=np.full(len(bottom), np.nan), where=bottom > 0))


def is_names(value: Any) -> bool:
    """Whether a value is a list of texts."""
    return isinstance(value, list | tuple) and all(isinstance(v, str) and v for v in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
