"""What commands have in common when they show something: tables for people, progress on a terminal.

Names, labels and titles come from files and may hold anything.  Every text goes out through ``echo``, ``table`` or a
phase: none of it is markup, and no character of it acts on the terminal.
"""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import typer

from hedgerow.errors import NOTHING, JobError, LedgerError, Refused
from hedgerow.figures import aligned, many, one_line, percent, printable

if TYPE_CHECKING:
    from rich.status import Status

    from hedgerow.job import JobValues
    from hedgerow.pipeline import PreparedJob
    from hedgerow.planning import Plan
    from hedgerow.public import Guarantee
    from hedgerow.release.words import UseRow


def _noted(file: str, line: dict[str, str]) -> None:
    if file:
        with open(file, "a", encoding="utf-8") as open_file:
            open_file.write(json.dumps(line) + "\n")


def last_words(text: str) -> None:
    """Why a command ends: on stderr; and in the file of HEDGEROW_PROGRESS, with nothing of a library between."""
    echo(text, err=True)
    _noted(os.environ.get("HEDGEROW_PROGRESS", ""), {"ended": printable(text)})


class Phases:
    """The phase of long work: on stderr where that is a terminal; a line each in the file of HEDGEROW_PROGRESS."""

    def __init__(self) -> None:
        self._status: Status | None = None
        self._file = os.environ.get("HEDGEROW_PROGRESS", "")

    def _note(self, what: str, text: str) -> None:
        _noted(self._file, {what: one_line(text)})

    def __call__(self, text: str) -> None:
        """Say what is being done now."""
        self._note("phase", text)
        if not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.text import Text

        self.pause()
        console = Console(stderr=True)
        console.print(Text(one_line(text), style="dim"))
        self._status = console.status(Text(f"{one_line(text)} ..."))
        self._status.start()

    def step(self, text: str) -> None:
        """Say how far the present phase is, in its place."""
        self._note("step", text)
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text(one_line(text)))

    def pause(self) -> None:
        """Leave the terminal alone, to ask something or because the work is done."""
        if self._status is not None:
            self._status.stop()


@contextmanager
def progress() -> Iterator[Phases]:
    """Phases that are cleared away when the work is done; a word is said when loops are compiled meanwhile."""
    phases = Phases()
    try:
        with _word_of_compiling(phases):
            yield phases
    finally:
        phases.pause()


@contextmanager
def _word_of_compiling(phases: Phases) -> Iterator[None]:
    if not sys.stderr.isatty():
        yield
        return
    from numba.core import event

    class Word(event.Listener):  # type: ignore[misc]
        said = False

        def on_start(self, event: object) -> None:
            if not self.said:
                phases(
                    "compiling the inner loops for this machine, which takes some 20 seconds and is kept for later"
                )
            self.said = True

        def on_end(self, event: object) -> None:
            """Others follow at once."""

    with event.install_listener("numba:compile", Word()):
        yield


def confirm(yes: bool) -> None:
    """Ask whether the budget may be spent, unless that was said already; a refusal when not."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise JobError(f"Nobody is there to say yes. In a script, add --yes.\n{NOTHING}")
    if not typer.confirm("Spend it?", err=True):
        raise Refused(f"You said no. {NOTHING}")


def quote(prepared: "PreparedJob", plan: "Plan") -> str:
    """What a run will cost and what is left, in a few lines."""
    job, left, g = prepared.job, prepared.left(), prepared.guarantee
    lines = [
        f"Ledger: {prepared.books}.",
        f"This run promises {promise(float(job.budget.epsilon), float(job.budget.delta))} "
        f"for one {unit(g, bool(prepared.facts), bool(prepared.job.recipe.career_time))} ({g.relation}), "
        f"booked under {job.table!r}.",
        f"It will ask for {many(len(plan.asked), 'table')} with {many(plan.cells, _counts(plan))}{_later(plan)}.",
    ]
    lines += [f"Outside the schema: {line}." for line in plan.outside]
    lines += warning_lines(plan)
    if unknown := [one_line(v.use.name) for v in plan.verdicts if v.expected_met is None]:
        lines.append(f"Without a forecast: {', '.join(unknown)}.")
    if left is None:
        here = "" if "://" in job.ledger else f" --url {shlex.quote(job.ledger)}"  # an address may hold a password
        begun = "" if not here or Path(job.ledger).exists() else " --new"
        lines.append(
            f"No cap is set on {job.table!r}. To set one: {program()} ledger cap {shlex.quote(job.table)} "
            f"--epsilon 3{here}{begun}"
        )
    else:
        lines.append(f"Left under the cap{_like(prepared)}: {_around(left)}.")
    return "\n".join(lines)


def ledger_lines(prepared: "PreparedJob") -> list[str]:
    """For a plan: which ledger it is, and what its cap leaves to this job. Looking begins no ledger."""
    lines = [f"ledger     {prepared.books}"]
    try:
        left = prepared.left()
    except LedgerError:
        return lines  # that it cannot be looked at is said
    said = f"none is set on {prepared.job.table!r}" if left is None else f"left{_like(prepared)}: {_around(left)}"
    return [*lines, f"cap        {said}"]


def _around(left: tuple[Fraction, Fraction]) -> str:
    """What is left before and after a run."""
    now, after = left
    then = f"after this run {float(after):g}" if after >= 0 else "this run needs more and will be refused"
    return f"epsilon {float(now):g}; {then}"


def _like(prepared: "PreparedJob") -> str:
    delta = prepared.job.budget.delta
    return f" for a run with delta {float(delta):g}" if delta else ""


def unit(g: "Guarantee", people: bool = False, careers: bool = False) -> str:
    """The unit of protection in words; ``people``: each is counted once, by facts; ``careers``: by steps too."""
    if careers:
        return f"person with all rows, counted once and by at most {many(g.rows_per_person - 1, 'step')}"
    if people:
        return "person with all rows, counted once"
    if g.count:
        return f"record (a line stands for {g.count} of them)"
    return "record" if g.unit == "record" else f"person with at most {many(g.rows_per_person, 'row')}"


def promise(epsilon: float, delta: float) -> str:
    """A promise in symbols."""
    return f"epsilon {epsilon:g}" + (f", delta {delta:g}" if delta else "")


def plan_text(plan: "Plan", tables: int = 40) -> str:
    """The plan for people: cost, questions, expected errors of the intended uses."""
    from hedgerow.public import career_time, law_of, people_facts
    from hedgerow.release.words import use_rows

    g, coding = plan.tariff.guarantee, plan.tariff.coding
    counted = unit(g, bool(people_facts(coding)), bool(career_time(coding)))
    rows = f"{plan.assumed_rows:,} assumed rows" if plan.assumed_rows else "an unknown number of rows"
    lines = [
        f"recipe     {plan.recipe}",
        f"promise    {promise(float(plan.budget.epsilon), float(plan.budget.delta))} for one {counted}, "
        f"{g.relation}; booked as {plan.budget.measure} {float(plan.budget.total):.6g}",
        f"asks       {many(len(plan.asked), 'table')}, {many(plan.cells, 'cell')}{_later(plan)}",
        f"needs      about {plan.memory / 1e6:,.0f} MB and {plan.seconds:,.0f} s of CPU, for {rows}",
        *(f"           {line}" for line in plan.remarks),
        *(f"outside    {line}" for line in plan.outside),
        *([] if plan.attach is None else plan.attach.lines()),
        "",
    ]
    asked = [
        (str(a.question), f"{a.cells:,}", f"+/- {law.half_width():,.0f}" if law.added else "drawn")
        for a, law in ((a, law_of(a.noise)) for a in plan.asked[:tables])
    ]
    lines += aligned(("table", "cells", "noise, 95 %"), asked)
    if len(plan.asked) > tables:
        lines.append(f"... and {len(plan.asked) - tables} more (--json shows all)")
    if plan.verdicts:
        lines += ["", *use_lines(use_rows(plan.verdicts))]
    lines += [*_fates(plan), *([""] if plan.warnings else []), *warning_lines(plan)]
    lines += ["", "No confidential row was read and nothing was spent."]
    return "\n".join(lines)


def warning_lines(plan: "Plan") -> list[str]:
    """What a plan warns of, a paragraph each."""
    return [
        line for w in plan.warnings for line in wrap(f"WARNING    {one_line(w)}", 110, subsequent_indent=" " * 11)
    ]


def _counts(plan: "Plan") -> str:
    """What the answers of a plan are: noisy, or drawn."""
    from hedgerow.public import law_of

    return "noisy count" if any(law_of(a.noise).added for a in plan.asked) else "drawn count"


def _later(plan: "Plan") -> str:
    """What a plan cannot list yet."""
    if plan.kept < 0.005:
        return ""
    return f", with {100 * (1 - plan.kept):.0f} % of the budget; what the rest asks follows from the answers"


def use_lines(rows: "Iterable[UseRow]") -> list[str]:
    """The table of intended uses: tolerance, error and its band, as what sample, verdict; what they rest on below."""
    rows = list(rows)
    head = ("intended use", "tolerance", "forecast", "8 runs in 10", "like a", "")
    shown = [
        (
            u.name,
            u.tolerance,
            u.error,
            u.band,
            "" if u.like == "-" else f"{u.like} sample",
            {"missed": u.verdict.upper(), "open": u.note}.get(u.kind, u.verdict),
        )
        for u in rows
    ]
    basis = dict.fromkeys(u.note.rstrip(".") for u in rows if u.kind != "open" and u.note)
    below = [line for note in basis for line in wrap(one_line(note), 110, subsequent_indent="  ")]
    return [*aligned(head, shown, left=(0, 5)), *below]


def _fates(plan: "Plan") -> list[str]:
    """The recipes for a table of counts, side by side."""
    if not plan.recipe_forecasts:
        return []
    rows = []
    for f in plan.recipe_forecasts:
        figures = ("-", "-", "-")
        if f.prior_weight is not None:
            figures = f"{100 * f.prior_weight:.0f} %", f"{f.total_variation:.4f}", _off(f.small_cell_error)
        rows.append((f.recipe + " (this job)" * f.chosen, *figures, f.note))
    lines = ["", *aligned(("recipe for this table", "prior weight", "distance", "cell of 10", ""), rows, left=(0, 4))]
    lines.append("prior weight: the share of what is published that is prior; distance: total variation, expected")
    lines += [] if plan.imagined is None else [f"for {plan.imagined.assumed}"]
    return lines


def _off(error: float | None) -> str:
    return "-" if error is None else f"{percent(error)} off"


def program() -> str:
    """How this command is called again: by its name where the shell finds it, else by the path it was called by."""
    called, found = Path(sys.argv[0]), shutil.which("hedgerow")
    by_name = called.name != "hedgerow" or not called.exists() or (found is not None and called.samefile(found))
    return "hedgerow" if by_name else shlex.quote(sys.argv[0])


def verify_command(job: "JobValues", folder: Path) -> str:
    """The command that verifies a release, with the tables that drawing and estimating again take; no password."""
    from hedgerow.release.contents import without_passwords

    recipe, words = job.recipe, ["verify", str(folder)]
    parts = {"public": job.public if recipe.draws_from_public or job.uses else None, "target": job.target}
    words += [w for role, part in parts.items() if part for w in (f"--{role}", str(part.table))]
    return f"{program()} {without_passwords(shlex.join(words))}"


def echo(text: str, *, err: bool = False, end: bool = True) -> None:
    """A text for people, on stdout; or on stderr, where it is no result."""
    typer.echo(printable(text), err=err, nl=end)


def table(title: str, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """A table with lines on a terminal, an aligned one elsewhere; programs read --json."""
    if not sys.stdout.isatty():
        echo("\n".join([title, *aligned(head, rows, left=range(len(head))), ""]))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(*head, title=title, title_justify="left")
    for row in rows:
        shown.add_row(*(Text(one_line(x)) for x in row))
    Console().print(shown)
