"""The formula of a model, as economists write it: ``ln(pay) ~ sex + race + age + I(age^2) | agency + occupation``.

Left of ``~`` stands the response, right of it the terms, and after ``|`` the columns whose levels are absorbed.

    >>> f = Formula.parse("ln(pay) ~ sex + C(race, ref=E) + age + I(age^2) | agency + occupation")
    >>> str(f.response), [str(t) for t in f.terms], f.absorbed
    ('ln(pay)', ['sex', 'race', 'age', 'age^2'], ('agency', 'occupation'))
    >>> f.terms[1].reference
    'E'
    >>> str(Formula.parse("sex=F ~ agency").response)
    'sex=F'
"""

import re
from dataclasses import dataclass
from typing import Literal, final

from hedgerow.errors import JobError

Shape = Literal["plain", "ln", "power", "factor", "number", "equals"]
_NAME = r"[^\W\d][\w.]*|`[^`]+`"
_FORMS: tuple[tuple[Shape, str], ...] = (
    ("ln", rf"(?:ln|log)\(\s*({_NAME})\s*\)"),
    ("power", rf"I\(\s*({_NAME})\s*(?:\^|\*\*)\s*(\d)\s*\)"),
    ("power", rf"({_NAME})\s*(?:\^|\*\*)\s*(\d)"),
    ("factor", rf"C\(\s*({_NAME})\s*(?:,\s*ref\s*=\s*[\"']?([^\"')]+?)[\"']?\s*)?\)"),
    ("number", rf"number\(\s*({_NAME})\s*\)"),
    ("equals", rf"({_NAME})\s*==?\s*[\"']?(.+?)[\"']?"),
    ("plain", rf"({_NAME})"),
)


@final
@dataclass(frozen=True)
class Term:
    """One column in a formula and what is done to it.

    Attributes:
        column: its name.
        shape: as it is; its logarithm; a power; its levels one by one; read as a number; equal to one value or not.
        power: for a power.
        reference: the level left out of a factor; the most frequent one of A when empty.
        level: for ``equals``, the value.
    """

    column: str
    shape: Shape = "plain"
    power: int = 1
    reference: str = ""
    level: str = ""

    def __str__(self) -> str:
        forms = {
            "ln": f"ln({self.column})",
            "power": f"{self.column}^{self.power}",
            "equals": f"{self.column}={self.level}",
        }
        return forms.get(self.shape, self.column)


@final
@dataclass(frozen=True)
class Formula:
    """A response, the terms that explain it, and the columns whose levels are absorbed."""

    response: Term
    terms: tuple[Term, ...]
    absorbed: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Formula":
        """The formula in a text."""
        left, tilde, right = text.partition("~")
        right, _, absorbed = right.partition("|")
        if not tilde or not right.strip():
            raise _wrong(text, "it needs a response, ~, and at least one term")
        fixed = [_term(p, text) for p in _parts(absorbed)]
        if any(t.shape not in ("plain", "factor") for t in fixed):
            raise _wrong(text, "after | stand plain columns, joined by +")
        return cls(
            _term(left.strip(), text), tuple(_term(p, text) for p in _parts(right)), tuple(t.column for t in fixed)
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is needed."""
        named = [self.response.column, *(t.column for t in self.terms), *self.absorbed]
        return tuple(dict.fromkeys(named))

    def __str__(self) -> str:
        fixed = f" | {' + '.join(self.absorbed)}" if self.absorbed else ""
        return f"{self.response} ~ {' + '.join(map(str, self.terms))}{fixed}"


def _parts(text: str) -> list[str]:
    return [p.strip() for p in text.split("+")] if text.strip() else []


def _term(text: str, formula: str) -> Term:
    for shape, pattern in _FORMS:
        if found := re.fullmatch(pattern, text):
            column, second = found[1].strip("`"), (found.groups() + (None,))[1] or ""
            return Term(
                column,
                shape,
                power=int(second) if shape == "power" else 1,
                reference=second.strip() if shape == "factor" else "",
                level=second.strip() if shape == "equals" else "",
            )
    raise _wrong(formula, f"{text!r} is not a term")


def _wrong(formula: str, why: str) -> JobError:
    return JobError(
        f"The formula {formula!r} cannot be read: {why}.\n"
        "Write it as: ln(pay) ~ sex + C(race, ref=E) + age + I(age^2) | agency + occupation\n"
        "Terms are: x, ln(x), I(x^2), C(x), C(x, ref=LEVEL), number(x); a yes-no response is x=VALUE.\n"
        "No confidential row was read and nothing was spent."
    )
