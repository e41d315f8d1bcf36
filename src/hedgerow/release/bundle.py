"""The bundle: a folder with everything a release says, there in full or not at all, and read back trusted in nothing.

Every file is a function of the ``Contents``, which hold public inputs, noisy answers and what was computed
from them.  There is no clock, no host and no path in it: with equal noisy answers, two neighbouring
confidential tables give the same bytes.
"""

import json
import os
import re
import shutil
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NoReturn

import polars as pl

from hedgerow.errors import HedgerowError, JobError, VerifyFailed
from hedgerow.job import JobValues
from hedgerow.public import Coding, RecordFile, Schema, Statement, coding_of, whole
from hedgerow.release import manifest, measurements, package
from hedgerow.release.contents import FORMATS, Contents, write_tables
from hedgerow.release.manifest import cannot_write, open_plain, settle, write_whole
from hedgerow.release.pages import pages

LONGEST_TEXT = 1 << 26
"""The most bytes of a text of a bundle that are read."""
_FRACTION = re.compile(r"[0-9]{1,1000}(/[0-9]{1,1000})?")
_FRACTIONS = {"epsilon", "delta", "scale", "cost", "rate", "total", "spent"}
_TEXTS = {"table", "recipe", "hedgerow", "run", "anchor", "role", "name", "sha256", "provenance", "person", "count"}


class NotChecked(HedgerowError):
    """Something of a bundle could not be checked, for a reason that is no fault of the bundle's."""

    exit_code = 7


class BundleReader:
    """The parts of the bundle in ``folder``. Each fails with ``VerifyFailed`` when it cannot be read."""

    kind: ClassVar[str] = "release"
    statement_name: ClassVar[str] = "statement.json"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def data(self, name: str) -> bytes:
        """The bytes of a file of the bundle; links and anything that is not a plain file are refused."""
        try:
            with open_plain(self.folder / name) as file:
                return file.read()
        except OSError:
            raise VerifyFailed(f"{name} is not there as a plain file.") from None

    def text(self, name: str) -> str:
        """The text of a file of the bundle."""
        try:
            with open_plain(self.folder / name) as file:
                data = file.read(LONGEST_TEXT + 1)
        except OSError:
            raise VerifyFailed(f"{name} is not there as a plain file.") from None
        if len(data) > LONGEST_TEXT:
            raise VerifyFailed(f"{name} is a text of more than {LONGEST_TEXT:,} bytes: no release has one.")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise VerifyFailed(f"{name} is not a text file.") from None

    def read_all(self) -> None:
        """Read every part once; of a folder that is no release, its tables, and its schema if it has one."""
        released = self.statement_name in self.names
        read = self.names if released else [n for n in self.names if n == "schema.toml" or n.endswith(".parquet")]
        for name in read:
            try:
                open_plain(self.folder / name).close()
            except OSError:
                raise VerifyFailed(f"{name} is not there as a plain file.") from None
        if released:
            for records in self.contents.records:
                _ = whole(records)
            return
        for name in read:
            _ = self.schema if name == "schema.toml" else self._table(name)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Everything in the folder, copies in their order."""
        try:
            found = [p.name for p in self.folder.iterdir()]
        except OSError:
            raise VerifyFailed(f"There is no folder {self.folder.name} that can be read.") from None
        return tuple(sorted(found, key=lambda n: (len(n), n)))

    @cached_property
    def raw(self) -> dict[str, Any]:
        """The plain data of ``statement.json``, in the one form in which it is written."""
        text = self.text("statement.json")
        try:
            data = json.loads(text, parse_constant=_no_number, parse_float=_as_float)
            written = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
        except (ValueError, RecursionError):
            raise VerifyFailed("statement.json is not JSON, or holds a number that is none.") from None
        if written != text or not isinstance(data, dict):
            raise VerifyFailed("statement.json is not in the form Hedgerow writes: it was edited.")
        _must_be_plain(data)
        return data

    @cached_property
    def statement(self) -> Statement:
        """The statement; its events are not yet checked."""
        return Statement.from_json(self.raw)

    @cached_property
    def schema(self) -> Schema:
        """The schema, which must stand on its own."""
        schema = Schema.loads(self.text("schema.toml"))
        if not schema.is_resolved:
            raise VerifyFailed("schema.toml still takes something from a public table.")
        return schema

    @cached_property
    def coding(self) -> Coding:
        """How what was counted is coded: rows, people by their facts, or careers."""
        return coding_of(self.schema, self.statement.facts, self.statement.careers)

    @property
    def persons(self) -> tuple[str, ...]:
        """The column that says whose each record is, where people were counted."""
        s = self.statement
        return (s.guarantee.person,) if s.facts or s.careers else ()

    @cached_property
    def answers(self) -> measurements.Answers:
        """The noisy answers."""
        return measurements.loads(self.data("measurements.parquet"))

    @cached_property
    def records(self) -> tuple[RecordFile, ...]:
        """The synthetic copies, which are read a piece at a time."""
        return tuple(self._record_file(name) for name in self.copies)

    def _record_file(self, name: str) -> RecordFile:
        try:
            open_plain(self.folder / name).close()
        except OSError:
            raise VerifyFailed(f"{name} is not there as a plain file.") from None
        return RecordFile(self.folder / name)

    @cached_property
    def counts(self) -> pl.DataFrame | None:
        """The synthetic counts with their intervals; None when there are none."""
        return self._table("counts.parquet") if "counts.parquet" in self.names else None

    @cached_property
    def further_counts(self) -> tuple[pl.DataFrame, ...]:
        """The further copies of the counts, in order."""
        found: list[pl.DataFrame] = []
        while (name := f"counts-{len(found) + 2}.parquet") in self.names:
            found.append(self._table(name))
        return tuple(found)

    @property
    def all_counts(self) -> tuple[pl.DataFrame, ...]:
        """Every copy of the counts."""
        return () if self.counts is None else (self.counts, *self.further_counts)

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats of the records besides Parquet."""
        stems = {n.removesuffix(".parquet") for n in self.copies}
        return tuple(f for f in FORMATS if any(f"{s}.{f}" in self.names for s in stems))

    @property
    def software(self) -> dict[str, str]:
        """The libraries that drew the records, as far as the bundle says so."""
        return package.loads(self.text(package.NAME))[-1] if package.NAME in self.names else {}

    @cached_property
    def margins(self) -> pl.DataFrame | None:
        """The margins of the counts; None when there are none."""
        return self._table("margins.parquet") if "margins.parquet" in self.names else None

    @cached_property
    def contents(self) -> Contents:
        """Everything the bundle says, put together again."""
        title, verdicts, estimates, findings, given, rehearsal, software = package.loads(self.text(package.NAME))
        return Contents(
            schema=self.schema,
            statement=self.statement,
            answers=self.answers,
            job=self.text("job.toml"),
            records=self.records,
            counts=self.counts,
            copies=self.further_counts,
            margins=self.margins,
            verdicts=verdicts,
            estimates=estimates,
            findings=findings,
            given=given,
            rehearsal=rehearsal,
            formats=self.formats,
            software=software,
            title=title,
        )

    def told_of(self, job: JobValues) -> dict[str, tuple[Any, Any]]:
        """What pages say that the job alone decides, as it says it and as they do."""
        if package.NAME not in self.names:
            return {}
        contents, asked = self.contents, tuple(use.on(self.schema) for use in job.uses)
        played = contents.rehearsal.points if contents.rehearsal else ()
        judged = [tuple(v.use for v in each) for each in (contents.verdicts, *(p.verdicts for p in played))]
        of_public = [i.provenance for i in self.statement.public_inputs if i.role == "public"]
        return {
            "the intended uses": ([asked] * len(judged), judged),
            "the title": (job.title or job.table, contents.title),
            "where the public table comes from": ([job.public.provenance] if job.public else [], of_public),
        }

    def must_agree(self, pairs: Mapping[str, tuple[Any, Any]]) -> None:
        """Refuse a job that asks for something else than the statement says."""
        for what, (asked, stated) in pairs.items():
            if asked != stated:
                raise VerifyFailed(f"job.toml and {self.statement_name} do not agree on {what}.")

    @cached_property
    def copies(self) -> tuple[str, ...]:
        """The names of the record files in Parquet, which must be ``records`` or ``records-1`` to ``-m``."""
        found = tuple(n for n in self.names if n.startswith("records") and n.endswith(".parquet"))
        numbered = tuple(f"records-{i}.parquet" for i in range(1, len(found) + 1))
        if found not in ((), ("records.parquet",), numbered) or found == ("records-1.parquet",):
            raise VerifyFailed("The copies must be records.parquet, or records-1.parquet and so on without a gap.")
        return found

    def _table(self, name: str) -> pl.DataFrame:
        data = self.data(name)
        try:
            return pl.read_parquet(data)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            raise VerifyFailed(f"{name} is not a table of its kind, or it is damaged.") from None


def _must_be_plain(data: Any) -> None:
    """Refuse numbers that only look like one, and texts that are not text, wherever they stand."""
    if isinstance(data, list):
        for item in data:
            _must_be_plain(item)
    elif isinstance(data, dict):
        for key, value in data.items():
            if key in _FRACTIONS and not (isinstance(value, str) and _FRACTION.fullmatch(value)):
                raise VerifyFailed(f"statement.json has a {key} that is not a whole number or a fraction.")
            if key in _TEXTS and not isinstance(value, str):
                raise VerifyFailed(f"statement.json has a {key} that is not text.")
            if key in ("cells", "rows_per_person") and type(value) is not int:
                raise VerifyFailed(f"statement.json has {key} that is not a whole number.")
            _must_be_plain(value)


def _as_float(text: str) -> float:
    number = float(text)
    if repr(number) != text:
        raise ValueError(text)
    return number


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


__all__ = ["Contents", "read_bundle", "write_bundle"]


def write_bundle(directory: Path | str, contents: Contents, *, draft: Path | None = None) -> None:
    """Write the bundle of ``contents`` at ``directory``.

    It is put together beside its place, in ``draft``, and moved there in one step.  Nothing but an empty folder ever
    makes way for it, however late something else came to stand there.
    """
    place = Path(directory).resolve()
    _must_be_free(place)
    draft = draft or place.with_name(f".{place.name}.{os.getpid()}.partial")
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        _fill(draft, contents)
        put_in_place(draft, place)
    except OSError as wrong:
        raise cannot_write(place, wrong) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _fill(folder: Path, contents: Contents) -> None:
    tables = {name: manifest.facts_of(folder / name) for name in write_tables(folder, contents)}
    measurements.save(folder / "measurements.parquet", contents.answers)
    complete(folder, pages(contents, tables))


def complete(folder: Path, texts: Mapping[str, str]) -> None:
    """Write texts beside what lies in ``folder``; the list of all files last, so that half a folder does not hold."""
    for name, text in texts.items():
        write_whole(folder / name, partial(written, text.encode()))
    every = {p.name: manifest.facts_of(p) for p in folder.iterdir()}
    write_whole(folder / manifest.NAME, partial(written, manifest.dumps(every).encode()))


def written(data: bytes, file: BinaryIO) -> None:
    """Write ``data`` into ``file``."""
    file.write(data)


def _must_be_free(place: Path) -> None:
    if place.exists() and not (place.is_dir() and not any(place.iterdir())):
        holds = "holds a release already" if (place / manifest.NAME).is_file() else "exists and is not a release"
        raise JobError(
            f"{place} {holds}. Choose another place with --out (in Python: job.run(FOLDER)), or move it away\n"
            "and go on with --resume (in Python: resume=True). "
            "Nothing was written; writing reads no confidential row and spends nothing."
        )


def put_in_place(draft: Path, place: Path) -> None:
    """Put the finished folder in its place. Only an empty folder gives way: the system refuses any other."""
    for path in (*draft.iterdir(), draft):
        settle(path)
    if os.name == "nt" and place.is_dir():  # nothing is replaced there, not even an empty folder
        place.rmdir()
    try:
        os.rename(draft, place)
    except OSError:
        _must_be_free(place)
        raise
    settle(place.parent)


def read_bundle(directory: Path | str) -> Contents:
    """The contents of the bundle at ``directory``; trust them only as far as ``verify`` goes."""
    return BundleReader(Path(directory)).contents
