"""Synthetic data from what a recipe made of its answers: records, private columns on given rows, or counts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import polars as pl

from hedgerow.errors import JobError
from hedgerow.model.base import AbstractModel, AbstractTabulation, Fitted
from hedgerow.public.table import PublicData
from hedgerow.records.draw import draw_records


@final
@dataclass(frozen=True, eq=False)
class Copy:
    """One synthetic copy: ``frame`` has a row per record, or, of counts, a row per cell and a column ``count``."""

    frame: pl.DataFrame
    counted: bool = False


def copies_of(fitted: Fitted, asked: int) -> int:
    """How many copies there are when so many are asked for; a table whose every copy was paid for has no others."""
    if not isinstance(fitted, AbstractTabulation) or fitted.copies is None:
        return asked
    if asked not in (1, fitted.copies):
        raise JobError(
            f"This table was drawn in {fitted.copies} copies, each paid for; you ask for {asked}. A draw\n"
            "is not repeated for free: write copies = ... in the recipe's own part of a new job.\n"
            "Nothing confidential was read or spent."
        )
    return fitted.copies


def draw_one(fitted: Fitted, public: PublicData, rng: np.random.Generator, copy: int = 0) -> Copy:
    """One synthetic copy of what the model, the attachment or the table of counts stands for."""
    if isinstance(fitted, AbstractModel):
        return Copy(draw_records(fitted, public.schema, fitted.total, rng))
    if isinstance(fitted, AbstractTabulation):
        return Copy(fitted.counts(rng, copy), counted=True)
    if public.target is None:
        raise JobError("This recipe writes columns onto given rows: name them with [target] table = '...'.")
    return Copy(fitted.attach(public.target, rng))


@final
@dataclass(frozen=True)
class Drawn:
    """Synthetic data: copies of records, or of a table of counts."""

    records: tuple[pl.DataFrame, ...] = ()
    counts: tuple[pl.DataFrame, ...] = ()
    margins: tuple[pl.DataFrame, ...] = ()


def draw_copies(
    fitted: Fitted, public: PublicData, *, copies: int, seed: int, watch: Callable[[str], None] = lambda phase: None
) -> Drawn:
    """Synthetic copies, each with a generator of its own, so that more of them never change the first ones."""
    made, n = [], copies_of(fitted, copies)
    for copy in range(n):
        watch("drawing synthetic data" + f", copy {copy + 1} of {n}" * (n > 1))
        made.append(draw_one(fitted, public, np.random.default_rng([seed, copy]), copy))
    counts = tuple(c.frame for c in made if c.counted)
    margins = tuple(fitted.margins(c) for c in counts[:1]) if isinstance(fitted, AbstractTabulation) else ()
    return Drawn(tuple(c.frame for c in made if not c.counted), counts, margins)
