"""``hedgerow schema``: draft the public description of a table, and check it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.cli import show
from hedgerow.errors import NOTHING, JobError

if TYPE_CHECKING:
    from hedgerow.public import Schema, Source, TableFit

app = typer.Typer(help="Draft the public description of a table (schema.toml), or check one.", no_args_is_help=True)


@app.command()
def init(
    public: Annotated[str, typer.Argument(help="A PUBLIC table of any format, or a code book.", metavar="PUBLIC")],
    out: Annotated[str, typer.Option(help="The schema file to write; - for stdout.")] = "schema.toml",
    codebook: Annotated[str | None, typer.Option(help="A code book with labels for the table.")] = None,
    count: Annotated[str, typer.Option(help="The column that says how many records a line stands for.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Write over a file that exists.")] = False,
) -> None:
    """Draft a schema from a public table or code book: kinds, bins, labels, suggestions as comments.

    A code book is a CSV of column,value,label; a Frictionless table schema or datapackage.json; a NIST
    parameters.json or data dictionary; a domain.json. Labels inside Stata and SPSS files are kept.
    """
    if out != "-" and Path(out).exists() and not force:
        raise JobError(
            f"{out} exists already and may hold your changes. To write over it, add --force; to keep it, add "
            "--out OTHER.toml. Nothing was read or written."
        )
    from hedgerow.public import Schema, is_address, open_public

    _must_be_public(public, "A draft would publish its labels, its range and its gaps without paying for them.")
    table = open_public(public) if is_address(public) else public  # what is on a server is brought once
    drafted = Schema.draft(table, codebook, count)
    if out == "-":
        show.echo(drafted.dumps(reasons=True), end=False)
    else:
        drafted.save(out)
    for line in [*_summary(drafted, public, out), *([] if count else _ask(drafted, table))]:
        show.echo(line, err=True)


def _ask(drafted: "Schema", public: "str | Source") -> list[str]:
    """Whether the table is one of counts, where it looks so."""
    from hedgerow.public import looks_aggregated, open_public

    assert drafted.reasons is not None, "a draft has reasons"
    column = looks_aggregated(open_public(public)) if drafted.reasons.origin[0][0] == "table" else ""
    return [
        f"Is it a table of counts? No two lines are alike but for {column}. If each stands for {column} records,",
        f"draft it again with --count {column}, and write count = ... into the job (docs/job.md).",
    ] * bool(column)


def _summary(drafted: "Schema", public: str, out: str) -> list[str]:
    """What was done and what to type next."""
    reasons = drafted.reasons
    assert reasons is not None, "a draft has reasons"
    kinds = [c.kind for c in drafted.columns]
    counts = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds))
    what, name = reasons.origin[0]
    lines = [f"Read the {what} {name} as public.", f"Drafted {len(kinds)} column{'s' * (len(kinds) != 1)}: {counts}."]
    if left_out := [f"{r.name} ({r.left_out})" for r in reasons.columns if r.left_out]:
        more = f" and {len(left_out) - 8} more" if len(left_out) > 8 else ""
        lines.append(f"Left out {len(left_out)}: {', '.join(left_out[:8])}{more}.")
    if to_check := [r.name for r in reasons.columns if r.check]:
        lines.append(f"Look at the columns marked CHECK, {len(to_check)} in all: {', '.join(to_check[:12])}.")
    if alone := [f"{c.name} ({c.values[0]})" for c in drafted.columns if len(c.values) == 1 and c.knows_unknown]:
        lines.append(f"WARNING: the public table has one value only in {', '.join(alone[:12])}.")
        lines.append(
            "Rows of the confidential table with another would count as unknown. List all that there can be."
        )
    if hints := sum(len(r.hints) for r in reasons.columns) + len(reasons.suggestions):
        lines.append(f"{hints} suggestion{'s stand' if hints > 1 else ' stands'} in it as comments.")
    if out != "-":
        table = f" {public}" if what == "table" else " PUBLIC_TABLE"
        lines.append(f"Wrote {out}. Read it through, change what you know better, then type:")
        lines.append(f"  {show.program()} schema check {out}{table}")
    return lines


@app.command()
def check(
    schema: Annotated[Path, typer.Argument(help="The schema file.", metavar="SCHEMA")],
    public: Annotated[
        str | None, typer.Argument(help="A public table, or a target, to hold against it.", metavar="[PUBLIC]")
    ] = None,
    target: Annotated[bool, typer.Option("--target", help="A target: it may lack the private columns.")] = False,
    outside: Annotated[
        float, typer.Option("--outside", min=0, max=1, help="The share of rows that may stand outside a column.")
    ] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")] = False,
) -> None:
    """Check a schema: its own mistakes, each with line and cure; then how a PUBLIC table fits it."""
    from hedgerow.public import Schema

    declared = Schema.load(schema)
    if public is not None:
        _must_be_public(public, "What schema check shows of a table is exact, and no budget pays for it.")
    found = None if public is None else declared.check(public, target=target, outside=outside)
    if as_json:
        shown = {"columns": _cells(declared, found), "unresolved": [] if found else list(declared.unresolved)}
        show.echo(json.dumps(shown | ({"table": found.to_json()} if found else {}), indent=2))
    else:
        show.echo("\n".join(_in_words(declared, found)))
    if found:
        found.refuse("target" if target else "public")


def _cells(declared: "Schema", fit: "TableFit | None") -> list[dict[str, str | int | None]]:
    """The cells of every column and, with a table, how many of its rows fall where."""
    by_name = {f.name: f for f in fit.columns} if fit else {}
    rows: list[dict[str, str | int | None]] = []
    for c in (fit.schema if fit else declared).columns:
        rows.append({"column": c.name, "kind": c.kind, "cells": c.size if c.size_known else None})
        if f := by_name.get(c.name):
            rows[-1] |= {"rows": f.rows, "missing": f.missing, "outside": f.outside, "clamped": f.clamped}
    return rows


def _in_words(declared: "Schema", fit: "TableFit | None") -> list[str]:
    """The same as a table for people, and the verdict."""
    width = max(12, *(len(c.name) for c in declared.columns))
    lines = [f"{'column':<{width}}  {'kind':<12} {'cells':>8}"]
    lines[0] += f" {'missing':>9} {'outside':>9} {'clamped':>9}" if fit else ""
    for r in _cells(declared, fit):
        cells = "?" if r["cells"] is None else f"{r['cells']:,}"
        rows, parts = r.get("rows"), [r.get(k) for k in ("missing", "outside", "clamped")]
        shares = "".join(f" {_share(part, rows):>9}" for part in parts) if rows else "  not in the table" * bool(fit)
        lines.append(f"{r['column']!s:<{width}}  {r['kind']!s:<12} {cells:>8}{shares}")
    lines.append(f"The schema reads well: {len(declared.columns)} columns, {len(declared.attributes)} to measure.")
    if lost := [c.name for c in declared.columns if not c.places_unknown and c.collapse is None]:
        lines.append(
            f"No job can use it yet: it does not say where values go that it does not know, of {', '.join(lost)}.\n"
            'Add to each of them missing = true, or other = "other".'
        )
    if fit is None and declared.unresolved:
        lines.append("It still takes from a public table: " + "; ".join(declared.unresolved) + ".")
    lines += fit.lines if fit else ()
    if fit and fit.holds:
        lines.append(f"{fit.table}, read as a PUBLIC table of {fit.rows:,} rows, fits the schema.")
    return lines


def _share(part: str | int | None, of: str | int | None) -> str:
    share = float(part or 0) / float(of or 1)
    return "-" if not part else f"{share:.2%}" if share >= 0.0001 else "<0.01%"


def _must_be_public(table: str, why: str) -> None:
    """Refuse a table that a job beside it calls confidential."""
    from hedgerow.job.file import jobs_that_protect

    if named := jobs_that_protect(table):
        raise JobError(
            f"{named[0]} names {table} as its confidential table. {why}\n"
            f"Give a public table, or a code book. {NOTHING}"
        )
