"""Every kind of use by its name, and how a use is expected to fare."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hedgerow.errors import JobError
from hedgerow.figures import percent, small
from hedgerow.uses.base import NOTHING, AbstractUse
from hedgerow.uses.coefficient import Coefficient
from hedgerow.uses.mean import Mean, Quantile
from hedgerow.uses.rate import Rate
from hedgerow.uses.table import Table

USES: dict[str, type[AbstractUse]] = {u.kind: u for u in (Table, Mean, Rate, Quantile, Coefficient)}


def use_from_toml(data: Mapping[str, Any]) -> AbstractUse:
    """The use that a ``[[use]]`` of a job file says, of whatever kind.

    >>> use_from_toml({"name": "pay", "kind": "mean", "of": "pay", "tolerance": 2}).what
    'mean of pay: difference'
    """
    if wrong := [f"{key}: {said}" if key else said for key, said in use_mistakes(data)]:
        raise JobError(f"[[use]] cannot be read: {'; '.join(wrong)}. {NOTHING}")
    return _kind_of(data).from_toml(data)


def use_mistakes(data: Any) -> Iterator[tuple[str, str]]:
    """What is wrong with a ``[[use]]``: the key, or nothing when it is about all of it, and what to say."""
    if not isinstance(data, Mapping):
        yield "", "must be a table: [[use]] name = '...'"
    elif data.get("kind", Table.kind) not in USES:
        yield "kind", f"must be one of {', '.join(USES)} (got {data['kind']!r})"
    else:
        yield from _kind_of(data).mistakes(data)


def use_from_json(data: Mapping[str, Any]) -> AbstractUse:
    """The use that ``to_json`` wrote down; ``KeyError`` or ``ValueError`` when it is none."""
    return USES[data["kind"]].from_json(data)


def _kind_of(data: Mapping[str, Any]) -> type[AbstractUse]:
    return USES[data.get("kind", Table.kind)]


@dataclass(frozen=True)
class Verdict:
    """How one use fares, from noise scales and public knowledge alone.

    Attributes:
        use: the use that is judged.
        error: the expected error, in the terms of the use.
        like_sample: the release is about as good for this use as a sample of this share of the rows.
        note: what the figure rests on, or why it cannot be given.
        low: one run in ten is better than this; None when there were no runs.
        high: nine runs in ten are better than this.
        sign_kept: whether every run kept the sign of a coefficient; None for other kinds.
        groups: the worst cells or groups and their errors, worst first.
    """

    use: AbstractUse
    error: float | None
    like_sample: float | None
    note: str
    low: float | None = None
    high: float | None = None
    sign_kept: bool | None = None
    groups: tuple[tuple[str, float], ...] = ()

    @property
    def met(self) -> bool | None:
        """Whether the error keeps the tolerance, in nine runs of ten; None when it cannot be judged."""
        if self.error is None:
            return None
        return (self.error if self.high is None else self.high) <= self.use.tolerance and self.sign_kept is not False

    @property
    def shown(self) -> tuple[str, str, str]:
        """The forecast error, the tolerance, and a word: for people."""
        show = percent if self.use.as_share else small
        word = {True: "expected to be met", False: "expected to miss", None: self.note}[self.met]
        return show(self.error), show(self.use.tolerance), word

    def to_json(self) -> dict[str, Any]:
        """The verdict and its use as plain data."""
        return {
            **self.use.to_json(),
            "error": self.error,
            "low": self.low,
            "high": self.high,
            "sign_kept": self.sign_kept,
            "like_sample": self.like_sample,
            "met": self.met,
            "note": self.note,
            "groups": [list(g) for g in self.groups],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Verdict":
        """The verdict that ``to_json`` wrote down."""
        groups = tuple((str(label), float(error)) for label, error in data["groups"])
        keys = ("error", "like_sample", "note", "low", "high", "sign_kept")
        return cls(use_from_json(data), groups=groups, **{k: data[k] for k in keys})
