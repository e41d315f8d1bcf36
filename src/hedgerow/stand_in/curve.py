"""What a rehearsal found: the errors of every run of every use, by epsilon, and the least epsilon that will do."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from hedgerow.figures import table_html
from hedgerow.uses import AbstractUse, Verdict

FORMAT = "hedgerow-rehearsal/1"
_TENTH = 1.2816
"""One run in ten is this many standard deviations above the mean, where runs vary as the normal law does."""


@final
@dataclass(frozen=True)
class Point:
    """The runs at one epsilon: a verdict per use, in the order of the uses."""

    epsilon: Fraction
    verdicts: tuple[Verdict, ...]

    @property
    def met(self) -> bool:
        """Whether no tolerance is missed in nine runs of ten."""
        return all(v.met is not False for v in self.verdicts)


@final
@dataclass(frozen=True, repr=False)
class Rehearsal:
    """The whole job on its public table, at several epsilons.

    Attributes:
        key: the hash of all that was rehearsed but epsilon, to recognise the job by.
        recipe: its name.
        epsilon: the job's own.
        delta: of every run.
        runs: at each epsilon.
        rows: that the confidential table is assumed to have.
        parts: how many public rows played the confidential table, and how many its relative, about.
        points: what was found, epsilon rising.
    """

    key: str
    recipe: str
    epsilon: Fraction
    delta: Fraction
    runs: int
    rows: int
    parts: tuple[int, int]
    points: tuple[Point, ...]

    @property
    def uses(self) -> tuple[AbstractUse, ...]:
        """What was judged."""
        return tuple(v.use for v in self.points[0].verdicts)

    @property
    def smallest(self) -> Fraction | None:
        """The least epsilon tried at which, and above which, every tolerance is met; None when there is none."""
        return _least([p.epsilon for p in self.points], [p.met for p in self.points])

    def smallest_for(self, use: int) -> Fraction | None:
        """The same for one use."""
        return _least([p.epsilon for p in self.points], [p.verdicts[use].met is not False for p in self.points])

    def at(self, epsilon: Fraction) -> Point | None:
        """What was found at an epsilon; None when it was not tried."""
        return next((p for p in self.points if p.epsilon == epsilon), None)

    @property
    def here(self) -> Point:
        """What was found at the job's own epsilon."""
        found = self.at(self.epsilon)
        assert found is not None, "the job's own epsilon is always tried"
        return found

    def __repr__(self) -> str:
        least = "none that was tried" if self.smallest is None else f"{float(self.smallest):g}"
        return f"Rehearsal({self.recipe}: {len(self.points)} epsilons, {self.runs} runs each; least to do: {least})"

    def _repr_html_(self) -> str:
        head = ("mean error of", "tolerance", *(f"epsilon {float(p.epsilon):g}" for p in self.points))
        columns = [[v.shown for v in p.verdicts] for p in self.points]
        rows = [(use.name, columns[0][i][1], *(c[i][0] for c in columns)) for i, use in enumerate(self.uses)]
        return table_html(repr(self), head, rows)

    def to_json(self) -> dict[str, Any]:
        """The rehearsal as plain data."""
        least = self.smallest
        return {
            "format": FORMAT,
            "key": self.key,
            "recipe": self.recipe,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "runs": self.runs,
            "assumed_rows": self.rows,
            "parts": list(self.parts),
            "smallest_epsilon": None if least is None else float(least),
            "met": self.here.met,
            "points": [{"epsilon": str(p.epsilon), "uses": [v.to_json() for v in p.verdicts]} for p in self.points],
            "confidential_rows_read": 0,
            "cost": 0,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Rehearsal":
        """The rehearsal that ``to_json`` wrote down; ``ValueError`` or ``KeyError`` when it is none."""
        if data["format"] != FORMAT:
            raise ValueError(FORMAT)
        points = tuple(
            Point(Fraction(p["epsilon"]), tuple(Verdict.from_json(u) for u in p["uses"])) for p in data["points"]
        )
        return cls(
            key=str(data["key"]),
            recipe=str(data["recipe"]),
            epsilon=Fraction(data["epsilon"]),
            delta=Fraction(data["delta"]),
            runs=int(data["runs"]),
            rows=int(data["assumed_rows"]),
            parts=(int(data["parts"][0]), int(data["parts"][1])),
            points=points,
        )


def _least(epsilons: Sequence[Fraction], met: Sequence[bool]) -> Fraction | None:
    least = None
    for epsilon, good in zip(reversed(epsilons), reversed(met), strict=True):
        if not good:
            return least
        least = epsilon
    return least


def band(errors: Sequence[float]) -> tuple[float, float]:
    """Below the first lie about one run in ten, below the second nine, by the mean and spread of these runs."""
    mean, sd = float(np.mean(errors)), float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0
    return max(0.0, mean - _TENTH * sd), mean + _TENTH * sd
