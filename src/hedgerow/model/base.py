"""What a recipe's answers become: whole records, people, private columns for given rows, or a table of counts."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.public import CareerCoding, CodedTable, Codes, Marginal, Schema

Expected = npt.NDArray[np.float64]
SHARD = 1 << 19
"""The most records that are drawn at a time."""
WAVE = 8
"""The most shards that are drawn without knowing of each other."""


def shards_of(total: int) -> int:
    """In how many shards so many records are drawn: a function of their number alone, never of the machine.

    >>> shards_of(1_000), shards_of(SHARD), shards_of(SHARD + 1)
    (1, 1, 2)
    """
    return max(-(-total // SHARD), 1)


def waves_of(shards: int) -> list[int]:
    """How many shards each wave has, ``WAVE`` at most, and fewer to the end: little is left that none makes up for.

    >>> waves_of(1), waves_of(20)
    ([1], [8, 6, 3, 2, 1])
    """
    found = list[int]()
    while left := shards - sum(found):
        found.append(min(WAVE, -(-left // 2)))
    return found


def shard_sizes(total: int, shards: int) -> list[int]:
    """How many records each shard has: they differ by one at most and add up to ``total``.

    >>> shard_sizes(11, 3)
    [3, 4, 4]
    """
    return [(total + i) // shards for i in range(shards)]


def row_ranges(rows: int, shards: int) -> list[tuple[int, int]]:
    """The first row of each shard, and that after its last.

    >>> row_ranges(11, 3)
    [(0, 3), (3, 7), (7, 11)]
    """
    return list(pairwise(accumulate(shard_sizes(rows, shards), initial=0)))


class AbstractModel(ABC):
    """A distribution over whole records, known without looking at the confidential table.

    Attributes:
        total: the estimated number of records, at least 1.
    """

    total: int

    @abstractmethod
    def expected(self, question: Marginal) -> Expected:
        """The counts the model expects, flat, last column fastest; they sum to ``total``."""

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> Mapping[str, Codes]:
        """``n`` coded records: the codes of every attribute of the schema."""

    def shards(self, rngs: Sequence[np.random.Generator]) -> Iterator[Any]:
        """What ``draw_shard`` is to be told of each of as many shards as there are generators: how many records."""
        return iter(shard_sizes(self.total, len(rngs)))

    def draw_shard(self, part: Any, rng: np.random.Generator, over: Any = None) -> tuple[Mapping[str, Codes], Any]:
        """One shard of ``total`` records, and what it is off by; shards may be drawn on different machines.

        What the shards of a wave are off by is added up, and divided among those of the next, which are told their
        part of it as ``over``, make up for it, and count it in.  None: this model's shards stand by themselves.
        """
        return self.draw(part, rng), None


class AbstractPeople(ABC):
    """Synthetic people with one record or more each, known without looking at the confidential table.

    Attributes:
        total: the estimated number of people, at least 1.
        starts: the model of their first records.
        schema: of first records: the columns of a record, and how far the last one is from it.
        coding: how records are coded.
        person: what the column that tells people apart is called.
    """

    total: int
    starts: AbstractModel
    schema: Schema
    coding: CareerCoding
    person: str

    @abstractmethod
    def expected(self, question: Marginal) -> Expected:
        """The people expected in the cells of a table of first records, flat, last column fastest."""

    @abstractmethod
    def go_on(
        self,
        first: Mapping[str, Codes],
        numbers: Mapping[str, Expected],
        span: npt.NDArray[np.int64],
        rng: np.random.Generator,
    ) -> tuple[npt.NDArray[np.int64], Mapping[str, Codes], Mapping[str, Expected]]:
        """The person of each record of people who begin so, person by person, its codes, and numbers that are known.

        ``numbers`` has those of the first records, NaN where there is none.
        """


class AbstractAttachment(ABC):
    """Private columns for given public rows, known without looking at the confidential table."""

    @abstractmethod
    def expected(self, question: Marginal) -> Expected:
        """The counts expected of the rows that were planned for, flat, last column fastest."""

    @abstractmethod
    def attach(self, target: CodedTable, rng: np.random.Generator) -> pl.DataFrame:
        """The rows of ``target``, in order, with synthetic private columns."""

    def shards(self, target: CodedTable, most: int) -> Sequence[tuple["AbstractAttachment", CodedTable]]:
        """Parts of the target in order, ``most`` at most, each with what is needed to attach to it and no more.

        In one, if it knows no better.
        """
        return [(self, target)]

    def sent(self, target: CodedTable) -> tuple["AbstractAttachment", CodedTable]:
        """A part as another machine is to get it: what is needed of it and of its rows. All, if it knows no better.

        Values of the target that stay here must be those that it would give them there.
        """
        return self, target

    def attach_shard(
        self, target: CodedTable, rng: np.random.Generator, over: Any = None
    ) -> tuple[pl.DataFrame, Any]:
        """The same as ``attach`` for a part, and what it is off by, as of ``AbstractModel.draw_shard``."""
        return self.attach(target, rng), None


class AbstractTabulation(ABC):
    """A synthetic table of counts, known without looking at the confidential table."""

    @abstractmethod
    def expected(self, question: Marginal) -> Expected:
        """The counts of a table within this one, flat, last column fastest."""

    @property
    @abstractmethod
    def copies(self) -> int | None:
        """How many copies of it there are: each was paid for; None: as many as one likes."""

    @abstractmethod
    def counts(self, rng: np.random.Generator, copy: int = 0) -> pl.DataFrame:
        """One row per cell: a column per label column, ``count``, and its interval where there is one."""

    @abstractmethod
    def margins(self, counts: pl.DataFrame) -> pl.DataFrame:
        """The margins of ``counts``, in the same form; a column that is summed over says so."""


Fitted = AbstractModel | AbstractPeople | AbstractAttachment | AbstractTabulation
