"""From the text of a schema file to what it declares, or to a list of all that is wrong with it.

Every problem names the file and the line, the column, and the cure:

    schema.toml:12: column 'pay': bins.width is -5; give a width above 0, such as width = 2000.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from hedgerow.errors import SchemaError
from hedgerow.public.schema.check import Path, Problem, problems
from hedgerow.public.schema.column import KINDS, Column, Kind
from hedgerow.public.schema.column_check import nearest
from hedgerow.public.schema.structure import Join, Parts, Rule, Zero
from hedgerow.public.schema.values import COLUMN, JOIN, RULE, TOP, ZERO, Reader, Wrong, dotted, keys_of
from hedgerow.public.toml import key_lines, line_of


def read(body: str, name: str) -> Parts:
    """What the text of a schema file declares; ``name`` is what to call the file in messages.

    Raises:
        SchemaError: with one line for every problem of the file.
    """
    try:
        tables = tomllib.loads(body)
    except tomllib.TOMLDecodeError as wrong:
        raise SchemaError(_syntax(str(wrong), body, name)) from None
    reading = _Reading()
    parts = reading.parts(tables)
    found = [*reading.found, *problems(parts, reading.unread)]
    if found:
        lines = key_lines(body)
        placed = sorted((line_of(lines, p.at), p.text) for p in found)
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
        self.found: list[Problem] = []
        self.unread: set[Path] = set()  # tables with a value that could not be read

    def parts(self, tables: Mapping[str, Any]) -> Parts:
        """All that the file declares."""
        top = self._table(tables, TOP, (), "")
        many = {key: [*enumerate(top.get(key, ()))] for key in ("joined", "zero", "rule")}
        return Parts(
            tuple(self._column(name, table) for name, table in top.get("columns", {}).items()),
            tuple(self._join(i, table) for i, table in many["joined"]),
            tuple(Zero(**self._item("zero", i, table, ZERO)) for i, table in many["zero"]),
            tuple(Rule(**self._item("rule", i, table, RULE)) for i, table in many["rule"]),
            top.get("title", ""),
            top.get("source", ""),
        )

    def _note(self, at: Path, said: str, *, unread: bool = True) -> None:
        self.found.append(Problem(at, said))
        if unread:
            self.unread.add(at[:2])

    def _table(self, table: Mapping[str, Any], readers: Mapping[str, Reader], at: Path, who: str) -> dict[str, Any]:
        """The values of a table by key; unknown keys and wrong values are noted and left out."""
        good = {}
        for key, value in table.items():
            if key not in readers:
                self._note((*at, key), f"{who}unknown key {key!r}; {nearest(key, readers)}", unread=False)
                continue
            try:
                good[key] = readers[key](value)
            except Wrong as wrong:
                self._note((*at, key), f"{who}{dotted(key, wrong)}")
        return good

    def _item(self, kind: str, i: int, table: Mapping[str, Any], readers: Mapping[str, Reader]) -> dict[str, Any]:
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
        got = self._item("joined", i, table, JOIN)
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
        misplaced = [k for k in table if k in COLUMN and k not in keys_of(kind)]
        for key in misplaced:
            others = " or ".join(k for k in KINDS if key in keys_of(k))
            said = f'{key} does not go with kind = "{kind}"; remove it, or choose {others}.'
            self._note((*at, key), f"{who}{said}", unread=False)
        rest = {k: v for k, v in table.items() if k not in misplaced and k != "kind"}
        if "values" in rest and "labels" in rest:
            self._note((*at, "labels"), f"{who}values and labels are both given; keep one of them.")
        return _declared(name, kind, self._table(rest, {k: COLUMN[k] for k in keys_of(kind)}, at, who))


def _declared(name: str, kind: Kind, got: dict[str, Any]) -> Column:
    values, are_numbers = got.pop("values", ((), False))
    labels = got.pop("labels", None)
    if labels is not None:
        values, got["labels"] = tuple(labels), tuple(labels.values())
    if are_numbers:
        got.setdefault("type", "integer")
    return Column(name, kind, values=values, **got)
