"""The table files of a bundle: synthetic records in every format asked for, or synthetic counts."""

from pathlib import Path

from hedgerow.public.write import write_table
from hedgerow.release.contents import Contents


def write_tables(folder: Path, contents: Contents) -> tuple[str, ...]:
    """Write records and counts into ``folder``; gives the names of the files."""
    frames = {
        f"{stem}.{suffix}": frame
        for stem, frame in zip(contents.record_names, contents.records, strict=True)
        for suffix in ("parquet", *contents.formats)
    }
    if contents.counts is not None:
        frames["counts.csv"] = contents.counts
    for name, frame in frames.items():
        write_table(frame, folder / name, contents.schema)
    return tuple(frames)
