"""The text of a schema file: what it declares, or a list of all that is wrong with it; and back to text.

Every problem names the file and the line, the column, and the cure:

    schema.toml:12: column 'pay': bins.width is -5; give a width above 0, such as width = 2000.

What is written reads back to the same:

    >>> print(write(Declaration((Column("sex", "categorical", values=("F", "M")),))), end="")
    [columns.sex]
    kind = "categorical"
    values = ["F", "M"]
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from textwrap import wrap
from typing import Any, cast

from hedgerow.errors import SchemaError
from hedgerow.public import toml
from hedgerow.public.schema.bins import Bins, Edge
from hedgerow.public.schema.check import Path, Problem, nearest, problems
from hedgerow.public.schema.column import BINNED, KINDS, LISTED, Collapse, Column, Kind, as_float
from hedgerow.public.schema.structure import Condition, Declaration, Join, OrderRule, Reason, Reasons, Zero

_Reader = Callable[[Any], Any]


class _Wrong(Exception):
    """A value of the wrong shape; the text says which shape is right."""


def _dotted(key: str, wrong: _Wrong) -> str:
    """The problem with the key before it: ``bins.width is -5; ...``."""
    return f"{key}{'' if str(wrong).startswith('.') else ' '}{wrong}"


def _plain(kinds: Any, words: str) -> _Reader:
    """Reads values of these types; true and false are no numbers."""

    def read_plain(value: Any) -> Any:
        if not isinstance(value, kinds) or isinstance(value, bool) != (kinds is bool):
            raise _Wrong(f"is {value!r}; give {words}.")
        return value

    return read_plain


_text = _plain(str, "a text in quotes")
_list = _plain(list, "a list in brackets")
_flag = _plain(bool, "true or false, without quotes")
_whole = _plain(int, "a whole number, without quotes")
_number = _plain(int | float, "a number, without quotes")


def _raw(value: Any) -> str:
    """A raw value as text: whole numbers may be written without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | date):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    return cast(str, _text(value)).strip()


def _raws(value: Any) -> tuple[str, ...]:
    items = _list(value)
    if all(isinstance(v, str) for v in items):  # there may be a million
        return tuple(v.strip() for v in items)
    return tuple(_raw(v) for v in items)


def _values(value: Any) -> tuple[tuple[str, ...], bool]:
    numbers = bool(value) and all(isinstance(v, int) and not isinstance(v, bool) for v in _list(value))
    return _raws(value), numbers


def _rows(value: Any) -> tuple[tuple[str, ...], ...]:
    return tuple(_raws(row) for row in _list(value))


def _labels(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise _Wrong('is not a table; give raw = "label" pairs, such as { F = "Female", M = "Male" }.')
    return {raw.strip(): _text(label) for raw, label in value.items()}


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    return tuple(_labels(value).items())


def _heaps(value: Any) -> tuple[tuple[int | float, float], ...]:
    """Numbers, each with the share of values that are multiples of it."""
    steps = {as_float(key): share for key, share in value.items()} if isinstance(value, dict) else {None: 0}
    if None in steps:
        raise _Wrong(f"is {value!r}; give numbers with the share of their multiples, as in {{ 100 = 0.16 }}.")
    return tuple((int(x) if x.is_integer() else x, _number(share)) for x, share in steps.items() if x is not None)


def _edge(value: Any) -> Edge:
    if isinstance(value, date):
        return value.date() if isinstance(value, datetime) else value
    if isinstance(value, str):
        raise _Wrong(f"is {value!r}; give a number, or a date such as 2000-01-31, without quotes.")
    return cast(Edge, _number(value))


def _edges(value: Any) -> tuple[Edge, ...]:
    return tuple(_edge(v) for v in _list(value))


def _word(*words: str) -> _Reader:
    def read_word(value: Any) -> str:
        if value not in words:
            raise _Wrong(f"is {value!r}; {nearest(str(value), words)}")
        return cast(str, value)

    return read_word


def _table(readers: Mapping[str, _Reader], example: str) -> Callable[[Any], dict[str, Any]]:
    def read_table(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _Wrong(f"is {value!r}; give a table, such as {example}.")
        got = {}
        for key, inner in value.items():
            if key not in readers:
                raise _Wrong(f"has the unknown key {key!r}; {nearest(key, readers)}")
            try:
                got[key] = readers[key](inner)
            except _Wrong as wrong:
                raise _Wrong("." + _dotted(key, wrong)) from None
        return got

    return read_table


def _bins(value: Any) -> Bins:
    readers: dict[str, _Reader] = {k: _edge for k in ("low", "high")}
    readers |= {"width": _number, "nearest": _number, "edges": _edges, "quantiles": _whole, "unit": _text}
    got = _table(readers, "{ low = 0, high = 100, width = 10 }")(value)
    return Bins(**(_rounding(got) if "nearest" in got else got))


def _rounding(got: dict[str, Any]) -> dict[str, Any]:
    """Rounding to the nearest multiple, written as the bins that do it: each multiple in the middle of its own."""
    step, low, high = got["nearest"], got.get("low"), got.get("high")
    if (
        set(got) != {"low", "high", "nearest"}
        or not all(isinstance(x, int | float) for x in (low, high))
        or step <= 0
    ):
        raise _Wrong(".nearest goes with low and high alone; such as { low = 0, high = 200000, nearest = 2000 }.")
    half = step // 2 if all(isinstance(x, int) for x in (low, high, step)) else step / 2
    return {"low": low - half, "high": high - half + step, "width": step}


def _collapse(value: Any) -> Collapse:
    example = '{ below = 500, into = "other" }'
    got = _table({"below": _whole, "into": _raw}, example)(value)
    if len(got) < 2:
        raise _Wrong(f"needs both below and into; such as {example}.")
    return Collapse(**got)


def _conditions(value: Any) -> tuple[tuple[str, Condition], ...]:
    """The conditions of a structural zero."""
    if not isinstance(value, dict):
        raise _Wrong('is not a table; give where = { marital = ["married"], age = { below = 15 } }.')
    return tuple((name, _condition(name, inner)) for name, inner in value.items())


def _condition(name: str, value: Any) -> Condition:
    try:
        if isinstance(value, dict):
            return Condition(**_table({"below": _edge, "above": _edge}, "{ below = 15 }")(value))
        return Condition(_raws(value))
    except _Wrong as wrong:
        raise _Wrong("." + _dotted(name, wrong)) from None


def _tables(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong("is not a table; write one table for each column, such as [columns.sex].")
    return value


def _many(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
        raise _Wrong("is not a list of tables; write it with two brackets, such as [[rule]].")
    return value


_TOP: dict[str, _Reader] = {"title": _text, "source": _text, "columns": _tables}
_TOP |= dict.fromkeys(("joined", "zero", "rule"), _many)
_RULE: dict[str, _Reader] = {"left": _text, "right": _text}
_ZERO: dict[str, _Reader] = {"where": _conditions}
_JOIN: dict[str, _Reader] = {"name": _text, "columns": _raws, "keep": _word("public"), "combinations": _rows}
_ANY: dict[str, _Reader] = {
    "kind": _text,
    "description": _text,
    "missing": _flag,
    "missing_values": _raws,
    "other": _raw,
    "outside": _number,
    "determined_by": _raws,
    "map": _rows,
}
_OF_LISTED: dict[str, _Reader] = {
    "values": _values,
    "labels": _labels,
    "type": _word("text", "integer"),
    "prefix": _whole,
    "collapse": _collapse,
    "reference": _raw,
}
_OF_BINNED: dict[str, _Reader] = {
    "bins": _bins,
    "beyond": _word("outer", "unknown"),
    "special": _pairs,
    "decode": _word("uniform", "midpoint", "public"),
    "public_values": lambda value: tuple(_edges(v) for v in _list(value)),
}
_OF_NUMBERS: dict[str, _Reader] = {"unit": _number, "round_to": _heaps, "top": _number}
_COLUMN = _ANY | _OF_LISTED | _OF_BINNED | _OF_NUMBERS | {"format": _text, "yes": _raws, "no": _raws}


def _keys_of(kind: str) -> list[str]:
    """The keys that a column of this kind may have."""
    if kind in LISTED:
        return [*_ANY, *_OF_LISTED]
    if kind in BINNED:
        return [*_ANY, *_OF_BINNED, *(("format",) if kind == "date" else _OF_NUMBERS)]
    return [*_ANY, "yes", "no"]


def read(body: str, name: str) -> Declaration:
    """What the text of a schema file declares; ``name`` is what to call the file in messages.

    Raises:
        SchemaError: with one line for every problem of the file.
    """
    try:
        tables = toml.read_toml(body)
    except tomllib.TOMLDecodeError as wrong:
        raise SchemaError(_syntax(str(wrong), body, name)) from None
    reading = _Reading()
    parts = reading.parts(tables)
    faults = [*reading.problems, *problems(parts, reading.unread)]
    if faults:
        lines = toml.key_lines(body)
        placed = sorted((toml.line_of(lines, p.at), p.text) for p in faults)
        raise SchemaError(_closing([f"{name}:{line}: {said}" for line, said in dict.fromkeys(placed)]))
    return parts


def _syntax(wrong: str, body: str, name: str) -> str:
    place = re.search(r"\(at line (\d+), column (\d+)\)", wrong)
    line = int(place[1]) if place else len(body.splitlines()) or 1
    said = wrong[: place.start()].strip() if place else wrong.replace("(at end of document)", "").strip()
    cures = {
        "twice": "every table and key may stand once; rename or remove one",
        "overwrite": "every table and key may stand once; rename or remove one",
        "Invalid value": "put text in quotes and end every list with a bracket",
        "Expected '='": "write key = value, and put names with blanks in quotes",
        "Unclosed array": "end the list with ]",
    }
    cure = next((c for word, c in cures.items() if word in said), "correct this line")
    return _closing([f"{name}:{line}: this is not TOML ({said}); {cure}."])


def _closing(lines: list[str]) -> str:
    count = "1 problem" if len(lines) == 1 else f"{len(lines)} problems"
    return "\n".join([*lines, f"{count} in the schema. No confidential row was read and nothing was spent."])


class _Reading:
    """One pass over the tables of a file; what is wrong is noted, and the pass goes on."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.unread: set[Path] = set()  # tables with a value that could not be read

    def parts(self, tables: Mapping[str, Any]) -> Declaration:
        """All that the file declares."""
        top = self._table(tables, _TOP, (), "")
        many = {key: [*enumerate(top.get(key, ()))] for key in ("joined", "zero", "rule")}
        return Declaration(
            tuple(self._column(name, table) for name, table in top.get("columns", {}).items()),
            tuple(self._join(i, table) for i, table in many["joined"]),
            tuple(Zero(**self._item("zero", i, table, _ZERO)) for i, table in many["zero"]),
            tuple(OrderRule(**self._item("rule", i, table, _RULE)) for i, table in many["rule"]),
            top.get("title", ""),
            top.get("source", ""),
        )

    def _note(self, at: Path, said: str, *, unread: bool = True) -> None:
        self.problems.append(Problem(at, said))
        if unread:
            self.unread.add(at[:2])

    def _table(self, table: Mapping[str, Any], readers: Mapping[str, _Reader], at: Path, who: str) -> dict[str, Any]:
        """The values of a table by key; unknown keys and wrong values are noted and left out."""
        good = {}
        for key, value in table.items():
            if key not in readers:
                self._note((*at, key), f"{who}unknown key {key!r}; {nearest(key, readers)}", unread=False)
                continue
            try:
                good[key] = readers[key](value)
            except _Wrong as wrong:
                self._note((*at, key), f"{who}{_dotted(key, wrong)}")
        return good

    def _item(self, kind: str, i: int, table: Mapping[str, Any], readers: Mapping[str, _Reader]) -> dict[str, Any]:
        """One table of a list of tables; what it must have and has not is noted and left empty."""
        at, who = (kind, i), f"{kind} {i + 1}: "
        empty: dict[str, Any] = {"name": "", "columns": (), "where": (), "left": "", "right": ""}
        needed = {key: empty[key] for key in readers if key in empty}
        for key in needed.keys() - table.keys():
            self._note(at, f"{who}{key} is missing; add {key} = ...")
        return needed | self._table(table, readers, at, who)

    def _join(self, i: int, table: Mapping[str, Any]) -> Join:
        if ("keep" in table) == ("combinations" in table):
            self._note(("joined", i), f'joined {i + 1}: give keep = "public" or combinations = [["...", "..."]].')
        got = self._item("joined", i, table, _JOIN)
        return Join(got["name"], got["columns"], got.get("combinations"))

    def _column(self, name: str, table: Any) -> Column:
        """One column; a categorical without values when it cannot be read."""
        at, who = ("columns", name), f"column {name!r}: "
        if not isinstance(table, dict):
            self._note(at, f'{who}it is not a table; write [columns.{name}], then kind = "categorical".')
            return Column(name, "categorical")
        kind = table.get("kind")
        if kind not in KINDS:
            hint = f"choose one of {', '.join(KINDS)}." if kind is None else nearest(str(kind), KINDS)
            said = "kind is missing" if kind is None else f"unknown kind {kind!r}"
            self._note((*at, "kind"), f"{who}{said}; {hint}")
            return Column(name, "categorical")
        misplaced = [k for k in table if k in _COLUMN and k not in _keys_of(kind)]
        for key in misplaced:
            others = " or ".join(k for k in KINDS if key in _keys_of(k))
            said = f'{key} does not go with kind = "{kind}"; remove it, or choose {others}.'
            self._note((*at, key), f"{who}{said}", unread=False)
        rest = {k: v for k, v in table.items() if k not in misplaced and k != "kind"}
        if "values" in rest and "labels" in rest:
            self._note((*at, "labels"), f"{who}values and labels are both given; keep one of them.")
        return _declared(name, kind, self._table(rest, {k: _COLUMN[k] for k in _keys_of(kind)}, at, who))


def _declared(name: str, kind: Kind, got: dict[str, Any]) -> Column:
    values, are_numbers = got.pop("values", ((), False))
    labels = got.pop("labels", None)
    if labels is not None:
        values, got["labels"] = tuple(labels), tuple(labels.values())
    if are_numbers:
        got.setdefault("type", "integer")
    return Column(name, kind, values=values, **got)


_ORDER = (
    *("description", "values", "type", "prefix", "collapse", "bins", "beyond", "top", "unit", "round_to", "decode"),
    *("format", "yes", "no", "missing", "missing_values", "other", "outside", "reference", "determined_by", "map"),
    "public_values",
)
"""The keys of a column as they are written; labels and special come last, as they may be tables."""
_HEAD = """\
Draft of a schema, made from PUBLIC input.

{origin}

Everything below was learnt from this public input and from nothing else. Never draft a schema from the \
confidential table: its labels, its range and its gaps would be published without being paid for.

Read it through once and change what you know better:
 * kind, values and bins are guesses; a reason stands above each.
 * Whole numbers with few values are taken as codes. Name them, labels = {{ 1 = "...", 2 = "..." }}; or, if \
they count or measure something, say kind = "integer" with bins = {{ low = 0, high = 9, width = 1 }}.
 * What is not listed here has a cell of its own in every column: `other`, or missing where a column keeps its \
type. So no value that this schema does not know is published as one that it knows.
 * Numbers beyond the outer edges are counted in the outer bins, years and dates as missing (beyond = "unknown"). If \
the confidential table is of a later year, raise `high`; if it has values that are not listed here, list them.
 * A commented key below a column, such as `# prefix = 2`, is a suggestion: remove the # to use it.
 * CHECK marks a guess that needs you.
 * A column without a block of its own is not read and not published."""
_SUGGESTIONS = "Suggestions about several columns: remove the # in front of a block to use it."


def write(parts: Declaration, reasons: Reasons | None = None) -> str:
    """The schema file; with the reasons of a draft as comments, if it has some.

    >>> sex = Column("sex", "categorical", values=("F", "M"))
    >>> print(write(Declaration((sex,)), Reasons(columns=(Reason("sex", ("2 values.",)),)))[-67:], end="")
    [columns.sex]
    # 2 values.
    kind = "categorical"
    values = ["F", "M"]
    """
    head = [f"{key} = {toml.value(x)}" for key, x in (("title", parts.title), ("source", parts.source)) if x]
    blocks = [head] if head else []
    if reasons is None:
        blocks += [list(_column_lines(c)) for c in parts.columns]
    else:
        blocks = [_head(reasons), *blocks, *_with_reasons(parts, reasons)]
    blocks += [list(_join_lines(j)) for j in parts.joined]
    for zero in parts.zeros:
        bounds = {name: {"below": c.below, "above": c.above} for name, c in zero.where}
        where = {name: c.values or _without_blanks(bounds[name]) for name, c in zero.where}
        blocks.append(["[[zero]]", f"where = {toml.value(where)}"])
    for rule in parts.rules:
        blocks.append(["[[rule]]", f"left = {toml.value(rule.left)}", f"right = {toml.value(rule.right)}"])
    if reasons is not None and reasons.suggestions:
        blocks += [_comment(_SUGGESTIONS), *([_line(x) for x in s.split("\n")] for s in reasons.suggestions)]
    return "\n\n".join("\n".join(lines) for lines in blocks) + "\n"


def _head(reasons: Reasons) -> list[str]:
    origin = "\n".join(f"  {name:<10} {fact}" for name, fact in reasons.origin)
    lines = _HEAD.format(origin=origin).split("\n")
    return [x for line in lines for x in ([_line(line)] if line.startswith("  ") else _comment(line))]


def _with_reasons(parts: Declaration, reasons: Reasons) -> Iterator[list[str]]:
    """The columns, each with its reason; those left out stand before the column that follows in the public table."""
    reason_of = {r.name: r for r in reasons.columns}
    before: dict[str, list[list[str]]] = {}
    left_out: list[list[str]] = []
    names = {c.name for c in parts.columns}
    for r in reasons.columns:
        if r.left_out:
            notes = [x for note in r.notes for x in _comment(note)]
            left_out.append([_line(f"[columns.{toml.key(r.name)}] left out: {r.left_out}."), *notes])
        elif r.name in names:
            before[r.name], left_out = left_out, []
    for c in parts.columns:
        yield from (*before.get(c.name, ()), list(_column_lines(c, reason_of.get(c.name))))
    yield from left_out


def _comment(line: str) -> list[str]:
    """A sentence as wrapped comments; a point of a list hangs."""
    hang = "   " if line.startswith(" *") else ""
    said = wrap(
        _visible(line), toml.WIDTH - 2, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False
    )
    return [_line(x) for x in said or [""]]


def _line(line: str) -> str:
    return f"# {_visible(line)}".rstrip()


def _visible(line: str) -> str:
    """The line without characters that a TOML comment may not hold."""
    return "".join(c if c.isprintable() else " " for c in line)


def _column_lines(c: Column, reason: Reason | None = None) -> Iterator[str]:
    blank, has_labels = Column(c.name, c.kind), c.labels != c.values
    said = {n: _plain_value(getattr(c, n)) for n in _ORDER if getattr(c, n) != getattr(blank, n)}
    said |= {"round_to": {f"{step}": share for step, share in c.round_to}} if c.round_to else {}
    if has_labels:
        del said["values"]
    elif reason is not None and c.type == "integer":  # whole numbers without quotes say their type themselves
        del said["type"]
        said |= {"values": [int(v) for v in c.values]} | ({} if c.other is None else {"other": int(c.other)})
    yield f"[columns.{toml.key(c.name)}]"
    yield from (x for note in reason.notes for x in _comment(note)) if reason else ()
    yield f"kind = {toml.value(c.kind)}"
    yield from (toml.pair(name, x) for name, x in said.items())
    labels = dict(zip(c.values, c.labels, strict=True)) if has_labels else {}
    tables = {name: table for name, table in (("labels", labels), ("special", dict(c.special))) if table}
    wide = [n for n, table in tables.items() if len(table) > 12 or len(toml.pair(n, table)) > toml.WIDTH]
    yield from (toml.pair(name, table) for name, table in tables.items() if name not in wide)
    yield from map(_line, reason.hints) if reason else ()
    for name in wide:
        yield f"[columns.{toml.key(c.name)}.{name}]"
        yield from (f"{toml.key(raw)} = {toml.value(label)}" for raw, label in tables[name].items())


def _plain_value(x: Any) -> Any:
    """Bins and the like as tables of what they say."""
    return _without_blanks(vars(x)) if isinstance(x, Bins | Collapse) else x


def _without_blanks(table: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in table.items() if v is not None and v != ()}


def _join_lines(j: Join) -> Iterator[str]:
    yield "[[joined]]"
    yield toml.pair("name", j.name)
    yield toml.pair("columns", j.columns)
    yield 'keep = "public"' if j.combinations is None else toml.pair("combinations", j.combinations)
