"""Mutations of text, of bytes and of tables: each a small misfortune that files meet, or that somebody plants."""

import random
import re

NASTY = (
    *("", " ", "\0", "\x1b[31mred\x1b[0m", "\ufeff", "\u202e", "[/bold]", "[red]", "{0}", "%s", "'", '"', "\\"),
    *("../../etc/passwd", "=1+1", "@SUM(1)", "<script>alert(1)</script>", "&amp;", "🌳", "e\u0301", "NaN", "null"),
    *("None", "true", "-0", "1e999", "\r", "\n", "a" * 5000, "\U0010ffff", "$(id)", "; DROP TABLE x", "nan", "inf"),
)
NUMBERS = (
    *("0", "-1", "1", "0.5", "nan", "inf", "-inf", "1e308", "1e-308", "9223372036854775808", "-9223372036854775809"),
    *("1" + "0" * 400, "1_000", "0x10", "2.5", "true", '"1"', "[]", "{}", "[1, 2]", "1e400", "0.0000001", "99999999"),
)
_CONTROLS = {i: f"\\u{i:04x}" for i in range(32)}


def text(source: str, rng: random.Random) -> str:
    """The text with one to three mutations."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        source = rng.choice(_TEXT)(source, rng)
    return source


def _line_gone(s: str, rng: random.Random) -> str:
    lines = s.split("\n")
    del lines[rng.randrange(len(lines))]
    return "\n".join(lines)


def _line_twice(s: str, rng: random.Random) -> str:
    lines = s.split("\n")
    i = rng.randrange(len(lines))
    return "\n".join([*lines[:i], lines[i], *lines[i:]])


def _lines_swapped(s: str, rng: random.Random) -> str:
    lines = s.split("\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines)


def _cut(s: str, rng: random.Random) -> str:
    return s[: rng.randrange(len(s) + 1)]


def _span_gone(s: str, rng: random.Random) -> str:
    i = rng.randrange(len(s) + 1)
    return s[:i] + s[i + rng.randrange(1, 30) :]


def _inserted(s: str, rng: random.Random) -> str:
    i = rng.randrange(len(s) + 1)
    return s[:i] + rng.choice(NASTY) + s[i:]


def _number(s: str, rng: random.Random) -> str:
    found = list(re.finditer(r"-?\d+(\.\d+)?", s))
    if not found:
        return _inserted(s, rng)
    at = rng.choice(found)
    return s[: at.start()] + rng.choice(NUMBERS) + s[at.end() :]


def _string(s: str, rng: random.Random) -> str:
    found = list(re.finditer(r'"([^"\n]*)"', s))
    if not found:
        return _inserted(s, rng)
    at = rng.choice(found)
    new = rng.choice(NASTY)
    quoted = '"' + new.replace("\\", "\\\\").replace('"', '\\"').translate(_CONTROLS) + '"'
    return s[: at.start()] + rng.choice((quoted, quoted, rng.choice(NUMBERS), f"[{quoted}]")) + s[at.end() :]


def _value(s: str, rng: random.Random) -> str:
    found = list(re.finditer(r"(?m)^(\w+ = ).*$", s))
    if not found:
        return _inserted(s, rng)
    at = rng.choice(found)
    return s[: at.end(1)] + rng.choice(NUMBERS) + s[at.end() :]


def _word(s: str, rng: random.Random) -> str:
    """One word of the text in the place of another: columns, keys and labels that exist, where they do not belong."""
    found = list(re.finditer(r"\w{2,}", s))
    if len(found) < 2:
        return _inserted(s, rng)
    a, b = rng.choice(found), rng.choice(found)
    return s[: a.start()] + b.group() + s[a.end() :]


def _deep(s: str, rng: random.Random) -> str:
    return s + "\nx = " + "[" * 3000 + "]" * rng.choice((3000, 0))


_TEXT = (
    *(_line_gone, _line_twice, _lines_swapped, _cut, _span_gone, _inserted, _deep),
    *(_number, _string, _value, _word) * 2,
)


def data(source: bytes, rng: random.Random) -> bytes:
    """The bytes with one to three mutations."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        source = rng.choice(_BYTES)(source, rng)
    return source


def _flipped(b: bytes, rng: random.Random) -> bytes:
    held = bytearray(b)
    for _ in range(rng.choice((1, 4, 64))):
        if held:
            held[rng.randrange(len(held))] = rng.randrange(256)
    return bytes(held)


def _short(b: bytes, rng: random.Random) -> bytes:
    return b[: rng.randrange(len(b) + 1)]


def _nul(b: bytes, rng: random.Random) -> bytes:
    i = rng.randrange(len(b) + 1)
    return b[:i] + b"\0" * rng.choice((1, 1, 500)) + b[i:]


def _mark(b: bytes, rng: random.Random) -> bytes:
    return rng.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) + b


def _other_encoding(b: bytes, rng: random.Random) -> bytes:
    return b.decode("utf-8", "replace").encode(rng.choice(("utf-16", "latin-1", "utf-32", "cp1252")), "replace")


def _middle_gone(b: bytes, rng: random.Random) -> bytes:
    i = rng.randrange(len(b) + 1)
    return b[:i] + b[i + rng.randrange(1, 200) :]


def _nothing(b: bytes, rng: random.Random) -> bytes:
    return rng.choice((b"", b"\n", b"\xef\xbb\xbf", b"\0"))


def _ends(b: bytes, rng: random.Random) -> bytes:
    return b.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"")))


def _quoted(b: bytes, rng: random.Random) -> bytes:
    return b.replace(b",", rng.choice((b'","', b'"', b";", b"\t", b",,", b', "')), rng.choice((1, 3, -1)))


_BYTES = (_flipped, _flipped, _short, _nul, _mark, _other_encoding, _middle_gone, _nothing, _ends, _quoted)


def table(csv: str, rng: random.Random) -> bytes:
    """A CSV table with another shape, or with values that no schema foresees."""
    header, *rows = csv.strip().split("\n")
    names = header.split(",")
    choice = rng.randrange(15)
    if choice == 0:
        return (header + "\n").encode()
    if choice == 1:
        return "\n".join([header, rows[0]]).encode()
    if choice == 2:
        return b"\n" * rng.randrange(3)
    if choice == 3:
        return "\n".join([",".join([*names, names[0]]), *(r + ",x" for r in rows)]).encode()
    if choice == 4:
        wide = [f"w{i}" for i in range(300)]
        return "\n".join([",".join([*names, *wide]), *(r + ",7" * 300 for r in rows)]).encode()
    if choice == 5:
        return "\n".join(
            [header, *(",".join([rng.choice(NASTY).replace("\n", "")] * len(names)) for _ in rows)]
        ).encode("utf-8", "surrogatepass")
    if choice == 6:
        return "\n".join([header, *(",".join([rng.choice(NUMBERS)] * len(names)) for _ in rows)]).encode()
    if choice == 7:
        return "\n".join(
            [header, *(r.replace(r.split(",")[0], "L" * 100_000, 1) for r in rows[:3]), *rows[3:]]
        ).encode()
    if choice == 8:
        return "\n".join([",".join(n + " " for n in names), *rows]).encode()
    if choice == 9:
        return "\n".join([",".join(rng.choice(NASTY) if rng.random() < 0.3 else n for n in names), *rows]).encode()
    if choice == 10:
        return "\n".join([header, *(r[: rng.randrange(len(r) + 1)] for r in rows)]).encode()
    if choice == 11:
        return "\n".join([",".join(names[:-1]), *(r.rsplit(",", 1)[0] for r in rows)]).encode()
    if choice == 12:
        return "\n".join([header, *("," * (len(names) - 1) for _ in rows)]).encode()
    if choice == 13:
        return "\n".join([header, *rows * 40]).encode()
    return data(csv.encode(), rng)
