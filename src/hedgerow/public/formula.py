"""A linear model as an analyst writes it: ``ln(pay) ~ sex + race + age + I(age^2) | agency + occupation``.

Left of ``~`` a number, plain or ``ln(...)``.  Right of it terms joined by ``+``: a column, ``C(column)`` to take a
number as labels, ``ln(column)``, or ``I(column^2)``.  Right of ``|`` columns whose labels each get a constant that is
not of interest (fixed effects).  Labels are compared with a reference label.

    >>> f = Formula.parse("ln(pay) ~ sex + I(age^2) | agency")
    >>> str(f.response), [str(t) for t in f.terms], f.absorbed
    ('ln(pay)', ['sex', 'I(age^2)'], ('agency',))
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from hedgerow.errors import JobError
from hedgerow.public.column import BINNED, Column
from hedgerow.public.schema import Schema

Floats = npt.NDArray[np.float64]
_NAME = r"([A-Za-z_][\w.]*)"
_NOTHING = "No confidential row was read and nothing was spent."


@final
@dataclass(frozen=True)
class Term:
    """One column in one form.

    Attributes:
        column: its name.
        form: as a number, its logarithm, a power of it, or one indicator for each label but the reference.
        power: of the number.
    """

    column: str
    form: Literal["plain", "number", "ln", "power", "labels"] = "plain"
    power: int = 1

    def __str__(self) -> str:
        return {
            "ln": f"ln({self.column})",
            "power": f"I({self.column}^{self.power})",
        }.get(self.form, self.column)

    def of(self, number: Floats) -> Floats:
        """The number in the form of this term; NaN where it has none."""
        if self.form == "ln":
            return np.log(number, out=np.full(number.shape, np.nan), where=number > 0)
        return np.asarray(number**self.power)


@final
@dataclass(frozen=True)
class Formula:
    """A linear model. ``references`` names, for columns taken as labels, the one that others are compared with."""

    response: Term
    terms: tuple[Term, ...]
    absorbed: tuple[str, ...] = ()
    references: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str, references: Mapping[str, str] | None = None) -> "Formula":
        """The model written in ``text``."""
        sides = text.split("~")
        right = sides[-1].split("|")
        if len(sides) != 2 or len(right) > 2:
            raise _wrong(
                text, "it must read RESPONSE ~ TERM + TERM, with | FIXED + EFFECTS at the end if there are any"
            )
        response = _term(sides[0], text)
        if response.form not in ("plain", "ln"):
            raise _wrong(text, "the response is a column or ln(column)")
        terms = tuple(_term(t, text) for t in right[0].split("+"))
        absorbed = tuple(_term(t, text) for t in right[1].split("+")) if len(right) == 2 else ()
        if any(t.form != "plain" for t in absorbed):
            raise _wrong(text, "fixed effects are plain columns")
        columns = [str(t) for t in terms] + [t.column for t in absorbed]
        if len(set(columns)) < len(columns) or response.column in [t.column for t in (*terms, *absorbed)]:
            raise _wrong(text, "it names a term twice")
        named = tuple(sorted((references or {}).items()))
        return cls(response, terms, tuple(t.column for t in absorbed), named)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of the model, once."""
        return tuple(dict.fromkeys([self.response.column, *(t.column for t in self.terms), *self.absorbed]))

    def bound(self, schema: Schema) -> "Formula":
        """The same model with every plain term settled as number or labels by the schema."""
        for name in self.columns:
            schema.column(name)
        terms = tuple(_settled(t, schema) for t in self.terms)
        response = _settled(self.response, schema)
        if response.form == "labels":
            raise JobError(f"{response.column!r} is not a number, so it cannot be the response. {_NOTHING}")
        for column, label in self.references:
            if column not in [t.column for t in terms if t.form == "labels"]:
                raise JobError(f"{column!r} has a reference but is not among the model's labels. {_NOTHING}")
            labels_of(schema.column(column)).index(label) if label in labels_of(schema.column(column)) else _no_label(
                schema.column(column), label
            )
        return replace(self, terms=terms, response=response)

    def reference(self, column: Column) -> int:
        """The code of the label that others are compared with: the first one by default."""
        texts = labels_of(column)
        return texts.index(dict(self.references).get(column.name, texts[0]))

    def names(self, schema: Schema) -> tuple[str, ...]:
        """The coefficients of interest: ``age``, ``sex[F]``."""
        found = []
        for t in self.terms:
            if t.form != "labels":
                found.append(str(t))
                continue
            column = schema.column(t.column)
            base = self.reference(column)
            found += [f"{t.column}[{v}]" for i, v in enumerate(labels_of(column)) if i != base]
        return tuple(found)

    def __str__(self) -> str:
        right = " + ".join(str(t) for t in self.terms)
        return f"{self.response} ~ {right}" + (f" | {' + '.join(self.absorbed)}" if self.absorbed else "")


def labels_of(column: Column) -> tuple[str, ...]:
    """A short text for every code of a column taken as labels: as it stands in the file; ``missing`` for missing."""
    return tuple(t or "missing" for t in column.cell_texts)


def numbers_of(column: Column) -> Floats:
    """The number that every code stands for, the middle of a bin; NaN for codes that are not numbers."""
    found = np.full(column.size, np.nan)
    if column.kind in BINNED:
        found[: column.bin_count] = column.grid.middle(np.arange(column.bin_count))
    elif column.kind == "yes-no":
        found[:2] = (0, 1)
    else:
        found[: len(column.values)] = [_number(v) for v in column.values]
    return found


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _settled(term: Term, schema: Schema) -> Term:
    column = schema.column(term.column)
    is_number = bool(np.isfinite(numbers_of(column)).any()) and column.kind != "categorical" and column.kind != "date"
    if term.form == "plain":
        return replace(term, form="number" if is_number else "labels")
    if term.form in ("ln", "power") and not is_number:
        raise JobError(f"{term} needs a number, but {term.column!r} is {column.kind} in the schema. {_NOTHING}")
    return term


def _term(text: str, whole: str) -> Term:
    text = text.strip()
    forms: dict[str, Literal["plain", "labels", "ln", "power"]] = {
        _NAME: "plain",
        rf"C\(\s*{_NAME}\s*\)": "labels",
        rf"(?:ln|log)\(\s*{_NAME}\s*\)": "ln",
        rf"I\(\s*{_NAME}\s*(?:\^|\*\*)\s*([2-9])\s*\)": "power",
    }
    for pattern, form in forms.items():
        if found := re.fullmatch(pattern, text):
            return Term(found[1], form, int(found[2]) if form == "power" else 1)
    raise _wrong(whole, f"{text!r} is not a term: write a column, C(column), ln(column) or I(column^2)")


def _wrong(text: str, why: str) -> JobError:
    return JobError(
        f"Cannot read the model {text!r}: {why}.\n"
        f'For example: "ln(pay) ~ sex + race + age + I(age^2) | agency + occupation". {_NOTHING}'
    )


def _no_label(column: Column, label: str) -> None:
    raise JobError(
        f"{label!r} is no value of {column.name!r}. Its values are: {', '.join(labels_of(column)[:12])}. {_NOTHING}"
    )
