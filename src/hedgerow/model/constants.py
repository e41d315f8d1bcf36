"""Constants that were chosen, not derived: each with its unit, what it does, and on which tables it was chosen.

A recipe gathers its own in one frozen dataclass, and its page lists them from there (a test compares):

    >>> @dataclass(frozen=True)
    ... class Example:
    ...     caution: Annotated[float, Origin("standard errors", "taken off an estimate", "set once")] = 3.0
    >>> print(constants_table(Example()))
    | constant | value | unit | what it does | where it comes from |
    |---|---|---|---|---|
    | `caution` | 3 | standard errors | taken off an estimate | set once |
"""

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Annotated as Annotated
from typing import Any, get_type_hints


@dataclass(frozen=True)
class Origin:
    """Where a constant comes from: its unit, what it does, and how and on which tables it was chosen."""

    unit: str
    role: str
    source: str


def constants_table(constants: Any) -> str:
    """The constants of a recipe as a Markdown table."""
    kinds = get_type_hints(type(constants), include_extras=True)
    lines = ["| constant | value | unit | what it does | where it comes from |", "|---|---|---|---|---|"]
    for f in fields(constants):
        origin, value = kinds[f.name].__metadata__[0], getattr(constants, f.name)
        lines.append(f"| `{f.name}` | {_shown(value)} | {origin.unit} | {origin.role} | {origin.source} |")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_shown, value))
    return str(value) if isinstance(value, Fraction) else f"{value:,}" if isinstance(value, int) else f"{value:g}"
