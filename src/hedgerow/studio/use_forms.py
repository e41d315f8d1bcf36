"""A form for every kind of use, made from the kind itself: one that is new shows up by itself.

What a form asks for are the fields of the kind's class.  How a field is asked follows from its name where the name
is known, and from its type where it is not.
"""

import re
from dataclasses import MISSING, Field, dataclass, fields
from inspect import cleandoc
from types import UnionType
from typing import Any, Literal, Union, final, get_args, get_origin, get_type_hints

from hedgerow.errors import NOTHING, JobError
from hedgerow.public import BINNED, LISTED, Column
from hedgerow.studio.page import Visit
from hedgerow.uses import USES, use_from_toml

Widget = Literal["column", "columns", "person", "words", "choice", "number", "whole", "tick", "text", "wide"]
Way = tuple[str, str, float, str]
"""How a tolerance is said: a key, the words after the number, what one is worth, and ``within``."""

_COUNTED = ("integer", "real", "yes-no", "ordered")
_OF = {"mean": _COUNTED, "quantile": _COUNTED, "rate": LISTED, "prediction": LISTED}
_IN_ORDER = ("ordered", *BINNED)
_BY = "By group (none: everybody)"
_ASKED: dict[str, tuple[Widget, str, str]] = {
    "columns": ("columns", "Columns of the table", ""),
    "of": ("column", "Of the column", ""),
    "values": ("words", "values that count, with commas", ""),
    "at": ("number", "which, between 0 and 1", "0.5"),
    "formula": ("wide", "Model", "ln(pay) ~ sex + age + I(age^2) | agency + occupation"),
    "term": ("text", "Coefficient", "sex[F]"),
    "reference": ("text", "compared with the value", "the usual one"),
    "person": ("person", "Column that tells people apart", ""),
    "change": ("choice", "or: between two rows of a person it", ""),
    "time": ("column", "What orders a person's rows", ""),
    "by": ("columns", _BY, ""),
    "group_size": ("whole", "only groups of at least so many rows", "all"),
    "cell_size": ("whole", "only cells of at least so many records", "all"),
    "over": ("choice", "Which counts", ""),
}
"""How the keys are asked that some kinds share: a widget, words, and an example of what to write."""
_WORDS = {"rises": "ever rises", "falls": "ever falls", "changes": "ever changes"}
_WORDS |= {"typical": "the mean error over groups or cells", "worst": "the error of the worst group or cell"}
_OF_RECORDS = ("coefficient", "person-rate", "prediction")
_LAST = ("by", "group_size", "cell_size", "over")
_SHARED = ("name", "tolerance", "within", "relative")
_WITHIN: dict[str, tuple[Way, ...]] = {
    "table": (("share", "in 100 records counted in a wrong cell", 0.01, ""),
              ("relative", "in 100 of each cell's count", 0.01, "relative")),
    "mean": (("relative", "in 100 of the true mean", 0.01, "relative"), ("own", "in the column's unit", 1.0, "")),
    "rate": (("points", "percentage points", 0.01, ""), ("relative", "in 100 of the true share", 0.01, "relative")),
    "quantile": (("relative", "in 100 of the truth", 0.01, "relative"), ("own", "in the column's unit", 1.0, "")),
    "coefficient": (("own", "as the coefficient is written, such as 0.02", 1.0, ""),
                    ("relative", "in 100 of the true coefficient", 0.01, "relative")),
    "prediction": (("own", "of AUC lost, such as 0.02", 1.0, ""),
                   ("relative", "in 100 of the AUC lost", 0.01, "relative")),
}  # fmt: skip
_WITHIN["person-rate"] = _WITHIN["rate"]
_ANY: tuple[Way, ...] = (
    ("own", "as the figure is written", 1.0, ""),
    ("relative", "in 100 of the true figure", 0.01, "relative"),
)
_TITLES = {
    "table": "A table: how records spread over one or several columns",
    "mean": "A mean, of everybody or by group",
    "rate": "A rate: the share of rows with some value, by group",
    "quantile": "A quantile, such as the median",
    "coefficient": "A coefficient of a linear model",
    "person-rate": "A rate among people: who ever has a value, or changes",
    "prediction": "Prediction: how much worse a classifier is that was trained on the file",
}


@final
@dataclass(frozen=True)
class Asked:
    """One field of a form.

    Attributes:
        key: of the use in a job file.
        widget: how it is asked.
        label: in words.
        example: of what to write, or what is taken when nothing is.
        options: to choose from: what is written, and how it reads.
        needed: whether there is no use without it.
        value: what is chosen at first.
    """

    key: str
    widget: Widget
    label: str
    example: str = ""
    options: tuple[tuple[str, str], ...] = ()
    needed: bool = False
    value: str = ""


@final
@dataclass(frozen=True)
class UseForm:
    """The form of a kind: what it is, its fields, how its tolerance is said; and why it cannot be used, if so."""

    kind: str
    title: str
    asked: tuple[Asked, ...]
    ways: tuple[Way, ...]
    usual: str
    why_not: str = ""


def forms(columns: tuple[Column, ...], *, person: str, counts: bool) -> list[UseForm]:
    """A form for each kind; ``person`` is the column by which the release says whose each row is."""
    return [_form(kind, columns, person, counts) for kind in USES]


def _form(kind: str, columns: tuple[Column, ...], person: str, counts: bool) -> UseForm:
    use, hints = USES[kind], get_type_hints(USES[kind])
    told = _told(use.__doc__ or "")
    listed = [f for f in fields(use) if f.name not in _SHARED]
    listed.sort(key=lambda f: _LAST.index(f.name) if f.name in _LAST else -1)
    asked = [_asked(kind, f, hints[f.name], told.get(f.name, ""), columns, person) for f in listed]
    why_not = ""
    if counts and kind in _OF_RECORDS:
        why_not = "It is worked out from records, and this job gives a table of counts."
    elif any(a.widget == "person" and a.needed for a in asked) and not person:
        why_not = (
            "The release of this job will not say whose each row is. It does for people with several records, and "
            "where labels are attached once per person: say so with the tables."
        )
    title = _TITLES.get(kind) or cleandoc(use.__doc__ or kind).split("\n")[0].replace("``", "")
    return UseForm(kind, title, tuple(a for a in asked if a.widget != "person" or person), _ways(kind),
                   "0.02" if _ways(kind)[0][2] == 1.0 else "2", why_not)  # fmt: skip


def _told(doc: str) -> dict[str, str]:
    """What the documentation of a class says of its fields, a line each."""
    _, _, part = cleandoc(doc).partition("Attributes:")
    return {m[1]: m[2].rstrip(".") for m in re.finditer(r"(?m)^ {4}(\w+): (.+)$", part)}


def _ways(kind: str) -> tuple[Way, ...]:
    return _WITHIN.get(kind, _ANY)


def _asked(kind: str, f: "Field[Any]", hint: Any, told: str, columns: tuple[Column, ...], person: str) -> Asked:
    needed = f.default is MISSING and f.default_factory is MISSING
    choices = tuple(c for c in _choices(hint) if c)
    known = _ASKED.get(f.name)
    widget, label, example = known or (_widget(hint), told or f.name.replace("_", " "), "")
    options: tuple[tuple[str, str], ...] = ()
    if widget in ("column", "columns"):
        kinds = _OF.get(kind, ()) if f.name == "of" else _IN_ORDER if f.name == "time" else ()
        options = tuple((c.name, c.name) for c in columns if not kinds or c.kind in kinds)
    elif widget == "choice":
        options = tuple((c, _WORDS.get(c, c)) for c in choices)
    value = USES[kind].default_over if f.name == "over" else person if widget == "person" and needed else ""
    return Asked(f.name, widget, label, example, options, needed, value)


def _choices(hint: Any) -> tuple[str, ...]:
    """The texts that a type admits; none where it admits any."""
    if get_origin(hint) in (Union, UnionType):
        return tuple(c for part in get_args(hint) for c in _choices(part))
    return tuple(str(c) for c in get_args(hint)) if get_origin(hint) is Literal else ()


def _widget(hint: Any) -> Widget:
    """How a field is asked whose name says nothing, by its type."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if any(_choices(p) for p in parts):
        return "choice"
    for types, widget in (((bool,), "tick"), ((int,), "whole"), ((float,), "number"), ((str,), "text")):
        if any(p in types for p in parts):
            return widget  # type: ignore[return-value]
    return "words"


def filled(visit: Visit, columns: tuple[Column, ...], *, person: str, counts: bool) -> dict[str, Any]:
    """The use that a form says, as a [[use]] of the job file."""
    kind = visit.said("kind")
    if kind not in USES:
        raise JobError(f"There is no kind of use {kind!r}. {NOTHING}")
    form = _form(kind, columns, person, counts)
    if form.why_not:
        raise JobError(f"{form.why_not} {NOTHING}")
    ways = {way[0]: way for way in form.ways}
    way = ways.get(visit.said("way"), form.ways[0])
    data: dict[str, Any] = {"name": visit.said("name"), "kind": kind}
    for asked in form.asked:
        value = _value(visit, asked)
        if value not in ("", [], None, False) and not (asked.key == "over" and value == asked.value):
            data[asked.key] = value
    if "change" not in data and any(a.key == "change" for a in form.asked):
        data.pop("time", None)  # it orders rows between which something changes
    data |= {"within": way[3]} if way[3] else {}
    data["tolerance"] = float(f"{number(visit.said('tolerance'), 'tolerance') * way[2]:.12g}")
    if not data["name"]:
        data["name"] = use_from_toml({**data, "name": ""}).name
    return data


def _value(visit: Visit, asked: Asked) -> Any:
    """What was filled in, as the job file has it; nothing where that is so."""
    if asked.widget == "columns":
        return visit.listed(asked.key)
    said = visit.said(asked.key)
    if asked.widget == "words":
        return [w.strip() for w in said.split(",") if w.strip()]
    if asked.widget == "tick":
        return said == "yes"
    if asked.widget == "number":
        said = said or asked.example
        return number(said, asked.label) if said else None
    if asked.widget == "whole":
        if said and not said.isdigit():
            raise JobError(f"{asked.label}: {said!r} is no whole number. {NOTHING}")
        return int(said) if said else None
    return said


def number(said: str, what: str) -> float:
    """A number as somebody wrote it."""
    try:
        found = float(said.replace(",", "."))
    except ValueError:
        raise JobError(f"{what}: {said!r} is not a number. {NOTHING}") from None
    return float(f"{found:.12g}")
