"""What every model can do."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from hedgerow.public.coding import Codes
from hedgerow.public.question import Marginal

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
