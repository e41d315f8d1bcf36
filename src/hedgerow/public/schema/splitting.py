"""From the codes of attributes to the codes of single columns: joins split, determined columns looked up."""

from collections.abc import Mapping
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import SchemaError
from hedgerow.public.schema.column import Column
from hedgerow.public.schema.joining import allowed_cells
from hedgerow.public.schema.schema import Schema

AnyCodes = npt.NDArray[np.integer[Any]]
Places = npt.NDArray[np.int64]


def column_codes(schema: Schema, codes: Mapping[str, AnyCodes]) -> dict[str, Places]:
    """The codes of single columns: joined ones split, determined ones looked up."""
    for name, size in zip(codes, schema.shape(codes), strict=True):
        if len(codes[name]) and int(codes[name].max()) >= size:
            raise SchemaError(f"A code of {name!r} is {size} or more, but the schema has {size} codes for it.")
    plain = {n: c.astype(np.int64) for n, c in codes.items()}
    for join in schema.joined:
        if join.name in plain:
            parts = [schema.column(n) for n in join.columns]
            cells = allowed_cells(join, parts)[plain.pop(join.name)]
            split = np.unravel_index(cells, tuple(p.size for p in parts))
            plain = dict(zip(join.columns, split, strict=True)) | plain
    order = TopologicalSorter({c.name: c.determined_by for c in schema.columns}).static_order()
    for name in order:
        column = schema.column(name)
        if name not in plain and column.determined_by and all(n in plain for n in column.determined_by):
            plain[name] = _looked_up(column, [schema.column(n) for n in column.determined_by], plain)
    return plain


def _looked_up(column: Column, keys: list[Column], plain: Mapping[str, Places]) -> Places:
    """The code that the map gives for every row; where it gives none, the code of what is not listed."""
    assert column.map is not None
    shape = tuple(k.size for k in keys)
    here = np.ravel_multi_index([plain[k.name] for k in keys], shape)
    if not column.map:
        return np.full(len(here), column.coded.other, np.int64)
    *texts, values = (pl.Series(t, dtype=pl.String) for t in zip(*column.map, strict=True))
    known = [k.coded.encode(t).astype(np.intp) for k, t in zip(keys, texts, strict=True)]
    cells, first = np.unique(np.ravel_multi_index(known, shape), return_index=True)
    value = column.coded.encode(values).astype(np.int64)[first]
    at = np.minimum(np.searchsorted(cells, here), len(cells) - 1)
    return np.where(cells[at] == here, value[at], column.coded.other)
