"""``hedgerow schema``: draft the public description of a table, and check it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.cli import show
from hedgerow.errors import JobError, TableMismatch

if TYPE_CHECKING:
    from hedgerow.public import Schema

app = typer.Typer(help="Draft the public description of a table (schema.toml), or check one.", no_args_is_help=True)
_MOST_OUTSIDE = 0.5


@app.command()
def init(
    public: Annotated[str, typer.Argument(help="A PUBLIC table of any format, or a code book.", metavar="PUBLIC")],
    out: Annotated[str, typer.Option(help="The schema file to write; - for stdout.")] = "schema.toml",
    codebook: Annotated[str | None, typer.Option(help="A code book with labels for the table.")] = None,
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
    from hedgerow.public import Schema

    drafted = Schema.draft(public, codebook)
    if out == "-":
        show.echo(drafted.dumps(reasons=True), end=False)
    else:
        drafted.save(out)
    for line in _summary(drafted, public, out):
        show.echo(line, err=True)


def _summary(drafted: "Schema", public: str, out: str) -> list[str]:
    """What was done and what to type next."""
    reasons = drafted.reasons
    assert reasons is not None, "a draft has reasons"
    kinds = [c.kind for c in drafted.columns]
    counts = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds))
    what, name = reasons.origin[0]
    lines = [f"Read the {what} {name} as public.", f"Drafted {len(kinds)} columns: {counts}."]
    if left_out := [f"{r.name} ({r.left_out})" for r in reasons.columns if r.left_out]:
        more = f" and {len(left_out) - 8} more" if len(left_out) > 8 else ""
        lines.append(f"Left out {len(left_out)}: {', '.join(left_out[:8])}{more}.")
    if to_check := [r.name for r in reasons.columns if r.check]:
        lines.append(f"Look at the columns marked CHECK, {len(to_check)} in all: {', '.join(to_check[:12])}.")
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
        str | None, typer.Argument(help="A public table to hold against it.", metavar="[PUBLIC]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")] = False,
) -> None:
    """Check a schema: its own mistakes, each with line and cure; then how a PUBLIC table fits it."""
    from hedgerow.public import Schema, fit, fit_rows, fit_table, open_source, resolved_on

    declared = Schema.load(schema)
    source = open_source(public) if public is not None else None
    declared = resolved_on(declared, source) if source else declared
    fits = fit(declared, source) if source else ()
    if as_json:
        rows = fit_rows(declared, fits)
        show.echo(json.dumps({"columns": rows, "unresolved": list(declared.unresolved)}, indent=2))
    else:
        show.echo("\n".join(fit_table(declared, fits)))
    if bad := [f.name for f in fits if f.outside > _MOST_OUTSIDE * f.rows]:
        raise TableMismatch(
            f"{public} does not fit {schema}: most values of {', '.join(bad)} are not in the schema. Correct its "
            f"values or kind, or draft again with: hedgerow schema init {public} --out NEW.toml\n"
            "No confidential row was read and nothing was spent."
        )
