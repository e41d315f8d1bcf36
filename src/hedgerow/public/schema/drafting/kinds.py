"""The sketch of a column: from what a public table shows of it, what a code book says of it, or both.

>>> date_format(["31/12/2019", "01/02/2020"])
('%d/%m/%Y', False)
>>> date_format(["12/11/2019", "01/02/2020"])
('%d/%m/%Y', True)
>>> date_format(["2013-01-01T10:00:00Z", "2013-01-02T06:00:42Z"])
('%Y-%m-%dT%H:%M:%SZ', False)
>>> date_format(["2016/01/01 00:47:36", "2016/11/30 23:00:01"])
('%Y/%m/%d %H:%M:%S', False)
>>> date_format(["17-202"]) is None
True
>>> sketch_entry(CodeBookEntry("sex", pairs=(("1", "Male"), ("2", "Female")))).labels
('Male', 'Female')
>>> sketch_entry(CodeBookEntry("age", low=0, high=99)).bins.high
99
"""

import re
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import polars as pl

from hedgerow.public.schema.bins import Bins
from hedgerow.public.schema.column import NO, YES, Kind
from hedgerow.public.schema.drafting import names
from hedgerow.public.schema.drafting.codebook import CodeBookEntry
from hedgerow.public.schema.drafting.lists import MOST_LABELS, are_whole, sketch_list, with_unknown
from hedgerow.public.schema.drafting.numbers import FEW, ONE_BY_ONE, bins_between, set_apart, sketch_amount
from hedgerow.public.schema.drafting.profile import Profile
from hedgerow.public.schema.drafting.sketch import NumberRange, Sketch
from hedgerow.public.schema.structure import Reason

_AMOUNT = re.compile(r"-?[$€£]?-?\d{1,3}(,\d{3})+(\.\d+)?|-?[$€£]-?\d+(\.\d+)?")
"""A number with commas, a currency sign, or both."""


_KEYS = 50
"""A column named `id` and nothing else names people or records from so many values on, however many rows each has."""
_FEW_KNOWN, _HOURS = 10, 24


def guess(profile: Profile) -> Sketch | Reason:
    """A sketch of one column, or the reason why it is left out."""
    if profile.stored == "nested":
        why = "Holds lists or structures; a schema has one value per column and row. Unfold it into columns."
        return Reason(profile.name, (why,), left_out="nested")
    if not profile.distinct:
        why = "Missing in every row of this table, so nothing can be seen of it. Add it by hand if you know it."
        return Reason(profile.name, (why,), left_out="all missing")
    marks = _missing_marks(profile)
    known = profile.without(marks)
    if not known.distinct:
        return Reason(profile.name, (f"Only marks for missing: {', '.join(sorted(marks))}.",), left_out="all missing")
    out = _dates(known) or _identifier(known) or _guess_known(known)
    if isinstance(out, Reason):
        return out
    gaps = profile.blank + profile.known - known.known
    said = f"Missing in {_share(gaps, profile.rows)} of the rows." if gaps else ""
    out = replace(out, missing=out.missing or gaps > 0, missing_values=tuple(sorted(marks)), gaps=said)
    if gaps and known.known < _FEW_KNOWN:
        out = _doubted(
            out, f"CHECK: only {known.known} of {profile.rows:,} rows have a value, too few to see others in."
        )
    return with_unknown(out)


def _guess_known(profile: Profile) -> Sketch | Reason:
    values = profile.values
    if profile.stored == "logical":
        return Sketch(profile.name, "yes-no")
    if profile.distinct == 1:
        return sketch_list(profile)
    if (pair := _yes_no(profile)) is not None:
        return pair
    if (number := sketch_amount(profile)) is not None:
        return number
    if (hours := _hours(profile)) is not None:
        return hours
    listed = sketch_list(profile)
    if not any(_AMOUNT.fullmatch(v) for v in values[:MOST_LABELS]):
        return listed
    doubt = "CHECK: numbers with commas or currency signs are read as texts: write them plainly to bin them."
    if isinstance(listed, Reason):
        return replace(listed, notes=(*listed.notes, doubt))
    return _doubted(listed, doubt)


def _dates(profile: Profile) -> Sketch | None:
    """A column of dates, however they are written; None when they are none, or all one day."""
    written = ("%Y-%m-%d", False) if profile.stored == "date" else date_format(profile.values)
    days = span(profile.values, written[0]) if written and profile.distinct > 1 else None
    if not written or not days:
        return None
    sketch = sketch_dates(profile.name, *days, written=written[0])
    sketch = _doubted(sketch, "CHECK: does the confidential table have other dates? Widen low and high.")
    if any(hour in written[0] for hour in ("%H", "%I")):
        sketch = replace(sketch, remarks=(*sketch.remarks, "Of a point in time the day is kept, not the hour."))
    return _doubted(sketch, "CHECK: day and month could be swapped: set format.") if written[1] else sketch


_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?")


def _hours(profile: Profile) -> Sketch | None:
    """Times of the day by their hour, all 24, where there are more times than hours; None when they are no times."""
    if profile.distinct <= _HOURS or not all(_TIME.fullmatch(v) for v in profile.values):
        return None
    said = f"{profile.distinct:,} times of the day, by their hour: minutes are neither counted nor published."
    return Sketch(
        profile.name, "categorical", values=tuple(f"{h:02d}" for h in range(_HOURS)), prefix=2, remarks=(said,)
    )


def _doubted(sketch: Sketch, doubt: str) -> Sketch:
    return replace(sketch, remarks=(*sketch.remarks, doubt), check=True)


def _missing_marks(profile: Profile) -> frozenset[str]:
    """The texts of the column that mean missing; NA among two-letter codes is a country, not a gap."""
    found = frozenset(v for v in profile.counts.filter(pl.col("value").is_in(list(names.MISSING)))["value"])
    codes = profile.distinct > 20 and all(re.fullmatch("[A-Z]{2}", v) for v in profile.values[:MOST_LABELS])
    return found - {"NA"} if codes else found


def _identifier(profile: Profile) -> Reason | None:
    """A column that names records or people: by its name and many values, or all different in every row."""
    rows, distinct = profile.known, profile.distinct
    many = distinct > max(20, rows / 20) or distinct > MOST_LABELS or not profile.complete
    named = names.names_people(profile.name) and (many or names.is_key(profile.name) and distinct > _KEYS)
    numbers = profile.numbers()[0]
    whole = len(numbers) == distinct and bool((numbers == np.floor(numbers)).all())
    text = not len(numbers)
    unique = rows >= 30 and distinct >= 0.99 * rows
    counted = unique and whole and profile.high - profile.low < 1.1 * profile.rows and distinct > ONE_BY_ONE
    spaced = text and any(" " in v or _AMOUNT.fullmatch(v) for v in profile.values[:100])
    if not (named and (whole or text)) and not counted and not (unique and text and not spaced):
        return None
    return name_of_people(profile, "Names a record or a person")


def name_of_people(profile: Profile, why: str) -> Reason:
    """An identifier, left out, with the lines that make it the person of the job."""
    most = int(profile.counts["n"][0])
    note = f"{why}: an identifier is never published."
    if most > 1:
        often = int(np.quantile(profile.counts["n"].to_numpy(), 0.95, method="higher"))
        fewer = f"; 95 in 100 have at most {often} (a lower rows_per_person drops rows beyond it, for less noise)"
        fewer *= often < most / 2
        note += (
            f" It has up to {most} rows here{fewer}. If it names a person, say so in the job, in [confidential]: "
            f'unit = "person", person = "{profile.name}", rows_per_person = {most}.'
        )
    return Reason(profile.name, (note,), left_out="identifier")


def _yes_no(profile: Profile) -> Sketch | None:
    """A column of yes and no in one of the usual spellings; sex as 0 and 1 is none."""
    if profile.distinct > 4 or not {v.lower() for v in profile.values} <= {*YES, *NO}:
        return None
    yes = tuple(v for v in profile.values if v.lower() in YES)
    no = tuple(v for v in profile.values if v.lower() in NO)
    if not yes or not no or names.says(profile.name, frozenset(["sex", "gender"])):
        return None
    return Sketch(profile.name, "yes-no", yes=yes, no=no)


def _share(part: int, of: int) -> str:
    share = part / max(of, 1)
    return f"{share:.1%}" if share >= 0.001 else "less than 0.1%"


FORMATS = (
    *("%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d", "%Y%m%d", "%d%b%Y", "%d-%b-%Y"),
    *(f"%Y-%m-%d{t}%H:%M{s}" for s in (":%S", "", ":%SZ", ":%S%z", ":%S%.f", ":%S%.fZ", ":%S%.f%z") for t in "T "),
    *(
        f"{day} {time}"
        for time in ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
        for day in ("%d/%m/%Y", "%m/%d/%Y")
    ),
    *(f"{day} {time}" for time in ("%H:%M", "%H:%M:%S") for day in ("%d.%m.%Y", "%Y/%m/%d")),
)
"""The ways of writing a day, alone or with the time: what is tried first is what most files have."""
_LOOKED_AT, _EARLIEST, _LATEST = 1_000, date(1800, 1, 1), date(2199, 12, 31)


def date_format(values: Sequence[str]) -> tuple[str, bool] | None:
    """How nearly all these texts are written as dates, and whether another way reads other days from them.

    The way that fits the most is taken: of time stamps one may have a fraction of a second, and that one be frequent.

    >>> date_format(["2013-10-01 22:20:10.165196", *(f"1980-01-{d} 00:00:00" for d in range(10, 30)) ])
    ('%Y-%m-%d %H:%M:%S%.f', False)
    """
    texts = pl.Series("value", list(values[:_LOOKED_AT]), dtype=pl.String)
    if not texts.len() or texts.str.len_chars().min() < 8:  # type: ignore[operator]
        return None
    read = {f: texts.str.to_date(f, strict=False) for f in FORMATS}
    shares = {f: int(days.is_between(_EARLIEST, _LATEST).sum()) / texts.len() for f, days in read.items()}
    fits = [f for f in FORMATS if shares[f] >= 0.99]
    if not fits:
        return None
    best = max(fits, key=lambda f: shares[f])
    return best, any(bool((read[f] != read[best]).any()) for f in fits)


def sketch_dates(name: str, low: date, high: date, *, written: str = "%Y-%m-%d") -> Sketch:
    """Bins by the calendar: days, months, quarters or years, whichever gives about a hundred or fewer."""
    bins = date_bins(low, high)
    said = f"Dates from {low} to {high}, one bin per {bins.unit}. Earlier and later ones are taken as missing."
    hint = "bins = { quantiles = 20 }    # instead: 20 bins of about equal size"
    return Sketch(name, "date", bins=bins, format=written, remarks=(said,), hints=(hint,))


def date_bins(low: date, high: date) -> Bins:
    """Bins of a calendar unit between two days, rounded outwards to whole units."""
    days = (high - low).days
    unit = "day" if days <= 62 else "month" if days <= 3660 else "quarter" if days <= 9150 else "year"
    if unit == "month":
        low, high = low.replace(day=1), _month_end(high.year, high.month)
    elif unit == "quarter":
        low = date(low.year, (low.month - 1) // 3 * 3 + 1, 1)
        high = _month_end(high.year, (high.month - 1) // 3 * 3 + 3)
    elif unit == "year":
        low, high = date(low.year, 1, 1), date(high.year, 12, 31)
    return Bins(low, high, unit=unit)


def span(values: Sequence[str], written: str) -> tuple[date, date] | None:
    """The first and last day among texts written that way; days before 1800 or after 2199 are marks."""
    days = pl.Series("value", list(values), dtype=pl.String).str.to_date(written, strict=False)
    days = days.filter(days.is_between(_EARLIEST, _LATEST))
    low, high = days.min(), days.max()
    return (low, high) if isinstance(low, date) and isinstance(high, date) else None


def _month_end(year: int, month: int) -> date:
    return date(year, month, monthrange(year, month)[1])


def sketch_entry(entry: CodeBookEntry) -> Sketch | Reason:
    """The sketch of a column that only a code book describes."""
    if entry.identifier:
        note = "The code book's key: it names a record or a person, and an identifier is never published."
        return Reason(entry.name, (note,), left_out="identifier")
    sketch = _by_type(entry)
    if isinstance(sketch, Sketch) and entry.low is not None and sketch.bins:
        sketch = set_apart(sketch, {v: w for v, w in entry.pairs if v not in entry.missing_values})
    if isinstance(sketch, Reason):
        return sketch
    missing = entry.missing or bool(entry.missing_values)
    sketch = replace(sketch, description=entry.description, missing=missing, missing_values=entry.missing_values)
    return with_unknown(sketch)


def _by_type(entry: CodeBookEntry) -> Sketch | Reason:
    low, high = entry.low, entry.high
    if isinstance(low, date) and isinstance(high, date) and low <= high:
        return sketch_dates(entry.name, low, high, written=entry.format)
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low < high:
        return _range(entry, float(low), float(high))
    if entry.pairs:
        values = tuple(v for v, _ in entry.pairs if v not in entry.missing_values)
        if {v.lower() for v in values} == {"true", "false"} and all(v == w for v, w in entry.pairs):
            return Sketch(entry.name, "yes-no")
        if is_run(entry, values):
            return _range(replace(entry, pairs=()), float(values[0]), float(values[-1]))
        return _listed(entry, values)
    return _without_values(entry)


def is_run(entry: CodeBookEntry, values: tuple[str, ...]) -> bool:
    """Whether these are numbers one after the other, without labels, of a column that counts: years."""
    counting = names.says(entry.name, names.QUANTITY) and not names.says(entry.name, names.CODE)
    if not counting or entry.coded or not values or not are_whole(values):
        return False
    plain = all(v == w for v, w in entry.pairs)
    return plain and [int(v) for v in values] == list(range(int(values[0]), int(values[0]) + len(values)))


def _without_values(entry: CodeBookEntry) -> Sketch | Reason:
    """A sketch of a column of which only the type is known."""
    if entry.type == "yes-no":
        yes, no = (entry.yes, entry.no) if entry.yes and entry.no else ((), ())
        return Sketch(entry.name, "yes-no", yes=yes, no=no)
    if entry.type in ("integer", "real"):
        note = "CHECK: the code book gives no range. These bins are a placeholder: set low, high and width."
        kind: Kind = "integer" if entry.type == "integer" else "real"
        return Sketch(entry.name, kind, bins=Bins(0, 100_000, 2_000), remarks=(note,), check=True)
    if entry.type == "date":
        sketch = sketch_dates(entry.name, date(2000, 1, 1), date(2029, 12, 31), written=entry.format)
        note = "CHECK: the code book gives no range. These bins are a placeholder: set low and high."
        return replace(sketch, remarks=(note,), hints=(), check=True)
    note = "The code book lists no values for it. Add a block with values = [...], or draft from a public table."
    return Reason(entry.name, (note,), left_out="no values")


_WHOLE = 'Taken as whole numbers, as both ends are. If there are fractions: kind = "real" and bins of a width.'


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
        remarks=(_WHOLE,) if whole and not entry.type else (),
        hints=hints if binning.why != "one bin per value" else (),
    )


def _listed(entry: CodeBookEntry, values: tuple[str, ...], extra: tuple[str, ...] = ()) -> Sketch:
    """A list of the book's values, in its order and with its labels, and after it what only the table has."""
    of, every = dict(entry.pairs), (*values, *extra)
    plain = all(of[v] == v for v in values)
    remarks = [f"{len(values)} value{'' if len(values) == 1 else 's'} from the code book."]
    if extra:
        shown = ", ".join(extra[:5]) + (", ..." if len(extra) > 5 else "")
        remarks.append(f"The last {len(extra)} ({shown}) are in the table but not in the code book.")
    return Sketch(
        entry.name,
        list_kind(entry),
        description=entry.description,
        values=every,
        labels=() if plain else distinct_labels(every, tuple(of.get(v, v) for v in every)),
        type="integer" if are_whole(every) else "text",
        remarks=tuple(remarks),
    )


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


def with_table(entry: CodeBookEntry, profile: Profile) -> Sketch | Reason:
    """The sketch of a column from its code book entry and a public table together.

    The book's labels and order stand; what only the table has is added and said.
    """
    known = profile.without(frozenset(entry.missing_values))
    seen, described = guess(known), bool(entry.pairs) or entry.low is not None
    if isinstance(seen, Reason) or entry.identifier:
        return sketch_entry(entry) if described or entry.identifier else seen
    marks = tuple(dict.fromkeys((*seen.missing_values, *entry.missing_values)))
    seen = replace(
        seen, description=entry.description, missing=seen.missing or bool(entry.missing_values), missing_values=marks
    )
    if _covers(entry, known) or is_run(entry, tuple(v for v, _ in entry.pairs)):
        return _ranged(seen, entry)
    if not entry.pairs:
        return seen
    if seen.bins and (entry.low is not None or len(entry.pairs) < 0.5 * profile.distinct):
        return set_apart(seen, {v: w for v, w in entry.pairs if v in set(profile.values)})
    values = tuple(dict.fromkeys(v for v, _ in entry.pairs if v not in marks))
    extra = names.naturally(v for v in profile.values[:1_000] if v not in values and v not in marks)
    sketch = _listed(entry, values, extra)
    missing = seen.missing if seen.gaps or seen.missing_values else False  # or else only what is unknown was taken so
    return with_unknown(replace(sketch, missing=missing, missing_values=seen.missing_values, gaps=seen.gaps))


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
