"""Real and simulated tables for the tests of metrics."""

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable
from hedgerow.simulate.personnel import Personnel, personnel, personnel_schema

SHARED = next(
    (
        d / "shared" / "data"
        for d in Path(__file__).resolve().parents
        if (d / "shared" / "data" / "splits.py").is_file()
    ),
    Path("/nowhere"),
)
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the real tables of ../shared are not here")


@cache
def real(name: str) -> dict[str, Any]:
    """The split of that name, as pandas frames."""
    spec = importlib.util.spec_from_file_location("splits", SHARED / "splits.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(getattr(module, name)())


@cache
def world(rows: int = 4000, seed: int = 3) -> tuple[Personnel, Schema]:
    return personnel(rows, seed, labelled_target=True), Schema.loads(personnel_schema())


def pair(rows: int = 4000, seed: int = 3) -> tuple[CodedTable, CodedTable, Schema]:
    """Two samples of one simulated population."""
    made, schema = world(rows, seed)
    return table(made.confidential, schema), table(made.target, schema), schema


def table(frame: pl.DataFrame, schema: Schema) -> CodedTable:
    return CodedTable.read(frame, schema, role="target")


@cache
def adult() -> tuple[CodedTable, CodedTable, Schema]:
    """The halves of Adult, with a schema drafted from the first."""
    halves = {k: pl.from_pandas(v.reset_index(drop=True)) for k, v in real("adult_halves").items()}
    schema = listed(halves["public"], halves["confidential"])
    return table(halves["confidential"], schema), table(halves["public"], schema), schema


@cache
def massachusetts() -> tuple[CodedTable, CodedTable, Schema]:
    """ACS of 2019 and 2018, every column listed as it stands in either."""
    frames = {k: pl.from_pandas(v.astype(str)) for k, v in real("acs_ma").items()}
    keep = [c for c in frames["public"].columns if frames["public"][c].n_unique() <= 120]
    frames = {k: v.select(keep) for k, v in frames.items()}
    schema = listed(frames["public"], frames["confidential"])
    return table(frames["confidential"], schema), table(frames["public"], schema), schema


def listed(*frames: pl.DataFrame) -> Schema:
    """A schema that lists every value of every column."""
    text = []
    for name in frames[0].columns:
        values = sorted({str(v) for f in frames for v in f[name].cast(pl.String).drop_nulls().unique()})
        quoted = ", ".join('"' + v.replace("\\", "\\\\").replace('"', '\\"') + '"' for v in values)
        text.append(f'[columns."{name}"]\nkind = "categorical"\nvalues = [{quoted}]\nmissing = true\n')
    return Schema.loads("\n".join(text))
