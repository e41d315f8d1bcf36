"""Checking a bundle without the confidential table: each check says what was found, and none trusts a file.

A bundle that holds is consistent with itself: nothing was altered after it was written, every cost follows
from its noise, the costs keep the promise, and the pages say what the files say.  That the noise was really
drawn so, and that nothing else was published, is for the ledger and the audit of the code to show.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hedgerow.errors import HedgerowError
from hedgerow.public import Statement
from hedgerow.release import checks, choice
from hedgerow.release.bundle import BundleReader


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes:
        name: what was checked, in a few words.
        held: whether it holds.
        detail: what was found.
    """

    name: str
    held: bool
    detail: str


CHECKS: tuple[tuple[str, Callable[[BundleReader], str]], ...] = (
    ("files are those of the manifest", checks.files_are_listed),
    ("statement follows from its events", checks.says_what_follows),
    ("every cost follows from its noise", checks.costs_are_right),
    ("cells follow from the schema", checks.cells_are_right),
    ("costs keep the promise", checks.promise_is_kept),
    ("noisy answers were paid for", checks.answers_were_paid_for),
    ("job asked for this promise", checks.job_agrees),
    ("tables lie inside the schema", checks.tables_fit),
    ("pages say what the files say", checks.pages_agree),
)
"""Every check by name, in the order of the report."""


def verify(directory: Path | str) -> tuple[Check, ...]:
    """The outcome of every check on the bundle or choice at ``directory``; never fails itself, whatever is there."""
    folder = Path(directory)
    if choice.is_choice(folder):
        chosen = choice.ChoiceReader(folder)
        return tuple(outcome(name, partial(check, chosen)) for name, check in choice.CHECKS)
    bundle = BundleReader(folder)
    return tuple(outcome(name, partial(check, bundle)) for name, check in CHECKS)


def booked_statement(directory: Path | str) -> Statement:
    """The promise and the requests that the ledger should have of a release or of a choice."""
    folder = Path(directory)
    return choice.ChoiceReader(folder).choice.whole if choice.is_choice(folder) else BundleReader(folder).statement


def outcome(name: str, check: Callable[[], str]) -> Check:
    """The outcome of one check, whatever happens in it."""
    try:
        return Check(name, True, check())
    except HedgerowError as wrong:
        return Check(name, False, str(wrong))
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as wrong:  # a library may panic on rubbish, which is not an Exception
        return Check(
            name, False, f"The files are not what they should be, and could not be read ({type(wrong).__name__})."
        )
