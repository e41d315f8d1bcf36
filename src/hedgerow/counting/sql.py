"""Counting where the rows are: the coding of a schema written as SQL, for tables in a DuckDB database.

Only counts leave the database.  They are those of ``count`` on the same table, with one reservation: dates
kept as text are read by DuckDB, which is stricter than Polars about texts that are not quite in the format
(a sign, blanks within, a short month name where a long one is due).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from hedgerow.counting.plan import CountPlan
from hedgerow.errors import JobError, TableMismatch
from hedgerow.public.coding import CodedColumn, Coding
from hedgerow.public.costs.question import Counts, Marginal

_AT_ONCE = 64  # questions of one statement
_BLANKS = "".join(map(chr, [*range(9, 14), 32, 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239, 8287, 12288]))
_NUMBER = r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity))"
_FORMATS = {"%F": "%Y-%m-%d", "%D": "%m/%d/%y", "%e": "%d"}  # what DuckDB has no letter for
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_FLOAT = ("FLOAT", "DOUBLE", "DECIMAL", "HUGEINT", "UHUGEINT")
_DAY = ("DATE", "TIMESTAMP")
_OTHER = ("VARCHAR", "BOOLEAN", "ENUM", "UUID", "TIME")


def count_sql(questions: Sequence[Marginal], connection: Any, table: str, coding: Coding) -> tuple[Counts, ...]:
    """The exact counts of each question over a table or view of a DuckDB connection.

    Args:
        questions: what to count.
        connection: an open DuckDB connection; nothing is written to it.
        table: the name, with its schema and a point before it if it has one.
        coding: the codes of its values.
    """
    if any(q.tree is not None or q.only for q in questions):
        raise JobError(
            "A database counts crosses of columns, not the leaves of a tree. Count from a file. No row was read."
        )
    plan = CountPlan(questions, coding)
    rows, given = _coded(connection, table, coding, plan.columns)
    vector = np.zeros(plan.size, np.int64)
    starts = np.cumsum([0, *(coding.cells(q.columns) for q in questions)]).tolist()
    cells = [f"{s}::BIGINT + {_cell(q.columns, coding)}" for s, q in zip(starts, questions, strict=False)]
    for low in range(0, len(cells), _AT_ONCE):
        asked = [f"{c} AS q{i}" for i, c in enumerate(cells[low : low + _AT_ONCE])]
        names = [f"q{i}" for i in range(len(asked))]
        found = _run(
            connection,
            f"SELECT coalesce({', '.join(names)}) AS cell, count(*) AS n FROM (SELECT {', '.join(asked)} FROM {rows})"
            f" GROUP BY GROUPING SETS ({', '.join(f'({n})' for n in names)})",
            given,
        )
        vector[found["cell"]] = found["n"]
    return plan.split(vector)


def _run(connection: Any, statement: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of the database as columns. Its own errors may quote a row, and go no further."""
    import duckdb

    try:
        return dict(connection.execute(statement, given).fetchnumpy())
    except duckdb.Error as error:
        kind = type(error).__name__
    raise TableMismatch(f"The database could not count the table ({kind}). Check that it can be read to its end.")


def _cell(columns: Sequence[str], coding: Coding) -> str:
    """The cell of a row in the cross of ``columns``, last fastest."""
    cell = "0"
    for name in columns:
        if coding.sizes[name] > 1:
            cell = f"({cell} * {coding.sizes[name]} + {_name(name, coding)})"
    return cell


def _name(column: str, coding: Coding) -> str:
    """What statements call the code of a column."""
    return f"c{list(coding.sizes).index(column)}"


def _coded(connection: Any, table: str, coding: Coding, names: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """A subquery with the codes of all rows, and the values of its parameters."""
    origin = ".".join(map(_quoted, table.split(".")))
    rules, needs = {c.name: c for c in coding.columns}, coding.needs(names)
    kinds = _kinds(connection, origin, needs)
    parts = [(i, rules[n], kinds[n]) for i, n in enumerate(needs)]
    given: dict[str, Any] = {}
    joins = ""
    for i, rule, kind in parts:
        given |= {f"v{i}": list(rule.values), f"w{i}": list(rule.codes)} if rule.values else {}
        cut = f"rtrim(left(t{i}, {rule.prefix}), '{_BLANKS}')" if rule.prefix else f"t{i}"
        lookup = f"(SELECT unnest($v{i}::VARCHAR[]) AS k, unnest($w{i}::BIGINT[]) AS c)"
        joins += f" LEFT JOIN {lookup} AS l{i} ON l{i}.k = {cut}" if rule.values else ""
        if rule.edges is not None and rule.reading == "date" and kind not in _DAY:
            given[f"f{i}"] = _date_format(connection, rule)
    values = ", ".join(f"{_value(kind, _quoted(rule.name))} AS v{i}" for i, rule, kind in parts)
    texts = ", ".join(f"{_text(kind, f'v{i}')} AS t{i}" for i, _, kind in parts)
    numbers = ", ".join(f"{_number(rule, kind, i)} AS x{i}" for i, rule, kind in parts)
    codes = ", ".join(f"{_code(rule, i)} AS {_name(rule.name, coding)}" for i, rule, _ in parts)
    rows = f"(SELECT *, {texts} FROM (SELECT {values} FROM {origin}))"
    rows = f"(SELECT {codes} FROM (SELECT *, {numbers} FROM {rows}){joins})"
    crosses = ""
    for joined in (j for j in coding.joined if j.name in names):
        name = _name(joined.name, coding)
        given[f"j{name}"] = list(joined.codes)
        crosses += f", ($j{name}::BIGINT[])[1 + {_cell(joined.parts, coding)}] AS {name}"
    return f"(SELECT *{crosses} FROM {rows})", given


def _kinds(connection: Any, origin: str, names: Sequence[str]) -> dict[str, str]:
    """The types of some columns, from the header, without sizes and units."""
    import duckdb

    try:
        header = connection.execute(f"DESCRIBE SELECT * FROM {origin}").fetchall()
    except duckdb.Error:
        header = []
    if not header:
        raise JobError(f"The database has no table {origin}. Check the name. No row was read.")
    full = {str(name): str(kind) for name, kind, *_ in header if not str(kind).endswith("]")}
    kinds = {name: re.split(r"[ (_]", kind)[0] for name, kind in full.items()}
    if absent := [n for n in names if kinds.get(n) not in (*_WHOLE, *_FLOAT, *_DAY, *_OTHER)]:
        raise TableMismatch(
            f"{origin} has no column of text, numbers or dates named {', '.join(absent)}.\n"
            "Columns need the same name in the schema and in the table. Only the header was read."
        )
    return kinds


def _date_format(connection: Any, rule: CodedColumn) -> str:
    import duckdb

    written = rule.date_format
    for letter, meaning in _FORMATS.items():
        written = written.replace(letter, meaning)
    try:
        connection.execute("SELECT try_strptime('', $f)", {"f": written}).fetchall()
    except duckdb.Error:
        raise JobError(
            f"DuckDB cannot read dates written as {rule.date_format} ({rule.name}). Write another format in the"
            " schema, or count from a file. No row was read."
        ) from None
    return written


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _value(kind: str, name: str) -> str:
    """A column as other tables deliver it: wide numbers as floats, times of day off, years 1 to 9999."""
    if kind in _DAY:
        day = f"least(greatest({name}::DATE, DATE '0001-01-01'), DATE '9999-12-31')"
        return f"CASE WHEN {name} IS NOT NULL THEN {day} END"
    return f"{name}::DOUBLE" if kind in _FLOAT and kind != "FLOAT" else name


def _text(kind: str, value: str) -> str:
    """A value as trimmed text, whole floats as whole numbers; NULL when missing, NaN or blank."""
    if kind not in _FLOAT:
        return f"nullif(trim({value}::VARCHAR, '{_BLANKS}'), '')"
    whole = f"{value} = trunc({value}) AND {value} >= -power(2::DOUBLE, 63) AND {value} < power(2::DOUBLE, 63)"
    small = rf"regexp_replace({value}::VARCHAR, '^(-?)(\d)\.?(\d*)e-05$', '\10.0000\2\3')"  # as Polars writes it
    return (
        f"CASE WHEN isnan({value}) THEN NULL WHEN {whole} THEN {value}::BIGINT::VARCHAR"
        f" ELSE replace({small}, 'e-0', 'e-') END"
    )


def _number(rule: CodedColumn, kind: str, i: int) -> str:
    """A value as a number, dates as days since 1970; NULL where it is neither, or none is needed."""
    if rule.edges is None:
        return "NULL"
    if rule.reading == "date":
        day = f"v{i}" if kind in _DAY else f"try_strptime(t{i}, $f{i})::DATE"
        days = f"({day} - DATE '1970-01-01')::DOUBLE"
        if kind not in _DAY and "%y" in rule.date_format:  # 69 is 1969 for DuckDB, 2069 for Polars
            return f"{days} + CASE WHEN year({day}) = 1969 THEN 36525 ELSE 0 END"
        return days
    if kind in (*_WHOLE, *_FLOAT):
        return f"nullif(v{i}::DOUBLE, 'nan'::DOUBLE)"
    return f"CASE WHEN regexp_full_match(t{i}, '{_NUMBER}') THEN try_cast(t{i} AS DOUBLE) END"


def _code(rule: CodedColumn, i: int) -> str:
    """The code of a value from its text ``t``, its number ``x`` and the lookup ``l``."""
    named = f"coalesce(l{i}.c, {rule.other})" if rule.values else f"{rule.other}"
    named = f"WHEN t{i} IS NULL THEN {rule.missing} ELSE {named} END"
    if rule.edges is None:
        return f"CASE {named}"
    special = zip(rule.numbers(pl.Series(rule.values, dtype=pl.String)).tolist(), rule.codes, strict=True)
    own = "".join(f"WHEN x{i} = '{n!r}'::DOUBLE THEN {c} " for n, c in reversed([*special]) if n == n)
    return f"CASE {own}WHEN x{i} IS NOT NULL THEN {_bin(f'x{i}', [*map(float, rule.edges)], rule.bins)} {named}"


def _bin(number: str, edges: Sequence[float], bins: Sequence[int], low: int = 0) -> str:
    """The code of a ``number`` by how many of ``edges`` are at or below it, found by halving."""
    if not edges:
        return str(bins[low] if bins else low)
    half = len(edges) // 2
    below, above = _bin(number, edges[:half], bins, low), _bin(number, edges[half + 1 :], bins, low + half + 1)
    return f"CASE WHEN {number} < '{edges[half]!r}'::DOUBLE THEN {below} ELSE {above} END"
