"""Records drawn again from the noisy answers of a bundle, and whether the released ones are such.

A release is a function of its answers, its public tables, its job and a seed, all of which it has or names.  So
whoever has it can draw its records again.  The same versions of the same libraries draw the same bytes.  Others may
not; then released and fresh records must be alike as fresh ones are among themselves: drawn by one law, all of them
are exchangeable, so that the released ones lie neither further from the rest nor nearer to it than each of the rest.
Records that do were not drawn.  Those that do not are not confirmed by it: exact counts, and confidential rows of few
columns, lie as near to good answers as any drawing does.
"""

import filecmp
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.answers import RecordedAnswers, Reply
from hedgerow.errors import HedgerowError, JobError, TableMismatch, VerifyFailed
from hedgerow.job import ForeignRecipe, JobValues, Public, Target, facts_for, read_published
from hedgerow.public import (
    CodedTable,
    PublicData,
    RecordFile,
    Role,
    Schema,
    Statement,
    Table,
    Tariff,
    as_brought,
    is_address,
    open_public,
    pieces,
    whole,
)
from hedgerow.recipes import AbstractRecipe
from hedgerow.records import AbstractModel, AbstractPeople, Copies, Fitted, write_copies
from hedgerow.release import measurements, package
from hedgerow.release.bundle import BundleReader, NotChecked
from hedgerow.release.checks import __version__
from hedgerow.release.contents import write_tables
from hedgerow.release.manifest import facts_of
from hedgerow.release.origin import given_columns

_LIBRARIES = ("numba", "numpy", "polars", "pyreadstat")
_FRESH, _TABLES = 8, 300
"""So many fresh drawings, compared on at most so many tables of pairs and of triples."""


def software() -> dict[str, str]:
    """What decides, besides answers, public tables, job and seed, which bytes a drawing has."""
    return {name: _version(name) for name in _LIBRARIES} | {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "machine": f"{sys.platform} {platform.machine().lower()}",
    }


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # somebody carries it along without its papers
        return "unknown"


class OtherTable(JobError):
    """A table that was handed in is not the one of the run: a mistake of who asks, not of the release."""


@final
@dataclass(frozen=True, eq=False)
class Redrawing:
    """A bundle with what its records are drawn from beside it.

    Attributes:
        bundle: the release, or the choice.
        public: the public table of the run, a path or a frame.
        target: the target of the run, in the same way.
        job: the job of the run, where that is at hand: it has a recipe that is not one of ours.
    """

    bundle: BundleReader
    public: Any = None
    target: Any = None
    job: JobValues | None = None

    @cached_property
    def published(self) -> JobValues:
        """The job; paths in it start from the folder of the release, where most jobs lie."""
        place = self.bundle.folder.absolute().parent / "job.toml"
        return self.job or read_published(self.bundle.text("job.toml"), place, self.bundle.schema)

    @cached_property
    def data(self) -> PublicData:
        """All that the recipe may use: the schema, the public relative, the target, the very tables of the run."""
        recipe = self.published.recipe
        role: Role = "relative" if recipe.attaches or recipe.career_time else "public"
        return PublicData(
            self.bundle.schema,
            self._table("public", self.public, role),
            self._table("target", self.target, "target"),
            self.published.confidential.assumed_rows,
            self.published.wanted_tables,
            self.published.wanted_figures,
            self.published.predicted,
            self.published.read_by,
        )

    @cached_property
    def answers(self) -> RecordedAnswers:
        """The answers on record; after ``fitted`` they have been heard."""
        statement = self.bundle.statement
        tariff = Tariff(self.bundle.coding, statement.guarantee, statement.budget.measure, statement.budget.delta)
        return RecordedAnswers(tariff, statement.budget, replies(self.bundle))

    @cached_property
    def fitted(self) -> Fitted:
        """What the recipe makes of the answers."""
        facts = self.bundle.statement.facts
        if facts and self.data.target and facts != facts_for(self.published, self.data):
            raise VerifyFailed("The facts that people were counted by are not those that the target shows.")
        fitted = self.published.recipe.fit(self.answers, self.data)
        if isinstance(fitted, AbstractPeople) and fitted.total > max(map(len, self.bundle.records), default=0):
            raise VerifyFailed(
                f"The recipe draws {fitted.total:,} people from these answers; the release has fewer records."
            )
        if isinstance(fitted, AbstractModel) and {len(f) for f in self.bundle.records} != {fitted.total}:
            raise VerifyFailed(  # before so many are drawn: the number comes from a stranger's file
                f"The recipe draws {fitted.total:,} records from these answers; the release has "
                f"{', '.join(f'{len(f):,}' for f in self.bundle.records) or 'none'}."
            )
        return fitted

    def draw(self, folder: Path, copies: int, seed: int) -> Copies[RecordFile]:
        """So many copies; records are files in ``folder``."""
        return write_copies(self.fitted, self.data, folder, copies=copies, seed=seed)

    def lacks(self, role: str) -> str:
        """The name of the run's table in this role when it is neither given nor found; empty otherwise."""
        named = _named(self.bundle.statement, role)
        known = self.data.relative if role == "public" else self.data.target
        return ", ".join(named.values()) if named and known is None else ""

    def _table(self, what: str, given: Any, role: Role) -> CodedTable | None:
        named, schema = _named(self.bundle.statement, what), self.bundle.schema
        if given is None and named:
            given = self._found(what, named)
        try:
            table = None if given is None else CodedTable.read(given, schema, role, self._count(what))
            if table is not None and table.sha256 not in named:  # if the run brought it, a file of its rows will do
                table = CodedTable.read(as_brought(open_public(given)), schema, role, self._count(what))
        except (JobError, TableMismatch) as wrong:
            raise OtherTable(str(wrong)) from None
        if table is not None and table.sha256 not in named:
            raise OtherTable(
                f"{table.name} is not the {what} table of this release: its hash is not the statement's.\n"
                f"Give the very table that the run used: --{what} FILE (in Python: {what}=...).\n"
                "Nothing confidential was read or spent."
            )
        return table

    def _count(self, what: str) -> str:
        """The column that says how many records a line of the table stands for; empty when a line is a record."""
        return next((i.count for i in self.bundle.statement.public_inputs if i.role == what), "")

    def _found(self, what: str, named: Mapping[str, str]) -> Any:
        """The table where the job names it, or of that name beside the release; the hash tells that it is the one."""
        part: Public | Target | None = getattr(self.published, what)
        if part is None or part.is_frame or self.job:
            return None if part is None else self.published.rows_of(part)
        if is_address(part.table):  # whoever wrote the bundle says where this process would ask
            return None
        beside = (self.bundle.folder.absolute().parent, Path())
        for place in (part.table, *(f / Path(n).name for n in named.values() for f in beside)):
            try:
                if not str(place).startswith(("//", "\\\\")) and facts_of(place).sha256 in named:
                    return place
            except (OSError, ValueError):
                continue
        return None


def _named(statement: Statement, role: str) -> dict[str, str]:
    return {i.sha256: i.name for i in statement.public_inputs if i.role == role}


def replies(bundle: BundleReader) -> list[Reply]:
    """The recorded answers of a bundle, in the order they were given."""
    statement, chosen = bundle.statement, dict(bundle.statement.choices)
    return [
        Reply(spend, tuple(m for position, m in bundle.answers if position == i), chosen.get(i))
        for i, spend in enumerate(statement.spends)
    ]


def findings_of(recipe: AbstractRecipe, answers: RecordedAnswers, public: PublicData) -> tuple[str, ...]:
    """What the answers told of the public table. The run is paid for: nothing that goes wrong here stops it."""
    try:
        return recipe.findings(answers, public)
    except (Exception, pl.exceptions.PanicException) as wrong:
        return (f"What the answers tell of the public table could not be worked out ({type(wrong).__name__}).",)


def records_are_drawn(again: Redrawing) -> str:
    """The records, or counts, of a bundle are what its recipe draws from its answers, with its seed."""
    job = again.published
    if isinstance(job.recipe, ForeignRecipe):
        raise NotChecked(
            f"Records not drawn again: {job.recipe.path} is not one of Hedgerow's recipes, and its code is not here. "
            "They may be anything that the schema allows. In Python the Release that its run returned can check them."
        )
    if rows := again.lacks("target"):
        raise NotChecked(_needs("target", rows))
    with TemporaryDirectory() as folder:
        return _held_against(again, Path(folder))


def _held_against(again: Redrawing, folder: Path) -> str:
    """What was found when everything was drawn again, records in files in ``folder``."""
    bundle, job = again.bundle, again.published
    try:
        made = again.draw(folder, job.copies, job.seed)
    except (VerifyFailed, OtherTable, MemoryError):
        raise
    except Exception as wrong:
        raise _no_drawing(again, wrong) from None
    released = Copies(bundle.records, bundle.all_counts, () if bundle.margins is None else (bundle.margins,))
    same = _first_difference(made, released) == ""
    if same:
        _findings_follow(again)
        return f"drawn again with seed {job.seed}, {_in_bytes(again, made)}"
    if given := _given_differ(again, made, released):
        raise VerifyFailed(given)
    if relative := again.lacks("public"):
        raise NotChecked(_needs("public", relative))
    if bundle.statement.version == __version__ and bundle.software == software():
        raise VerifyFailed(
            f"{_first_difference(made, released)} is not what {job.recipe.name} draws from these answers with seed "
            f"{job.seed}: somebody put something else in its place."
        )
    raise _nearness(again, made, released, folder)


def _findings_follow(again: Redrawing) -> None:
    """What the release says is given, and says of the public table, follows; other versions may have other words."""
    bundle = again.bundle
    if package.NAME not in bundle.names:  # a choice says nothing of it
        return
    if bundle.contents.given != given_columns(again.data.target, bundle.records):
        raise VerifyFailed("The release calls other columns given than those that are the target's, row by row.")
    known = RecordedAnswers(again.answers.tariff, again.answers.budget, replies(bundle))
    if bundle.contents.findings == findings_of(again.published.recipe, known, again.data):
        return
    if bundle.statement.version == __version__:
        raise VerifyFailed("What the release says of the public table is not what the answers tell of it.")
    raise NotChecked(
        "The records are what the answers give; what the release says of the public table is not in this version's "
        f"words, and was not checked: version {bundle.statement.version} wrote it."
    )


def _needs(what: str, name: str) -> str:
    return (
        f"Records not drawn again: that takes the {what} table of the run, {name}, which is not in the release. "
        f"Until then they may be anything that the schema allows. Name it: --{what} FILE (in Python: {what}=...)."
    )


def _no_drawing(again: Redrawing, wrong: Exception) -> HedgerowError:
    """Why nothing could be drawn: no fault of the bundle's, or one."""
    relative, made_by = again.lacks("public"), again.bundle.statement.version
    if relative:
        return NotChecked(_needs("public", relative))
    if made_by != __version__:
        return NotChecked(
            f"Records not drawn again: version {made_by} made them; this one, {__version__}, cannot fit its answers. "
            "They may be anything that the schema allows. Check them with that version."
        )
    said = str(wrong).splitlines()[0] if isinstance(wrong, HedgerowError) and str(wrong) else type(wrong).__name__
    return VerifyFailed(f"The recipe {again.published.recipe.name} cannot have made these records: {said}")


def _first_difference(made: Copies[RecordFile], released: Copies[RecordFile]) -> str:
    """The first table that is not the same in both, by the name of its file; empty when all are."""
    tables: tuple[tuple[str, Sequence[Table], Sequence[Table]], ...] = (
        ("records", made.records, released.records),
        ("counts", made.counts, released.counts),
        ("margins", made.margins, released.margins),
    )
    for stem, mine, theirs in tables:
        if len(mine) != len(theirs):
            return f"The number of copies of {stem}"
        for i, (one, other) in enumerate(zip(mine, theirs, strict=True), 1):
            if not _same(one, other):
                return f"{stem}{f'-{i}' if len(mine) > 1 and (i > 1 or stem == 'records') else ''}.parquet"
    return ""


def _same(one: Table, other: Table) -> bool:
    """Whether two tables have the same columns and rows."""
    if isinstance(one, RecordFile) and isinstance(other, RecordFile) and filecmp.cmp(one.path, other.path, False):
        return True
    if len(one) != len(other) or dict(one.schema) != dict(other.schema):
        return False
    return all(a.equals(b) for a, b in zip(pieces(one), pieces(other), strict=True))


def _in_bytes(again: Redrawing, made: Copies[RecordFile]) -> str:
    """How far files with the values that were drawn again are the same; a file has room for other things."""
    bundle = again.bundle
    if bundle.kind == "choice":
        return "the same values; bytes are compared of releases only"
    if (other := _other_bytes(again, made)) == "":
        return "the same byte by byte"
    if bundle.software == software():
        raise VerifyFailed(f"{other} has the right values, but not in the bytes that Hedgerow writes.")
    return f"the same values; bytes not compared, because {_makers(bundle)}"


def _makers(bundle: BundleReader) -> str:
    """Why bytes, or values, may be others than those that are made here."""
    claimed, kind = bundle.software, bundle.kind
    if not claimed:
        return f"the {kind} does not say which libraries made it"
    other = [name for name, ours in software().items() if claimed.get(name) != ours]
    return f"the {kind} says that other versions made it ({', '.join(other) or 'of libraries not used here'})"


def nothing_is_hidden(bundle: BundleReader) -> str:
    """The noisy answers stand in the bytes that are written of them, and no Parquet file has notes of its own."""
    name = "measurements.parquet"
    with TemporaryDirectory() as folder:
        measurements.save(Path(folder) / name, measurements.loads(bundle.data(name)))
        same = (Path(folder) / name).read_bytes() == bundle.data(name)
    if not same and bundle.software == software():
        raise VerifyFailed(f"{name} has the right values, but not in the bytes that Hedgerow writes.")
    tables = [n for n in bundle.names if n.endswith(".parquet")]
    for table in tables:
        _has_no_notes(table, bundle)
    bytes_too = "written again, the same byte by byte" if same else f"bytes not compared, because {_makers(bundle)}"
    return f"{name}: {bytes_too}; {len(tables)} Parquet files have no metadata of their own"


def _has_no_notes(name: str, bundle: BundleReader) -> None:
    """Refuse key-value metadata that Polars does not write: its own follows from the names and types of columns."""
    data, plain = bundle.data(name), BytesIO()
    found = pl.read_parquet_metadata(BytesIO(data))
    pl.read_parquet(data, n_rows=0).write_parquet(plain)
    plain.seek(0)
    ours = pl.read_parquet_metadata(plain)
    if more := set(found) - set(ours):
        raise VerifyFailed(f"{name} has key-value metadata beside its table ({len(more)}): Hedgerow writes none.")
    if found != ours:
        if bundle.software == software():
            raise VerifyFailed(f"{name} describes its columns otherwise than Hedgerow does.")
        raise NotChecked(
            f"{name} describes its columns otherwise than is done here, and {_makers(bundle)}: what more "
            "stands there was not read. Check it with those versions."
        )


def _other_bytes(again: Redrawing, made: Copies[RecordFile]) -> str:
    """The first file of the tables that is not, byte by byte, what is written of them; empty when all are."""
    if not again.bundle.software:
        return "A table"
    counts, margins = (*made.counts, None)[0], (*made.margins, None)[0]
    contents = replace(
        again.bundle.contents, records=made.records, counts=counts, copies=made.counts[1:], margins=margins
    )
    with TemporaryDirectory() as folder:
        for name in write_tables(Path(folder), contents):
            if not filecmp.cmp(Path(folder) / name, again.bundle.folder / name, shallow=False):
                return name
    return ""


def _nearness(
    again: Redrawing, made: Copies[RecordFile], released: Copies[RecordFile], folder: Path
) -> HedgerowError:
    """What is known of tables with other values than are drawn here.

    They were not drawn from the answers when they are not as near to fresh drawings as these are to each other.
    When they are, nothing is known: a table near the answers need not come from them.
    """
    if wrong := _shape_differs(made, released):
        return VerifyFailed(wrong)
    job, schema = again.published, again.bundle.schema
    places = [folder / str(i) for i in range(1, _FRESH)]
    for place in places:
        place.mkdir()
    fresh = [made, *(again.draw(place, job.copies, job.seed + i) for i, place in enumerate(places, 1))]
    asked = [a.question.columns for s in again.bundle.statement.spends for a in s.asked if not a.question.only]
    families = _families(schema, asked, (made.records or made.counts)[0].columns)
    tables: Sequence[Table] = released.records or released.counts
    for i, table in enumerate(tables):
        others = [(f.records or f.counts)[i] for f in fresh]
        for family, crossed in families.items():
            own, low, high = _distances(schema, crossed, table, others)
            if not low <= own <= high:
                text = (
                    f"On {family} copy {i + 1} lies at {own:.4f} from fresh drawings, which lie at {low:.4f} to "
                    f"{high:.4f} from each other: it was not drawn from these answers."
                )
                if again.bundle.statement.version == __version__:
                    return VerifyFailed(text)
                return NotChecked(
                    f"{text[:-1]} by this version, {__version__}. Version {again.bundle.statement.version} may draw "
                    "otherwise: check with that one. Until then they may be anything that the schema allows."
                )
    why = "another version of Hedgerow made it" if again.bundle.software == software() else _makers(again.bundle)
    return NotChecked(
        f"Drawn again, the values are others, and {why}. They are as near to the answers as a fresh drawing, which "
        "is no proof: confidential rows, or exact counts, may be as near. Check them with those versions."
    )


def _shape_differs(made: Copies[RecordFile], released: Copies[RecordFile]) -> str:
    """What no law of drawing changes: numbers of copies and of rows, and the columns."""
    both: tuple[tuple[Sequence[Table], Sequence[Table]], ...] = (
        (made.records, released.records),
        (made.counts, released.counts),
    )
    for mine, theirs in both:
        if len(mine) != len(theirs) or any(
            len(a) != len(b) or a.columns != b.columns for a, b in zip(mine, theirs, strict=True)
        ):
            return "The release has other copies, columns or numbers of rows than its recipe draws from its answers."
    return ""


def _given_differ(again: Redrawing, made: Copies[RecordFile], released: Copies[RecordFile]) -> str:
    """Columns that the target gives have its values, row by row, whoever drew the others; what is wrong with them.

    A column with values that the schema does not allow is drawn from the cells of its rows, which must be the same.
    """
    target = again.data.target
    due, found = given_columns(target, made.records), given_columns(target, released.records)
    wrong = [name for name, changed in due.items() if name not in found or (found[name] and not changed)]
    return f"The given column {wrong[0]} does not have the values of the target, row by row." if wrong else ""


def _families(
    schema: Schema, asked: Sequence[tuple[str, ...]], columns: Sequence[str]
) -> dict[str, list[tuple[str, ...]]]:
    """The tables on which drawings are compared: those that were measured, all pairs, and triples, up to a number."""
    known = [c.name for c in schema.columns if c.name in columns]
    plain = {tuple(dict.fromkeys(schema.coding.needs(q))) for q in asked}
    measured = sorted(q for q in plain if q and set(q) <= set(known))
    rng = np.random.Generator(np.random.PCG64(0))  # which tables, when there are too many: the same every time
    found: dict[str, list[tuple[str, ...]]] = {"measured tables": measured, "pairs": list(combinations(known, 2))}
    found["triples"] = list(combinations(known, 3)) if len(known) <= 40 else []
    for name, tables in found.items():
        if len(tables) > _TABLES:
            found[name] = [tables[i] for i in sorted(rng.choice(len(tables), _TABLES, replace=False))]
    return {name: tables for name, tables in found.items() if tables}


def _distances(
    schema: Schema, tables: Sequence[tuple[str, ...]], released: Table, fresh: Sequence[Table]
) -> tuple[float, float, float]:
    """How far the released table lies from the mean of the fresh ones, and the least and most that it may.

    Each drawing is held against the mean of all others, so that under one law all distances have one law.
    """
    frames, far = [released, *fresh], np.zeros(1 + len(fresh))
    for counted in _counted(schema, tables, frames):
        rest = (counted.sum(axis=0) - counted) / (len(frames) - 1)
        far += np.abs(counted - rest).sum(axis=1) / max(1.0, counted.sum(axis=1).mean())
    own, others = far[0] / len(tables), far[1:] / len(tables)
    room = max(5 * float(others.std(ddof=1)), 0.05 * float(others.mean()), 5e-4)
    return float(own), float(others.min() - room), float(others.max() + room)


def _counted(
    schema: Schema, tables: Sequence[tuple[str, ...]], frames: Sequence[Table]
) -> Iterator[npt.NDArray[np.float64]]:
    """Each table as every frame has it, a row per frame; of counts their cells, which stand in one order."""
    if "count" in frames[0].columns:
        yield np.stack([whole(f)["count"].to_numpy() for f in frames]).astype(np.float64)
        return
    described = {c.name: c.coded for c in schema.columns if c.name in frames[0].columns}
    codes = {n: np.concatenate([c.encode(whole(f, [n])[n]) for f in frames]) for n, c in described.items()}
    whose = np.repeat(np.arange(len(frames)), [len(f) for f in frames])
    for columns in tables:
        cell = np.zeros(len(whose), np.int64)
        for name in columns:  # cells that occur are numbered anew with each column, so that no number grows too large
            cell = np.unique(cell * (int(codes[name].max(initial=0)) + 1) + codes[name], return_inverse=True)[1]
        size = int(cell.max(initial=0)) + 1
        yield np.bincount(whose * size + cell, minlength=len(frames) * size).reshape(-1, size).astype(np.float64)
