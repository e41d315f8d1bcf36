"""Sketches of columns with a list of values: their order, the rare and the very many."""

import re
from dataclasses import replace
from math import inf

from hedgerow.public.schema.column import LISTED, MOST_OUTSIDE, Kind
from hedgerow.public.schema.drafting import names
from hedgerow.public.schema.drafting.profile import Profile
from hedgerow.public.schema.drafting.sketch import NumberRange, Sketch
from hedgerow.public.schema.structure import Reason
from hedgerow.public.toml import value

MOST_LABELS = 1_000
"""A longer list is cut: to a prefix when the labels are codes, else to the frequent labels."""
_LISTED, _RARE_SHARE = 300, 0.02
_LEAST_CODES, _LEAST_LISTED, _LEAST_SENTENCES = 0.05, 0.2, 0.5
"""The share of the rows that the frequent labels of a very long list must have, by what they are: where nearly all
rows would be `other`, the column says little, and what a list has of people's names or of remarks is no category."""
_ALL_DIFFERENT, _FEW_ROWS = 0.9, 30
"""Texts of which so many rows, and so great a share, are seen only once are names, not a list of values."""
OTHER = "other"


def sketch_list(profile: Profile) -> Sketch | Reason:
    """A closed list of values, ordered when they lie on a scale we know; cut when there are too many."""
    if profile.distinct > MOST_LABELS or not profile.complete:
        return _sketch_many(profile)
    values = profile.values
    once = int((profile.counts["n"] == 1).sum())
    different = once >= max(_ALL_DIFFERENT * profile.known, _FEW_ROWS)
    if not names.says(profile.name, names.CODE) and (different or _are_sentences(profile, once)):
        return _free_text(profile, f"{profile.distinct:,}", "hardly any repeated" if different else "in sentences")
    scale = names.in_order(values)
    steps = names.says(profile.name, names.ORDER) and are_whole(values) and profile.distinct > 2  # a grade, a decile
    kind: Kind = "ordered" if scale or steps else "categorical"
    text = not are_whole(values) or names.says(profile.name, names.WRITTEN_CODE)
    sketch = Sketch(
        profile.name,
        kind,
        values=scale or names.naturally(values),
        type="text" if text else "integer",
        remarks=(_counted(profile, kind),),
        check=profile.distinct == 1,
    )
    sketch = with_unknown(sketch)
    hints = (*_prefix_hint(profile), *_collapse_hint(profile, sketch.other or _other(values)))
    return replace(sketch, remarks=(*sketch.remarks, *_why(profile, sketch)), hints=hints)


def with_unknown(sketch: Sketch) -> Sketch:
    """The sketch with a cell for what it does not know, which nobody can take for a value.

    A list of texts has the cell ``other``.  Whole numbers, dates, yes and no are taken as missing when they are not
    known, so that the column keeps its type; so is a year or a date beyond the bins, where a larger number is in the
    last bin: somebody hired next year was not hired in the last month of this one.

    >>> with_unknown(Sketch("state", "categorical", values=("TX", "Other"))).other
    'not listed'
    >>> with_unknown(Sketch("race", "categorical", values=("1", "2"), type="integer")).missing
    True
    >>> with_unknown(Sketch("airport", "categorical", values=("A", "N", "O"), prefix=1)).other
    '?'
    """
    if sketch.kind in LISTED and sketch.type == "text":
        return sketch if sketch.other is not None else replace(sketch, other=_free_word(sketch))
    alone = sketch.bins is not None and sketch.bins.width == 1
    ends = sketch.range or NumberRange(-inf, inf, "")
    year = sketch.kind == "integer" and alone and names.is_year(sketch.name, ends.low, ends.high)
    timed = year or sketch.kind == "date"
    return replace(sketch, missing=True, other=None, beyond="unknown" if timed else sketch.beyond)


def _free_word(sketch: Sketch) -> str:
    """A word for what is not listed that is no value, label or mark of the column, in capital or small letters."""
    taken = {t.casefold() for t in (*sketch.values, *sketch.labels, *sketch.missing_values)}
    cut = {v.casefold() for v in sketch.values} if sketch.prefix else set[str]()
    words = (OTHER, "not listed", *(f"not listed {i}" for i in range(2, len(taken) + 4)))
    marks = (mark * max(sketch.prefix, 1) for mark in "?-*._#~")  # where every letter begins a value that is cut
    free = (w for w in (*words, *marks) if w not in taken and w[: sketch.prefix or None].strip() not in cut)
    return next(free, "\N{SECTION SIGN}" * max(sketch.prefix, 1))


def is_open(profile: Profile) -> bool:
    """Whether the list is probably longer than what was seen: labels seen once mean labels not yet seen."""
    once = int((profile.counts["n"] == 1).sum())
    return once > 0 and profile.distinct > 5 or profile.distinct > 50


def are_whole(values: tuple[str, ...]) -> bool:
    """Whether every value is a whole number written the plain way, without leading zeros."""
    return all(re.fullmatch(r"0|-?[1-9]\d{0,17}", v) for v in values)


def _other(values: tuple[str, ...]) -> str:
    """A cell for what is not listed: a word, or a number below all whole numbers listed."""
    if are_whole(values):
        return str(min(-1, min(map(int, values)) - 1))
    return OTHER if OTHER not in values else "not listed"


def _counted(profile: Profile, kind: Kind) -> str:
    if profile.distinct == 1:
        return (
            f"CHECK: one value only in all {profile.rows:,} rows. If the confidential table has others, list them "
            "too (a year, a state): they would count as unknown. If not, this column can go."
        )
    codes = kind == "categorical" and are_whole(profile.values)
    return f"{profile.distinct} values{', taken as codes' if codes else ''}."


def _why(profile: Profile, sketch: Sketch) -> list[str]:
    """The reasons of a list, for the comment above it."""
    out = []
    if sketch.kind == "ordered":
        out.append("Ordered: check that the values run from low to high.")
    elif names.says(profile.name, names.ORDER) and profile.distinct > 2:
        out.append('If their order has meaning, sort them from low to high and say kind = "ordered".')
    once = int((profile.counts["n"] == 1).sum())
    place = f"go to `{sketch.other}`" if sketch.other else "are taken as missing"
    if is_open(profile) and once:
        said = "1 was" if once == 1 else f"{once} were"
        out.append(f"{said} seen only once, so there may be more: values not listed {place}.")
    elif is_open(profile):
        out.append(f"A long list is rarely complete: values not listed {place}.")
    return out


def _prefix_hint(profile: Profile) -> tuple[str, ...]:
    cut = prefix_of(profile.values)
    groups = f"{len({v[:cut] for v in profile.values})} groups instead of {profile.distinct} values"
    return (f"prefix = {cut}    # cut the codes to their first {cut} positions: {groups}",) if cut else ()


def _collapse_hint(profile: Profile, into: str) -> tuple[str, ...]:
    """A threshold that folds away many labels and few rows."""
    if profile.distinct < 20:
        return ()
    best = None
    for below in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000):
        rare = profile.counts.filter(profile.counts["n"] < below)
        share = int(rare["n"].sum()) / max(profile.known, 1)
        if share <= _RARE_SHARE and rare.height >= max(3, profile.distinct // 10):
            best = (below, rare.height, share)
    if best is None:
        return ()
    below, labels, share = best
    cell = into if are_whole((into,)) else value(into)
    return (
        f"collapse = {{ below = {below}, into = {cell} }}    # folds the {labels} rarest of "
        f"{profile.distinct} labels, {share:.1%} of the rows",
    )


def prefix_of(values: tuple[str, ...]) -> int:
    """How many leading positions group these codes well, 2 or 3; 0 when they are no such codes."""
    if len(values) < 20 or not all(re.fullmatch(r"[A-Z0-9][A-Z0-9.*/_-]{1,11}", v) for v in values):
        return 0
    if are_whole(values) and len({len(v) for v in values}) > 1:
        return 0
    shortest = min(len(v) for v in values)
    for cut in (2, 3):
        groups = len({v[:cut] for v in values})
        if cut < shortest and 2 <= groups <= len(values) / 2:
            return cut
    return 0


def _free_text(profile: Profile, many: str, why: str) -> Reason:
    note = (
        f"{many} different texts, {why}: free text or names. Such a column cannot be "
        "published from counts. To keep a part of it, make a column with a short list of values."
    )
    return Reason(profile.name, (note,), left_out="free text")


_WORDS, _SEEN_ONCE, _SEVERAL = 4, 0.3, 5


def _are_sentences(profile: Profile, once: int) -> bool:
    """Whether the texts are remarks, a few of them repeated: half have four words or more, 3 in 10 were seen once.

    Long labels of a list (kinds of industry) come again and again.
    """
    if profile.distinct < _SEVERAL or once < _SEEN_ONCE * profile.distinct:
        return False
    lengths = sorted(len(v.split()) for v in profile.values)
    return lengths[len(lengths) // 2] >= _WORDS


def _least_listed(profile: Profile) -> float:
    """The share of the rows that the listed labels of a very long list must have."""
    if names.says(profile.name, names.CODE):
        return _LEAST_CODES
    once = int((profile.counts["n"] == 1).sum())
    return _LEAST_SENTENCES if _are_sentences(profile, once) else _LEAST_LISTED


def _sketch_many(profile: Profile) -> Sketch | Reason:
    """A list too long to write: cut to a prefix, or to the frequent labels, or left out."""
    many = f"{profile.distinct:,}" if profile.complete else f"More than {profile.distinct:,}"
    cut = prefix_of(profile.values)
    if cut and len({v[:cut] for v in profile.values}) <= MOST_LABELS:
        sketch = Sketch(
            profile.name,
            "categorical",
            values=names.naturally({v[:cut] for v in profile.values}),
            prefix=cut,
            remarks=(
                f"{many} values, too many to list. They look like codes, so they are cut to their first "
                f"{cut} positions. A decoded record has the cut code.",
            ),
        )
        return with_unknown(sketch)
    top = profile.counts.filter(profile.counts["n"] >= 10).head(_LISTED)
    share = int(top["n"].sum()) / max(profile.rows, 1)
    if share < _least_listed(profile):
        few = share < _LEAST_CODES
        why = (
            "hardly any repeated" if few else f"the {top.height} most frequent with {share:.0%} of the rows together"
        )
        return _free_text(profile, many, why)
    sketch = with_unknown(Sketch(profile.name, "categorical", values=names.naturally(top["value"].to_list())))
    said = (
        f"{many} values, too many to list: these {top.height} are the most frequent, with {share:.0%} of the "
        f"rows. The rest go to `{sketch.other}`, and `outside` is the share that may. Shorten or lengthen the list "
        "as you need."
    )
    return replace(sketch, outside=min(round(1 - share + MOST_OUTSIDE, 2), 1.0), remarks=(said,))
