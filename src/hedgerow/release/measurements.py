"""Noisy answers on disk: ``measurements.parquet``, one row per cell.

    request   position of the request among the events of the statement
    question  the columns that were crossed, as a JSON list; ``[]`` is the number of rows.  Otherwise an object:
              ``columns``; ``tree``, whose leaves are crossed with them: its columns, leaves and sha256; ``only``
    cell      position of the cell, last column fastest
    count     the noisy count; it may be negative
    law       laplace, gaussian or urn
    scale     the exact scale of the noise (of an urn, its least prior weight), a whole number or a fraction in text

Equal answers give equal bytes.  The file is published with the release.
"""

import json
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.answers import Reply
from hedgerow.errors import JobError, VerifyFailed
from hedgerow.public import (
    LAWS,
    Marginal,
    Measurement,
    Noise,
    question_from_json,
    question_to_json,
)
from hedgerow.release.manifest import write_whole

Answers = tuple[tuple[int, Measurement], ...]
_COLUMNS = {
    "request": pl.UInt32,
    "question": pl.String,
    "cell": pl.UInt64,
    "count": pl.Int64,
    "law": pl.String,
    "scale": pl.String,
}
_HEAD = ("request", "question", "law", "scale")
_FRACTION = re.compile(r"[0-9]{1,1000}(/[0-9]{1,1000})?")
_ROWS = 1 << 20


def save(path: Path | str, answers: Sequence[tuple[int, Measurement]]) -> None:
    """Write ``answers`` to ``path``; when this returns they survive a power cut."""
    frame = as_frame(answers)
    write_whole(
        Path(path),
        lambda file: frame.write_parquet(file, compression="zstd", compression_level=3, row_group_size=_ROWS),
    )


def as_frame(answers: Sequence[tuple[int, Measurement]]) -> pl.DataFrame:
    """The answers in long form, one row per cell, in the order they are given."""
    for request, m in answers:
        if m.counts.ndim != 1 or m.counts.dtype != np.int64 or not len(m.counts) or not 0 <= request < 2**32:
            raise JobError(
                f"The answer to {m.question} cannot be kept: it must be one whole number per cell,\n"
                "at least one, and name its request. This is a fault of the recipe; nothing was written."
            )
    sizes = np.array([len(m.counts) for _, m in answers], np.int64)
    which = np.repeat(np.arange(len(answers), dtype=np.uint32), sizes)
    head = pl.DataFrame(
        {
            "request": [request for request, _ in answers],
            "question": [json.dumps(question_to_json(m.question), ensure_ascii=False) for _, m in answers],
            "law": [m.noise.law for _, m in answers],
            "scale": [str(m.noise.scale) for _, m in answers],
        },
        schema={name: _COLUMNS[name] for name in _HEAD},
    )
    counts = np.concatenate([m.counts for _, m in answers]) if answers else np.zeros(0, np.int64)
    cells = np.arange(len(counts)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    long = head[which].with_columns(cell=pl.Series(cells, dtype=pl.UInt64), count=pl.Series(counts))
    return long.select(list(_COLUMNS))


def load(path: Path | str) -> Answers:
    """The answers in ``path``, as they were saved; fails loudly on anything else."""
    path = Path(path)
    try:
        return loads(path.read_bytes(), path.name)
    except OSError as wrong:
        raise VerifyFailed(f"{path.name} cannot be read: {wrong.strerror}.") from None


def loads(data: bytes, name: str = "measurements.parquet") -> Answers:
    """The answers in the bytes of a file that messages call ``name``."""
    try:
        frame = pl.read_parquet(data, use_pyarrow=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise VerifyFailed(f"{name} is not a Parquet file, or it is damaged.") from None
    if dict(frame.schema) != _COLUMNS:
        raise VerifyFailed(f"{name} must have the columns {', '.join(_COLUMNS)}, and no other.")
    if any(frame.null_count().row(0)):
        raise VerifyFailed(f"{name} has empty fields.")
    return _split(name, frame)


def _split(name: str, frame: pl.DataFrame) -> Answers:
    """One answer wherever a cell 0 stands; between two of them nothing but the count may change."""
    cells, counts = frame["cell"].to_numpy(), frame["count"].to_numpy()
    starts = np.flatnonzero(cells == 0)
    if len(cells) and (not len(starts) or starts[0] != 0 or not _are_runs(cells, starts)):
        raise VerifyFailed(f"{name} does not list the cells of each answer once, in order, from 0.")
    if not set(_changes(frame)) <= set(starts.tolist()):
        raise VerifyFailed(f"{name} changes request, question, law or scale in the middle of an answer.")
    heads = frame.select(_HEAD)[starts].rows()
    parts = np.split(counts.copy(), starts[1:]) if len(starts) else []
    return tuple(
        (request, Measurement(_question(name, text), part, _noise(name, law, scale)))
        for (request, text, law, scale), part in zip(heads, parts, strict=True)
    )


def _are_runs(cells: npt.NDArray[np.uint64], starts: npt.NDArray[np.intp]) -> bool:
    sizes = np.diff(np.append(starts, len(cells)))
    return bool((np.arange(len(cells)) - np.repeat(starts, sizes) == cells).all())


def _changes(frame: pl.DataFrame) -> list[int]:
    """The rows whose request, question, law or scale is not that of the row before."""
    moved = frame.select(pl.any_horizontal((pl.col(c) != pl.col(c).shift()).fill_null(False) for c in _HEAD))
    return moved.to_series().arg_true().to_list()


def _question(name: str, text: str) -> Marginal:
    try:
        return question_from_json(json.loads(text))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise VerifyFailed(f"{name} has a question that is not a list of column names.") from None


def _noise(name: str, law: str, scale: str) -> Noise:
    if law not in LAWS or not _FRACTION.fullmatch(scale):
        raise VerifyFailed(f"{name} has a law or a scale of noise that does not exist.")
    try:
        return Noise(law, Fraction(scale))  # type: ignore[arg-type]
    except ZeroDivisionError:
        raise VerifyFailed(f"{name} has a scale of noise that is not a number.") from None


def flatten(record: Sequence[Reply]) -> tuple[tuple[int, Measurement], ...]:
    """The measured tables of a record, each with the position of its request."""
    return tuple((i, m) for i, a in enumerate(record) for m in a.measurements)
