"""What a schema declares besides its columns: joins, structural zeros, and rules between columns.

>>> str(OrderRule("service", "age"))
'service <= age'
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.public.coding import JoinedColumn
from hedgerow.public.schema.bins import Edge
from hedgerow.public.schema.column import Column


@final
@dataclass(frozen=True)
class Join:
    """Several columns measured as one, with only the combinations that may occur.

    Where every column has a cell for what the schema does not know, the combination of these cells is allowed too.

    Attributes:
        name: the name of the joined column.
        columns: the columns it joins.
        combinations: the allowed combinations, as text; None: those of the public table, not yet resolved.
    """

    name: str
    columns: tuple[str, ...]
    combinations: tuple[tuple[str, ...], ...] | None = None

    def allowed_cells(self, columns: Sequence[Column]) -> npt.NDArray[np.int64]:
        """The allowed combinations, in order, each once: its place in the full cross, last column fastest."""
        assert self.combinations is not None, "the join is not resolved"
        texts = zip(*self.combinations, strict=True)
        codes = [c.coded.encode(pl.Series(t, dtype=pl.String)) for c, t in zip(columns, texts, strict=True)]
        flat = np.ravel_multi_index([c.astype(np.intp) for c in codes], tuple(c.size for c in columns)).tolist()
        unknown = self.unknown(columns)
        return np.array(list(dict.fromkeys(flat if unknown is None else [*flat, unknown])), np.int64)

    def unknown(self, columns: Sequence[Column]) -> int | None:
        """The place of the combination in which every column is unknown; None where one has no cell for that."""
        codes = [c.unknown for c in columns if c.unknown is not None and c.knows_unknown]
        if len(codes) < len(columns):
            return None
        return int(np.ravel_multi_index(codes, tuple(c.size for c in columns)))

    def coded(self, columns: Sequence[Column]) -> JoinedColumn:
        """The rule that codes the joined column.

        A combination that is not allowed takes the code of the unknown one.  Without that it takes the code of an
        allowed one: the one that agrees with it on the most leading columns, and is next to it in order.  So every
        code decodes to an allowed combination.
        """
        shape = tuple(c.size for c in columns)
        cells = self.allowed_cells(columns)
        order = np.argsort(cells)
        ranked, every = cells[order], np.arange(int(np.prod(shape)))
        above = np.minimum(np.searchsorted(ranked, every), len(ranked) - 1)
        below = np.where(ranked[above] == every, above, np.maximum(above - 1, 0))
        # Dropping trailing columns one at a time: the first quotient on which they agree is the longest lead.
        tail = np.cumprod((1, *shape[:0:-1]))
        apart = [sum((every // t != ranked[near] // t).astype(np.int64) for t in tail) for near in (above, below)]
        gap = [np.abs(every - ranked[near]) for near in (above, below)]
        nearer = (apart[0] < apart[1]) | ((apart[0] == apart[1]) & (gap[0] <= gap[1]))
        codes = order[np.where(nearer, above, below)]
        if (unknown := self.unknown(columns)) is not None:
            codes = np.where(np.isin(every, cells), codes, int(np.flatnonzero(cells == unknown)[0]))
        return JoinedColumn(self.name, self.columns, shape, tuple(codes.tolist()), len(cells))

    def cell_labels(self, columns: Sequence[Column]) -> tuple[str, ...]:
        """A label for every code of the joined column."""
        parts = np.unravel_index(self.allowed_cells(columns), tuple(c.size for c in columns))
        labels = [[c.cell_labels[i] for i in codes] for c, codes in zip(columns, parts, strict=True)]
        return tuple(", ".join(row) for row in zip(*labels, strict=True))


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
class OrderRule:
    """In every record where both are known, ``left`` is at most ``right``."""

    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.left} <= {self.right}"


@dataclass(frozen=True)
class Declaration:
    """All that a schema file says, in file order, not yet checked: a ``Schema`` is one that was."""

    columns: tuple[Column, ...]
    joined: tuple[Join, ...] = ()
    zeros: tuple[Zero, ...] = ()
    rules: tuple[OrderRule, ...] = ()
    title: str = ""
    source: str = ""


@final
@dataclass(frozen=True)
class Reason:
    """Why a draft has a column as it is, or has left it out.

    Attributes:
        name: the column.
        notes: the reasons, sentence by sentence.
        hints: keys that a person may switch on, as they would be typed.
        check: whether a person must look, because the guess rests on nothing.
        left_out: why the draft leaves the column out, in a few words; empty when it does not.
    """

    name: str
    notes: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    check: bool = False
    left_out: str = ""


@final
@dataclass(frozen=True)
class Reasons:
    """Why a drafted schema says what it says: written as comments into its file.

    Attributes:
        origin: what it was drafted from, as name and fact: the table or code book, its sha256.
        columns: of every column of the public table, in file order.
        suggestions: blocks of a schema file about several columns, for a person to switch on.

    >>> print(Reasons(columns=(Reason("id", left_out="identifier"), Reason("sex", ("2 values.",)))))
    id: left out, identifier.
    sex: 2 values.
    """

    origin: tuple[tuple[str, str], ...] = ()
    columns: tuple[Reason, ...] = ()
    suggestions: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = [f"{name}: {fact}" for name, fact in self.origin]
        for c in self.columns:
            left_out = (f"left out, {c.left_out}.",) if c.left_out else ()
            said.append(f"{c.name}: {' '.join((*left_out, *c.notes)) or 'as its values say.'}")
        return "\n".join((*said, *self.suggestions))
