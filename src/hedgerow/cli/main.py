"""The ``hedgerow`` command. A refusal is one paragraph and its exit code, never a traceback."""

import sys
from typing import Annotated

import typer

from hedgerow import __version__
from hedgerow.cli import demo, experiment, interval, job, ledger, release, schema, show, steward, verify_model
from hedgerow.errors import HedgerowError

app = typer.Typer(
    help="Publish a confidential table as differentially private synthetic data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.add_typer(schema.app, name="schema")
app.command("plan")(job.plan)
app.command("rehearse")(job.rehearse)
app.command("interval")(interval.interval)
app.command("experiment")(experiment.experiment)
app.command("run")(job.run)
app.command("sample")(release.sample)
app.command("verify")(release.verify)
app.command("verify-model")(verify_model.verify_model)
app.command("compare")(release.compare)
app.add_typer(steward.app, name="steward")
app.add_typer(ledger.app, name="ledger")


@app.callback(invoke_without_command=True)
def about(
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    """Publish a confidential table as differentially private synthetic data."""
    if version:
        show.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line."""
    try:
        app(prog_name="hedgerow")
    except HedgerowError as refusal:
        show.echo(str(refusal), err=True)
        sys.exit(refusal.exit_code)
    except KeyboardInterrupt:
        show.echo("Stopped. A run that had begun is continued with: hedgerow run JOB.toml --resume", err=True)
        sys.exit(1)
