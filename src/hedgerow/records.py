"""Synthetic data from what a recipe made of its answers: records, private columns on given rows, or counts.

Records come in shards.  Their number depends on that of the records alone, each has a generator of its own, and one
is in memory at a time: any number of records can be drawn, and a file is the same on every machine.  They come in
waves: shards of one wave know nothing of each other, so that an engine may draw them on several machines, and make up
for what those of the waves before are off by; the last shard is a wave by itself.

A record that breaks a structural zero or a rule is drawn again from the model; the confidential rows are not asked.
The seed here is harmless: the model is already public.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, final, runtime_checkable

import numpy as np
import polars as pl

from hedgerow.errors import JobError
from hedgerow.model.base import (
    AbstractAttachment,
    AbstractModel,
    AbstractPeople,
    AbstractTabulation,
    Fitted,
    shard_sizes,
    shards_of,
    waves_of,
)
from hedgerow.public import (
    BINNED,
    SPAN,
    Codes,
    PublicData,
    RecordFile,
    Schema,
    Table,
    decode,
    known_numbers,
    violations,
    write_pieces,
)

_ROUNDS = 30


@runtime_checkable
class DrawsCodes(Protocol):
    """Whatever coded records can be drawn from: a fitted model, or a made-up one."""

    def draw(self, n: int, rng: np.random.Generator) -> Mapping[str, Codes]:
        """``n`` coded records: the codes of every attribute of a schema."""


def draw_records(model: DrawsCodes, schema: Schema, n: int, rng: np.random.Generator) -> pl.DataFrame:
    """``n`` synthetic records with the columns and types of the original file."""
    return _allowed(model.draw(n, rng), model, schema, rng)


def _allowed(drawn: Mapping[str, Codes], model: DrawsCodes, schema: Schema, rng: np.random.Generator) -> pl.DataFrame:
    """As many records as were ``drawn``, decoded.

    Rejection sampling for those that break a rule, at most ``30`` rounds; what is still wrong then is replaced by
    copies of records that are right.
    """
    frame = decode(schema, drawn, rng)
    n = len(frame)
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
            "The noisy answers are saved; after the correction continue at no cost with --resume (in Python:\n"
            "job.run(..., resume=True))."
        )
    return pl.concat([good, good[rng.integers(0, len(good), n - len(good))]])


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
    if isinstance(fitted, AbstractTabulation):
        return Copy(fitted.counts(rng, copy), counted=True)
    return Copy(pl.concat(draw_shards(fitted, public, rng)))


Work = Callable[[tuple[Any, ...]], tuple[pl.DataFrame, Any]]
Spread = Callable[[Work, Iterable[tuple[Any, ...]]], Iterable[tuple[pl.DataFrame, Any]]]
"""Carries work out on some values, here or on many machines, and gives the results in order, as ``map`` does."""


def draw_shards(
    fitted: AbstractModel | AbstractPeople | AbstractAttachment,
    public: PublicData,
    rng: np.random.Generator,
    spread: Spread = map,
) -> Iterator[pl.DataFrame]:
    """One synthetic copy of records, shard by shard; the generators of several shards are made by ``rng``."""
    parts, streams, work = iter(()), [rng], _attached  # type: tuple[Iterator[Any], list[np.random.Generator], Work]
    if isinstance(fitted, AbstractModel):
        streams, work = _streams(rng, shards_of(fitted.total)), partial(_drawn, fitted, public.schema)
        parts = ((part,) for part in fitted.shards(streams))
    elif isinstance(fitted, AbstractPeople):
        sizes = shard_sizes(fitted.total, shards_of(fitted.total))
        streams, work = _streams(rng, len(sizes)), partial(_people, fitted, public.schema)
        parts = ((n, end - n) for n, end in zip(sizes, np.cumsum(sizes).tolist(), strict=True))
    elif not isinstance(fitted, AbstractAttachment):
        raise JobError(
            "A recipe's fit must return an AbstractModel, an AbstractAttachment or an AbstractTabulation; this one\n"
            f"returned a {type(fitted).__name__}. Correct it. If a run had begun, its answers are kept: go on with\n"
            "--resume (in Python: job.run(..., resume=True)) at no cost."
        )
    elif public.target is None:
        raise JobError(
            "This recipe writes columns onto given rows: name them with [target] table = '...' (in\n"
            "Python: target=Target(...))."
        )
    else:
        streams = _streams(rng, shards_of(public.target.rows))
        found = fitted.shards(public.target, len(streams))
        parts, streams = iter(found), streams[: len(found)]
    spread, over = spread if len(streams) > 1 else map, None
    tasks = ((*part, stream) for part, stream in zip(parts, streams, strict=True))
    for size in waves_of(len(streams)):
        share, over = None if over is None else over / size, None
        wave = ((*task, share) for task in islice(tasks, size))
        elsewhere = work is _attached and spread is not map
        for frame, off in _joined(spread, [*wave]) if elsewhere else spread(work, wave):
            over = off if over is None else over + off
            yield frame


def _drawn(model: AbstractModel, schema: Schema, task: tuple[Any, ...]) -> tuple[pl.DataFrame, Any]:
    """A shard of records, by its part, its stream and what it is to make up for; and what it is off by."""
    codes, off = model.draw_shard(*task)
    return _allowed(codes, model, schema, task[1]), off


def _attached(task: tuple[Any, ...]) -> tuple[pl.DataFrame, Any]:
    """A shard of rows with attached columns, by what attaches, the rows, the stream and what it is to make up for."""
    attachment, *rest = task
    frame, off = attachment.attach_shard(*rest)
    return frame, off


def _made(task: tuple[Any, ...]) -> tuple[pl.DataFrame, Any]:
    """The columns of such a shard that are not its target's own; the names of all, and what it is off by."""
    frame, off = _attached(task)
    rows = task[1].frame
    own = [n for n in frame.columns if n in rows.columns and frame[n].dtype == rows[n].dtype]
    return frame.drop([n for n in own if frame[n].equals(rows[n])]), (frame.columns, off)


def _joined(spread: Spread, tasks: Sequence[tuple[Any, ...]]) -> Iterator[tuple[pl.DataFrame, Any]]:
    """Shards whose columns other machines attach: they send these, and the given ones are taken from here."""
    sent = [(*attachment.sent(rows), *rest) for attachment, rows, *rest in tasks]
    for (_, rows, *_), (_, told, *_), (made, (names, off)) in zip(tasks, sent, spread(_made, sent), strict=True):
        order = [c.name for c in rows.schema.columns] if told.away else names
        yield pl.DataFrame([made[n] if n in made.columns else rows.frame[n] for n in order]), off


def _people(fitted: AbstractPeople, schema: Schema, task: tuple[Any, ...]) -> tuple[pl.DataFrame, Any]:
    """A shard of people with all of their records, by how many, how many come before, and the stream.

    A value that stays in its cell from one record to the next stays what it is.  Who has a record that breaks a zero
    or a rule goes on anew; if that does not help, from another first record that can.
    """
    n, before, rng, _ = task
    starts = draw_records(fitted.starts, fitted.schema, n, rng)
    span = starts[SPAN].cast(pl.Int64).to_numpy()
    names = [c.name for c in schema.columns]
    first = schema.coding.encode(starts, names)
    numbers = {c.name: known_numbers(c, starts[c.name]) for c in schema.columns if c.kind in BINNED}
    frame, who = _careers(fitted, schema, first, numbers, span, rng)
    for turn in range(_ROUNDS if schema.zeros or schema.rules else 0):
        bad = np.unique(who[violations(schema, frame).to_numpy()])
        if not len(bad):
            break
        good = np.setdiff1d(np.arange(n), bad)
        late = turn >= _ROUNDS // 2 and len(good) > 0  # they begin as somebody else did
        begin = good[rng.integers(0, len(good), len(bad))] if late else bad
        still = span[begin] if turn < _ROUNDS - 1 else np.zeros(len(bad), np.int64)  # at last: the first record alone
        codes, values = ({c: v[begin] for c, v in held.items()} for held in (first, numbers))
        again, whose = _careers(fitted, schema, codes, values, still, rng)
        kept = np.isin(who, good)
        who = np.concatenate([who[kept], bad[whose]])
        order = np.argsort(who, kind="stable")
        frame, who = pl.concat([frame.filter(pl.Series(kept)), again])[order], who[order]
    return pl.DataFrame({fitted.person: who + before + 1}).hstack(frame), None


def _careers(
    fitted: AbstractPeople,
    schema: Schema,
    first: Mapping[str, Codes],
    numbers: Mapping[str, Any],
    span: Any,
    rng: np.random.Generator,
) -> tuple[pl.DataFrame, Any]:
    """All records of people who begin so, decoded, and the person of each."""
    who, codes, given = fitted.go_on(first, numbers, span, rng)
    frame = decode(schema, schema.coding.join(codes, schema.attributes), rng, given=given)
    begins, rows, kept = np.diff(who, prepend=-1) != 0, np.arange(len(who)), []
    for name, code in schema.coding.encode(frame, frame.columns).items():
        fresh = begins | (np.diff(code.astype(np.int64), prepend=-1) != 0) | ~np.isnan(given.get(name, np.nan))
        kept.append(frame[name].gather(np.maximum.accumulate(np.where(fresh, rows, 0))))
    return pl.DataFrame(kept), who


def _streams(rng: np.random.Generator, shards: int) -> list[np.random.Generator]:
    return [rng] if shards == 1 else rng.spawn(shards)


T_co = TypeVar("T_co", bound=Table, covariant=True)


@final
@dataclass(frozen=True)
class Copies(Generic[T_co]):
    """Synthetic data: copies of records, in memory or in files, or of a table of counts."""

    records: tuple[T_co, ...] = ()
    counts: tuple[pl.DataFrame, ...] = ()
    margins: tuple[pl.DataFrame, ...] = ()


def draw_copies(fitted: Fitted, public: PublicData, *, copies: int, seed: int) -> Copies[pl.DataFrame]:
    """Synthetic copies, each with a generator of its own, so that more of them never change the first ones."""
    made = [draw_one(fitted, public, rng, copy) for copy, rng in _generators(fitted, copies, seed)]
    counts = tuple(c.frame for c in made if c.counted)
    return Copies(tuple(c.frame for c in made if not c.counted), counts, _margins(fitted, counts))


def write_copies(
    fitted: Fitted,
    public: PublicData,
    folder: Path,
    *,
    copies: int,
    seed: int,
    watch: Callable[[str], None] = lambda phase: None,
    spread: Spread = map,
) -> Copies[RecordFile]:
    """The same copies; records are written to ``folder`` as they are drawn, with one shard in memory at a time.

    ``spread`` says who draws the shards; the files do not depend on it.
    """
    n, records, counts = copies_of(fitted, copies), list[RecordFile](), list[pl.DataFrame]()
    for copy, rng in _generators(fitted, copies, seed):
        watch("drawing synthetic data" + f", copy {copy + 1} of {n}" * (n > 1))
        if isinstance(fitted, AbstractTabulation):
            counts.append(fitted.counts(rng, copy))
            continue
        records.append(RecordFile(folder / f"drawn-{copy + 1}.parquet"))
        write_pieces(draw_shards(fitted, public, rng, spread), records[-1].path)
    return Copies(tuple(records), tuple(counts), _margins(fitted, counts))


def _generators(fitted: Fitted, copies: int, seed: int) -> Iterator[tuple[int, np.random.Generator]]:
    """Every copy with its generator."""
    for copy in range(copies_of(fitted, copies)):
        yield copy, np.random.default_rng([seed, copy])


def _margins(fitted: Fitted, counts: Sequence[pl.DataFrame]) -> tuple[pl.DataFrame, ...]:
    return tuple(fitted.margins(c) for c in counts[:1]) if isinstance(fitted, AbstractTabulation) else ()
