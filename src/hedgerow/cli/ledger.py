"""``hedgerow ledger``: what has been promised and spent on which table, and the caps."""

import json
from typing import Annotated, Any

import typer

from hedgerow.cli import show as screen
from hedgerow.figures import many

app = typer.Typer(
    help="What has been promised and spent on which confidential table, and the caps.", no_args_is_help=True
)
Url = Annotated[
    str, typer.Option("--url", help="A file, or postgresql://user@host/database; else the office's, else ledger.db.")
]
AsJson = Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")]


@app.command()
def show(
    table: Annotated[str | None, typer.Argument(help="Only this table.")] = None,
    url: Url = "",
    as_json: AsJson = False,
) -> None:
    """Show what was promised, what is left, and every entry."""
    from hedgerow.steward import ledger_book

    found = ledger_book.show(ledger_book.place_of(url), table)
    if as_json:
        screen.echo(json.dumps(found, indent=2))
    elif not found["entries"]:
        screen.echo("Nothing is booked." if table is None else f"Nothing is booked on table {table}.")
    else:
        accounts = [_account_row(a) for a in found["tables"]]
        head = ("table", "cap", "promised", "worth together", "left", "runs", "same rows as")
        screen.table("Tables", head, accounts)
        if earlier := [a["table"] for a in found["tables"] if a["earlier_fingerprint"]]:
            screen.echo(
                f"The rows of {', '.join(earlier)} were last read by an earlier version, which fingerprinted them\n"
                "in another way: under another name they are recognised once a run of this version has read them."
            )
        entries = [_entry_row(e) for e in found["entries"]]
        screen.table("Entries", ("#", "when", "table", "kind", "run", "cost", "what", "hash"), entries)


@app.command()
def cap(
    table: Annotated[str, typer.Argument(help="The name under which the confidential table is booked.")],
    epsilon: Annotated[str, typer.Option("--epsilon", help="The most that all runs together may promise.")],
    delta: Annotated[str, typer.Option("--delta", help="The same for delta; 0 admits pure runs only.")] = "0",
    url: Url = "",
    new: Annotated[bool, typer.Option("--new", help="Begin a ledger if there is none.")] = False,
    as_json: AsJson = False,
) -> None:
    """Set the lifetime cap of a table. A later cap replaces an earlier one; both stay on record."""
    from hedgerow.steward import ledger_book

    url = ledger_book.place_of(url)
    account = ledger_book.cap(url, table, epsilon=epsilon, delta=delta, new=new).to_json()
    if as_json:
        screen.echo(json.dumps(account, indent=2))
        return
    stands = f"promised {_pair(account['promised'])}; left {_pair(account['left'])}"
    place = "the database" if "://" in url else url
    screen.echo(f"The cap of {table} is {_pair(account['cap'])}; {stands}. It stands in {place}.")
    if account["left"]["epsilon"] < 0 or account["left"]["delta"] < 0:
        screen.echo("More has been promised than this cap allows: no run will be admitted until it is raised.")
    others = [a["table"] for a in ledger_book.show(url)["tables"] if a["table"] != table and a["runs"]]
    if not account["runs"] and others:
        screen.echo(f"No run was booked under {table!r} yet; there are runs under: {', '.join(others)}.")


@app.command()
def verify(
    anchor: Annotated[
        str | None, typer.Option("--anchor", help="The ledger hash of a release: nothing up to it may be gone.")
    ] = None,
    url: Url = "",
    as_json: AsJson = False,
) -> None:
    """Check every seal and every rule: exit 0 when the ledger holds, 6 when it does not."""
    from hedgerow.steward import ledger_book

    number, head = ledger_book.verify(ledger_book.place_of(url), anchor)
    if as_json:
        screen.echo(json.dumps({"holds": True, "entries": number, "head": head, "anchor": anchor}, indent=2))
    else:
        upto = "" if anchor is None else ", and nothing is gone up to the release that names this anchor"
        screen.echo(f"The ledger holds: {many(number, 'entry')}{upto}.\nhead {head}")


@app.command()
def use(url: Annotated[str, typer.Argument(help="A file, or postgresql://user@host/database.")]) -> None:
    """Set the ledger of your office once, for all that name no other. HEDGEROW_LEDGER, if set, goes first."""
    from hedgerow.steward import ledger_book

    whole, kept = ledger_book.use(url)
    place = "the database" if "://" in whole else whole
    screen.echo(f"From now on {place} is used where a job or a command names no other ledger. Kept in {kept}.")


@app.command()
def upgrade(url: Url = "") -> None:
    """Bring a ledger of an earlier version to the present format; everything promised stays."""
    from hedgerow.steward import ledger_book

    done = ledger_book.upgrade(ledger_book.place_of(url))
    screen.echo("The ledger has the present format now, and holds." if done else "The ledger has the present format.")


def _pair(pair: dict[str, float] | None) -> str:
    if pair is None:
        return "no cap"
    return f"epsilon {pair['epsilon']:.6g}" + (f", delta {pair['delta']:.3g}" if pair["delta"] else "")


def _account_row(a: dict[str, Any]) -> tuple[str, ...]:
    return (
        a["table"],
        _pair(a["cap"]),
        _pair(a["promised"]),
        "" if a["worth"] is None else f"epsilon {a['worth']:.6g}",
        _pair(a["left"]),
        str(a["runs"]),
        ", ".join(a["same_rows_as"]),
    )


def _entry_row(e: dict[str, Any]) -> tuple[str, ...]:
    both = f"epsilon {e.get('epsilon')}" + (f", delta {e['delta']}" if e.get("delta", "0") != "0" else "")
    cost = both if e["kind"] in ("cap", "promise") else e.get("cost", "")
    what = e.get("what") or e.get("purpose") or " = ".join(e.get("names", ())) or e.get("request", "")[:8]
    return str(e["seq"]), e["at"], e["table"], e["kind"], e.get("run", "")[:8], cost, what, e["hash"][:8]
