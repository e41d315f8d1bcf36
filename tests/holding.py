"""A bundle that must hold."""

from pathlib import Path

from hedgerow.errors import VerifyFailed
from hedgerow.release.verify import Check, verify


def assert_holds(directory: Path | str) -> tuple[Check, ...]:
    """The checks of a bundle that holds; ``VerifyFailed`` with every failed check otherwise."""
    checks = verify(directory)
    failed = [c for c in checks if c.held is False]
    if failed:
        listed = "\n".join(f"  {c.name}: NO. {c.detail}" for c in failed)
        raise VerifyFailed(
            f"The release in {directory} does not hold: {len(failed)} of {len(checks)} checks failed.\n{listed}\n"
            "Do not rely on it: ask its publisher for the original. No confidential row was read, nothing was spent."
        )
    return checks
