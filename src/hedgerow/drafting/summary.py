"""What was drafted, and how a table fits, in a few lines for people."""

from collections.abc import Sequence

from hedgerow.drafting.sketch import Draft
from hedgerow.public.fit import ColumnFit
from hedgerow.public.schema import Schema

Row = dict[str, str | int | None]


def done(drawn: Draft, public: str, out: str) -> list[str]:
    """What was done and what to type next."""
    kinds = [c.kind for c in drawn.kept]
    counts = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds))
    what, held = drawn.origin[0]
    lines = [f"Read the {what} {held} as public.", f"Drafted {len(kinds)} columns: {counts}."]
    if drawn.left_out:
        shown = [f"{c.name} ({c.why})" for c in drawn.left_out]
        more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
        lines.append(f"Left out {len(shown)}: {', '.join(shown[:8])}{more}.")
    if to_check := [c.name for c in drawn.kept if c.check]:
        lines.append(f"Look at the columns marked CHECK, {len(to_check)} in all: {', '.join(to_check[:12])}.")
    if hints := sum(len(c.hints) for c in drawn.kept) + len(drawn.suggestions):
        lines.append(f"{hints} suggestion{'s stand' if hints > 1 else ' stands'} in it as comments.")
    if out != "-":
        table = f" {public}" if what == "table" else " PUBLIC_TABLE"
        lines.append(f"Wrote {out}. Read it through, change what you know better, then type:")
        lines.append(f"  hedgerow schema check {out}{table}")
    return lines


def fit_rows(schema: Schema, fits: Sequence[ColumnFit]) -> list[Row]:
    """The cells of every column and, with a table, how many of its rows fall where."""
    by_name = {f.name: f for f in fits}
    rows: list[Row] = []
    for c in schema.columns:
        growing = {"quantile bins", "the collapse of rare labels"} & {*c.unresolved}
        row: Row = {"column": c.name, "kind": c.kind, "cells": None if growing else c.size}
        if f := by_name.get(c.name):
            row |= {"rows": f.rows, "missing": f.missing, "outside": f.outside, "clamped": f.clamped}
        rows.append(row)
    return rows


def fit_table(schema: Schema, fits: Sequence[ColumnFit]) -> list[str]:
    """The same as a table for people, and the verdict."""
    by_name = {f.name: f for f in fits}
    width = max(12, *(len(c.name) for c in schema.columns))
    lines = [f"{'column':<{width}}  {'kind':<12} {'cells':>8}"]
    lines[0] += f" {'missing':>9} {'outside':>9} {'clamped':>9}" if fits else ""
    for r in fit_rows(schema, fits):
        cells = "?" if r["cells"] is None else f"{r['cells']:,}"
        line = f"{r['column']!s:<{width}}  {r['kind']!s:<12} {cells:>8}"
        if f := by_name.get(str(r["column"])):
            line += "".join(f" {_share(part, f.rows):>9}" for part in (f.missing, f.outside, f.clamped))
        lines.append(line)
    if fits:
        lines.append(
            "outside: not in the schema, coded as `other`, missing or the last cell. clamped: in an outer bin."
        )
    lines.append(f"The schema holds: {len(schema.columns)} columns, {len(schema.attributes)} to measure.")
    if schema.unresolved:
        lines.append("It still takes from a public table: " + "; ".join(schema.unresolved) + ".")
    return lines


def _share(part: int, of: int) -> str:
    share = part / max(of, 1)
    return "-" if not part else f"{share:.2%}" if share >= 0.0001 else "<0.01%"
