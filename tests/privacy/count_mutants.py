"""Tables of counts at the gate: the checks on fixed tables, and planted bugs that each of them must catch.

A line of the small world is (sex, race, pay, area, id), and ``id`` says here how many records the line stands for.
"""

from collections.abc import Callable
from dataclasses import astuple, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.counting.plan import CountPlan
from hedgerow.errors import JobError
from hedgerow.private.local import LocalCounter
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public.coding import as_text, records
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Marginal, Tree
from hedgerow.public.files import open_source
from hedgerow.public.schema import Schema
from tests.privacy.checks import QUESTIONS, check_run, check_verbs, quick_folder
from tests.privacy.world import COLUMNS, GUARANTEES, SCHEMA, Pair, Row, frame

Patch = pytest.MonkeyPatch
CODING = Schema.loads(SCHEMA).coding
COUNTED = {k.replace("record", "counts"): replace(g, count="id") for k, g in GUARANTEES.items() if g.unit == "record"}
BY_AREA = Tree.of(("area", "pay"), 6, [0, 1], [0, 3], [1, -1, -2, -3, -4, -5, -6])
ASKED = (
    *QUESTIONS,
    Marginal(("sex", "race"), BY_AREA),
    Marginal((), BY_AREA, "sex"),
    Marginal(("area",), None, "sex"),
)
BAD: dict[str | None, int] = {
    **dict.fromkeys(
        [None, "", " ", "-3", "-inf", "2.5", "1000000000.5", "inf", "nan", "many", "1,234", "0x10", "0"], 0
    ),
    **dict.fromkeys(["1e9", "1000000000", "1000000001", "99999999999999999999999", "1e300"], 10**9),
    " 3 ": 3,
    "3.0": 3,
    "+4": 4,
}
"""What stands in a column of counts, and how many records the gate takes that for."""
_REST: tuple[Row, ...] = (
    *((("M", "B", "12", "s", bad)) for bad in BAD),
    ("F", "A", "5", "n", "1000000000"),
    ("F", "B", "39", "n", "626451"),
    ("M", "C", "5", "s", "7"),
)


def _line(race: str, count: str | None) -> tuple[Row, ...]:
    return (("F", race, "5", "n", count),)


PAIRS: dict[str, list[Pair]] = {
    "add-remove": [
        Pair(_REST + _line("A", n), _REST + _line("A", m))
        for n, m in (("1", "0"), ("999999999", "1000000000"), ("1000000000", "1000000001"))
    ]
    + [Pair(_REST + _line("C", "1"), _REST), Pair(_REST + _line("A", "7"), _REST + _line("A", "8"))],
    "replace-one": [Pair(_REST + _line("A", "8") + _line("C", "7"), _REST + _line("A", "7") + _line("C", "8"))],
    "label-change": [Pair(_REST + _line("A", "1") + _line("C", "7"), _REST + _line("C", "8"))],
}


def written_out(lines: pl.DataFrame) -> pl.DataFrame:
    """One line per record, by the plainest code there is; the column of counts is gone."""
    rows = []
    for *values, count in lines.select(*COLUMNS, "id").rows():
        number = BAD.get(count, -1)
        rows += [values] * (number if number >= 0 else int(count))
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


def check_exact() -> None:
    """A line of n records counts as n lines of one do, in every kind of table, and has their fingerprint."""
    lines = frame(tuple(r for r in _REST if records(pl.Series([r[-1]], dtype=pl.String))[0] < 10**9))
    plan, counts = CountPlan(ASKED, CODING), Guarantee(count="id")
    here = ConfidentialRows(open_source(lines), CODING, counts)
    there = ConfidentialRows(open_source(written_out(lines)), CODING, Guarantee())
    for question, a, b in zip(ASKED, here.count(plan), there.count(plan), strict=True):
        assert (a == b).all(), f"{question}: lines that stand for several records are not counted so"
    assert here.fingerprint(b"k") == there.fingerprint(b"k"), "the same records under another name are not recognised"


def check_rule() -> None:
    """Whatever stands in a column of counts is taken for a number by a fixed rule, and nothing is raised."""
    for text, due in BAD.items():
        assert _total(_line("A", text)) == due, f"{text!r} is not counted as {due}"
    assert _total(_line("A", "1000000001") * 9000) == 9 * 10**12, "a sum of counts overflowed"


def _total(lines: tuple[Row, ...]) -> int:
    rows = ConfidentialRows(open_source(frame(lines)), CODING, Guarantee(count="id"))
    return int(rows.count(CountPlan([Marginal(())], CODING))[0][0])


def check_counts() -> None:
    """Every check on tables of counts, under every relation, pure and zCDP."""
    check_rule()
    check_exact()
    for guarantee in COUNTED.values():
        for i, pair in enumerate(PAIRS[guarantee.relation]):
            check_verbs(guarantee, ("0", "1e-6")[i % 2], pair)
        with quick_folder() as folder:
            small = [tuple(r for r in rows if r[-1] in ("7", "8", "-3", "many", None)) for rows in astuple(pair)]
            check_run(Path(folder), guarantee, "0", Pair(*small))


def count_column_ignored(patch: Patch) -> None:
    """Every line counts once, as if there were no column of counts."""
    patch.setattr("hedgerow.private.local.digits", lambda part: [(1, part)])


def _counts_by(patch: Patch, rule: Callable[[pl.Series], Any]) -> None:
    patch.setattr("hedgerow.private.local.records", lambda series: np.asarray(rule(series), np.int64))


def counts_clipped_by_content(patch: Patch) -> None:
    """No line counts for more than the middle one of the table."""
    _counts_by(patch, lambda series: np.minimum(n := records(series), int(np.median(n))))


def too_large_a_count_is_none(patch: Patch) -> None:
    """A count above the most is taken for 0, so one record more takes a billion away."""

    def rule(series: pl.Series) -> Any:
        number = as_text(series).cast(pl.Float64, strict=False).fill_nan(None).fill_null(0).to_numpy()
        return np.where(number > 10**9, 0, records(series))

    _counts_by(patch, rule)


def counts_scaled_to_the_table(patch: Patch) -> None:
    """Counts are brought down so that the largest fits 16 bits."""
    _counts_by(patch, lambda series: (n := records(series)) // max(1, int(n.max(initial=0)) >> 16))


def error_that_shows_a_count(patch: Patch) -> None:
    """A count that is none is refused with its value, outside of the fixed words."""
    original = ConfidentialRows.count

    def count(self: ConfidentialRows, plan: CountPlan) -> Any:
        held: Any = self._counter
        for batch in held._source.batches([held._guarantee.count]) if held._guarantee.count else ():
            for value in batch[held._guarantee.count]:
                if value is not None and value.startswith("-"):
                    raise JobError(f"a line has the count {value}")
        return original(self, plan)

    patch.setattr(ConfidentialRows, "count", count)


def lines_without_records_are_hashed(patch: Patch) -> None:
    """The fingerprint hashes lines, so the same records in other lines pass for another table."""
    original = LocalCounter.fingerprint

    def fingerprint(self: LocalCounter, key: bytes) -> bytes:
        return original(LocalCounter(self._source, self._coding, replace(self._guarantee, count="")), key)

    patch.setattr(LocalCounter, "fingerprint", fingerprint)


def counts_of_a_line_halved_in_price(patch: Patch) -> None:
    """A line is taken for one unit, and its records are thought to share its price."""
    patch.setattr(Guarantee, "l1", property(lambda self: Fraction(1, 2) if self.count else 1))


COUNT_MUTANTS = (
    count_column_ignored,
    counts_clipped_by_content,
    too_large_a_count_is_none,
    counts_scaled_to_the_table,
    error_that_shows_a_count,
    lines_without_records_are_hashed,
    counts_of_a_line_halved_in_price,
)
