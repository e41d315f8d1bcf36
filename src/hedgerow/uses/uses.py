"""Intended uses: what the release must get right, and the tolerance a steward states for it."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

Kind = Literal["table", "mean", "rate", "quantile", "coefficient"]
Within = Literal["total-variation", "relative", "absolute"]
Over = Literal["typical", "worst"]


@dataclass(frozen=True)
class Use:
    """One thing the file must get right.

    Attributes:
        name: what people call it.
        columns: ``table``: the columns whose cross is counted; else the groups, one figure in each.
        tolerance: the largest error that is still good enough.
        within: ``total-variation``: half the summed difference of shares; ``relative``: the difference as a share of
            the true figure; ``absolute``: the difference itself.
        cell_size: only cells or groups that hold at least this many rows are judged.
        kind: ``table``: counts; ``mean``, ``rate`` or ``quantile`` of the column ``of``; ``coefficient`` of a model.
        of: the column whose mean, rate or quantile is wanted.
        values: ``rate``: the values of ``of``, as they stand in the file, whose share is wanted.
        at: ``quantile``: which, between 0 and 1.
        formula: ``coefficient``: the model, as in "ln(pay) ~ sex + age | agency"; what is after the bar is absorbed.
        term: ``coefficient``: which coefficient, as in "sex[F]".
        over: whether the ``typical`` cell or group counts (their mean error) or the ``worst``.
    """

    name: str
    columns: tuple[str, ...]
    tolerance: float
    within: Within = "total-variation"
    cell_size: int = 0
    kind: Kind = "table"
    of: str = ""
    values: tuple[str, ...] = ()
    at: tuple[float, ...] = ()
    formula: str = ""
    term: str = ""
    over: Over = "typical"

    @property
    def what(self) -> str:
        """What is compared, in a few words.

        >>> Use("pay", ("year",), 0.02, "relative", 500, kind="mean", of="pay").what
        'mean of pay by year: relative error, groups of 500 or more'
        """
        crossed = " x ".join(self.columns)
        subject = {
            "table": crossed,
            "mean": f"mean of {self.of}",
            "rate": f"share of {self.of} = {' or '.join(self.values)}",
            "quantile": f"{', '.join(f'{a:g}' for a in self.at)} quantile of {self.of}",
            "coefficient": f"coefficient of {self.term} in {self.formula}",
        }[self.kind]
        by = f" by {crossed}" if crossed and self.kind != "table" else ""
        how = {"total-variation": "total variation", "relative": "relative error", "absolute": "difference"}
        unit = "cells" if self.kind == "table" else "groups"
        large = f", {unit} of {self.cell_size:,} or more" if self.cell_size else ""
        sign = ", sign kept" if self.kind == "coefficient" else ""
        worst = ", the worst" if self.over == "worst" and crossed else ""
        return f"{subject}{by}: {how[self.within]}{large}{sign}{worst}"

    @property
    def table(self) -> tuple[str, ...]:
        """The columns whose joint table gives the figure; none for a coefficient, which no one table gives.

        >>> Use("pay", ("sex", "year"), 0.02, "relative", kind="mean", of="pay").table
        ('sex', 'year', 'pay')
        """
        named = (*self.columns, self.of) if self.of else self.columns
        return () if self.kind == "coefficient" else tuple(dict.fromkeys(named))

    @property
    def as_share(self) -> bool:
        """Whether errors are shares of something, to be shown in percent."""
        return self.within == "relative"

    def to_json(self) -> dict[str, Any]:
        """The use as plain data; what is not set is left out."""
        plain = {f.name: f.default for f in fields(self)}
        kept = {k: v for k, v in asdict(self).items() if k in ("within", "cell_size", "kind") or v != plain[k]}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in kept.items()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Use":
        """The use that ``to_json`` wrote down; other keys are passed over."""
        known = {f.name for f in fields(cls)}
        read: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in known}
        return cls(**read)


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

    use: Use
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
    def from_json(cls, data: dict[str, Any]) -> "Verdict":
        """The verdict that ``to_json`` wrote down."""
        groups = tuple((str(label), float(error)) for label, error in data["groups"])
        return cls(
            Use.from_json(data),
            data["error"],
            data["like_sample"],
            data["note"],
            data["low"],
            data["high"],
            data["sign_kept"],
            groups,
        )
