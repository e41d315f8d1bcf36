"""TOML: plain data as text, which reads back to the same; and the line on which a key stands, to tell a person.

>>> print(document({"title": "x", "job": {"seed": 1}, "use": [{"name": "a b"}, {"at": [0.5, 0.9]}]}), end="")
title = "x"
[job]
seed = 1
<BLANKLINE>
[[use]]
name = "a b"
<BLANKLINE>
[[use]]
at = [0.5, 0.9]
<BLANKLINE>
>>> text = "title = 'x'\\n[columns.pay]\\nkind = 'integer'\\n[[rule]]\\n[[rule]]\\nleft = 'a'"
>>> lines = key_lines(text)
>>> line_of(lines, ("columns", "pay", "kind")), line_of(lines, ("rule", 1, "left"))
(3, 6)
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

WIDTH = 100
"""Lists beyond this many characters are wrapped."""
Path = tuple[str | int, ...]
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_CONTROL = re.compile(r'["\\\x00-\x1f\x7f]')
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NAME = r"""(?:[A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|'[^']*')"""
_DOTTED = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")
_MARKS = re.compile(
    r'"""(?:\\.|[^\\])*?"""|' + r"'''.*?'''|" + r'"(?:\\.|[^"\\\n])*"|' + r"'[^'\n]*'|#[^\n]*|[\[\]{}]|\n", re.DOTALL
)


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text.

    Raises:
        TOMLDecodeError: it is none, also when it nests too deeply or holds a whole number beyond 64 bits.
    """
    try:
        if _fits(tables := tomllib.loads(text)):
            return tables
    except tomllib.TOMLDecodeError:
        raise
    except (RecursionError, ValueError):
        pass
    raise tomllib.TOMLDecodeError("it nests too deeply, or a whole number in it is beyond 64 bits")


def _fits(x: Any) -> bool:
    """Whether all whole numbers in ``x`` have 64 bits, as TOML asks."""
    if isinstance(x, dict | list):
        return all(_fits(y) for y in (x.values() if isinstance(x, dict) else x) if not isinstance(y, str))
    return not (isinstance(x, int) and not -(1 << 63) <= x < 1 << 63)


def document(data: Mapping[str, Any]) -> str:
    """A whole file: plain keys, then a table for each dict and each in a list of dicts; deeper ones inline."""
    plain = "".join(f"{key(k)} = {value(v)}\n" for k, v in data.items() if not _tables(v))
    tables = [(f"[{key(k)}]", v) for k, v in data.items() if isinstance(v, Mapping)]
    tables += [(f"[[{key(k)}]]", row) for k, v in data.items() if not isinstance(v, Mapping) for row in _tables(v)]
    return plain + "".join(
        "\n".join([head, *(f"{key(k)} = {value(v)}" for k, v in t.items())]) + "\n\n" for head, t in tables
    )


def _tables(x: Any) -> Sequence[Mapping[str, Any]]:
    """The tables that a value is written as; none when it goes on the line of its key."""
    rows = [x] if isinstance(x, Mapping) else x if isinstance(x, list | tuple) else ()
    return rows if rows and all(isinstance(row, Mapping) for row in rows) else ()


def value(x: Any) -> str:
    """A value on one line."""
    if isinstance(x, str):
        return '"' + _CONTROL.sub(lambda sign: _ESCAPES.get(sign[0], f"\\u{ord(sign[0]):04x}"), x) + '"'
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, Mapping):
        return "{ " + ", ".join(f"{key(k)} = {value(v)}" for k, v in x.items()) + " }" if x else "{}"
    if isinstance(x, Sequence):
        return "[" + ", ".join(map(value, x)) + "]"
    return x.isoformat() if isinstance(x, date) else repr(x)


def key(name: str) -> str:
    """A key: bare when it may be, quoted otherwise."""
    return name if _BARE.fullmatch(name) else value(name)


def pair(name: str, x: Any) -> str:
    """A key with its value, a long list wrapped over several lines.

    >>> pair("a b", {"edges": (1, 2)})
    '"a b" = { edges = [1, 2] }'
    """
    if isinstance(x, Mapping):
        return f"{key(name)} = {{ {', '.join(pair(k, v) for k, v in x.items())} }}"
    if isinstance(x, str) or not isinstance(x, Sequence):
        return f"{key(name)} = {value(x)}"
    plain = all(isinstance(item, str) for item in x) and not _CONTROL.search("".join(x))
    texts = [f'"{item}"' for item in x] if plain else [value(item) for item in x]  # there may be a million
    if sum(map(len, texts)) + 2 * len(texts) + len(name) < WIDTH:
        return f"{key(name)} = [{', '.join(texts)}]"
    lines, now = [f"{key(name)} = ["], "   "
    for text in texts:
        if len(now) + len(text) + 2 > WIDTH and now.strip():
            lines.append(now)
            now = "   "
        now += f" {text},"
    return "\n".join([*lines, now, "]"])


def key_lines(text: str) -> dict[Path, int]:
    """Every table and key with the line on which it first stands."""
    seen: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    for number, line in _statements(text):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            path = table = _numbered(_names(header[2]), counts, is_list=header[1] == "[[")
        elif key:
            path = (*table, *_names(key[1]))
        else:
            continue
        for end in range(1, len(path) + 1):
            seen.setdefault(path[:end], number)
    return seen


def line_of(lines: dict[Path, int], path: Path) -> int:
    """The line of the key at ``path``, or of the nearest table around it; 1 when there is none."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def place(path: Path) -> str:
    """How a message names the key at ``path``: a table of a list by its place among them, counted from 1.

    >>> place(("use", 1, "name")), place(("budget", "epsilon"))
    ('[[use]] number 2: name', 'budget.epsilon')
    """
    if len(path) > 1 and isinstance(path[1], int):
        key = ".".join(map(str, path[2:]))
        return f"[[{path[0]}]] number {path[1] + 1}" + (f": {key}" if key else "")
    return ".".join(map(str, path))


def _numbered(names: Path, counts: dict[Path, int], *, is_list: bool) -> Path:
    """The path of a header, with the position of every list of tables on the way."""
    path: Path = ()
    for i, name in enumerate(names):
        path = (*path, name)
        if is_list and i == len(names) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The beginning of every statement with its line: values over several lines are skipped."""
    number, depth, start = 1, 0, 0
    begins = 1
    for mark in _MARKS.finditer(text):
        sign = mark[0]
        if sign == "\n":
            number += 1
            if depth <= 0:
                yield begins, text[start : mark.start()]
                begins, start, depth = number, mark.end(), 0
        elif sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
        else:
            number += sign.count("\n")
    yield begins, text[start:]


def _names(dotted: str) -> Path:
    return tuple(re.sub(r"\\(.)", r"\1", n.strip("\"'")) for n in re.findall(_NAME, dotted))
