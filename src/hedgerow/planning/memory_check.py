"""Whether a plan fits in the memory of this machine, said before anything is read or booked."""

import os
from pathlib import Path

from hedgerow.errors import JobError
from hedgerow.public.schema import Schema

_GROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def machine_memory() -> int:
    """The bytes of memory of this machine, or of the container that we run in if that has fewer."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in _GROUP_LIMITS:
        try:
            found.append(int(Path(file).read_text("ascii")))
        except (OSError, ValueError):
            continue
    return min(found)


def check_fits(memory: int, limit: int | None, schema: Schema, rows: int, *, lighter: str = "") -> None:
    """Refuse a plan that needs more than ``limit`` bytes, and say what would make it smaller.

    ``lighter`` is what the recipe itself has to say to that.
    """
    if limit is None or memory <= limit:
        return
    sizes = sorted(((schema.size([a]), a) for a in schema.attributes), reverse=True)
    widest = ", ".join(f"{name} ({size:,} values)" for size, name in sizes[:3])
    raise JobError(
        f"It needs about {memory / 1e9:,.1f} GB of memory for {rows:,} rows; {limit / 1e9:,.1f} GB are there.\n"
        + (f"{lighter}\n" if lighter else "")
        + f"Give the widest columns fewer bins or values: {widest}; leave columns out of the schema; say a smaller\n"
        "[confidential] assumed_rows if that was a guess; or allow more with [job] memory_gb.\n"
        "No confidential row was read and nothing was spent."
    )
