"""What a schema declares besides its columns: joins, structural zeros, and rules between columns.

>>> str(Rule("service", "age"))
'service <= age'
"""

from dataclasses import dataclass
from typing import final

from hedgerow.public.schema.bins import Edge
from hedgerow.public.schema.column import Column


@final
@dataclass(frozen=True)
class Join:
    """Several columns measured as one, with only the combinations that may occur.

    Attributes:
        name: the name of the joined column.
        columns: the columns it joins.
        combinations: the allowed combinations, as text; None: those of the public table, not yet resolved.
    """

    name: str
    columns: tuple[str, ...]
    combinations: tuple[tuple[str, ...], ...] | None = None


@final
@dataclass(frozen=True)
class Condition:
    """A test of one column: one of ``values`` (as text, empty for missing), or strictly between bounds."""

    values: tuple[str, ...] = ()
    below: Edge | None = None
    above: Edge | None = None


@final
@dataclass(frozen=True)
class Zero:
    """A structural zero: no record meets all these conditions."""

    where: tuple[tuple[str, Condition], ...]


@final
@dataclass(frozen=True)
class Rule:
    """In every record where both are known, ``left`` is at most ``right``."""

    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.left} <= {self.right}"


@final
@dataclass(frozen=True)
class Parts:
    """All that a schema file says, in file order, not yet checked."""

    columns: tuple[Column, ...]
    joined: tuple[Join, ...] = ()
    zeros: tuple[Zero, ...] = ()
    rules: tuple[Rule, ...] = ()
    title: str = ""
    source: str = ""
