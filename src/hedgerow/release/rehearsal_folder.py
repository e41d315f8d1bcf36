"""A rehearsal on disk: its numbers for machines and for the release, and a page for people."""

import json
from pathlib import Path

from hedgerow import __version__
from hedgerow.errors import JobError
from hedgerow.figures import page
from hedgerow.job import Job
from hedgerow.release.sections import curves, groups, rehearsal_words
from hedgerow.release.story import use_rows
from hedgerow.stand_in.curve import Rehearsal

NAME, PAGE = "rehearsal.json", "rehearsal.html"


def folder_of(job: Job) -> Path:
    """Where the rehearsal of a job is kept: beside the folder of its release."""
    release = job.beside(job.file.job.out)
    return release.with_name(release.name + "-rehearsal")


def write(found: Rehearsal, folder: Path) -> None:
    """The rehearsal in ``folder``, in place of an earlier one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / NAME).write_text(json.dumps(found.to_json(), indent=2) + "\n", "utf-8")
        (folder / PAGE).write_text(page_of(found), "utf-8")
    except OSError as wrong:
        raise JobError(
            f"Cannot write in {folder}: {wrong.strerror or wrong}. Nothing confidential was read or spent."
        ) from None


def page_of(found: Rehearsal) -> str:
    """The page that shows a rehearsal."""
    names = {
        "version": __version__,
        "recipe": found.recipe,
        "rehearsed": rehearsal_words(found),
        "uses": use_rows(found.here.verdicts),
        "curves": curves(found),
        "groups": groups(found.here.verdicts),
    }
    return page.render("hedgerow.release", "rehearsal.html.j2", names)


def saved_rehearsal(job: Job, key: str) -> Rehearsal | None:
    """The rehearsal of this very job, if there is one: same recipe, uses, promise but for epsilon, and inputs."""
    try:
        found = Rehearsal.from_json(json.loads((folder_of(job) / NAME).read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return found if found.key == key and found.at(job.budget.epsilon) is not None else None
