"""How a public table fits a schema: what it holds that the schema does not know, and where that is counted.

>>> sex = Column("sex", "categorical", values=("F", "M"), other="other")
>>> fit = TableFit.of(Declaration((sex,)), pl.DataFrame({"sex": ["F", "M", "X", "Y"]}))
>>> print("\\n".join(fit.lines))
2 of 4 rows have a value of sex that the schema does not know ('X', 'Y'): counted under 'other'
>>> fit.beyond_limit(0.05)[0].name
'sex'
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil
from typing import Any, TypeVar, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import NOTHING, SchemaError, TableMismatch
from hedgerow.public.coding import as_text
from hedgerow.public.files import Source
from hedgerow.public.schema.column import BINNED, MOST_OUTSIDE, Column, spellings
from hedgerow.public.schema.structure import Declaration, Join

_SHOWN = 4
Declared = TypeVar("Declared", bound=Declaration)


@final
@dataclass(frozen=True)
class ColumnFit:
    """How the rows of a public table fall into the cells of one column, or of one join.

    Attributes:
        name: the column.
        rows: how many rows were read.
        missing: rows without a value.
        outside: rows with a value that the schema does not name, or cannot read.
        clamped: rows with a number or a date beyond the outer edges that counts in the outer bins.
        strangers: some of the values outside.
    """

    name: str
    rows: int = 0
    missing: int = 0
    outside: int = 0
    clamped: int = 0
    strangers: tuple[str, ...] = ()

    def plus(self, column: Column, series: pl.Series) -> "ColumnFit":
        """The same with further rows."""
        whole = series
        series, many = _distinct(whole)
        text, rule = as_text(series), column.coded
        cut = text.str.slice(0, column.prefix).str.strip_chars_end() if column.prefix else text
        named = cut.is_in(list(rule.values)).fill_null(False).to_numpy()
        empty = [w for text in column.missing_values for w in spellings(text)]
        gap = (text.is_null() | text.is_in(empty)).fill_null(True).to_numpy()
        beyond = np.zeros(len(series), bool)
        if column.kind in BINNED:
            number = rule.numbers(series)
            named |= np.isin(number, rule.numbers(pl.Series(rule.values, dtype=pl.String)))  # 100 is "100.0"
            beyond = ~named & ~gap & ((number < column.cuts[0]) | (number >= column.cuts[-1]))
            outer = column.beyond == "outer"
            named, beyond = named | (~np.isnan(number) & (outer | ~beyond)), beyond & outer
        outside = ~named & ~gap
        found = self.strangers
        if outside.any():  # those that stand first
            rows = whole.is_in(series.filter(pl.Series(outside)).implode())
            found += tuple(as_text(whole.filter(rows).unique(maintain_order=True)).unique(maintain_order=True))
        return ColumnFit(
            self.name,
            self.rows + len(whole),
            self.missing + int(many[gap].sum()),
            self.outside + int(many[outside].sum()),
            self.clamped + int(many[beyond].sum()),
            tuple(dict.fromkeys(found))[: _SHOWN + 1],
        )

    def joined(self, join: Join, columns: Sequence[Column], frame: pl.DataFrame) -> "ColumnFit":
        """The same with the combinations of further rows."""
        codes = [c.coded.encode(frame[c.name]).astype(np.intp) for c in columns]
        place = np.ravel_multi_index(codes, tuple(c.size for c in columns))
        odd = ~np.isin(place, join.allowed_cells(columns))
        shown = frame.select(join.columns).filter(pl.Series(odd)).unique(maintain_order=True).head(_SHOWN + 1).rows()
        found = (*self.strangers, *(", ".join(map(str, row)) for row in shown))
        return ColumnFit(
            self.name,
            self.rows + len(frame),
            outside=self.outside + int(odd.sum()),
            strangers=tuple(dict.fromkeys(found))[: _SHOWN + 1],
        )

    @property
    def departs(self) -> int:
        """The rows outside what the schema names, those beyond its outer edges included."""
        return self.outside + self.clamped


@final
@dataclass(frozen=True, repr=False)
class TableFit:
    """How a public table fits a schema: ``holds`` when no column has more outside it than may be.

    Attributes:
        schema: the schema.
        table: what the table is called.
        columns: the fit of every column that the table has, and of every join of such columns.
        absent: the columns of the schema that it lacks, as a target lacks those it is to be given.
        limit: the share of rows that may stand outside a column which says no other share itself.
        target: whether it is to be given the columns that it lacks; any other table must have all.
    """

    schema: Declaration
    table: str
    columns: tuple[ColumnFit, ...]
    absent: tuple[str, ...] = ()
    limit: float = MOST_OUTSIDE
    target: bool = False

    @classmethod
    def of(cls, schema: Declaration, table: Source | pl.DataFrame, *, name: str = "frame", **more: Any) -> "TableFit":
        """The fit of a table to a resolved schema, in one pass over it."""
        have = [c for c in schema.columns if c.name in table.columns]
        joins = [j for j in schema.joined if all(n in table.columns for n in j.columns)]
        found = {n: ColumnFit(n) for n in (*(c.name for c in have), *(j.name for j in joins))}
        batches = [table] if isinstance(table, pl.DataFrame) else table.batches([c.name for c in have])
        for batch in batches if have else ():
            for c in have:
                found[c.name] = found[c.name].plus(c, batch[c.name])
            for j in joins:
                found[j.name] = found[j.name].joined(j, _parts(schema, j), batch)
        absent = tuple(c.name for c in schema.columns if c.name not in table.columns)
        called = table.name if isinstance(table, Source) else name
        return cls(schema, called, tuple(found.values()), absent, **more)

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return max((f.rows for f in self.columns), default=0)

    @property
    def holds(self) -> bool:
        """Whether no column is absent that must be there, and none has more rows outside the schema than may be."""
        return not self.beyond_limit() and (self.target or not self.absent)

    def beyond_limit(self, limit: float | None = None) -> tuple[ColumnFit, ...]:
        """The columns with a larger share of rows outside than the schema allows, or ``limit`` where it says none."""
        most = self.limit if limit is None else limit
        own = {c.name: c.outside for c in self.schema.columns if c.outside is not None}
        return tuple(f for f in self.columns if self._unplaced(f) > own.get(f.name, most) * f.rows)

    def _unplaced(self, f: ColumnFit) -> int:
        """The rows outside; those without a value too, where they would count as a value."""
        column = next((c for c in self.schema.columns if c.name == f.name), None)
        lost = column is not None and not column.missing and not column.knows_unknown
        return f.departs + f.missing * lost

    @property
    def lines(self) -> tuple[str, ...]:
        """What the table holds that the schema does not know, and where it is counted, in words."""
        return tuple(line for f in self.columns for line in self.lines_of(f))

    def lines_of(self, f: ColumnFit) -> list[str]:
        """The same of one column."""
        of = f"of {f.rows:,} rows have"
        shown = f" ({', '.join(map(repr, f.strangers[:_SHOWN]))}{', ...' if len(f.strangers) > _SHOWN else ''})"
        if any(j.name == f.name for j in self.schema.joined):
            said = f"{f.outside:,} {of} a combination of {f.name} that the schema does not list{shown}"
            return [f"{said}: {join_rule(self.schema, f.name)}"] if f.outside else []
        column = next(c for c in self.schema.columns if c.name == f.name)
        found = []
        if f.outside:
            found.append(
                f"{f.outside:,} {of} a value of {f.name} that the schema does not know{shown}: {unknown_rule(column)}"
            )
        if f.clamped:
            found.append(
                f"{f.clamped:,} of {f.rows:,} rows lie beyond the bins of {f.name}: counted in the outer bins"
            )
        if f.missing and not column.missing:
            found.append(
                f"{f.missing:,} {of} no {f.name}, and the schema has no cell for that: {unknown_rule(column)}"
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """The fit as plain data."""
        return {
            "table": self.table,
            "rows": self.rows,
            "holds": self.holds,
            "absent": list(self.absent),
            "columns": [
                {
                    "column": f.name,
                    "missing": f.missing,
                    "outside": f.outside,
                    "clamped": f.clamped,
                    "unknown_values": list(f.strangers),
                }
                for f in self.columns
            ],
        }

    def refuse(self, role: str = "public") -> None:
        """Refuse a table that does not hold."""
        if self.absent and not self.target:
            raise TableMismatch(
                f"{self.table} lacks {len(self.absent)} of the schema's columns: {', '.join(self.absent[:8])}.\n"
                "Correct the names, or take them out of the schema; if it is a target, to be given them, say so\n"
                f"with --target (in Python: target=True). {NOTHING}"
            )
        if not (bad := self.beyond_limit()):
            return
        worst = "\n".join(f"  {line}" for f in bad for line in self.lines_of(f))
        # to two places, and never below the share that stands outside: what is told to type must be enough
        enough = f"{max(ceil(100 * self._unplaced(f) / f.rows) for f in bad) / 100:g}"
        raise TableMismatch(
            f"The {role} table {self.table} does not fit the schema: too many of its rows stand outside.\n"
            f"{worst}\n"
            f"At most {self.limit:.4g} of the rows may. List these values (or widen the bins) in the schema; or, if\n"
            f"they may go there, say how many: outside = {enough} in [columns.{bad[0].name}] of the schema, or for\n"
            f"all columns in [schema] of the job (in Python: Job(outside={enough})). {NOTHING}"
        )

    def __repr__(self) -> str:
        bad = [f.name for f in self.beyond_limit()]
        said = (
            f"does not fit: too much outside {', '.join(bad)}" if bad else "fits" if self.holds else "lacks columns"
        )
        return "\n".join([f"TableFit({self.table}, {self.rows:,} rows: {said})", *(f"  {x}" for x in self.lines)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def unknown_rule(column: Column) -> str:
    """Where the values of a column go that the schema does not know, in words."""
    if column.unknown is None:
        return "nowhere, so it is refused"
    if column.knows_unknown and column.other is None:
        return "counted as missing"
    return f"counted under {column.cell_labels[column.unknown]!r}" + (
        "" if column.knows_unknown else ", as the schema says"
    )


def _parts(schema: Declaration, join: Join) -> list[Column]:
    columns = {c.name: c for c in schema.columns}
    return [columns[n] for n in join.columns]


def join_rule(schema: Declaration, name: str) -> str:
    """Where the combinations of a join go that the schema does not list, in words."""
    join = next(j for j in schema.joined if j.name == name)
    if join.unknown(_parts(schema, join)) is not None:
        return f"counted as unknown in {', '.join(join.columns)}"
    return "counted as the nearest combination that is listed"


def placed(schema: Declared) -> Declared:
    """The schema, if every column says where values go that it does not know; a refusal otherwise.

    Decided before a row is read: an error at an unknown value would tell of the row that has it.
    """
    if not (lost := [c for c in schema.columns if not c.places_unknown]):
        return schema
    first = lost[0]
    example = "missing = true" if first.kind in BINNED else 'other = "other"'
    known = first.cell_labels[-1] if first.size_known else "..."
    raise SchemaError(
        f"The schema does not say where values go that it does not know, or that are missing, of: "
        f"{', '.join(c.name for c in lost)}.\n"
        "Confidential rows may hold some, and none may be published as if it were a value of the list. Give each of\n"
        f"these columns a cell for them, as in [columns.{first.name}] {example}; or, if you know that there are\n"
        f"none, say which value they would count as: other = {known!r}. {NOTHING}"
    )


def _distinct(series: pl.Series) -> tuple[pl.Series, npt.NDArray[np.int64]]:
    """Values, and how often each stands there: of numbers that seldom repeat, and of what has no hash, every row."""
    if series.dtype.is_float() or series.dtype.is_nested() or series.dtype == pl.Object:
        return series, np.ones(len(series), np.int64)
    found = series.alias("value").value_counts()
    return found["value"], found["count"].cast(pl.Int64).to_numpy()
