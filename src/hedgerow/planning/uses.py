"""Intended uses: what the release must get right, and the tolerance a steward states for it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Use:
    """One thing the file must get right.

    Attributes:
        name: what people call it.
        columns: the table of counts that matters.
        tolerance: the largest error that is still good enough.
        within: ``total-variation``: half the summed difference of shares; ``relative``: the typical relative
            error of the cells that hold at least ``cell_size`` rows.
        cell_size: for ``relative``, how small a cell may be.
    """

    name: str
    columns: tuple[str, ...]
    tolerance: float
    within: Literal["total-variation", "relative"] = "total-variation"
    cell_size: int = 0


@dataclass(frozen=True)
class Verdict:
    """How one use fares under a plan, from noise scales and public knowledge alone.

    Attributes:
        use: the use that is judged.
        error: the expected error, in the terms of the use.
        like_sample: the release is about as good for this use as a sample of this share of the rows.
        note: what the figure rests on, or why it cannot be given.
    """

    use: Use
    error: float | None
    like_sample: float | None
    note: str

    @property
    def met(self) -> bool | None:
        """Whether the expected error is within the tolerance; None when it cannot be judged."""
        return None if self.error is None else self.error <= self.use.tolerance
