"""A draft of a schema: one sketch per column, each with its reasons."""

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import final

from hedgerow.public.schema.column import Column
from hedgerow.public.schema.structure import Declaration, Reason, Reasons


@final
@dataclass(frozen=True)
class NumberRange:
    """What was seen of the numbers in a column, for the comment above their bins.

    Attributes:
        low: the smallest.
        high: the largest.
        why: how the bins were chosen.
        alone: the numbers that have a bin of their own.
    """

    low: float
    high: float
    why: str
    alone: tuple[float, ...] = ()

    def note(self, bins: int) -> str:
        """The comment above so many bins."""
        alone = "".join(f", {grouped(x)} in a bin of its own" for x in self.alone)
        return f"Numbers from {shown(self.low)} to {shown(self.high)}; {self.why}{alone}; {bins} bins."


@final
@dataclass(frozen=True)
class Sketch(Column):
    """A column as it will be written: a guess, its reasons, and what else could be done.

    Attributes:
        range: of a number column, what was seen of it.
        remarks: further reasons, for the comments above the column's keys.
        gaps: how many rows are missing, in words.
        hints: keys to switch on, written as comments below them.
        check: whether a person must look, because the guess rests on nothing.
    """

    range: NumberRange | None = None
    remarks: tuple[str, ...] = ()
    gaps: str = ""
    hints: tuple[str, ...] = ()
    check: bool = False

    @property
    def column(self) -> Column:
        """The column of the schema."""
        return Column(**{f.name: getattr(self, f.name) for f in fields(Column)})

    @property
    def notes(self) -> tuple[str, ...]:
        """Why it was drafted this way."""
        ranged = (self.range.note(self.bin_count),) if self.range else ()
        return (*ranged, *self.remarks, *filter(None, [self.gaps]))


@final
@dataclass(frozen=True)
class Draft:
    """A whole schema before it is written.

    Attributes:
        origin: what it was drawn from, as lines for the head of the file.
        source: the same in one line, kept in the schema.
        columns: every column, in file order; of one that is left out, the reason.
        suggestions: blocks about several columns (joined, zero, rule), written as comments at the end.
    """

    origin: tuple[tuple[str, str], ...]
    source: str
    columns: tuple[Sketch | Reason, ...]
    suggestions: tuple[str, ...] = ()

    @property
    def kept(self) -> tuple[Sketch, ...]:
        """The columns that the schema will have."""
        return tuple(c for c in self.columns if isinstance(c, Sketch))

    @property
    def left_out(self) -> tuple[Reason, ...]:
        """The columns that the schema will not have."""
        return tuple(c for c in self.columns if isinstance(c, Reason))

    @property
    def declaration(self) -> Declaration:
        """What the schema declares."""
        return Declaration(tuple(c.column for c in self.kept), source=self.source)

    @property
    def reasons(self) -> Reasons:
        """Why it declares that."""
        kept = {c.name: Reason(c.name, c.notes, c.hints, c.check) for c in self.kept}
        columns = tuple(c if isinstance(c, Reason) else kept[c.name] for c in self.columns)
        return Reasons(self.origin, columns, self.suggestions)


def grouped(x: object) -> str:
    """A number as people write it: 2,000."""
    if not isinstance(x, (int, float, Fraction)):
        return str(x)
    return f"{int(x):,}" if x == int(x) else f"{float(x):,}"


def shown(x: float) -> str:
    """An end of a range for people: six figures, and years without a comma.

    >>> shown(18215.615234375), shown(2011.0), shown(1341000.0), shown(-9.5)
    ('18,215.6', '2011', '1,341,000', '-9.5')
    """
    if x == int(x):
        return f"{x:.0f}" if abs(x) < 10_000 else f"{x:,.0f}"
    return f"{x:,.6g}" if "e" not in f"{x:.6g}" else f"{x:.6g}"
