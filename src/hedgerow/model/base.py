"""What a recipe's answers become: whole records, private columns for given rows, or a table of counts."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.public import CodedTable, Codes, Marginal

Expected = npt.NDArray[np.float64]
SHARD = 1 << 19
"""The most records that are drawn at a time."""


def shards_of(total: int) -> int:
    """In how many shards so many records are drawn: a function of their number alone, never of the machine.

    >>> shards_of(1_000), shards_of(SHARD), shards_of(SHARD + 1)
    (1, 1, 2)
    """
    return max(-(-total // SHARD), 1)


def shard_sizes(total: int, shards: int) -> list[int]:
    """How many records each shard has: they differ by one at most and add up to ``total``.

    >>> shard_sizes(11, 3)
    [3, 4, 4]
    """
    return [(total + i) // shards for i in range(shards)]


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

    def draw_shards(self, rngs: Sequence[np.random.Generator]) -> Iterator[Mapping[str, Codes]]:
        """``total`` records in as many shards as there are generators, each drawn with its own.

        One shard is in memory at a time.  Here each has the expectations of the whole by itself; a model that can
        lets a shard make up for what those before it are off by.
        """
        for size, rng in zip(shard_sizes(self.total, len(rngs)), rngs, strict=True):
            yield self.draw(size, rng)


class AbstractAttachment(ABC):
    """Private columns for given public rows, known without looking at the confidential table."""

    @abstractmethod
    def expected(self, question: Marginal) -> Expected:
        """The counts expected of the rows that were planned for, flat, last column fastest."""

    @abstractmethod
    def attach(self, target: CodedTable, rng: np.random.Generator) -> pl.DataFrame:
        """The rows of ``target``, in order, with synthetic private columns."""

    def attach_shards(self, target: CodedTable, rngs: Sequence[np.random.Generator]) -> Iterator[pl.DataFrame]:
        """The same in as many shards as there are generators, one after another; in one, if it knows no better."""
        yield self.attach(target, rngs[0])


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


Fitted = AbstractModel | AbstractAttachment | AbstractTabulation
