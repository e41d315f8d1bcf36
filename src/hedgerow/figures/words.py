"""Numbers and names as people read them, and tables of letters."""

import re
from collections.abc import Collection, Sequence
from math import ceil, isfinite, log10

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""What is not seen but acts: on a terminal's cursor and colours, on the order of letters, on the encoding itself."""


def printable(text: str) -> str:
    """The text as it may be shown: a character that acts and is not seen stands there as its code.

    Names, labels and titles come from files.  Every text that goes to a terminal or onto a page passes here.

    >>> printable("pay\\x1b[31m"), printable("two\\nlines"), printable("\\u202eyap")
    ('pay\\\\u001b[31m', 'two\\nlines', '\\\\u202eyap')
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The same for a name within a line: ends of lines and tabs stand there as their codes too.

    >>> one_line("two\\nlines")
    'two\\\\nlines'
    """
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


ABSURD = 10
"""A share of something beyond which its size says nothing, but that what it is a share of is near 0."""


def percent(share: float | None) -> str:
    """A share as a percentage, with a digit more when it is small; beyond ten times the whole it only says so.

    >>> percent(0.483), percent(0.012), percent(0.0001), percent(6.5e11)
    ('48 %', '1.2 %', 'below 0.1 %', 'over 1,000 %')
    """
    if share is None or not isfinite(share):
        return "-"
    if share > ABSURD:
        return f"over {100 * ABSURD:,} %"
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %" if share >= 0.001 else "below 0.1 %"


def small(value: float | None) -> str:
    """A number with two digits that count and at least three decimals; a large one without decimals.

    >>> small(0.0113), small(0.00021), small(-0.1), small(61234.5)
    ('0.011', '0.00021', '-0.100', '61,234')
    """
    if value is None or not isfinite(value):
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    places = 3 if abs(value) >= 0.01 or value == 0 else min(8, ceil(-log10(abs(value))) + 1)
    return f"{value:.{places}f}"


def beside(value: float | None, limit: float, *, share: bool = False) -> str:
    """A number that stands beside its limit: shown with so many digits that the two differ if they do.

    >>> beside(0.011, 0.02), beside(0.0203, 0.02), beside(0.02, 0.02), beside(0.1504, 0.15, share=True)
    ('0.011', '0.0203', '0.020', '15.04 %')
    """
    show = percent if share else small
    if value is None or not isfinite(value) or value == limit or show(value) != show(limit) or (share and value > 10):
        return show(value)
    factor, unit = (100, " %") if share else (1, "")
    places = next((p for p in range(9) if f"{factor * value:.{p}f}" != f"{factor * limit:.{p}f}"), 9)
    return f"{factor * value:,.{places}f}{unit}"


def shown(value: float | int | str | bool | None) -> str:
    """A number for people, with four digits that count; nothing where there is none.

    >>> shown(0.04525), shown(943.51), shown(12345), shown(float("nan"))
    ('0.04525', '943.5', '12,345', '')
    """
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def value_in_words(value: object) -> str:
    """A value in a refusal: a plain one, or a few, as they are; of anything that may hold rows the type alone.

    >>> value_in_words(3), value_in_words(("a", "b")), value_in_words({"a": 1})
    ('3', "('a', 'b')", 'a dict')
    """
    plain = str | int | float | bool | None
    few = isinstance(value, list | tuple) and len(value) <= 8 and all(isinstance(x, plain) for x in value)
    return repr(value) if isinstance(value, plain) or few else f"a {type(value).__name__}"


def many(number: int, what: str) -> str:
    """So many of something.

    >>> many(1, "table"), many(1200, "table"), many(2, "copy")
    ('1 table', '1,200 tables', '2 copies')
    """
    several = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number:,} {what if number == 1 else several}"


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,)) -> list[str]:
    """A table in letters, every column as wide as its longest entry; ``left`` are the columns that begin in line.

    An entry is one line, whatever is in it.

    >>> print("\\n".join(aligned(("use", "error"), [("race", "0.011"), ("pay gap", "0.2")])))
    use      error
    race     0.011
    pay gap    0.2
    """
    lines = [tuple(map(one_line, line)) for line in (head, *rows)]
    wide = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return [
        "  ".join(
            x.ljust(w) if i in left else x.rjust(w) for i, (x, w) in enumerate(zip(line, wide, strict=True))
        ).rstrip()
        for line in lines
    ]
