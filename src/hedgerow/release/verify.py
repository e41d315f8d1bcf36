"""Checking a bundle without the confidential table: each check says what was found, and none trusts a file.

A bundle that holds is consistent with itself: nothing was altered after it was written, every cost follows
from its noise, the costs keep the promise, the pages say what the files say, and the records are what the recipe
draws from the answers.  That the noise was really drawn so, and that nothing else was published, is for the ledger
and the audit of the code to show.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, final

from hedgerow.errors import HedgerowError, VerifyFailed
from hedgerow.figures import table_html
from hedgerow.public import Statement
from hedgerow.release import checks, choice
from hedgerow.release.bundle import BundleReader, NotChecked
from hedgerow.release.evidence import estimates_follow
from hedgerow.release.redraw import JobValues, OtherTable, Redrawing, nothing_is_hidden, records_are_drawn
from hedgerow.release.signature import public_key, signed_by


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes:
        name: what was checked, in a few words.
        held: whether it holds; None when it could not be checked, which is no success.
        detail: what was found, or why it was not checked.
    """

    name: str
    held: bool | None
    detail: str


@final
@dataclass(frozen=True)
class Verification:
    """What ``verify`` found: true when every check holds and none was left out.

    >>> bool(Verification((Check("costs", True, "right"), Check("pages", None, "of another version"))))
    False
    """

    checks: tuple[Check, ...]

    @property
    def failed(self) -> tuple[str, ...]:
        """The checks that do not hold."""
        return tuple(c.name for c in self.checks if c.held is False)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The checks that could not be made."""
        return tuple(c.name for c in self.checks if c.held is None)

    @property
    def holds(self) -> bool:
        """Whether every check was made and holds."""
        return not self.failed and not self.unchecked

    @property
    def exit_code(self) -> int:
        """Of the command: 0 it holds, 6 it does not, 7 nothing failed but not all of it could be checked."""
        return VerifyFailed.exit_code if self.failed else NotChecked.exit_code if self.unchecked else 0

    def summary(self, what: str = "release") -> str:
        """The outcome in a sentence."""
        if self.failed:
            return f"The {what} does NOT hold."
        if self.unchecked:
            return (
                f"Nothing failed, but not all was checked ({', '.join(self.unchecked)}): the {what} is NOT confirmed."
            )
        return f"The {what} holds."

    def must_not_fail(self, folder: Path | str) -> None:
        """Refuse to put a name to what does not hold; what could not be checked is no reason to."""
        if self.failed:
            said = "\n".join(f"- {c.name}: {c.detail}" for c in self.checks if c.held is False)
            raise VerifyFailed(
                f"{folder} does not hold, so it is not signed:\n{said}\n"
                "Sign what a run wrote, as it wrote it. Nothing confidential was read or spent."
            )

    def to_json(self) -> dict[str, Any]:
        """The checks as plain data; ``held`` is null where a check could not be made."""
        rows = [{"check": c.name, "held": c.held, "detail": c.detail} for c in self.checks]
        return {"holds": self.holds, "failed": list(self.failed), "unchecked": list(self.unchecked), "checks": rows}

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        if self.failed:
            return f"Verification(does not hold: {', '.join(self.failed)})"
        if self.unchecked:
            return f"Verification(nothing failed, but not checked: {', '.join(self.unchecked)})"
        return f"Verification(holds, {len(self.checks)} checks)"

    def _repr_html_(self) -> str:
        rows = [(WORDS[c.held].strip(), c.name, c.detail) for c in self.checks]
        return table_html(repr(self), ("", "check", "found"), rows)


WORDS = {True: "ok    ", False: "FAILED", None: "NOT CHECKED"}
"""How each outcome of a check is shown."""

CHECKS: tuple[tuple[str, Callable[[BundleReader], str]], ...] = (
    ("files are those of the manifest", checks.files_are_listed),
    ("statement follows from its events", checks.says_what_follows),
    ("every cost follows from its noise", checks.costs_are_right),
    ("cells follow from the schema", checks.cells_are_right),
    ("costs keep the promise", checks.promise_is_kept),
    ("noisy answers were paid for", checks.answers_were_paid_for),
    ("job asked for this promise", checks.job_agrees),
    ("schema is the one that was stated", checks.schema_is_stated),
    ("tables lie inside the schema", checks.tables_fit),
    ("pages say what the files say", checks.pages_agree),
    ("files hide nothing beside their tables", nothing_is_hidden),
)
"""Every check by name, in the order of the report."""


DRAWN, SIGNED = "records were drawn from the answers", "manifest is signed by the agency's key"
TOLD = "figures of uses follow from the answers"
"""The checks that take more than the bundle: public tables where the recipe needs them, and a key."""


def verify(
    directory: Path | str,
    *,
    public: Any = None,
    target: Any = None,
    key: Path | str | None = None,
    job: JobValues | None = None,
) -> tuple[Check, ...]:
    """The outcome of every check on the bundle or choice at ``directory``; never fails itself, whatever is there.

    ``public`` and ``target`` are the tables of the run, for recipes that start from them: a path or a frame.  With
    ``key``, the file of an agency's public key, it must be signed by that agency.  ``job`` is the job of the run
    where that is at hand.

    Raises:
        OtherTable: one of them is not the table that the statement names.
    """
    folder = Path(directory)
    if key is not None:
        public_key(Path(key))  # a mistake of who asks shows before anything is checked
    if choice.is_choice(folder):
        chosen = choice.ChoiceReader(folder)
        made = tuple(outcome(name, partial(check, chosen)) for name, check in (*choice.CHECKS, CHECKS[-1]))
        again = Redrawing(chosen, public, target, job)
    else:
        bundle = BundleReader(folder)
        made = tuple(outcome(name, partial(check, bundle)) for name, check in CHECKS)
        again = Redrawing(bundle, public, target, job)
    drawn = [outcome(DRAWN, partial(records_are_drawn, again))]
    if again.bundle.kind == "release":
        drawn.append(outcome(TOLD, partial(estimates_follow, again)))
    signed = () if key is None else (outcome(SIGNED, partial(signed_by, again.bundle, Path(key))),)
    return (*made, *drawn, *signed)


def kind_of(directory: Path | str) -> str:
    """What a folder holds: a release, or a choice."""
    return "choice" if choice.is_choice(Path(directory)) else "release"


def booked_statement(directory: Path | str) -> Statement:
    """The promise and the requests that the ledger should have of a release or of a choice."""
    folder = Path(directory)
    return choice.ChoiceReader(folder).choice.whole if choice.is_choice(folder) else BundleReader(folder).statement


def outcome(name: str, check: Callable[[], str]) -> Check:
    """The outcome of one check, whatever happens in it."""
    try:
        return Check(name, True, check())
    except OtherTable:
        raise
    except NotChecked as reason:
        return Check(name, None, str(reason))
    except HedgerowError as wrong:
        return Check(name, False, str(wrong))
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as wrong:  # a library may panic on rubbish, which is not an Exception
        return Check(
            name, False, f"The files are not what they should be, and could not be read ({type(wrong).__name__})."
        )
