"""Every kind of use by its name, and how a use is expected to fare."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from hedgerow.errors import JobError
from hedgerow.figures import beside, percent, small
from hedgerow.uses.base import NOTHING, AbstractUse
from hedgerow.uses.coefficient import Coefficient
from hedgerow.uses.mean import Mean, Quantile
from hedgerow.uses.person_rate import PersonRate
from hedgerow.uses.prediction import Prediction
from hedgerow.uses.rate import Rate
from hedgerow.uses.table import Table

USES: dict[str, type[AbstractUse]] = {
    u.kind: u for u in (Table, Mean, Rate, Quantile, Coefficient, PersonRate, Prediction)
}


def use_from_toml(data: Mapping[str, Any]) -> AbstractUse:
    """The use that a ``[[use]]`` of a job file says, of whatever kind.

    >>> use_from_toml({"name": "pay", "kind": "mean", "of": "pay", "tolerance": 2}).what
    'mean of pay: difference'
    >>> use_from_toml({"columns": ["sex", "race"], "tolerance": 0.01}).name
    'sex x race'
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


def use_asked(
    declared: Sequence[AbstractUse], use: str | AbstractUse | None = None, **asked: Any
) -> tuple[AbstractUse, ...]:
    """The uses that somebody asks about: one of those ``declared``, by name, one in words, or all that are declared.

    ``asked``: formula and term; mean; quantile, at; rate (column=VALUE, or column=VALUE|VALUE); table; and by.

    >>> [u.name for u in use_asked((), mean="pay", by=["sex"])]
    ['mean of pay by sex']
    >>> [u.name for u in use_asked((), rate="income=>50K")]
    ['share of income = >50K']
    """
    known = {"formula", "term", "mean", "quantile", "at", "rate", "table", "by"}
    said = {k: v for k, v in asked.items() if v or k not in known}
    what = [k for k in said if k not in ("term", "at", "by")] + ["use"] * bool(use)
    partner = {"term": "formula", "formula": "term"}
    lonely = [k for k, other in partner.items() if (k in said) != (other in said)]
    if set(said) - known or len(what) > 1 or lonely or ("by" in said and what in ([], ["use"])):
        raise JobError(
            "Ask one thing: a use by its name; a formula and a term; mean, quantile (and at) or rate of a column;\n"
            f"or a table. All but a use may have by. {NOTHING}"
        )
    if isinstance(use, AbstractUse):
        return (use,)
    if use:
        return (_named(declared, use),)
    by = said.get("by", ())
    if "formula" in said:
        return (Coefficient(said["formula"], said["term"], by=by, tolerance=1.0),)
    if "mean" in said:
        return (Mean(said["mean"], by=by, tolerance=1.0),)
    if "quantile" in said:
        return (Quantile(said["quantile"], said.get("at", 0.5), by=by, tolerance=1.0),)
    if "rate" in said:
        column, _, values = str(said["rate"]).partition("=")
        return (Rate(column, values.split("|"), by=by, tolerance=1.0),)
    return (Table([*said["table"], *by], tolerance=1.0),) if "table" in said else tuple(declared)


def _named(declared: Sequence[AbstractUse], name: str) -> AbstractUse:
    for use in declared:
        if use.name == name:
            return use
    known = ", ".join(repr(u.name) for u in declared) or "none"
    raise JobError(f"The job of this release declares no use {name!r}. It declares: {known}. {NOTHING}")


@dataclass(frozen=True, repr=False)
class Verdict:
    """How one use is expected to fare, from noise scales and public knowledge alone: a forecast.

    Attributes:
        use: the use that is judged.
        error: the expected error, in the terms of the use.
        like_sample: the release is about as good for this use as a sample of this share of the rows.
        note: what the figure rests on, or why it cannot be given.
        low: one run in ten is better than this; None when there were too few runs to say.
        high: nine runs in ten are better than this; the worst of them where there were too few to say; None without.
        sign_kept: whether nine runs in ten kept the sign of a coefficient; None for other kinds.
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

    words: ClassVar[Mapping[bool | None, str]] = MappingProxyType(
        {True: "expected to be met", False: "expected to be missed", None: "not judged"}
    )
    sign_lost: ClassVar[str] = "sign expected to be lost"
    few: ClassVar[Mapping[bool, str]] = MappingProxyType({True: "within it in all runs", False: "beyond it in a run"})
    json_key: ClassVar[str] = "expected_to_be_met"
    begins: ClassVar[str] = "Expected: "

    @property
    def expected_met(self) -> bool | None:
        """Whether nine runs of ten keep the tolerance, or all of fewer than nine; None when it cannot be judged."""
        if self.error is None:
            return None
        return (self.error if self.high is None else self.high) <= self.use.tolerance and self.sign_kept is not False

    @property
    def has_few_runs(self) -> bool:
        """Whether it rests on runs, but on fewer than make a band: they expect nothing of one more."""
        return self.low is None and self.high is not None

    @property
    def word(self) -> str:
        """The verdict in words, the same ones everywhere."""
        if self.has_few_runs and self.expected_met is not None:
            return "sign lost in a run" if self.sign_kept is False else self.few[self.expected_met]
        return self.sign_lost if self.sign_kept is False else self.words[self.expected_met]

    @property
    def sentence(self) -> str:
        """The verdict as a sentence, with the figures that decided it."""

        def near(value: float | None) -> str:
            return beside(value, self.use.tolerance, share=self.use.as_share)

        show = percent if self.use.as_share else small
        top = "" if self.high is None else f", {near(self.high)} in a bad run"
        said = f"forecast error {near(self.error)}{top}; tolerance {show(self.use.tolerance)}"
        return f"{self.use.name}: {self.word} ({said})"

    @property
    def mark(self) -> str:
        """How pages colour the verdict."""
        if self.expected_met and self.has_few_runs:
            return "few"
        return {True: "met", False: "missed", None: "open"}[self.expected_met]

    @property
    def shown(self) -> tuple[str, str, str]:
        """The error, the tolerance, and the verdict or why there is none: for people."""
        show = percent if self.use.as_share else small
        return show(self.error), show(self.use.tolerance), self.note if self.expected_met is None else self.word

    @property
    def in_words(self) -> str:
        """The error and what is allowed in words that people know; or why it was not judged."""
        if self.error is None:
            return self.note
        use, begins = self.use, "Seen in few runs: " if self.has_few_runs else self.begins
        said = f"{begins}{use.error_in_words(self.error)}; allowed: {use.size_in_words(use.tolerance)}"
        if self.low is not None and self.high is not None and self.error <= use.tolerance < self.high:
            said += f"; but one run in ten is off by {use.size_in_words(self.high)} or more"
        return said

    def __repr__(self) -> str:
        error, tolerance, said = self.shown
        return f"{type(self).__name__}({self.use.name!r}: error {error}, tolerance {tolerance}, {said})"

    def to_json(self) -> dict[str, Any]:
        """The verdict and its use as plain data."""
        return {
            **self.use.to_json(),
            "error": self.error,
            "low": self.low,
            "high": self.high,
            "sign_kept": self.sign_kept,
            "like_sample": self.like_sample,
            self.json_key: self.expected_met,
            "note": self.note,
            "groups": [list(g) for g in self.groups],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Verdict":
        """The verdict that ``to_json`` wrote down; ``ValueError`` or ``KeyError`` when it is none."""
        groups = tuple((str(label), float(error)) for label, error in data["groups"])
        figures = {k: data[k] for k in ("error", "like_sample", "low", "high")}
        note, sign = data["note"], data["sign_kept"]
        numbers = all(x is None or type(x) in (int, float) for x in figures.values())
        if not (numbers and type(note) is str and (sign is None or type(sign) is bool)):
            raise ValueError("no verdict")
        return cls(use_from_json(data), note=note, sign_kept=sign, groups=groups, **figures)


def not_judged(use: AbstractUse, where: str = "") -> str:
    """Why there is no error of a use: nothing that was looked at is large enough, or tells a coefficient.

    >>> not_judged(Coefficient("pay ~ sex + number(year) | id", "sex[F]", person="id", tolerance=1))
    'no group determines the coefficient'
    """
    large = f"reaches {use.least_rows:,} rows" if use.least_rows else ""
    told = "determines the coefficient" if isinstance(use, Coefficient) else ""
    return f"no {use.unit}{where} {' and '.join(filter(None, [large, told])) or 'has a row'}"


@dataclass(frozen=True, repr=False)
class ExactVerdict(Verdict):
    """How one use came out, by an exact look: no forecast."""

    words: ClassVar[Mapping[bool | None, str]] = MappingProxyType({True: "met", False: "missed", None: "not judged"})
    sign_lost: ClassVar[str] = "sign lost"
    json_key: ClassVar[str] = "met"
    begins: ClassVar[str] = "It came out "
