"""A linear model as an analyst writes it: ``ln(pay) ~ sex + race + age + I(age^2) | agency + occupation``.

Left of ``~`` a number, plain or ``ln(...)``.  Right of it terms joined by ``+``: a column, by labels where the schema
lists them and as a number where it bins them; ``C(column)`` to take a number as labels, ``number(column)`` to take
labels as numbers, ``ln(column)``, or ``I(column^2)``.  Right of ``|`` columns whose labels each get a constant that
is not of interest (fixed effects).  Labels are compared with the one that ``C(column, ref=LABEL)`` names, else with
the last one listed: as in intended uses (``planning/coefficients``).

    >>> f = Formula.parse("ln(pay) ~ sex + I(age^2) | agency")
    >>> str(f.response), [str(t) for t in f.terms], f.absorbed
    ('ln(pay)', ['sex', 'I(age^2)'], ('agency',))
    >>> Formula.parse("pay ~ C(sex, ref=M) + number(grade)").references
    (('sex', 'M'),)
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
    text: str = ""

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
        if response.form not in ("plain", "number", "ln"):
            raise _wrong(text, "the response is a column or ln(column)")
        pieces = [_reference(t) for t in right[0].split("+")]
        terms = tuple(_term(t, text) for t, _ in pieces)
        absorbed = tuple(_term(t, text) for t in right[1].split("+")) if len(right) == 2 else ()
        if any(t.form != "plain" for t in absorbed):
            raise _wrong(text, "fixed effects are plain columns")
        columns = [str(t) for t in terms] + [t.column for t in absorbed]
        if len(set(columns)) < len(columns) or response.column in [t.column for t in (*terms, *absorbed)]:
            raise _wrong(text, "it names a term twice")
        named = {t.column: label for t, (_, label) in zip(terms, pieces, strict=True) if label} | dict(
            references or {}
        )
        whole = " ".join(text.split())
        return cls(response, terms, tuple(t.column for t in absorbed), tuple(sorted(named.items())), whole)

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
            _code(schema.column(column), label)
        return replace(self, terms=terms, response=response)

    def reference(self, column: Column) -> int:
        """The code of the label that others are compared with: the one that is named, or ``compared_with``."""
        named = dict(self.references).get(column.name)
        return compared_with(column) if named is None else _code(column, named)

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

    def place(self, name: str, schema: Schema) -> int | None:
        """Which coefficient is called ``name``, or so by a label, as ``sex=F``, as ``age^2``; None if none."""
        asked = f"{name.replace('=', '[', 1)}]" if "=" in name and "[" not in name else name
        for i, known in enumerate(self.names(schema)):
            column, _, value = known.removesuffix("]").partition("[")
            labelled = schema.column(column) if value else None
            also = f"{column}[{labelled.cell_labels[_code(labelled, value)]}]" if labelled else f"I({asked})"
            if known == asked or (asked == also if labelled else known == also):
                return i
        return None

    def __str__(self) -> str:
        if self.text:
            return self.text
        right = " + ".join(str(t) for t in self.terms)
        return f"{self.response} ~ {right}" + (f" | {' + '.join(self.absorbed)}" if self.absorbed else "")


def labels_of(column: Column) -> tuple[str, ...]:
    """A short text for every code of a column taken as labels: as it stands in the file; ``missing`` for missing."""
    return tuple(t or "missing" for t in column.cell_texts)


def compared_with(column: Column) -> int:
    """The code that others are compared with where none is named: the last one listed, the last bin, or no."""
    if column.kind == "yes-no":
        return 0
    return (column.bin_count if column.kind in BINNED else len(column.values)) - 1


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
    if term.form == "plain":
        return replace(term, form="number" if column.kind in BINNED else "labels")
    if term.form in ("ln", "power", "number") and not np.isfinite(numbers_of(column)).any():
        raise JobError(f"{term} needs a number, but {term.column!r} is {column.kind} in the schema. {_NOTHING}")
    return term


def _reference(text: str) -> tuple[str, str]:
    """A term without the label it names to compare others with, and that label."""
    found = re.fullmatch(rf"\s*C\(\s*{_NAME}\s*,\s*ref\s*=\s*[\"']?([^\"')]+?)[\"']?\s*\)\s*", text)
    return (f"C({found[1]})", found[2]) if found else (text, "")


def _code(column: Column, label: str) -> int:
    """The code of a value, or of a label."""
    for texts in (labels_of(column), column.cell_labels):
        if label in texts:
            return texts.index(label)
    known = ", ".join(labels_of(column)[:12])
    raise JobError(f"{label!r} is no value of {column.name!r}. Its values are: {known}. {_NOTHING}")


def _term(text: str, whole: str) -> Term:
    text = text.strip()
    forms: dict[str, Literal["plain", "labels", "number", "ln", "power"]] = {
        _NAME: "plain",
        rf"{_NAME}\s*(?:\^|\*\*)\s*([2-9])": "power",
        rf"number\(\s*{_NAME}\s*\)": "number",
        rf"C\(\s*{_NAME}\s*\)": "labels",
        rf"(?:ln|log)\(\s*{_NAME}\s*\)": "ln",
        rf"I\(\s*{_NAME}\s*(?:\^|\*\*)\s*([2-9])\s*\)": "power",
    }
    for pattern, form in forms.items():
        if found := re.fullmatch(pattern, text):
            return Term(found[1], form, int(found[2]) if form == "power" else 1)
    raise _wrong(
        whole, f"{text!r} is not a term: write a column, C(column), number(column), ln(column) or I(column^2)"
    )


def _wrong(text: str, why: str) -> JobError:
    return JobError(
        f"Cannot read the model {text!r}: {why}.\n"
        f'For example: "ln(pay) ~ sex + race + age + I(age^2) | agency + occupation". {_NOTHING}'
    )
