"""A job from the text of its file."""

from pathlib import Path

from hedgerow.job import JobValues
from hedgerow.job.file import values


def loads(text: str, path: Path) -> JobValues:
    """The job written in ``text``; relative paths start from the folder of ``path``."""
    return JobValues(**values(text, path))
