"""A draft before it is written: one sketch per column, each with its reasons."""

from dataclasses import dataclass
from datetime import date
from typing import Literal, final

Kind = Literal["categorical", "ordered", "integer", "real", "date", "yes-no"]
Setting = int | float | str | date | tuple[int | float | date, ...]


@final
@dataclass(frozen=True)
class Sketch:
    """One column as it will be written: a guess, its reasons, and what else could be done.

    Attributes:
        name: the column in the file.
        kind: the kind of the schema.
        description: what the column is, when a code book says so.
        values: the raw values, in the order of their codes.
        labels: one label per value; empty when the values speak for themselves.
        missing: whether missing gets a cell of its own.
        missing_values: texts that also mean missing.
        other: the cell of values outside the list; empty for none.
        bins: the settings of ``bins``, in order.
        special: texts of a number column that have a cell of their own, with their labels.
        settings: further keys (format, decode, unit, yes, no, prefix) with their values.
        notes: why it was drafted this way; written as comments above the column's keys.
        hints: keys to switch on, written as comments below them.
        check: whether a person must look, because the guess rests on nothing.
    """

    name: str
    kind: Kind
    description: str = ""
    values: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    missing: bool = False
    missing_values: tuple[str, ...] = ()
    other: str = ""
    bins: tuple[tuple[str, Setting], ...] = ()
    special: tuple[tuple[str, str], ...] = ()
    settings: tuple[tuple[str, int | float | str | tuple[str, ...]], ...] = ()
    notes: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    check: bool = False


@final
@dataclass(frozen=True)
class LeftOut:
    """A column that the draft leaves out, and why.

    Attributes:
        name: the column in the file.
        why: a few words for the summary: identifier, free text, all missing.
        notes: the reason and the cure, written as comments.
    """

    name: str
    why: str
    notes: tuple[str, ...]


@final
@dataclass(frozen=True)
class Draft:
    """A whole schema before it is written.

    Attributes:
        origin: what it was drawn from, as lines for the head of the file.
        source: the same in one line, kept in the schema.
        columns: every column, in file order.
        suggestions: blocks about several columns (joined, zero, rule), written as comments at the end.
    """

    origin: tuple[tuple[str, str], ...]
    source: str
    columns: tuple[Sketch | LeftOut, ...]
    suggestions: tuple[str, ...] = ()

    @property
    def kept(self) -> tuple[Sketch, ...]:
        """The columns that the schema will have."""
        return tuple(c for c in self.columns if isinstance(c, Sketch))

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The columns that the schema will not have."""
        return tuple(c for c in self.columns if isinstance(c, LeftOut))
