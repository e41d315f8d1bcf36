"""One column as a code book describes it, and the sketch that follows, alone or with a public table.

>>> sketch_entry(CodeBookEntry("sex", pairs=(("1", "Male"), ("2", "Female")))).labels
('Male', 'Female')
>>> sketch_entry(CodeBookEntry("age", low=0, high=99)).bins
(('low', 0), ('high', 99), ('width', 1))
"""

from collections.abc import Sized
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal, final

import numpy as np

from hedgerow.public.schema.column import Kind
from hedgerow.public.schema.drafting import names
from hedgerow.public.schema.drafting.kinds import guess, sketch_dates
from hedgerow.public.schema.drafting.lists import are_whole
from hedgerow.public.schema.drafting.numbers import FEW, ONE_BY_ONE, bins_between, set_apart
from hedgerow.public.schema.drafting.profile import Profile
from hedgerow.public.schema.drafting.sketch import LeftOut, NumberRange, Setting, Sketch

Type = Literal["", "text", "integer", "real", "date", "yes-no"]
_GUESSED: tuple[tuple[str, Setting], ...] = (("low", 0), ("high", 100_000), ("width", 2_000))


@final
@dataclass(frozen=True)
class CodeBookEntry:
    """What a code book says of one column.

    Attributes:
        name: the column.
        description: what it is.
        type: what its values are; empty when the book does not say.
        pairs: the values it lists, each with a label (the value itself when it has none).
        low: the smallest number, when it gives a range.
        high: the largest number.
        ordered: whether the order of the values has meaning.
        missing: whether it says that a value may be missing.
        missing_values: the texts that mean missing.
        format: how dates are written.
        yes: the texts that mean yes.
        no: the texts that mean no.
        identifier: whether it names records.
    """

    name: str
    description: str = ""
    type: Type = ""
    pairs: tuple[tuple[str, str], ...] = ()
    low: float | date | None = None
    high: float | date | None = None
    ordered: bool = False
    missing: bool = False
    missing_values: tuple[str, ...] = ()
    format: str = "%Y-%m-%d"
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    identifier: bool = False


@final
@dataclass(frozen=True)
class CodeBook:
    """What a code book holds.

    Attributes:
        shape: what kind of code book it is, in words.
        entries: its columns.
        rows_per_person: the most rows of one person that it allows; 0 when it does not say.
    """

    shape: str
    entries: tuple[CodeBookEntry, ...]
    rows_per_person: int = 0


def sketch_entry(entry: CodeBookEntry) -> Sketch | LeftOut:
    """The sketch of a column that only a code book describes."""
    if entry.identifier:
        note = "The code book's key: it names a record or a person, and an identifier is never published."
        return LeftOut(entry.name, "identifier", (note,))
    sketch = _by_type(entry)
    if isinstance(sketch, Sketch) and entry.low is not None and sketch.bins:
        sketch = set_apart(sketch, {v: w for v, w in entry.pairs if v not in entry.missing_values})
    if isinstance(sketch, LeftOut):
        return sketch
    missing = entry.missing or bool(entry.missing_values)
    return replace(sketch, description=entry.description, missing=missing, missing_values=entry.missing_values)


def _by_type(entry: CodeBookEntry) -> Sketch | LeftOut:
    low, high = entry.low, entry.high
    if isinstance(low, date) and isinstance(high, date) and low <= high:
        return sketch_dates(entry.name, low, high, written=entry.format)
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low < high:
        return _range(entry, float(low), float(high))
    if entry.pairs:
        values = tuple(v for v, _ in entry.pairs if v not in entry.missing_values)
        if is_run(entry, values):
            return _range(replace(entry, pairs=()), float(values[0]), float(values[-1]))
        labels = tuple(w for v, w in entry.pairs if v not in entry.missing_values)
        return Sketch(
            entry.name,
            list_kind(entry),
            values=values,
            labels=() if labels == values else distinct_labels(values, labels),
            settings=(("type", "integer"),) if are_whole(values) else (),
            remarks=(listed(values),),
        )
    return _without_values(entry)


def is_run(entry: CodeBookEntry, values: tuple[str, ...]) -> bool:
    """Whether these are numbers one after the other, without labels, of a column that counts: years."""
    counting = names.says(entry.name, names.QUANTITY) and not names.says(entry.name, names.CODE)
    if not counting or not values or not are_whole(values):
        return False
    plain = all(v == w for v, w in entry.pairs)
    return plain and [int(v) for v in values] == list(range(int(values[0]), int(values[0]) + len(values)))


def _without_values(entry: CodeBookEntry) -> Sketch | LeftOut:
    """A sketch of a column of which only the type is known."""
    if entry.type == "yes-no":
        lists = (("yes", entry.yes), ("no", entry.no)) if entry.yes and entry.no else ()
        return Sketch(entry.name, "yes-no", settings=lists)
    if entry.type in ("integer", "real"):
        note = "CHECK: the code book gives no range. These bins are a placeholder: set low, high and width."
        kind: Kind = "integer" if entry.type == "integer" else "real"
        return Sketch(entry.name, kind, bins=_GUESSED, remarks=(note,), check=True)
    if entry.type == "date":
        sketch = sketch_dates(entry.name, date(2000, 1, 1), date(2029, 12, 31), written=entry.format)
        note = "CHECK: the code book gives no range. These bins are a placeholder: set low and high."
        return replace(sketch, remarks=(note,), hints=(), check=True)
    note = "The code book lists no values for it. Add a block with values = [...], or draft from a public table."
    return LeftOut(entry.name, "no values", (note,))


def _range(entry: CodeBookEntry, low: float, high: float) -> Sketch:
    """A number column with a range; values the book names beside it get cells of their own."""
    whole = entry.type == "integer" or (entry.type != "real" and low == int(low) and high == int(high))
    binning = bins_between(low, high, whole=whole)
    hints = ("bins = { quantiles = 20 }    # instead: bins of equal size on a public table",)
    return Sketch(
        entry.name,
        "integer" if whole else "real",
        bins=binning.bins,
        range=NumberRange(low, high, binning.why),
        hints=hints if binning.why != "one bin per value" else (),
    )


def listed(values: Sized) -> str:
    """How many values a list takes from the code book, for a comment."""
    return f"{len(values)} value{'' if len(values) == 1 else 's'} from the code book."


def list_kind(entry: CodeBookEntry) -> Kind:
    """Ordered when the book, the column's name or the values themselves say so."""
    values = tuple(v for v, _ in entry.pairs)
    scale = names.says(entry.name, names.ORDER) and len(values) > 2
    return "ordered" if entry.ordered or scale or names.in_order(values) == values else "categorical"


def distinct_labels(values: tuple[str, ...], labels: tuple[str, ...]) -> tuple[str, ...]:
    """The labels, with the value added where two share one.

    >>> distinct_labels(("1", "2", "3"), ("yes", "no", "no"))
    ('yes', 'no (2)', 'no (3)')
    """
    return tuple(f"{w} ({v})" if labels.count(w) > 1 else w for v, w in zip(values, labels, strict=True))


def with_table(entry: CodeBookEntry, profile: Profile) -> Sketch | LeftOut:
    """The sketch of a column from its code book entry and a public table together.

    The book's labels and order stand; what only the table has is added and said.
    """
    known = profile.without(frozenset(entry.missing_values))
    seen, described = guess(known), bool(entry.pairs) or entry.low is not None
    if isinstance(seen, LeftOut) or entry.identifier:
        return sketch_entry(entry) if described or entry.identifier else seen
    marks = tuple(dict.fromkeys((*seen.missing_values, *entry.missing_values)))
    seen = replace(
        seen,
        description=entry.description,
        missing=seen.missing or bool(entry.missing_values),
        missing_values=marks,
    )
    if _covers(entry, known) or is_run(entry, tuple(v for v, _ in entry.pairs)):
        return _ranged(seen, entry)
    if not entry.pairs:
        return seen
    if seen.bins and (entry.low is not None or len(entry.pairs) < 0.5 * profile.distinct):
        return set_apart(seen, {v: w for v, w in entry.pairs if v in set(profile.values)})
    return _labelled_list(seen, entry, profile)


def _covers(entry: CodeBookEntry, profile: Profile) -> bool:
    """Whether the book's range is short, whole, and well used by the table: then it gives the bins."""
    low, high, numbers = entry.low, entry.high, profile.numbers()[0]
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)) or not len(numbers):
        return False
    whole = bool((numbers == np.floor(numbers)).all()) and high - low < ONE_BY_ONE
    return whole and float(numbers[-1] - numbers[0]) >= 0.3 * (high - low) or len(numbers) <= FEW and whole


def _ranged(seen: Sketch, entry: CodeBookEntry) -> Sketch:
    """The book's range and special values, with the gaps that the table shows."""
    sketch = sketch_entry(entry)
    assert isinstance(sketch, Sketch), "a range gives a sketch"
    return replace(sketch, missing=seen.missing, missing_values=seen.missing_values, gaps=seen.gaps)


def _labelled_list(sketch: Sketch, entry: CodeBookEntry, profile: Profile) -> Sketch:
    """A list in the book's order with the book's labels, and after it what only the table has."""
    gone = {*sketch.missing_values}
    pairs = {v: w for v, w in entry.pairs if v not in gone}
    extra = names.naturally(v for v in profile.values[:1_000] if v not in pairs and v not in gone)
    values = (*pairs, *extra)
    labels = tuple(pairs.get(v, v) for v in values)
    remarks = [listed(pairs)]
    if extra:
        shown = ", ".join(extra[:5]) + (", ..." if len(extra) > 5 else "")
        remarks.append(f"The last {len(extra)} ({shown}) are in the table but not in the code book.")
    return Sketch(
        sketch.name,
        list_kind(entry),
        description=entry.description,
        values=values,
        labels=() if all(v == w for v, w in pairs.items()) else distinct_labels(values, labels),
        missing=sketch.missing,
        missing_values=sketch.missing_values,
        settings=(("type", "integer"),) if are_whole(values) else (),
        remarks=tuple(remarks),
        gaps=sketch.gaps,
    )
