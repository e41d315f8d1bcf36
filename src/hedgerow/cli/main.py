"""The ``hedgerow`` command. A refusal is one paragraph and its exit code, never a traceback."""

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from hedgerow import __version__
from hedgerow.cli import (
    demo,
    doctor,
    experiment,
    interval,
    job,
    ledger,
    release,
    reproduce,
    schema,
    show,
    steward,
    studio,
    verify_model,
)
from hedgerow.errors import HedgerowError

app = typer.Typer(
    help="Publish a confidential table as differentially private synthetic data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)
app.add_typer(schema.app, name="schema")
app.command("plan")(job.plan)
app.command("rehearse")(job.rehearse)
app.command("interval")(interval.interval)
app.command("experiment")(experiment.experiment)
app.command("reproduce")(reproduce.reproduce)
app.command("run")(job.run)
app.command("sample")(release.sample)
app.command("estimate")(release.estimate)
app.command("sign")(release.sign)
app.command("verify")(release.verify)
app.command("verify-model")(verify_model.verify_model)
app.command("compare")(release.compare)
app.add_typer(steward.app, name="steward")
app.add_typer(ledger.app, name="ledger")
app.command("studio")(studio.studio)


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
    for library in ("OPENBLAS", "MKL", "OMP"):  # before any is loaded: our matrices are small, and threads would wait
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    try:
        app(prog_name="hedgerow")
    except HedgerowError as refusal:
        show.last_words(str(refusal))
        sys.exit(refusal.exit_code)
    except KeyboardInterrupt:
        show.last_words("Stopped.")
        sys.exit(130)
    except BaseException as fault:  # also a panic of a library, which is no Exception
        if isinstance(fault, SystemExit | GeneratorExit) or os.environ.get("HEDGEROW_TRACEBACK"):
            raise
        show.last_words(_fault(fault))
        sys.exit(1)


def _fault(fault: BaseException) -> str:
    """What is said of an error that nobody foresaw: where it was, never its own words, which may quote a row."""
    ours = [f for f in traceback.extract_tb(fault.__traceback__) if "hedgerow" in Path(f.filename).parts]
    where = f" at {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    if isinstance(fault, MemoryError):
        return (
            f"Memory ran out{where}. Take fewer columns or bins, or a machine with more. If a run had begun, what\n"
            "it was answered is saved: continue with hedgerow run JOB.toml --resume."
        )
    return (
        f"This is a fault of ours: {type(fault).__name__}{where}. Please report these words and what you typed. The\n"
        "error's own text is not shown, because it may quote a row; HEDGEROW_TRACEBACK=1 shows it to you alone.\n"
        "If a run had begun, what it was answered is saved: continue with hedgerow run JOB.toml --resume."
    )
