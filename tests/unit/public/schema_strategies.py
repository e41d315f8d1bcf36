"""Schemas drawn at random: every kind of column, with and without missing, specials, other, joins.

These are functions of ``data.draw`` and not strategies, because checked annotations use ``random``, which
hypothesis does not want to see inside a strategy.
"""

from collections.abc import Callable
from datetime import date
from typing import Any

from hypothesis import strategies as st

from hedgerow.public.schema import Bins, Column, Condition, Join, OrderRule, Schema, Zero

Draw = Callable[[st.SearchStrategy[Any]], Any]
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6).map(
    lambda text: text.strip() or "x"
)
LETTERS = st.text("abcdef '\"\\#[]{}=.é\n\t", min_size=1, max_size=5).map(lambda text: text.strip() or "x")
SPECIALS = st.sampled_from([(), (("N", "not applicable"),), (("N", "none"), ("-9", "refused"))])


def listed(draw: Draw, name: str) -> Column:
    """A categorical or ordered column."""
    texts = draw(st.lists(LETTERS | WORDS, min_size=1, max_size=6, unique=True))
    if draw(st.booleans()):
        texts = [str(i) for i in draw(st.lists(st.integers(-99, 99), min_size=1, max_size=6, unique=True))]
    given: dict[str, Any] = {"values": tuple(texts)}
    if draw(st.booleans()):
        given["labels"] = tuple(draw(st.lists(LETTERS, min_size=len(texts), max_size=len(texts))))
    if all(t == str(int(t)) if t.removeprefix("-").isdecimal() and t.isascii() else False for t in texts):
        given["type"] = draw(st.sampled_from(["text", "integer"]))
    if draw(st.booleans()) and given.get("type") != "integer":
        given["other"] = draw(st.sampled_from([*texts, "other~"]))
    return Column(name, draw(st.sampled_from(["categorical", "ordered"])), **given, **with_missing(draw))


def with_missing(draw: Draw) -> dict[str, Any]:
    """Whether missing has a cell, and which texts mean it."""
    texts = draw(st.sampled_from([(), ("NA~",), ("NA~", "")]))
    return {"missing": draw(st.booleans()), "missing_values": texts}


def prefixed(draw: Draw, name: str) -> Column:
    """A hierarchical code cut to its first positions."""
    values = draw(st.lists(st.text("0123", min_size=3, max_size=4), min_size=1, max_size=8, unique=True))
    other = draw(st.sampled_from([None, "rest"]))
    return Column(name, "categorical", values=tuple(values), prefix=2, other=other, **with_missing(draw))


def numbers(draw: Draw, name: str) -> Column:
    """A whole or real number with bins of equal width, or with edges."""
    kind = draw(st.sampled_from(["integer", "real"]))
    low = draw(st.integers(-1000, 1000))
    if draw(st.booleans()):
        gaps = draw(st.lists(st.integers(1, 50), min_size=1, max_size=6))
        edges = [low]
        for gap in gaps:
            edges.append(edges[-1] + gap)
        scale = 1 if kind == "integer" else draw(st.sampled_from([1, 0.1, 0.37]))
        again = [edges[-1]] if draw(st.booleans()) and kind == "integer" else []
        bins = Bins(edges=tuple(e * scale for e in [*edges, *again]))
    else:
        width = draw(st.integers(1, 40) if kind == "integer" else st.sampled_from([0.1, 0.25, 3, 7.5]))
        bins = Bins(low=low, high=low + draw(st.integers(1, 30)), width=width)
    units = [None, 1, 5, 100] if kind == "integer" else [None, 0.01, 0.05, 2]
    heaps = draw(st.sampled_from([(), ((200, 0.5),), ((200, 0.25), (1000, 0.75))]))
    special = draw(SPECIALS) if low > -9 or low > 20 else draw(SPECIALS.filter(lambda s: len(s) < 2))
    return Column(
        name,
        kind,
        bins=bins,
        unit=draw(st.sampled_from(units)),
        special=special,
        round_to=heaps,
        decode=draw(st.sampled_from(["uniform", None] if heaps else ["uniform", "midpoint", None])),
        other=draw(st.sampled_from([None, "other~", *(raw for raw, _ in special)])),
        **with_missing(draw),
    )


def dates(draw: Draw, name: str) -> Column:
    """A date with calendar bins or edges."""
    low, high = sorted(draw(st.tuples(*[st.dates(date(1990, 1, 1), date(1996, 12, 31))] * 2)))
    bins = Bins(unit=draw(st.sampled_from(["day", "month", "quarter", "year"])), low=low, high=high)
    if draw(st.booleans()):
        days = draw(st.lists(st.dates(date(1800, 1, 1), date(2100, 1, 1)), min_size=2, max_size=5, unique=True))
        bins = Bins(edges=tuple(sorted(days)))
    return Column(
        name,
        "date",
        bins=bins,
        format=draw(st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%Y%m%d"])),
        special=draw(st.sampled_from([(), (("never", "never"),), (("9999-12-31", "open"),)])),
        decode=draw(st.sampled_from(["uniform", "midpoint", None])),
        other=draw(st.sampled_from([None, "other~"])),
        **with_missing(draw),
    )


def yes_no(draw: Draw, name: str) -> Column:
    """Yes or no, in the usual words or in given ones."""
    words = draw(st.sampled_from([{}, {"yes": ("1", "Y"), "no": ("0", "N")}, {"yes": ("ja",), "no": ("nein",)}]))
    return Column(name, "yes-no", other=draw(st.sampled_from([None, "maybe"])), **words, **with_missing(draw))


def a_column(draw: Draw, name: str) -> Column:
    """A column of any kind."""
    makers: list[Callable[[Draw, str], Column]] = [listed, prefixed, numbers, dates, yes_no]
    made: Column = draw(st.sampled_from(makers))(draw, name)
    return made


def a_schema(draw: Draw) -> Schema:
    """A resolved schema of two to five columns, with a join, a determined column, a zero and a rule."""
    names = draw(st.lists(LETTERS | st.sampled_from(["sex", "Total pay"]), min_size=2, max_size=5, unique=True))
    made = [a_column(draw, name) for name in names]
    joined: tuple[Join, ...] = ()
    if draw(st.booleans()) and made[0].size * made[1].size < 1000:
        pairs = [(a, b) for a in made[0].cell_texts for b in made[1].cell_texts]
        some = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=8, unique=True))
        joined = (Join("joined~", (names[0], names[1]), tuple(some)),)
    if draw(st.booleans()):
        rows = tuple((text, draw(st.sampled_from(["p", "q"]))) for text in made[0].cell_texts[:5])
        made.append(Column("fixed~", "categorical", values=("p", "q"), determined_by=(names[0],), map=rows))
    text = draw(st.sampled_from(made[0].cell_texts))
    zeros = (Zero(((names[0], Condition((text,))),)),) if draw(st.booleans()) else ()
    kinds = {c.name: c.kind for c in made}
    pairs_ = [(a, b) for a in names for b in names if a < b and kinds[a] == kinds[b] and kinds[a] in ("date", "real")]
    rules = tuple(OrderRule(*p) for p in pairs_[:1])
    return Schema(tuple(made), joined, zeros, rules, draw(st.sampled_from(["", 'A "title"\n'])))
