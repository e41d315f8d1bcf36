"""Single values of a number column that get a cell of their own beside the bins."""

import re
from collections.abc import Mapping
from dataclasses import replace

from hedgerow.drafting.sketch import Setting, Sketch

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_OWN_BIN = re.compile(r", -?[\d,.]+ in a bin of its own")


def set_apart(sketch: Sketch, named: Mapping[str, str]) -> Sketch:
    """A number column with cells of their own for single values, and no bin left empty by it.

    >>> ages = Sketch("age", "integer", bins=(("low", -1), ("high", 90), ("width", 1)))
    >>> set_apart(ages, {"-1": "refused", "N": "not asked"}).bins[0]
    ('low', 0)
    """
    numbers = {v: float(v) for v in named if _NUMBER.fullmatch(v)}
    bins = dict(sketch.bins)
    edges = bins.get("edges")
    if isinstance(edges, tuple):
        return _beside_edges(sketch, named, edges, {*numbers.values()})
    if bins.get("width") == 1:
        bins = _shortened(bins, {*numbers.values()})
    low, high = bins.get("low"), bins.get("high")
    inside = {v for v, x in numbers.items() if bins.get("width") == 1 and low <= x <= high}  # type: ignore[operator]
    special = {**dict(sketch.special), **{v: w for v, w in named.items() if v not in inside}}
    return replace(sketch, bins=tuple(bins.items()), special=tuple(special.items()))


def _shortened(bins: dict[str, Setting], numbers: set[float]) -> dict[str, Setting]:
    """One bin per value, without the outer values that stand beside the bins."""
    low, high = bins["low"], bins["high"]
    assert isinstance(low, int) and isinstance(high, int), "one bin per value has whole ends"
    while low in numbers and low + 1 < high:
        low += 1
    while high in numbers and low + 1 < high:
        high -= 1
    return {**bins, "low": low, "high": high}


def _beside_edges(sketch: Sketch, named: Mapping[str, str], edges: tuple[object, ...], numbers: set[float]) -> Sketch:
    """Edges without the bins that held one of the numbers alone."""
    gone = {e for e in edges[1:-1] if isinstance(e, (int, float)) and e - 1 in numbers and e - 1 in edges}
    kept = tuple(e for e in edges if isinstance(e, (int, float)) and e not in gone)
    notes = tuple(
        _OWN_BIN.sub("", n).replace(f"; {len(edges) - 1} bins.", f"; {len(kept) - 1} bins.") for n in sketch.notes
    )
    special = tuple({**dict(sketch.special), **named}.items())
    return replace(sketch, bins=(("edges", kept),), special=special, notes=notes if gone else sketch.notes)
