"""Whatever a public table holds, its draft loads, and every one of its values has a cell."""

import datetime as dt
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hedgerow.errors import TableMismatch
from hedgerow.public.schema import Schema
from hedgerow.public.schema.drafting.draft import draft
from hedgerow.public.schema.fit import TableFit
from tests.unit.draft.drafting_tools import fits

texts = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), max_size=8)
cells = st.one_of(
    st.lists(st.one_of(st.none(), texts), min_size=2, max_size=40),
    st.lists(
        st.one_of(st.none(), st.sampled_from(["a", "b", "c", "N", "?", "NA", "1", "2", "30", "1.5", "01"])),
        min_size=2,
        max_size=60,
    ),
    st.lists(st.one_of(st.none(), st.integers(-(2**40), 2**40)), min_size=2, max_size=60),
    st.lists(st.one_of(st.none(), st.integers(-3, 20)), min_size=2, max_size=60),
    st.lists(st.one_of(st.none(), st.floats()), min_size=2, max_size=60),
    st.lists(st.one_of(st.none(), st.floats(0, 100).map(lambda x: round(x, 1))), min_size=2, max_size=60),
    st.lists(st.one_of(st.none(), st.booleans()), min_size=2, max_size=20),
    st.lists(st.one_of(st.none(), st.dates(dt.date(1, 1, 1))), min_size=2, max_size=40),
)
names = st.text(min_size=1, max_size=6).filter(lambda t: bool(t.strip()) and "\0" not in t and t[0] not in "*^")


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(cells, min_size=1, max_size=4), st.lists(names, min_size=4, max_size=4, unique=True), st.integers(1, 4)
)
def test_the_draft_of_any_table_loads_and_holds_the_table(
    columns: list[list[object]], labels: list[str], times: int
) -> None:
    rows = max(len(c) for c in columns)
    table = pl.DataFrame(
        {
            n: pl.Series([c[i % len(c)] for i in range(rows)] * times, strict=False)
            for n, c in zip(labels, columns, strict=False)
        }
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "public.parquet"
        table.write_parquet(path)
        try:
            drawn = draft(str(path))
        except TableMismatch as refusal:
            assert "Nothing in" in str(refusal)
            return
        schema, shares = fits(drawn, path)
    for name, found in shares.items():
        open_list = schema.column(name).other is not None or schema.column(name).missing
        assert found.outside == 0 or open_list, (name, found)


@pytest.mark.parametrize("step", [0.05, 0.25, 0.5, 1, 3, 7, 12.5, 25, 1000])
@pytest.mark.parametrize("offset", [0, 0.5])
def test_the_draft_of_numbers_on_any_grid_loads_and_every_job_takes_the_table(
    tmp_path: Path, step: float, offset: float
) -> None:
    """Halves of which none is whole gave a share of 2 to their rounding; a special 0.0 was beyond the bins."""
    rng = np.random.default_rng(int(100 * step))
    numbers = np.round(rng.gamma(2, 200, 3000)) * step + offset * step
    numbers[rng.random(3000) < 0.4] = 0
    table = pl.DataFrame({"x": numbers, "gap": np.where(rng.random(3000) < 0.1, np.nan, numbers)}).fill_nan(None)
    table.write_csv(tmp_path / "public.csv")
    schema = Schema.draft(tmp_path / "public.csv").resolved(table)
    assert all(sum(share for _, share in c.round_to) <= 1 for c in schema.columns)
    fit = TableFit.of(schema, table)
    assert fit.holds and fit.lines == ()
