"""Exact rates for the steward: right by hand, marked, and out of the release's reach."""

import grimp
import polars as pl
import pytest

from hedgerow.errors import JobError
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable
from hedgerow.steward.compare import MARK, ClassificationRates, _rate_lines, classification_rates
from hedgerow.steward.exact import exact_table
from hedgerow.steward.inside import InsideOnly

SCHEMA = Schema.loads(
    """
[columns.id]
kind = "categorical"
values = ["1", "2", "3", "4"]
other = "4"
[columns.sex]
kind = "categorical"
values = ["F", "M"]
other = "M"
"""
)
TRUE = pl.DataFrame({"id": ["1", "2", "3", "3"], "sex": ["F", "M", "F", "M"]})


def rates(made: pl.DataFrame) -> InsideOnly[ClassificationRates]:
    copy = CodedTable.read(made, SCHEMA, role="target")
    return exact_table(TRUE, SCHEMA).map(lambda t: classification_rates(t, copy, private=["sex"], keys=["id"]))


def test_rates_by_hand() -> None:
    made = pl.DataFrame({"id": ["1", "2", "3", "4"], "sex": ["F", "F", "F", "F"]})
    found = rates(made).reveal()
    assert found.match_rate == 0.5, "3 is there twice and 4 not at all"
    assert found.true_rate == {"sex": 0.5}
    assert found.by_chance == {"sex": 0.5}
    assert found.mark == MARK


def test_a_value_that_a_release_merged_with_others_still_matches() -> None:
    schema = Schema.loads(
        '[columns.agency]\nkind = "categorical"\nvalues = ["VA"]\nother = "other"\n'
        '[columns.pay]\nkind = "integer"\nbins = { low = 0, high = 9, width = 5 }\nother = 0\n'
        '[columns.sex]\nkind = "categorical"\nvalues = ["F", "M"]\nother = "M"\n'
    )
    true = pl.DataFrame({"agency": ["VA", "XX"], "pay": [1, 2], "sex": ["F", "M"]})
    made = pl.DataFrame({"agency": ["VA", "other", "VA"], "pay": [1, 2, 3], "sex": ["F", "F", None]})
    copy = CodedTable.read(made, schema, role="target")
    keys = ["agency", "pay"]
    found = (
        exact_table(true, schema).map(lambda t: classification_rates(t, copy, private=["sex"], keys=keys)).reveal()
    )
    assert (found.matched, found.true_rate, found.unlabelled) == (2, {"sex": 0.5}, 1)


def test_without_a_match_no_rate_is_made_up() -> None:
    found = rates(pl.DataFrame({"id": ["4", "4"], "sex": ["F", "M"]})).reveal()
    assert found.matched == 0 and found.true_rate == {"sex": None}
    assert "cannot be said" in _rate_lines(found)[0]


def test_a_missing_key_is_named() -> None:
    with pytest.raises(JobError, match="need id"):
        rates(TRUE.drop("id"))


def test_no_release_can_reach_it() -> None:
    graph = grimp.build_graph("hedgerow", cache_dir=None, exclude_type_checking_imports=True)
    assert not any("steward" in m for m in graph.find_upstream_modules("hedgerow.release", as_package=True))
