"""Synthetic data from what a recipe made of its answers: records, private columns on given rows, or counts."""

from dataclasses import dataclass
from typing import final

import numpy as np
import polars as pl

from hedgerow.errors import JobError
from hedgerow.model.base import AbstractModel, AbstractTabulation, Fitted
from hedgerow.recipes import PublicData
from hedgerow.records.draw import draw_records


@final
@dataclass(frozen=True, eq=False)
class Copy:
    """One synthetic copy: ``frame`` has a row per record, or, of counts, a row per cell and a column ``count``."""

    frame: pl.DataFrame
    counted: bool = False


def draw_one(fitted: Fitted, public: PublicData, rng: np.random.Generator) -> Copy:
    """One synthetic copy of what the model, the attachment or the table of counts stands for."""
    if isinstance(fitted, AbstractModel):
        return Copy(draw_records(fitted, public.schema, fitted.total, rng))
    if isinstance(fitted, AbstractTabulation):
        return Copy(fitted.counts(rng), counted=True)
    if public.target is None:
        raise JobError("This recipe writes columns onto given rows: name them with [target] table = '...'.")
    return Copy(fitted.attach(public.target, rng))
