"""The kind of a column, guessed from what a public table shows of it."""

import re
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.public.draft import names
from hedgerow.public.draft.binning import ONE_BY_ONE, Binning, Floats, bins_from, grouped, shown
from hedgerow.public.draft.dates import date_format, sketch_dates, span
from hedgerow.public.draft.lists import MOST_LABELS, sketch_list
from hedgerow.public.draft.profile import Profile
from hedgerow.public.draft.sketch import LeftOut, Sketch

FEW = 12
"""Whole numbers with no more different values than this are taken as codes, unless the name says otherwise."""
_YES = frozenset(["yes", "y", "true", "t", "1"])
_NO = frozenset(["no", "n", "false", "f", "0"])
_MARKS = frozenset([1, 7, 8, 9, 97, 98, 99, 997, 998, 999, 9998, 9999, 99999, 999999])


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
    gaps = profile.rows - known.known if known.complete else 0
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
    if (number := _number(profile)) is not None:
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
    named = names.says(profile.name, names.IDENTIFIER) and (distinct > max(20, rows / 20) or not profile.complete)
    numbers = profile.numbers()[0]
    whole = len(numbers) == distinct and bool((numbers == np.floor(numbers)).all())
    text = not len(numbers)
    unique = rows >= 30 and distinct >= 0.99 * rows
    counted = unique and whole and profile.high - profile.low < 1.1 * profile.rows and distinct > ONE_BY_ONE
    spaced = text and any(" " in v for v in profile.values[:100])
    if not (named and (whole or text)) and not counted and not (unique and text and not spaced):
        return None
    most = int(profile.counts["n"][0])
    note = "Names a record or a person: an identifier is never published."
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


def _number(profile: Profile) -> Sketch | None:
    """A quantity with bins; None when the values are no numbers, or are codes."""
    values, counts = profile.numbers()
    words = profile.counts.filter(~pl.col("value").cast(pl.Float64, strict=False).is_finite().fill_null(False))
    rare = profile.known - int(counts.sum()) <= 0.01 * profile.known
    if not len(values) or (words.height > 5 and not rare) or words.height >= len(values):
        return None
    whole = bool((values == np.floor(values)).all()) and bool(np.abs(values).max() < 2**53)
    padded = any(re.fullmatch(r"0\d+", v) for v in profile.values[:MOST_LABELS])
    codes = names.says(profile.name, names.CODE)
    amount = names.says(profile.name, names.QUANTITY) and not codes
    few = profile.distinct <= FEW and whole
    listed = whole and profile.distinct <= MOST_LABELS and (codes or not amount and _look_like_codes(values, counts))
    if padded or (few and not amount) or listed:
        return None
    if not profile.complete:
        values = np.unique([*values, profile.low, profile.high])
        counts = np.ones(len(values), np.int64)
    marks = _standing_apart(values)
    inner = ~np.isin(values, marks)
    found = bins_from(values[inner], counts[inner], whole=whole)
    sketch = _sketch_number(profile, found, tuple(words["value"]), whole=whole)
    special = dict(sketch.special) | {_written(profile, m): f"{m:.0f}" for m in marks}
    notes = (*sketch.notes, *(_marked(m) for m in marks))
    return replace(sketch, special=tuple(special.items()), notes=notes)


def _look_like_codes(values: Floats, counts: npt.NDArray[np.int64]) -> bool:
    """Whether uneven numbers well inside a long range have many rows each: codes do, amounts do not."""
    if values[-1] - values[0] < ONE_BY_ONE or len(values) < 20:
        return False
    inside, often = values[5:-2], counts[5:-2] >= 0.03 * counts.sum()
    sparse = inside[-1] - inside[0] > 3 * len(inside)
    return bool(sparse and (often & (inside % 100 != 0)).any())


def _sketch_number(profile: Profile, found: Binning, words: tuple[str, ...], *, whole: bool) -> Sketch:
    special = [(w, w) for w in words] if len(words) <= 5 else []
    special += [(_written(profile, v), f"exactly {grouped(v)}") for v in found.spikes]
    settings: list[tuple[str, int | float | str | tuple[str, ...]]] = [*found.settings]
    if not whole and not settings and (unit := _unit(profile)):
        settings.append(("unit", unit))
    notes = [f"Numbers from {shown(profile.low)} to {shown(profile.high)}; {found.why}; {found.cells} bins."]
    if ("decode", "public") in found.settings:
        notes.append('decode = "public" writes back the very values of the public table.')
    if len(words) > 5:
        notes.append(f"{len(words)} texts are no numbers; they are coded as missing.")
    return Sketch(
        profile.name,
        "integer" if whole else "real",
        bins=found.bins,
        missing=len(words) > 5,
        special=tuple(special),
        settings=tuple(settings),
        notes=tuple(notes),
        hints=_number_hints(found),
    )


def _number_hints(found: Binning) -> tuple[str, ...]:
    """Other ways to bin, when the bins are many."""
    if found.cells <= 30 or ("decode", "public") in found.settings:
        return ()
    settings = dict(found.bins)
    low, high = settings.get("low"), settings.get("high")
    if settings.get("width") == 1 and isinstance(low, int) and isinstance(high, int):
        first, last = low // 5 * 5, high // 5 * 5 + 5
        coarse = f"bins = {{ low = {first}, high = {last}, width = 5 }}"
        return (f"{coarse}    # coarser: {(last - first) // 5} bins",)
    return (
        'decode = "public"    # within a bin, draw from the public table\'s own values',
        "bins = { quantiles = 20 }    # instead: 20 bins of about equal public size",
    )


def _written(profile: Profile, number: float) -> str:
    """The commonest way the table writes this number."""
    same = profile.counts.filter(pl.col("value").cast(pl.Float64, strict=False) == number)
    return str(same["value"][0])


def _unit(profile: Profile) -> float:
    """The rounding unit of the values as written: 0.01 for two decimals; 0 beyond four."""
    tails = [v.partition(".")[2].rstrip("0") for v in profile.values[:10_000]]
    decimals = max(len(t) for t in tails)
    return 10.0**-decimals if 0 < decimals <= 4 and not any("e" in t.lower() for t in tails) else 0.0


def _standing_apart(values: Floats) -> list[float]:
    """The smallest and largest value when they look like marks: -9, 999 and such, far from the rest."""
    if len(values) < 4:
        return []
    range_ = values[-2] - values[1]
    low, high = float(values[0]), float(values[-1])
    out = [low] if low < 0 and -low in _MARKS and values[1] - low > max(0.2 * range_, 1.0) else []
    return [*out, high] if high in _MARKS and high - values[-2] > max(0.2 * range_, 1.0) else out


def _marked(value: float) -> str:
    mark = f"{value:.0f}"
    return f"{mark} stands apart, like a mark for something: it has a cell of its own. Give it a label."


def _share(part: int, of: int) -> str:
    share = part / max(of, 1)
    return f"{share:.1%}" if share >= 0.001 else "less than 0.1%"
