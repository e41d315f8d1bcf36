"""The kind of a column, guessed from what a public table shows of it."""

import re
from dataclasses import replace

import numpy as np
import polars as pl

from hedgerow.drafting import names
from hedgerow.drafting.amounts import sketch_amount
from hedgerow.drafting.binning import ONE_BY_ONE
from hedgerow.drafting.dates import date_format, sketch_dates, span
from hedgerow.drafting.lists import MOST_LABELS, sketch_list
from hedgerow.drafting.profile import Profile
from hedgerow.drafting.sketch import LeftOut, Sketch

_YES = frozenset(["yes", "y", "true", "t", "1"])
_NO = frozenset(["no", "n", "false", "f", "0"])


def guess(profile: Profile) -> Sketch | LeftOut:
    """A sketch of one column, or the reason why it is left out."""
    if profile.stored == "nested":
        why = "Holds lists or structures; a schema has one value per column and row. Unfold it into columns."
        return LeftOut(profile.name, "nested", (why,))
    if not profile.distinct:
        why = "Missing in every row of this table, so nothing can be seen of it. Add it by hand if you know it."
        return LeftOut(profile.name, "all missing", (why,))
    marks = _missing_marks(profile)
    known = profile.without(marks)
    if not known.distinct:
        return LeftOut(profile.name, "all missing", (f"Only marks for missing: {', '.join(sorted(marks))}.",))
    out = _dates(known) or _identifier(known) or _guess_known(known)
    if isinstance(out, LeftOut):
        return out
    gaps = profile.blank + profile.known - known.known
    if not gaps and not out.missing:
        return out
    notes = (*out.notes, f"Missing in {_share(gaps, profile.rows)} of the rows.") if gaps else out.notes
    return replace(out, missing=True, missing_values=tuple(sorted(marks)), notes=notes)


def _guess_known(profile: Profile) -> Sketch | LeftOut:
    values = profile.values
    if profile.stored == "logical":
        return Sketch(profile.name, "yes-no")
    if profile.distinct == 1:
        return sketch_list(profile)
    if (pair := _yes_no(profile)) is not None:
        return pair
    if (number := sketch_amount(profile)) is not None:
        return number
    listed = sketch_list(profile)
    if isinstance(listed, Sketch) and any(re.fullmatch(r"[$€£]?-?\d{1,3}(,\d{3})+(\.\d+)?", v) for v in values):
        return _doubted(listed, "CHECK: numbers with commas are read as texts: write them plainly to bin them.")
    return listed


def _dates(profile: Profile) -> Sketch | None:
    """A column of dates, however they are written; None when they are none, or all one day."""
    written = ("%Y-%m-%d", False) if profile.stored == "date" else date_format(profile.values)
    days = span(profile.values, written[0]) if written and profile.distinct > 1 else None
    if not written or not days:
        return None
    sketch = sketch_dates(profile.name, *days, written=written[0])
    return _doubted(sketch, "CHECK: day and month could be swapped: set format.") if written[1] else sketch


def _doubted(sketch: Sketch, doubt: str) -> Sketch:
    return replace(sketch, notes=(*sketch.notes, doubt), check=True)


def _missing_marks(profile: Profile) -> frozenset[str]:
    """The texts of the column that mean missing; NA among two-letter codes is a country, not a gap."""
    found = frozenset(v for v in profile.counts.filter(pl.col("value").is_in(list(names.MISSING)))["value"])
    codes = profile.distinct > 20 and all(re.fullmatch("[A-Z]{2}", v) for v in profile.values[:MOST_LABELS])
    return found - {"NA"} if codes else found


def _identifier(profile: Profile) -> LeftOut | None:
    """A column that names records or people: by its name and many values, or all different in every row."""
    rows, distinct = profile.known, profile.distinct
    named = names.names_people(profile.name) and (distinct > max(20, rows / 20) or not profile.complete)
    numbers = profile.numbers()[0]
    whole = len(numbers) == distinct and bool((numbers == np.floor(numbers)).all())
    text = not len(numbers)
    unique = rows >= 30 and distinct >= 0.99 * rows
    counted = unique and whole and profile.high - profile.low < 1.1 * profile.rows and distinct > ONE_BY_ONE
    spaced = text and any(" " in v for v in profile.values[:100])
    if not (named and (whole or text)) and not counted and not (unique and text and not spaced):
        return None
    return name_of_people(profile, "Names a record or a person")


def name_of_people(profile: Profile, why: str) -> LeftOut:
    """An identifier, left out, with the lines that make it the person of the job."""
    most = int(profile.counts["n"][0])
    note = f"{why}: an identifier is never published."
    if most > 1:
        note += (
            f" It has up to {most} rows here. If it names a person, say so in the job, in [confidential]: "
            f'unit = "person", person = "{profile.name}", rows_per_person = {most}.'
        )
    return LeftOut(profile.name, "identifier", (note,))


def _yes_no(profile: Profile) -> Sketch | None:
    """A column of yes and no in one of the usual spellings; sex as 0 and 1 is none."""
    if profile.distinct > 4 or not {v.lower() for v in profile.values} <= _YES | _NO:
        return None
    yes = tuple(v for v in profile.values if v.lower() in _YES)
    no = tuple(v for v in profile.values if v.lower() in _NO)
    if not yes or not no or names.says(profile.name, frozenset(["sex", "gender"])):
        return None
    return Sketch(profile.name, "yes-no", settings=(("yes", yes), ("no", no)))


def _share(part: int, of: int) -> str:
    share = part / max(of, 1)
    return f"{share:.1%}" if share >= 0.001 else "less than 0.1%"
