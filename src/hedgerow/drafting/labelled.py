"""The sketch of a column from a public table and its code book together."""

from dataclasses import replace

import numpy as np

from hedgerow.drafting import names
from hedgerow.drafting.amounts import FEW
from hedgerow.drafting.apart import set_apart
from hedgerow.drafting.binning import ONE_BY_ONE
from hedgerow.drafting.entry import Entry, distinct_labels, is_run, list_kind, listed, sketch_entry
from hedgerow.drafting.kinds import guess
from hedgerow.drafting.lists import are_whole
from hedgerow.drafting.profile import Profile
from hedgerow.drafting.sketch import LeftOut, Sketch


def with_table(entry: Entry, profile: Profile) -> Sketch | LeftOut:
    """The sketch of a column from its code book entry and a public table together.

    The book's labels and order stand; what only the table has is added and said.
    """
    known = profile.without(frozenset(entry.missing_values))
    seen, told = guess(known), bool(entry.pairs) or entry.low is not None
    if isinstance(seen, LeftOut) or entry.identifier:
        return sketch_entry(entry) if told or entry.identifier else seen
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


def _covers(entry: Entry, profile: Profile) -> bool:
    """Whether the book's range is short, whole, and well used by the table: then it gives the bins."""
    low, high, numbers = entry.low, entry.high, profile.numbers()[0]
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)) or not len(numbers):
        return False
    whole = bool((numbers == np.floor(numbers)).all()) and high - low < ONE_BY_ONE
    return whole and float(numbers[-1] - numbers[0]) >= 0.3 * (high - low) or len(numbers) <= FEW and whole


def _ranged(seen: Sketch, entry: Entry) -> Sketch:
    """The book's range and special values, with the gaps that the table shows."""
    drawn = sketch_entry(entry)
    assert isinstance(drawn, Sketch), "a range gives a sketch"
    return replace(drawn, missing=seen.missing, missing_values=seen.missing_values)


def _labelled_list(sketch: Sketch, entry: Entry, profile: Profile) -> Sketch:
    """A list in the book's order with the book's labels, and after it what only the table has."""
    gone = {*sketch.missing_values}
    pairs = {v: w for v, w in entry.pairs if v not in gone}
    extra = names.naturally(v for v in profile.values[:1_000] if v not in pairs and v not in gone)
    values = (*pairs, *extra)
    labels = tuple(pairs.get(v, v) for v in values)
    notes = [listed(pairs)]
    if extra:
        shown = ", ".join(extra[:5]) + (", ..." if len(extra) > 5 else "")
        notes.append(f"The last {len(extra)} ({shown}) are in the table but not in the code book.")
    notes += [n for n in sketch.notes if n.startswith("Missing")]
    return Sketch(
        sketch.name,
        list_kind(entry),
        description=entry.description,
        values=values,
        labels=() if all(v == w for v, w in pairs.items()) else distinct_labels(values, labels),
        missing=sketch.missing,
        missing_values=sketch.missing_values,
        settings=(("type", "integer"),) if are_whole(values) else (),
        notes=tuple(notes),
    )
