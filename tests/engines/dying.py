"""Models that executors of Spark draw from in tests: they must be importable there."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.errors import JobError
from hedgerow.model.base import AbstractModel, Expected
from hedgerow.public import Codes, Marginal


@dataclass(frozen=True)
class Dies(AbstractModel):
    """Ends its process, or fails, when it is first asked for its second shard; then draws as ``inner``."""

    inner: Any
    marker: Path
    wrong: Exception | None = None

    @property
    def total(self) -> int:  # type: ignore[override]
        return int(self.inner.total)

    def expected(self, question: Marginal) -> Expected:
        expected: Expected = self.inner.expected(question)
        return expected

    def draw(self, n: int, rng: np.random.Generator) -> Mapping[str, Codes]:
        drawn: Mapping[str, Codes] = self.inner.draw(n, rng)
        return drawn

    def draw_shard(self, part: Any, rng: np.random.Generator, over: Any = None) -> tuple[Mapping[str, Codes], Any]:
        if over is not None and not self.marker.exists():
            self.marker.touch()
            if self.wrong:
                raise self.wrong
            os._exit(1)
        drawn: tuple[Mapping[str, Codes], Any] = self.inner.draw_shard(part, rng, over)
        return drawn


TOLD = JobError("No drawn record satisfies the rules.")
