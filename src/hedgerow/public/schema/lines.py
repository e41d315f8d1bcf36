"""On which line of a TOML text a key stands: only to tell a person where to look.

>>> text = "title = 'x'\\n[columns.pay]\\nkind = 'integer'\\n[[rule]]\\n[[rule]]\\nleft = 'a'"
>>> lines = key_lines(text)
>>> line_of(lines, ("columns", "pay", "kind")), line_of(lines, ("rule", 1, "left"))
(3, 6)
"""

import re
from collections.abc import Iterator

_NAME = r"""(?:[A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|'[^']*')"""
_DOTTED = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")
_MARKS = re.compile(
    r'"""(?:\\.|[^\\])*?"""|' + r"'''.*?'''|" + r'"(?:\\.|[^"\\\n])*"|' + r"'[^'\n]*'|#[^\n]*|[\[\]{}]|\n", re.DOTALL
)
Path = tuple[str | int, ...]


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
