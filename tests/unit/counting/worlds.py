"""Random codings, tables that go with them, and questions about both; and counting done the slow, plain way.

Strategies give plain data, and ``World`` makes it ours: the run-time checks of annotations draw random numbers,
which hypothesis does not want within a strategy.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

from hedgerow.public.coding import CodedColumn, Codes, Coding, JoinedColumn, code_type
from hedgerow.public.costs.question import TOTAL, Counts, Marginal

TEXTS = ["F", "M", "10", "12", "1250", "0", "-1", "2.5", "1e3", "inf", "true", "é", "2020-02-29", "1999-12-31", "69"]
STRAYS = [None, "", "  ", " F", "M\u3000", "\t10\n", "?", "1_000", "+-1", "nan", "x'y\"z", "2020-13-01", "1,5", "12x"]
NUMBERS = [
    0.0,
    -0.0,
    1.0,
    10.0,
    12.0,
    1250.0,
    2.5,
    -1.0,
    1e3,
    1e-5,
    1.5e-7,
    1e19,
    2.0**63,
    float("inf"),
    float("nan"),
]
DAYS = [date(1, 1, 1), date(1969, 7, 20), date(1970, 1, 1), date(1999, 12, 31), date(2020, 2, 29), date(9999, 12, 31)]
FORMATS = ["%Y-%m-%d", "%d/%m/%Y", "%Y%m%d", "%F", "%m/%d/%y"]
KINDS = {
    "text": pl.String(),
    "whole": pl.Int64(),
    "floats": pl.Float64(),
    "small floats": pl.Float32(),
    "flags": pl.Boolean(),
    "days": pl.Date(),
    "times": pl.Datetime("us"),
}


@dataclass(frozen=True)
class World:
    """A coding, a table and questions, as plain data."""

    rules: Sequence[dict[str, Any]]
    join: dict[str, Any] | None
    cells: Mapping[str, tuple[str, list[Any]]]
    asked: Sequence[tuple[str, ...]]

    @cached_property
    def coding(self) -> Coding:
        return Coding(tuple(CodedColumn(**r) for r in self.rules), (JoinedColumn(**self.join),) if self.join else ())

    @cached_property
    def table(self) -> pl.DataFrame:
        return pl.DataFrame([pl.Series(n, cells, dtype=KINDS[kind]) for n, (kind, cells) in self.cells.items()])

    @cached_property
    def questions(self) -> list[Marginal]:
        return [Marginal(columns) for columns in self.asked]


@st.composite
def rules(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """A rule with a list of values, bins, or both."""
    reading = draw(st.sampled_from(["text", "number", "date"]))
    values = draw(st.lists(st.sampled_from(TEXTS), unique=True, max_size=5))
    prefix = draw(st.sampled_from([0, 0, 0, 1, 2])) if reading == "text" else 0
    values = [*dict.fromkeys(v[:prefix] if prefix else v for v in values)]
    edges: list[float] | None = None
    if reading != "text":
        edges = sorted(draw(st.sets(st.sampled_from([-1.0, 0.0, 0.5, 2.5, 11.0, 1e3, 18321.0]), max_size=5)))
    size = draw(st.integers(max(1, len(edges or ()) + 1), 12))
    code = st.integers(0, size - 1)
    return {
        "name": name,
        "reading": reading,
        "size": size,
        "missing": draw(code),
        "other": draw(code),
        "values": tuple(values),
        "codes": tuple(draw(code) for _ in values),
        "edges": None if edges is None else tuple(edges),
        "prefix": prefix,
        "date_format": draw(st.sampled_from(FORMATS)),
    }


@st.composite
def worlds(draw: st.DrawFn, kinds: Sequence[str] = tuple(KINDS)) -> World:
    """Up to four columns and perhaps one that joins two, thirty rows, and six questions of up to three columns.

    Total and repeats are among the questions; columns of text are twice as frequent as of any other kind.
    """
    plain = [draw(rules(f"column {i}")) for i in range(draw(st.integers(1, 4)))]
    join = None
    if len(plain) > 1 and draw(st.booleans()):
        shape, size = (plain[1]["size"], plain[0]["size"]), draw(st.integers(1, 6))
        codes = draw(st.lists(st.integers(0, size - 1), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
        parts = (plain[1]["name"], plain[0]["name"])
        join = {"name": "joined", "parts": parts, "shape": shape, "codes": tuple(codes), "size": size}
    rows = draw(st.integers(0, 30))
    cells = {}
    for rule in plain:
        kind = draw(st.sampled_from([*kinds, "text"]))
        cells[rule["name"]] = kind, draw(st.lists(values(rule, kind), min_size=rows, max_size=rows))
    names = [r["name"] for r in plain] + (["joined"] if join else [])
    crosses = st.lists(st.sampled_from(names), unique=True, max_size=3).map(tuple)
    return World(plain, join, cells, draw(st.lists(crosses, max_size=6)))


def values(rule: dict[str, Any], kind: str) -> st.SearchStrategy[Any]:
    """Values of a column that is kept as ``kind``, whatever the rule expects."""
    written = st.dates(date(1950, 1, 1), date(2049, 1, 1)).map(lambda d: d.strftime(rule["date_format"]))
    return {
        "days": st.none() | st.sampled_from(DAYS) | st.dates(),
        "times": st.none() | st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)),
        "floats": st.none() | st.sampled_from(NUMBERS) | st.floats(),
        "small floats": st.none() | st.sampled_from(NUMBERS) | st.floats(width=32),
        "whole": st.none() | st.integers(-20, 1300) | st.integers(-(2**63), 2**63 - 1),
        "flags": st.none() | st.booleans(),
        "text": st.sampled_from(TEXTS) | st.sampled_from(STRAYS) | written | st.floats().map(repr),
    }[kind]


def coding_of(sizes: Mapping[str, int]) -> Coding:
    """Columns of these sizes, whose values do not matter."""
    return Coding(tuple(CodedColumn(n, "text", s, missing=0, other=0) for n, s in sizes.items()))


def codes_of(sizes: Mapping[str, int], rows: int, rng: np.random.Generator) -> dict[str, Codes]:
    """Random codes, some much more frequent than others."""
    return {n: (s * rng.random(rows) ** 3).astype(code_type(s)) for n, s in sizes.items()}


def plainly(question: Marginal, codes: Mapping[str, Codes], coding: Coding) -> Counts:
    """The counts of one question, row by row."""
    if question == TOTAL:
        return np.array([len(next(iter(codes.values())))])
    counts = np.zeros(coding.cells(question.columns), np.int64)
    shape = coding.shape(question.columns)
    rows = zip(*(codes[c].tolist() for c in question.columns), strict=True)
    for place, times in Counter(rows).items():
        counts[np.ravel_multi_index(place, shape)] = times
    return counts
