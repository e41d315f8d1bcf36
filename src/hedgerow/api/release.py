"""``Release``: a folder that was published, and all that anyone can do with it. Nothing here costs anything."""

import warnings
import webbrowser
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, final

import numpy as np
import polars as pl

from hedgerow.errors import JobError
from hedgerow.evaluate.compare import Comparison, compare, metrics_from
from hedgerow.figures import aligned, printable, table_html
from hedgerow.inference import EstimateTable
from hedgerow.job import JobValues
from hedgerow.public import CodedTable, RecordFile, Schema, Statement, Table
from hedgerow.records import Copies
from hedgerow.release import (
    BundleReader,
    Contents,
    Redrawing,
    Verification,
    estimates_of,
    in_short,
    mostly_unknown,
    must_open,
    records_of_counts,
    replicates,
    replicates_warning,
    sample,
    sign,
    verify_confined,
    write_one,
)
from hedgerow.release.verify import verify
from hedgerow.uses import AbstractUse, Verdict, use_asked


@final
class Verdicts(tuple[Verdict, ...]):
    """Verdicts, one for each intended use, and its figures with their intervals; shown as a table."""

    intervals: Mapping[str, EstimateTable]
    _head = ("intended use", "error", "tolerance", "", "95 % interval")

    def __new__(cls, verdicts: Iterable[Verdict], intervals: Mapping[str, EstimateTable]) -> "Verdicts":
        """Verdicts, and estimates by the names of their uses."""
        found = super().__new__(cls, verdicts)
        found.intervals = intervals
        return found

    def _rows(self) -> list[tuple[str, ...]]:
        return [(v.use.name, *v.shown, self.intervals.get(v.use.name, EstimateTable()).in_short) for v in self]

    def __repr__(self) -> str:
        return "\n".join(aligned(self._head, self._rows(), left=(0, 3, 4))) if self else "no intended use"

    def _repr_html_(self) -> str:
        return table_html("Intended uses", self._head, self._rows())


@final
class Release:
    """The release in a folder: written by ``job.run``, or read with ``Release.read``.

        release = hr.Release.read("release/")
        release.records                       # the first copy, a Polars frame; .to_pandas() gives a pandas one
        release.verify()                      # true when it holds, without the confidential table
        release.sample(20, seed=1)            # more synthetic copies, free
        release.sample(replicates=20)         # the release as it could have come out: their spread is its uncertainty
        release.estimate("pay gap")           # an intended use with an interval that counts the gate's noise
        release.compare("last_year.parquet")  # how close to a PUBLIC table
        release.open()                        # the report in a browser

    Its parts are read when they are first asked for; trust them as far as ``verify`` goes.
    """

    def __init__(self, folder: str | Path, *, job: JobValues | None = None) -> None:
        self.folder = Path(folder).resolve()
        self._job = job

    @classmethod
    def read(cls, folder: str | Path) -> "Release":
        """The release in ``folder``."""
        found = cls(folder)
        if not (found.folder / "statement.json").is_file():
            raise JobError(f"There is no release in {folder}: it has no statement.json. Nothing was read or spent.")
        return found

    def must_open(self) -> None:
        """Refuse what cannot be read whole within bounds; a folder of plain tables may be looked at too."""
        _ = self._reader

    @cached_property
    def _reader(self) -> BundleReader:
        """Its parts; those of somebody else's are first tried in a process of its own."""
        if self._job is None:
            must_open(self.folder)
        return BundleReader(self.folder)

    @cached_property
    def contents(self) -> Contents:
        """Everything the release says."""
        return self._reader.contents

    @property
    def schema(self) -> Schema:
        """What the columns mean."""
        return self._reader.schema

    @property
    def statement(self) -> Statement:
        """The promise, and every request with its price."""
        return self._reader.statement

    @property
    def private(self) -> tuple[str, ...]:
        """Where columns were attached to given rows, those columns; else none."""
        given = self.statement.guarantee.public_columns
        attached = any(i.role == "target" for i in self.statement.public_inputs)
        return tuple(c.name for c in self.schema.columns if c.name not in given) if attached else ()

    @property
    def uses(self) -> "Verdicts":
        """Each intended use with the error that was forecast for it, and its interval; ``uses.intervals`` has all.

        A release of a version before has no intervals in it: ``estimate`` works them out.
        """
        return Verdicts(self.contents.verdicts, self.contents.estimates.by_name)

    @property
    def records(self) -> pl.DataFrame:
        """The synthetic records; of several copies the first. A table of counts has none: see ``counts``."""
        if not self.holds_records:
            raise JobError("This release is a table of counts: take release.counts. Nothing was read or spent.")
        return self._reader.records[0].read()

    @property
    def holds_records(self) -> bool:
        """Whether the release holds records, and not a table of counts."""
        return bool(self._reader.copies)

    @property
    def counts(self) -> pl.DataFrame | None:
        """The synthetic counts, a row per cell; None when the release holds records."""
        return self._reader.counts

    @property
    def in_short(self) -> str:
        """What is in it, in a few words: what is synthetic, and what is given."""
        return in_short(self.contents)

    @property
    def unknown(self) -> tuple[str, ...]:
        """A sentence for each column in which many records have no value that the schema knows."""
        return mostly_unknown(self.contents)

    @property
    def copies(self) -> tuple[pl.DataFrame, ...]:
        """Every copy: of the records, or of the table of counts."""
        counts = self.counts
        if counts is not None:
            return (counts, *self._reader.further_counts)
        return tuple(records.read() for records in self._reader.records)

    def verify(self, *, public: Any = None, target: Any = None, key: str | Path | None = None) -> Verification:
        """Check the release without the confidential table; true when every check holds and none was left out.

        The records are drawn again.  That takes the public table and the target of the run, for recipes that start
        from them: a path or a frame.  A release that comes from ``job.run`` knows them; otherwise they are looked for
        beside it.  With ``key``, the file of an agency's public key, it must be signed by that agency.  A release of
        somebody else is opened in a process of its own, with bounds on memory and time.
        """
        if self._job is not None:
            return Verification(verify(self.folder, public=public, target=target, key=key, job=self._job))
        return verify_confined(self.folder, public=public, target=target, key=key)

    def sign(self, key: str | Path, *, public: Any = None, target: Any = None) -> Path:
        """Sign the release with the private key in a file, for ``verify(key=...)``; where the signature is.

        It is verified first, with the tables that ``verify`` takes: what does not hold is not signed.  What could not
        be checked is signed, with a warning that names it.
        """
        found = self.verify(public=public, target=target)
        found.must_not_fail(self.folder)
        signature = sign(self.folder, Path(key))
        if found.unchecked:
            warnings.warn(f"Signed, but not all was checked: {', '.join(found.unchecked)}.", stacklevel=2)
        return signature

    def sample(
        self, copies: int = 1, *, replicates: int = 0, seed: int = 1, public: Any = None, target: Any = None
    ) -> tuple[pl.DataFrame, ...]:
        """More synthetic copies from the noisy answers, free; or so many ``replicates``.

        Copies are drawn from what the answers became.  A replicate is the release as it could have come out: the same
        questions, answers with fresh noise of the same law on top, a public table that drifts, records drawn anew.
        The mean squared distance of a figure of replicates from the released file's estimates its squared error; it
        does not count the sampling of the confidential rows (docs/inference.md).

        Recipes that start from the public table, or attach columns to a target, need the very table of the run: a
        path or a frame.  A release that comes from ``job.run`` knows them.
        """
        if replicates and self.replicates_warning:
            warnings.warn(self.replicates_warning, stacklevel=2)
        with TemporaryDirectory() as folder:
            drawn = self._drawn(Path(folder), copies, replicates, seed, public, target)
            return tuple(records.read() for records in drawn.records) or drawn.counts

    @property
    def replicates_warning(self) -> str:
        """Of which figures the spread of replicates tells far too little; empty where of none that is known."""
        return replicates_warning(self.contents)

    def write_samples(
        self,
        place: str | Path,
        copies: int = 1,
        *,
        replicates: int = 0,
        seed: int = 1,
        public: Any = None,
        target: Any = None,
        watch: Callable[[str], None] = lambda phase: None,
    ) -> tuple[Path, ...]:
        """The same written to files in ``place`` as they are drawn: no copy is ever whole in memory.

        Replicates are CSV files where the release has such, for ``combine.R``.  Where columns were attached to given
        rows there is one file, whose rows are those of the release in their order: ``sex_1``, ``sex_2`` and so on are
        the replicates of ``sex``.  Of which figures their spread tells far too little stands beside them in
        ``WARNING.txt``, which ``combine.R`` reads, and in ``replicates_warning``.
        """
        place = Path(place)
        place.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".drawing-", dir=place) as folder:
            drawn = self._drawn(Path(folder), copies, replicates, seed, public, target, watch)
            if replicates and self.replicates_warning:
                (place / "WARNING.txt").write_text(self.replicates_warning + "\n", "utf-8")
            suffix = "parquet" if drawn.records else "csv"
            if replicates and "csv" in self.contents.formats:
                suffix = "csv"
            if replicates and drawn.records and self.private:
                path = place / f"columns-seed{seed}.{suffix}"
                write_one(self._beside(drawn.records), path, self.contents)
                return (path,)
            stem = "replicate" if replicates else "records" if drawn.records else "counts"
            tables: Sequence[Table] = drawn.records or drawn.counts
            paths = tuple(place / f"{stem}-seed{seed}-{i}.{suffix}" for i in range(1, len(tables) + 1))
            for table, path in zip(tables, paths, strict=True):
                write_one(table, path, self.contents)
        return paths

    def _beside(self, replicates: Sequence[RecordFile]) -> pl.DataFrame:
        """The private columns of every replicate, side by side."""
        names = [c for c in self.private if c in replicates[0].columns]
        frames = [r.read().select(names) for r in replicates]
        return pl.DataFrame([f[n].alias(f"{n}_{i}") for i, f in enumerate(frames, 1) for n in names])

    def _drawn(
        self,
        into: Path,
        copies: int,
        replicates_: int,
        seed: int,
        public: Any,
        target: Any,
        watch: Callable[[str], None] = lambda phase: None,
    ) -> Copies[RecordFile]:
        for what, said, least in (("copies", copies, 1), ("replicates", replicates_, 0)):
            if not isinstance(said, int) or isinstance(said, bool) or said < least:
                raise JobError(
                    f"{what} is {said!r}: write a whole number of {least} or more. Nothing was read or spent."
                )
        if replicates_ and copies > 1:
            raise JobError("Ask for copies or for replicates, not for both at once. Nothing was read or spent.")
        if replicates_:
            return replicates(self._redrawing(public, target), into, count=replicates_, seed=seed, watch=watch)
        if self._job is not None:
            public = self._job.rows_of(self._job.public) if public is None and self._job.public else public
            target = self._job.rows_of(self._job.target) if target is None and self._job.target else target
        self.must_open()
        given = {"public": public, "target": target, "job": self._job}
        return sample(self.folder, into, copies=copies, seed=seed, **given)

    def estimate(
        self,
        use: str | AbstractUse | None = None,
        *,
        level: float = 0.95,
        sampling: bool = True,
        public: Any = None,
        target: Any = None,
        **asked: Any,
    ) -> EstimateTable:
        """Figures with intervals, free: of an intended use (its name, or any use), or of what is asked in words.

            release.estimate("pay gap")                               # a use of the job; without a name, all of them
            release.estimate(formula="ln(pay) ~ sex | agency", term="sex[F]")
            release.estimate(mean="pay", by=["sex"])                  # quantile="pay", at=0.9; rate="income=>50K"
            release.estimate(table=["agency", "sex"])                 # shares of all rows

        The interval has a part for the sampling of the confidential rows, one for the gate's noise and one for what
        is left out; without ``sampling`` it is for the figure of the confidential table itself.  Where the release
        cannot tell, there is no interval and ``basis`` says what to declare.  ``public`` and ``target`` are the very
        tables of the run, for recipes that ask by their help: a path or a frame.
        """
        again = self._redrawing(public, target)
        wanted = use_asked(again.published.uses, use, **asked)
        for one in wanted:
            one.check(self.schema)
        if not wanted:
            return EstimateTable()
        return estimates_of(again, wanted, level=level, sampling=sampling)

    def _redrawing(self, public: Any, target: Any) -> Redrawing:
        """The release with its tables beside it, looked for where the job names them."""
        if self._job is not None:
            public = self._job.rows_of(self._job.public) if public is None and self._job.public else public
            target = self._job.rows_of(self._job.target) if target is None and self._job.target else target
        return Redrawing(self._reader, public, target, self._job)

    def compare(self, table: Any, *, seed: int = 0, count: str = "", **options: Any) -> Comparison:
        """How close the release is to a PUBLIC table, a path or a frame: all metrics, or those ``only`` names.

        ``options`` are those of ``hedgerow compare``: only, model, by, logistic, cluster, group, joint, scatter,
        private, label.  Columns that were attached to given rows are known to be private.  ``count`` names the
        column that says how many records a line of ``table`` stands for.
        """
        schema, metrics = self.schema, metrics_from(**{"private": self.private, **options})
        synthetic = [CodedTable.read(copy, schema, role="target") for copy in self.as_records()]
        public = CodedTable.read(table, schema, "target", count)
        return compare(public, synthetic, rng=np.random.default_rng(seed), metrics=metrics)

    def as_records(self) -> list[pl.DataFrame]:
        """Every copy as records; a table of counts as so many rows of each cell."""
        if self.holds_records:
            return list(self.copies)
        return [records_of_counts(c, self.schema) for c in self.copies]

    def open(self) -> None:
        """Show the report in a browser."""
        webbrowser.open((self.folder / "report.html").as_uri())

    def __repr__(self) -> str:
        s = self.statement
        said = f"{s.table}, {s.recipe}, epsilon {float(s.budget.epsilon):g}, {self.in_short}"
        return printable(f"Release({str(self.folder)!r}: {said})")

    def _repr_html_(self) -> str:
        rows = [(v.use.name, *v.shown) for v in self.uses]
        return table_html(repr(self), ("intended use", "forecast error", "tolerance", ""), rows)
