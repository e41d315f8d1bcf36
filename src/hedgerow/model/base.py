"""What a recipe's answers become: whole records, private columns for given rows, or a table of counts."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.public import CodedTable, Codes, Marginal

Expected = npt.NDArray[np.float64]


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


class AbstractAttachment(ABC):
    """Private columns for given public rows, known without looking at the confidential table."""

    @abstractmethod
    def expected(self, question: Marginal) -> Expected:
        """The counts expected of the rows that were planned for, flat, last column fastest."""

    @abstractmethod
    def attach(self, target: CodedTable, rng: np.random.Generator) -> pl.DataFrame:
        """The rows of ``target``, in order, with synthetic private columns."""


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
