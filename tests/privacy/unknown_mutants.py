"""Confidential values that the schema does not know: the check on fixed tables, and planted bugs that it must catch.

Where such a value counts is settled by the schema alone.  It moves no count of a known value, and nothing is raised,
said or refused because a row holds it.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from hedgerow.api.job import Job
from hedgerow.counting.plan import CountPlan
from hedgerow.errors import SchemaError, TableMismatch
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public.coding import CodedColumn, Coding
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Marginal
from hedgerow.public.files import open_source
from hedgerow.public.schema import Schema
from tests.privacy.checks import quick_folder

Patch = pytest.MonkeyPatch
SCHEMA = """
[columns.state]
kind = "categorical"
values = ["OH", "TX"]
other = "other"
[columns.year]
kind = "integer"
bins = { low = 2018, high = 2020, width = 1 }
beyond = "unknown"
missing = true
[columns.member]
kind = "yes-no"
missing = true
[columns.hired]
kind = "date"
bins = { unit = "year", low = 2018-01-01, high = 2020-12-31 }
beyond = "unknown"
missing = true
[[joined]]
name = "state_member"
columns = ["state", "member"]
combinations = [["OH", "yes"], ["TX", "yes"], ["TX", "no"]]
"""
KNOWN = {
    "state": ["OH", "TX"],
    "year": ["2018", "2020"],
    "member": ["yes", "no"],
    "hired": ["2018-01-01", "2020-12-31"],
}
STRANGE: dict[str, list[str | None]] = {
    "state": ["FL", None, " ", "other", "oh"],
    "year": ["2017", "2021", "this year", None, "inf"],
    "member": ["perhaps", None, "2", "", "?"],
    "hired": ["2017-12-31", "2021-01-01", "soon", None, "31.12.2019"],
}


def check_unknown() -> None:
    """Known values fill the known cells, strange ones the unknown cell; a schema without one is refused."""
    schema = Schema.loads(SCHEMA)
    names = (*STRANGE, "state_member")
    plan = CountPlan([Marginal((n,)) for n in names], schema.coding)
    known, strange = (
        dict(zip(names, ConfidentialRows(_source(rows), schema.coding, Guarantee()).count(plan), strict=True))
        for rows in (KNOWN, STRANGE)
    )
    for name in STRANGE:
        place = schema.column(name).unknown
        assert place is not None and known[name][place] == 0, f"a known value of {name} was counted as unknown"
        assert strange[name][place] == strange[name].sum() == 5, (
            f"an unknown value of {name} was counted as a known one"
        )
    assert strange["state_member"][-1] == 5, "an unknown combination was counted as a known one"
    with quick_folder() as folder:
        _check_refusal(Path(folder))


def _source(rows: Any) -> Any:
    return open_source(pl.DataFrame(rows, schema=dict.fromkeys(rows, pl.String)))


def _check_refusal(folder: Path) -> None:
    """A column with no place for the unknown is refused, in the same words whatever the rows are."""
    (folder / "schema.toml").write_text('[columns.state]\nkind = "categorical"\nvalues = ["OH", "TX"]\n', "utf-8")
    (folder / "job.toml").write_text('[confidential]\ntable = "rows.csv"\n[budget]\nepsilon = 1\n', "utf-8")
    said: list[str] = []
    for rows in ("OH\nTX\n", "OH\nFL\n"):
        (folder / "rows.csv").write_text(f"state\n{rows}", "utf-8")
        try:
            Job.load(folder / "job.toml").run(folder / f"release{len(said)}")
            said.append("published")
        except SchemaError as refused:
            said.append(str(refused))
    assert said[0] == said[1], "a refusal depends on a confidential value"
    assert said[0] != "published", "a schema without a place for unknown values was let through"


def _coded_again(patch: Patch, change: Callable[[CodedColumn, Any], Any]) -> None:
    original = CodedColumn.encode
    patch.setattr(CodedColumn, "encode", lambda self, series: change(self, original(self, series)))


def unknown_value_as_the_last_known_one(patch: Patch) -> None:
    """What the schema does not know is coded as the value listed last."""
    _coded_again(patch, lambda rule, codes: np.where(codes == rule.other, max(rule.other - 1, 0), codes))


def unknown_value_as_the_first_known_one(patch: Patch) -> None:
    """What the schema does not know is coded as the value listed first."""
    _coded_again(patch, lambda rule, codes: np.where(codes == rule.other, 0, codes))


def year_beyond_the_bins_in_the_outer_one(patch: Patch) -> None:
    """A number beyond the bins is clamped, although the schema says that it is unknown."""
    original = CodedColumn.encode

    def encode(self: CodedColumn, series: pl.Series) -> Any:
        clamped = replace(self, edges=(self.edges or ())[1:-1], bins=()) if self.bins else self
        return original(clamped, series)

    patch.setattr(CodedColumn, "encode", encode)


def unknown_combination_as_the_first_known_one(patch: Patch) -> None:
    """A combination that the join does not know is coded as one that it knows."""
    original = Coding.join

    def join(self: Coding, codes: Any, names: Any) -> Any:
        joins = {j.name: j.size - 1 for j in self.joined}
        found = original(self, codes, names)
        return {n: np.where(c == joins[n], 0, c) if n in joins else c for n, c in found.items()}

    patch.setattr(Coding, "join", join)


def schema_without_a_place_is_let_through(patch: Patch) -> None:
    """A job takes a schema that does not say where unknown values go."""
    patch.setattr("hedgerow.pipeline.placed", lambda schema: schema)


def refused_only_when_a_row_is_unknown(patch: Patch) -> None:
    """The refusal of such a schema waits for a confidential row that needs it."""
    original = ConfidentialRows.count

    def count(self: ConfidentialRows, plan: CountPlan) -> Any:
        for batch in cast(Any, self._counter)._source.batches(["state"]):
            if not batch["state"].is_in(["OH", "TX"]).all():
                raise TableMismatch("a value is not in the schema")
        return original(self, plan)

    patch.setattr("hedgerow.pipeline.placed", lambda schema: schema)
    patch.setattr(ConfidentialRows, "count", count)


UNKNOWN_MUTANTS = (
    unknown_value_as_the_last_known_one,
    unknown_value_as_the_first_known_one,
    year_beyond_the_bins_in_the_outer_one,
    unknown_combination_as_the_first_known_one,
    schema_without_a_place_is_let_through,
    refused_only_when_a_row_is_unknown,
)
