"""Estimates with intervals: what is said of a figure, how wide, and why it is as wide as that."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite, sqrt
from statistics import NormalDist
from typing import Any, final

from hedgerow.errors import JobError
from hedgerow.figures import aligned, small, table_html

PARTS = ("sampling", "noise", "recipe", "drawing")
"""Chance that made the confidential rows; the gate's noise; what the recipe, or the use made of its answers, leaves
out; and the drawing of records, where the figure is read off records."""
_CANNOT = "This release cannot tell"


@final
@dataclass(frozen=True)
class Estimate:
    """One figure with its interval, or why there is none.

    Attributes:
        name: what is estimated.
        group: the cell or group; empty when there is one figure.
        estimate: None when the release cannot tell.
        low, high: the interval.
        level: its nominal level.
        parts: for each of ``PARTS``, half the width that the interval would have from that part alone.
        basis: what it rests on; or, without an estimate, why and what to do.
        in_file: the same figure worked out from the released file.
    """

    name: str
    group: str
    estimate: float | None
    low: float | None
    high: float | None
    level: float
    parts: Mapping[str, float] = field(default_factory=dict)
    basis: str = ""
    in_file: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The estimate as plain data."""
        return {
            "name": self.name,
            "group": self.group,
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "parts": {p: self.parts.get(p, 0.0) for p in PARTS} if self.estimate is not None else None,
            "basis": self.basis,
            "in_file": self.in_file,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Estimate":
        """The estimate that ``to_json`` wrote; a ValueError where it is none.

        >>> one = refused("pay", "F", 0.95, "too few rows")
        >>> Estimate.from_json(one.to_json()) == one
        True
        """
        numbers = [data[k] for k in ("estimate", "low", "high", "in_file")]
        parts = dict(data["parts"] or {})
        known = [data["level"], *parts.values(), *(x for x in numbers if x is not None)]
        texts = [data[k] for k in ("name", "group", "basis")]
        if not all(type(x) in (int, float) and isfinite(x) for x in known) or not all(type(t) is str for t in texts):
            raise ValueError("an estimate has numbers and texts")
        if set(parts) not in (set(), set(PARTS)) or len({x is None for x in numbers[:3]}) > 1:
            raise ValueError("an estimate has an interval with all its parts, or none")
        name, group, basis = texts
        estimate, low, high, in_file = numbers
        return cls(name, group, estimate, low, high, data["level"], parts, basis, in_file)


def with_interval(
    name: str,
    group: str,
    value: float,
    deviations: Mapping[str, float],
    *,
    level: float,
    basis: str,
    in_file: float | None = None,
    bounds: tuple[float, float] = (-inf, inf),
) -> Estimate:
    """The estimate ``value`` with a normal interval from the standard deviation of each part.

    Noise may put a share below 0: then the interval is that of 0, and never a point or empty.

    >>> made = with_interval("x", "", 10.0, {"sampling": 3.0, "noise": 4.0}, level=0.95, basis="")
    >>> round(made.low, 2), round(made.high, 2), round(made.parts["noise"], 2)
    (0.2, 19.8, 7.84)
    >>> below = with_interval("x", "", -3.0, {"noise": 1.0}, level=0.95, basis="", bounds=(0.0, 1.0))
    >>> below.estimate, below.low, below.high
    (0.0, 0.0, 1.0)
    """
    z = normal(level)
    half = z * sqrt(sum(d * d for d in deviations.values()))
    if not (isfinite(value) and isfinite(half)):
        return refused(name, group, level, "its rows are too few to tell", in_file)
    inside = min(max(value, bounds[0]), bounds[1])
    low, high = max(inside - half, bounds[0]), min(inside + half, bounds[1])
    parts = {p: z * deviations.get(p, 0.0) for p in PARTS}
    return Estimate(name, group, inside, low, high, level, parts, basis, in_file)


def refused(name: str, group: str, level: float, why: str, in_file: float | None = None) -> Estimate:
    """No estimate, and why."""
    return Estimate(name, group, None, None, None, level, {}, f"{_CANNOT}: {why}.", in_file)


def normal(level: float) -> float:
    """Half the width of an interval of this level, in standard deviations."""
    if not isinstance(level, float) or not 0 < level < 1:
        raise JobError(f"level is {level!r}; it must lie between 0 and 1, such as 0.95. Nothing was read or spent.")
    return NormalDist().inv_cdf((1 + level) / 2)


@final
class EstimateTable(tuple[Estimate, ...]):
    """Estimates of uses or questions, one for each cell or group; shown as a table for each use."""

    __slots__ = ()

    @property
    def head(self) -> tuple[str, ...]:
        """What stands above ``rows``."""
        level = f"{100 * self[0].level:g} %" if self else ""
        return ("", "estimate", f"{level} from", "to", *(f"± {p}" for p in PARTS), "in the file")

    def rows(self) -> list[tuple[str, ...]]:
        """A line for each."""
        found = []
        for e in self:
            figures = [small(x) for x in (e.estimate, e.low, e.high)]
            parts = [small(e.parts.get(p, 0.0)) if e.estimate is not None else "" for p in PARTS]
            found.append((e.group or e.name, *figures, *parts, small(e.in_file)))
        return found

    @property
    def by_name(self) -> dict[str, "EstimateTable"]:
        """The estimates of each use or question by itself."""
        found: dict[str, list[Estimate]] = {}
        for e in self:
            found.setdefault(e.name, []).append(e)
        return {name: EstimateTable(group) for name, group in found.items()}

    @property
    def in_short(self) -> str:
        """All of them in a few words: the interval if there is one figure, or how many have one."""
        told = [e for e in self if e.estimate is not None]
        if len(self) == 1 and told:
            return f"{small(told[0].estimate)} ({small(told[0].low)} to {small(told[0].high)})"
        if not told:
            refusals = [e for e in self if e.basis.startswith(_CANNOT)]
            return "cannot tell" if refusals else "hedgerow estimate says" if self else ""
        return f"{len(told):,} of {len(self):,} figures shown have one"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the estimates rest on, each said once; of figures that are not told beside others, which they are."""
        found: dict[str, list[str]] = {}
        for e in self:
            found.setdefault(e.basis, []).append(e.group or e.name)
        told = any(e.estimate is not None for e in self)
        return tuple(
            f"{'; '.join(which[:8])}{' and others' * (len(which) > 8)}: {basis[0].lower()}{basis[1:]}"
            if told and basis.startswith(_CANNOT)
            else basis
            for basis, which in found.items()
        )

    def __repr__(self) -> str:
        if not self:
            return "no estimate: no figure was asked for, and no intended use of the job has one"
        parts = self.by_name.items()
        return "\n\n".join(
            "\n".join([name, *aligned(part.head, part.rows(), left=(0,)), *part.notes]) for name, part in parts
        )

    def _repr_html_(self) -> str:
        return "".join(table_html(name, part.head, part.rows()) for name, part in self.by_name.items())

    def to_json(self) -> Any:
        """A list, or the one estimate that there is."""
        return self[0].to_json() if len(self) == 1 and not self[0].group else [e.to_json() for e in self]
