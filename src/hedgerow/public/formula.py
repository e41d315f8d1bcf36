"""A model as an analyst writes it, such as ``ln(pay) ~ sex + age + I(age^2) | agency``, and claims about it.

Left of ``~`` stands the response.  Right of it terms joined by ``+``: a column, ``ln(column)``, ``I(column^2)``,
``C(column)`` for its levels one by one, ``C(column, ref=LEVEL)`` to say which level others are compared with,
``number(column)`` to read listed values as numbers.  Right of ``|`` columns whose levels each get a constant that is
not of interest (fixed effects).  A yes-no response is ``column=VALUE``.

    >>> f = Formula.parse("ln(pay) ~ sex + C(race, ref=E) + age + I(age^2) | agency + occupation")
    >>> str(f.response), [str(t) for t in f.terms], f.absorbed
    ('ln(pay)', ['sex', 'race', 'age', 'age^2'], ('agency', 'occupation'))
    >>> f.terms[1].reference
    'E'
    >>> str(Formula.parse("sex=F ~ agency").response)
    'sex=F'

A claim is about one coefficient: ``sex[F] < -0.02``, or ``0.01 < age < 0.03``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from hedgerow.errors import NOTHING, JobError
from hedgerow.public.costs.claim import Claim
from hedgerow.public.costs.question import Counts
from hedgerow.public.schema import BINNED, LISTED, Column, Schema

Floats = npt.NDArray[np.float64]
Form = Literal["plain", "ln", "power", "labels", "number", "equals"]
_NAME = r"[^\W\d][\w.]*|`[^`]+`"
_FORMS: tuple[tuple[Form, str], ...] = (
    ("ln", rf"(?:ln|log)\(\s*({_NAME})\s*\)"),
    ("power", rf"I\(\s*({_NAME})\s*(?:\^|\*\*)\s*([2-9])\s*\)"),
    ("power", rf"({_NAME})\s*(?:\^|\*\*)\s*([2-9])"),
    ("labels", rf"C\(\s*({_NAME})\s*(?:,\s*ref\s*=\s*[\"']?([^\"')]+?)[\"']?\s*)?\)"),
    ("number", rf"number\(\s*({_NAME})\s*\)"),
    ("equals", rf"({_NAME})\s*==?\s*[\"']?(.+?)[\"']?"),
    ("plain", rf"({_NAME})"),
)
_GRAIN = 1 << 18  # numbers are whole multiples of this part of half their range: sums of 2^27 rows stay exact


@final
@dataclass(frozen=True)
class Term:
    """One column in a formula and what is done to it.

    Attributes:
        column: its name.
        form: as it is; its logarithm; a power; its levels one by one; read as a number; equal to one value or not.
        power: of the number.
        reference: the level that others are compared with; empty when the formula does not say.
        level: for ``equals``, the value.
    """

    column: str
    form: Form = "plain"
    power: int = 1
    reference: str = ""
    level: str = ""

    def __str__(self) -> str:
        """What its coefficient is called."""
        forms = {"ln": "ln({column})", "power": "{column}^{power}", "equals": "{column}={level}"}
        return forms.get(self.form, "{column}").format(**vars(self))

    @property
    def written(self) -> str:
        """The term as it stands in a formula."""
        column = self.column if re.fullmatch(_NAME, self.column) else f"`{self.column}`"
        if self.form in ("power", "labels", "number"):
            reference = f", ref={self.reference}" if self.reference else ""
            forms = {"power": f"I({column}^{self.power})", "labels": f"C({column}{reference})"}
            return forms.get(self.form, f"number({column})")
        return str(replace(self, column=column))

    def of(self, number: Floats) -> Floats:
        """The number in the form of this term; NaN where it has none."""
        if self.form == "ln":
            return np.log(number, out=np.full(number.shape, np.nan), where=number > 0)
        return np.asarray(number**self.power, np.float64)

    def codes(self, column: Column) -> Floats:
        """The number that each code of the column stands for in this term; NaN where it has none."""
        if self.form == "equals":
            return np.asarray(np.arange(column.size) == _code(column, self.level), np.float64)
        return self.of(column.code_numbers)

    def base(self, column: Column) -> int:
        """The code of the level that others are compared with.

        Where the formula does not say one, it is the column's ``reference``, which a job with a public table settles
        before anything is read; else the last that the schema lists, no for a yes-no column, and the lowest bin of a
        number.  A rule that no confidential or synthetic table can change, so a coefficient means the same for all.
        """
        if said := self.reference or column.reference:
            return _code(column, said)
        return len(column.values) - 1 if column.kind in LISTED else 0

    def base_names(self, column: Column) -> tuple[str, ...]:
        """What the level that others are compared with would be called, had it a coefficient."""
        texts = (column.cell_labels, column.cell_texts) if self.form == "labels" else ()
        return tuple(
            f"{self.column}{x}" for t in texts for x in (f"[{t[self.base(column)]}]", f"={t[self.base(column)]}")
        )

    def coefficients(self, column: Column) -> tuple[tuple[str, ...], ...]:
        """What each coefficient may be called: its name, then the other ways to write it."""
        if self.form != "labels":
            return ((str(self), f"I({self})") if self.form == "power" else (str(self),),)
        both = list(zip(column.cell_labels, column.cell_texts, strict=True))
        del both[self.base(column)]
        return tuple(
            (f"{self.column}[{a}]", f"{self.column}[{b}]", f"{self.column}={a}", f"{self.column}={b}")
            for a, b in both
        )


@final
@dataclass(frozen=True)
class Formula:
    """A response, the terms that explain it, and the columns whose levels are absorbed."""

    response: Term
    terms: tuple[Term, ...]
    absorbed: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str, references: Mapping[str, str] | None = None) -> "Formula":
        """The formula in a text; ``references`` says of columns which level others are compared with."""
        left, tilde, right = text.partition("~")
        right, bar, fixed = right.partition("|")
        if not tilde or not right.strip() or "~" in right or (bar and not fixed.strip()):
            raise _wrong(text, "it must read RESPONSE ~ TERM + TERM, with | FIXED + EFFECTS at the end if any")
        terms, absorbed = ([_term(t, text) for t in part.split("+")] if part else [] for part in (right, fixed))
        if any(t.form not in ("plain", "labels") for t in absorbed):
            raise _wrong(text, "after | stand plain columns, joined by +")
        response = _term(left, text)
        once = [response.column, *map(str, terms), *(t.column for t in absorbed)]
        if len(set(once)) < len(once):
            raise _wrong(text, "it names a term twice")
        for column, level in (references or {}).items():
            places = [i for i, t in enumerate(terms) if t.column == column and t.form in ("plain", "labels")]
            if not places:
                raise _wrong(text, f"{column!r} has a reference but is not among its terms")
            terms[places[0]] = replace(terms[places[0]], form="labels", reference=level)
        return cls(response, tuple(terms), tuple(t.column for t in absorbed))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of the model, once."""
        return tuple(dict.fromkeys([self.response.column, *(t.column for t in self.terms), *self.absorbed]))

    def bound(self, schema: Schema, person: str = "") -> "Formula":
        """The same linear model, its terms settled by the schema: number or levels, and the level compared with.

        ``person`` may be absorbed, though the schema does not describe who people are.
        """
        for name in (n for n in self.columns if n != person or n not in self.absorbed):
            schema.column(name)
        terms = tuple(_settled(t, schema.column(t.column)) for t in self.terms)
        response = _settled(self.response, schema.column(self.response.column))
        if response.form == "labels":
            numbers = np.isfinite(schema.column(response.column).code_numbers).any()
            read = f", and so can number({response.column}), its values read as numbers" if numbers else ""
            raise JobError(
                f"{response} is not a number, so it cannot be the response; {response}=VALUE can{read}. {NOTHING}"
            )
        return replace(self, terms=terms, response=response)

    def unsettled(self, schema: Schema) -> tuple[str, ...]:
        """The columns with a coefficient for each listed value but one, which neither formula nor schema names."""
        plain = {t.column for t in self.terms if t.form in ("plain", "labels") and not t.reference}
        return tuple(c.name for c in schema.columns if c.name in plain and c.kind in LISTED and not c.reference)

    def names(self, schema: Schema) -> tuple[str, ...]:
        """The coefficients of interest of a bound formula: ``age``, ``sex[F]``."""
        return tuple(names[0] for t in self.terms for names in t.coefficients(schema.column(t.column)))

    def place(self, name: str, schema: Schema) -> int:
        """Which coefficient ``name`` means."""
        known = [names for t in self.terms for names in t.coefficients(schema.column(t.column))]
        for place, names in enumerate(known):
            if name in names:
                return place
        base = next((t.column for t in self.terms if name in t.base_names(schema.column(t.column))), None)
        shown = [names[0] for names in known]  # a column that has no coefficient of its own means its first level
        close = [n for n in shown if n.startswith(f"{name}[")] or get_close_matches(name, shown, 1, cutoff=0.7)
        close = [] if base else close
        why = (
            f"{name!r} is what the others are compared with"
            if base
            else "The level that others are compared with has none"
        )
        raise JobError(
            f"The model has no coefficient {name!r}.{f' Did you mean {close[0]!r}?' if close else ''} It has: "
            f"{', '.join(shown[:20])}{' ...' if len(shown) > 20 else ''}.\n"
            f"({why}: choose it with C({base or 'x'}, ref=LEVEL).) {NOTHING}"
        )

    def __str__(self) -> str:
        fixed = f" | {' + '.join(Term(c).written for c in self.absorbed)}" if self.absorbed else ""
        return f"{self.response.written} ~ {' + '.join(t.written for t in self.terms)}{fixed}"


def _code(column: Column, value: str) -> int:
    """The code of a value, as it stands in the file or as its label."""
    for texts in (column.cell_labels, column.cell_texts):
        if value in texts:
            return texts.index(value)
    raise JobError(
        f"{value!r} is no value of {column.name!r}. Its values are: {', '.join(column.cell_labels[:12])}. {NOTHING}"
    )


def _settled(term: Term, column: Column) -> Term:
    if term.form == "labels" or (term.form == "plain" and column.kind not in BINNED):
        return replace(term, form="labels", reference=column.cell_labels[term.base(column)])
    if term.form == "plain":
        return replace(term, form="number")
    if term.form == "equals":
        return replace(term, level=column.cell_labels[_code(column, term.level)])
    if term.form in ("ln", "power", "number") and not np.isfinite(column.code_numbers).any():
        raise JobError(f"{term} needs a number, but {term.column!r} is {column.kind} in the schema. {NOTHING}")
    return term


def _term(text: str, formula: str) -> Term:
    for form, pattern in _FORMS:
        if found := re.fullmatch(pattern, text.strip()):
            column, second = found[1].strip("`"), (*found.groups(), None)[1] or ""
            return Term(
                column,
                form,
                power=int(second) if form == "power" else 1,
                reference=second.strip() if form == "labels" else "",
                level=second.strip() if form == "equals" else "",
            )
    raise _wrong(formula, f"{text.strip()!r} is not a term")


def _wrong(formula: str, why: str) -> JobError:
    return JobError(
        f"The formula {formula!r} cannot be read: {why}.\n"
        "Write it as: ln(pay) ~ sex + C(race, ref=E) + age + I(age^2) | agency + occupation\n"
        "Terms are: x, ln(x), I(x^2), C(x), C(x, ref=LEVEL), number(x); a yes-no response is x=VALUE.\n"
        f"{NOTHING}"
    )


def make_claim(text: str, formula: Formula, schema: Schema) -> Claim:
    """The claim ``text``, such as ``sex[F] < -0.02`` or ``0.01 < age < 0.03``, about a model."""
    name, low, high = read_claim(text)
    bound = formula.bound(schema)
    which = bound.place(name, schema)
    columns = (*(c for c in bound.columns if c != bound.response.column), bound.response.column)
    interest, made = len(bound.names(schema)), {c: list[tuple[int, Counts]]() for c in columns}
    usable = {c: np.ones(schema.size([c]), np.bool_) for c in columns}
    scales, place = dict[int, float](), 0
    for term in bound.terms:
        column = schema.column(term.column)
        if term.form == "labels":
            for code in range(column.size):
                if code != term.base(column):
                    made[term.column].append((place, np.eye(column.size, dtype=np.int64)[code]))
                    place += 1
            continue
        values, scales[place] = _whole(term.codes(column), usable[term.column])
        made[term.column].append((place, values))
        place += 1
    for name_of in bound.absorbed:
        for line in np.eye(schema.size([name_of]), dtype=np.int64):
            made[name_of].append((place, line))
            place += 1
    response = columns[-1]
    made[response].append((place, np.ones(schema.size([response]), np.int64)))
    values, of_response = _whole(bound.response.codes(schema.column(response)), usable[response])
    made[response].append((place + 1, values))
    return Claim(
        text=f"{text.strip()} in {formula}",
        columns=columns,
        designs=tuple(np.stack([v for _, v in made[c]], axis=1) for c in columns),
        usable=tuple(usable[c] for c in columns),
        places=tuple(np.array([p for p, _ in made[c]], np.int64) for c in columns),
        interest=interest,
        which=which,
        scale=of_response / scales.get(which, 1.0),
        low=low,
        high=high,
    )


def read_claim(text: str) -> tuple[str, float, float]:
    """The coefficient of a claim, and the bounds it gives."""
    number = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
    name = r"[A-Za-z_][^<>]*?"
    forms = {
        rf"\s*({name})\s*<\s*({number})\s*": (None, 2, 1),
        rf"\s*({name})\s*>\s*({number})\s*": (2, None, 1),
        rf"\s*({number})\s*<\s*({name})\s*<\s*({number})\s*": (1, 3, 2),
    }
    for pattern, (low, high, which) in forms.items():
        if found := re.fullmatch(pattern, text):
            below = float(found[low]) if low else -np.inf
            above = float(found[high]) if high else np.inf
            if below < above:
                return found[which].strip(), below, above
    raise JobError(
        f"Cannot read the claim {text!r}. Write it like 'sex[F] < 0', 'age > 0.01' or '-0.12 < sex[F] < -0.06'.\n"
        + NOTHING
    )


def _whole(values: Floats, usable: npt.NDArray[np.bool_]) -> tuple[Counts, float]:
    """The numbers as whole ones within the grain, shifted to their middle, and the size of a grain's worth."""
    usable &= np.isfinite(values)
    known = values[np.isfinite(values)]
    if len(known) < 2 or known.min() == known.max():
        raise JobError(f"A number of the model has fewer than two different values in the schema. {NOTHING}")
    middle, half = (known.max() + known.min()) / 2, (known.max() - known.min()) / 2
    whole = np.rint(np.where(np.isfinite(values), values - middle, 0) / half * _GRAIN).astype(np.int64)
    return whole, float(half / _GRAIN)
