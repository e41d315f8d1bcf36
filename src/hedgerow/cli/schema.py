"""``hedgerow schema``: draft the public description of a table, and check it."""

import json
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.errors import JobError, TableMismatch

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
    from hedgerow.drafting.drafting import draft
    from hedgerow.drafting.summary import done
    from hedgerow.drafting.writing import write

    drawn = draft(public, codebook)
    if out == "-":
        typer.echo(write(drawn), nl=False)
    else:
        _write(Path(out), write(drawn))
    for line in done(drawn, public, out):
        typer.echo(line, err=True)


@app.command()
def check(
    schema: Annotated[Path, typer.Argument(help="The schema file.", metavar="SCHEMA")],
    public: Annotated[
        str | None, typer.Argument(help="A public table to hold against it.", metavar="[PUBLIC]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")] = False,
) -> None:
    """Check a schema: its own mistakes, each with line and cure; then how a PUBLIC table fits it."""
    from hedgerow.drafting.summary import fit_rows, fit_table
    from hedgerow.public.files.sources import open_source
    from hedgerow.public.fit import fit, resolved_on
    from hedgerow.public.schema import Schema

    declared = Schema.load(schema)
    source = open_source(public) if public is not None else None
    declared = resolved_on(declared, source) if source else declared
    fits = fit(declared, source) if source else ()
    if as_json:
        rows = fit_rows(declared, fits)
        typer.echo(json.dumps({"columns": rows, "unresolved": list(declared.unresolved)}, indent=2))
    else:
        typer.echo("\n".join(fit_table(declared, fits)))
    if bad := [f.name for f in fits if f.outside > _MOST_OUTSIDE * f.rows]:
        raise TableMismatch(
            f"{public} does not fit {schema}: most values of {', '.join(bad)} are not in the schema. Correct its "
            f"values or kind, or draft again with: hedgerow schema init {public} --out NEW.toml\n"
            "No confidential row was read and nothing was spent."
        )


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as wrong:
        raise JobError(
            f"Cannot write {path}: {wrong.strerror}. Give a place that can be written with --out. "
            "No confidential row was read and nothing was spent."
        ) from None
