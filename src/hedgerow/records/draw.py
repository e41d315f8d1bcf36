"""Synthetic records: drawn from a model, decoded, and made to obey the schema's rules.

A record that breaks a structural zero or a rule is drawn again from the model; the confidential rows are
not asked.  The seed here is harmless: the model is already public.
"""

import numpy as np
import polars as pl

from hedgerow.errors import JobError
from hedgerow.model.base import AbstractModel
from hedgerow.public.schema import Schema, decode, violations

_ROUNDS = 30


def draw_records(model: AbstractModel, schema: Schema, n: int, rng: np.random.Generator) -> pl.DataFrame:
    """``n`` synthetic records with the columns and types of the original file.

    Rejection sampling for the records that break a rule, at most ``30`` rounds; what is still wrong then
    is replaced by copies of records that are right.
    """
    frame = decode(schema, model.draw(n, rng), rng)
    if not (schema.zeros or schema.rules):
        return frame
    for _ in range(_ROUNDS):
        bad = violations(schema, frame)
        if not bad.any():
            return frame
        good = frame.filter(~bad)
        fresh = decode(schema, model.draw(int(bad.sum()), rng), rng)
        frame = pl.concat([good, fresh])
        frame = frame[rng.permutation(len(frame))] if len(frame) else frame
    good = frame.filter(~violations(schema, frame))
    if not len(good):
        raise JobError(
            "No drawn record satisfies the structural zeros and rules of the schema: they exclude nearly\n"
            "everything that the measured tables allow. Check [[zero]] and [[rule]]. "
            "The noisy answers are saved; after the correction continue with --resume at no cost."
        )
    return pl.concat([good, good[rng.integers(0, len(good), n - len(good))]])
