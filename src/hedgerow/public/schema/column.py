"""One column of a table as the schema declares it, and the cells its values are coded into.

The codes of a column run in this order: the values as listed (no, yes; or the bins and then the
specials), then ``other`` if it is a cell of its own, then missing if it is declared.

What the schema does not know goes to ``other``, or else to missing.  A column that declares neither has no place for
it: no job may use such a column, because an unknown value would be published as a known one.

    >>> Column("sex", "categorical", values=("F", "M"), missing=True).cell_labels
    ('F', 'M', 'missing')
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil, inf, isnan, nan, nextafter
from typing import Literal, final

import numpy as np
import polars as pl

from hedgerow.public.coding import CodedColumn
from hedgerow.public.schema.bins import BinnedKind, Bins, BinValues, Edge, Floats, Number, as_date, as_number

Kind = Literal["categorical", "ordered", "integer", "real", "date", "yes-no"]
KINDS: tuple[Kind, ...] = ("categorical", "ordered", "integer", "real", "date", "yes-no")
LISTED: tuple[Kind, ...] = ("categorical", "ordered")
BINNED: tuple[Kind, ...] = ("integer", "real", "date")
MOST_OUTSIDE = 0.05
"""The share of a public or target table's rows that may stand outside a column, unless job or schema say another."""
YES, NO = ("yes", "y", "true", "t", "1"), ("no", "n", "false", "f", "0")


@final
@dataclass(frozen=True)
class Collapse:
    """The wish to send labels with fewer than ``below`` public rows to the cell ``into``."""

    below: int
    into: str


@dataclass(frozen=True)
class Column:
    """What is declared of one column. A schema checks its columns; one alone is not checked.

    Attributes:
        name: the column in the file.
        kind: categorical, ordered, integer, real, date or yes-no.
        description: a sentence for people.
        values: the listed values as text, for categorical and ordered; cut to ``prefix``, each once.
        labels: a label for each of ``values``; the values themselves when not given.
        type: whether listed values are decoded as text or as whole numbers.
        missing: whether missing has a cell of its own.
        missing_values: texts that mean missing, besides null, NaN and blank.
        other: the cell of all that is not listed: one of the values (or a number in a bin), or a new one.
        outside: the share of a public or target table's rows that may stand outside; None: as the job says.
        reference: of listed values, the one that models compare the others with; empty: a job settles it.
        special: texts of a numeric or date column with a cell of their own, each with its label.
        bins: the bins of a numeric or date column.
        beyond: where numbers and dates beyond the bins go: into the outer bins, or where unknown values go.
        decode: how a value is picked within a bin: uniform, midpoint, or public; None: public where a job has a
            public table, else uniform.
        public_values: for ``decode = "public"``, values of each bin on the public table.
        round_to: of values picked uniformly, the share that are multiples of a number, for each such number.
        top: the top code: it has a bin of its own, the last one.
        unit: decoded numbers are multiples of this; by default 1 for integer and none for real.
        format: how a date is written when it is text.
        yes: the texts that mean yes; empty for the usual ones in any case.
        no: the texts that mean no.
        prefix: keep only this many leading characters; 0 keeps all.
        collapse: labels to be merged by their public count, not yet resolved.
        determined_by: the columns that fix this one, which is then never measured.
        map: for each combination of those columns, as text, the value of this one last.
    """

    name: str
    kind: Kind
    description: str = ""
    values: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    type: Literal["text", "integer"] = "text"
    missing: bool = False
    missing_values: tuple[str, ...] = ()
    other: str | None = None
    outside: float | None = None
    reference: str = ""
    special: tuple[tuple[str, str], ...] = ()
    bins: Bins | None = None
    beyond: Literal["outer", "unknown"] = "outer"
    decode: Literal["uniform", "midpoint", "public"] | None = None
    public_values: tuple[tuple[Edge, ...], ...] | None = None
    round_to: tuple[tuple[Number, float], ...] = ()
    top: Number | None = None
    unit: Number | None = None
    format: str = "%Y-%m-%d"
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    prefix: int = 0
    collapse: Collapse | None = None
    determined_by: tuple[str, ...] = ()
    map: tuple[tuple[str, ...], ...] | None = None

    def __post_init__(self) -> None:
        labels = self.labels or self.values
        if self.prefix > 0 and len(labels) == len(self.values):
            cut = [v[: self.prefix].strip() for v in self.values]
            first = dict(zip(reversed(cut), reversed(labels), strict=True))
            values = tuple(dict.fromkeys(cut))
            labels = tuple(first[v] for v in values) if self.labels else values
            if self.other in self.values:  # a declared merge is cut as its value is
                object.__setattr__(self, "other", self.other[: self.prefix].strip())
            object.__setattr__(self, "values", values)
        object.__setattr__(self, "labels", labels)

    @property
    def unresolved(self) -> tuple[str, ...]:
        """What must still be taken from a public table, in words."""
        wishes = {
            "quantile bins": self.bins is not None and self.bins.quantiles is not None,
            "the collapse of rare labels": self.collapse is not None,
            "public values": self.decode == "public" and self.public_values is None,
            "the map": bool(self.determined_by) and self.map is None,
        }
        return tuple(word for word, open_ in wishes.items() if open_)

    @cached_property
    def cuts(self) -> Floats:
        """The cuts of the bins; see ``Bins.cuts``."""
        assert self.bins is not None, "only numbers and dates have bins"
        cuts = self.bins.cuts(self._binned)
        if self.top is None:
            return cuts
        return np.append(
            cuts[cuts < self.top], (self.top, nextafter(self.top, inf) if self.kind == "real" else self.top + 1)
        )

    @cached_property
    def bin_values(self) -> BinValues:
        """The values that may stand in each bin."""
        finest = None if self.kind == "real" else Fraction(1)
        unit = finest if self.unit is None else Fraction(str(self.unit))
        named = (self.number_of(raw) for raw, _ in self.special)
        heaps = tuple((Fraction(str(step)), share) for step, share in self.round_to)
        avoid = tuple(x for x in named if x is not None)
        return BinValues.of(self.cuts, unit=unit, finest=finest, avoid=avoid, heaps=heaps)

    @property
    def wants_values(self) -> bool:
        """Whether values within bins are left to a public table, where there is one, and there is a choice."""
        if self.kind not in BINNED or self.decode is not None or not self.size_known:
            return False
        return bool((self.bin_values.lowest < self.bin_values.highest).any())

    @property
    def bin_count(self) -> int:
        """How many bins there are; none for listed values."""
        return len(self.cuts) - 1 if self.kind in BINNED else 0

    @cached_property
    def cell_texts(self) -> tuple[str, ...]:
        """For every code a text, as it might stand in the file, that has this code; empty for missing."""
        return (*self._own_texts, *self._new_other, *self._missing(""))

    @cached_property
    def cell_labels(self) -> tuple[str, ...]:
        """For every code a label for people."""
        if self.kind in LISTED:
            own = self.labels
        elif self.kind == "yes-no":
            own = ("no", "yes")
        else:
            own = (*bin_labels(self), *(label for _, label in self.special))
        return (*own, *self._new_other, *self._missing("missing"))

    @property
    def size(self) -> int:
        """The number of codes."""
        return len(self.cell_texts)

    @property
    def size_known(self) -> bool:
        """Whether the number of codes is known; not while a public table is to decide it."""
        return self.collapse is None and (self.bins is None or self.bins.quantiles is None)

    @cached_property
    def code_numbers(self) -> Floats:
        """The number that every code stands for, the middle of a bin; NaN for codes that are not numbers."""
        found = np.full(self.size, np.nan)
        if self.kind in BINNED:
            found[: self.bin_count] = self.bin_values.middle(np.arange(self.bin_count))
        elif self.kind == "yes-no":
            found[:2] = (0, 1)
        else:
            found[: len(self.values)] = [_number(v) for v in self.values]
        return found

    @cached_property
    def coded(self) -> CodedColumn:
        """The rule that codes the values of this column."""
        size, texts = self.size, dict(self._named_texts)
        unknown = size - 1 if self.unknown is None else self.unknown  # None: every job refuses it
        missing = size - 1 if self.missing else unknown
        for text in self.missing_values:
            texts.setdefault(text.strip()[: self.prefix or None].strip(), missing)
        if self.kind not in BINNED and not self.prefix:  # numbers in bins are compared as numbers
            texts = {w: code for text, code in texts.items() for w in spellings(text)} | texts
        texts.pop("", None)
        reading: Literal["text", "number", "date"] = "text"
        if self.kind in BINNED:
            reading = "date" if self.kind == "date" else "number"
        edges, bins = None, ()
        if self.kind in BINNED and self.beyond == "outer":
            edges = tuple(self.cuts[1:-1].tolist())
        elif self.kind in BINNED:
            edges, bins = tuple(self.cuts.tolist()), (unknown, *range(self.bin_count), unknown)
        return CodedColumn(
            self.name,
            reading,
            size,
            missing=missing,
            other=unknown,
            values=tuple(texts),
            codes=tuple(texts.values()),
            edges=edges,
            bins=bins,
            prefix=self.prefix,
            date_format=self.format,
        )

    @property
    def _binned(self) -> BinnedKind:
        return "date" if self.kind == "date" else "real" if self.kind == "real" else "integer"

    @cached_property
    def _own_texts(self) -> tuple[str, ...]:
        """A text for every cell but ``other`` and missing."""
        if self.kind in LISTED:
            return self.values
        if self.kind == "yes-no":
            return ((self.no or ("false",))[0], (self.yes or ("true",))[0])
        return (*(self.text_of(x) for x in self.bin_values.lowest.tolist()), *(raw for raw, _ in self.special))

    @cached_property
    def _named_texts(self) -> dict[str, int]:
        """The texts that have a code of their own."""
        if self.kind in LISTED:
            return {text: code for code, text in enumerate(self.values)}
        if self.kind == "yes-no":  # true and false, as a column of booleans is written, always have their meaning
            no, yes = self.no or _any_case(NO), self.yes or _any_case(YES)
            return {"false": 0, "true": 1, **dict.fromkeys(no, 0), **dict.fromkeys(yes, 1)}
        return {raw: self.bin_count + i for i, (raw, _) in enumerate(self.special)}

    @cached_property
    def unknown(self) -> int | None:
        """The code of what the schema does not know, by the rule it declares; None where it declares none."""
        if self.other is None:
            return self.size - 1 if self.missing else None
        if (number := self._other_number) is not None:
            return int(np.searchsorted(self.cuts[1:-1], number, side="right"))
        return self._named_texts.get(self.other, len(self._own_texts))

    @property
    def places_unknown(self) -> bool:
        """Whether the column says where values go that the schema does not know."""
        return self.other is not None or self.missing

    @property
    def knows_unknown(self) -> bool:
        """Whether what the schema does not know has a cell of its own, which no value that it knows has."""
        return bool(self._new_other) or (self.other is None and self.missing)

    @property
    def _other_number(self) -> float | None:
        """The number in a bin that ``other`` names, if it names one."""
        if self.other is None or self.kind not in BINNED or self.other in self._named_texts:
            return None
        return self.number_of(self.other)

    @property
    def _new_other(self) -> tuple[str, ...]:
        """The cell of ``other``, when it is not one of the listed ones."""
        listed = self.other is None or self.other in self._named_texts or self._other_number is not None
        return () if listed or self.other is None else (self.other,)

    def _missing(self, text: str) -> tuple[str, ...]:
        return (text,) if self.missing else ()

    @property
    def has_hours(self) -> bool:
        """Whether the file has points in time, of which the day alone is kept."""
        return self.kind == "date" and any(hour in self.format for hour in ("%H", "%I"))

    def text_of(self, number: float) -> str:
        """A number of this column as it might be written in the file."""
        if self.kind == "date":
            return str(written_days(pl.Series([as_date(number)]), self.format).item())
        return repr(int(number)) if float(number).is_integer() and abs(number) < 2**53 else repr(number)

    def number_of(self, text: str) -> float | None:
        """The number that a text of this column is read as, dates as days since 1970; None when it is none."""
        if self.kind != "date":
            return as_float(text)
        try:
            day = pl.Series([text]).str.to_date(self.format, strict=False).item()
        except pl.exceptions.PolarsError:
            return None  # of a format that is none
        return None if day is None else as_number(day)


def written_days(days: pl.Series, form: str) -> pl.Series:
    """Days as texts; a format that has the hour too writes the day's first.

    >>> written_days(pl.Series([date(2017, 6, 30)]), "%Y-%m-%dT%H:%M:%SZ").item()
    '2017-06-30T00:00:00Z'
    """
    return days.cast(pl.Datetime("us", "UTC")).dt.to_string(form)


def bin_labels(column: Column) -> tuple[str, ...]:
    """A label for every bin: one value, a span of values, a calendar unit, or an interval."""
    cuts, closed = column.cuts.tolist(), bool(column.bins and column.bins.edges)
    if column.kind == "real":
        return tuple(_intervals(column, cuts, closed=closed))
    spans = list(zip(cuts, cuts[1:], strict=False))
    if column.kind == "integer":
        whole = [(ceil(a), ceil(b) - 1) for a, b in spans]
        return tuple(str(a) if a == b else f"{a} to {b}" for a, b in whole)
    unit = column.bins.unit if column.bins and not column.bins.edges else None
    return tuple(_span_of_days(as_date(a), as_date(b - 1), unit) for a, b in spans)


def _intervals(column: Column, cuts: list[float], *, closed: bool) -> Iterator[str]:
    """Half-open intervals; a bin of one number is that number, and the next one begins after it."""
    singles = [nextafter(a, inf) == b for a, b in zip(cuts, cuts[1:], strict=False)]
    for i, single in enumerate(singles):
        after = i > 0 and singles[i - 1]
        last = closed and i == len(singles) - 1
        low = column.text_of(cuts[i - 1] if after else cuts[i])
        high = column.text_of(nextafter(cuts[i + 1], -inf) if last else cuts[i + 1])
        yield low if single else f"{'(' if after else '['}{low}, {high}{']' if last else ')'}"


def as_float(text: str) -> float | None:
    """The text as a number, possibly infinite; None when it is none."""
    try:
        number = float(text) if text.isascii() and "_" not in text else nan
    except ValueError:
        return None
    return None if isnan(number) else number


def spellings(text: str) -> tuple[str, ...]:
    """A whole number as files write it: with ".0" where a missing value beside it has made the column one of floats.

    >>> spellings("1"), spellings("-9.0"), spellings("01"), spellings("1.50")
    (('1', '1.0'), ('-9', '-9.0'), ('01',), ('1.50',))
    """
    whole = text.removesuffix(".0")
    digits = whole.removeprefix("-")
    is_whole = digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0") and whole != "-0"
    return (whole, f"{whole}.0") if is_whole else (text,)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return nan


def _span_of_days(first: date, last: date, unit: str | None) -> str:
    if unit == "month":
        return f"{first.year}-{first.month:02}"
    if unit == "quarter":
        return f"{first.year} Q{(first.month + 2) // 3}"
    if unit == "year":
        return str(first.year)
    return str(first) if first == last else f"{first} to {last}"


def _any_case(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The texts in every mixture of small and capital letters."""
    spelt = ("".join(p) for t in texts for p in product(*zip(t, t.upper(), strict=True)))
    return tuple(dict.fromkeys(spelt))
