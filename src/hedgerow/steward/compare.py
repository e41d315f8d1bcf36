"""How close a release is to the confidential table, exactly: numbers, pages, lines. For the steward's eyes.

The papers print how often a synthetic private value is the true one beside their epsilon, which does not cover it.
Here such rates stay inside: held in an ``InsideOnly``, marked, where nothing under ``release/`` can import them.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import polars as pl

from hedgerow.errors import NOTHING, JobError
from hedgerow.evaluate.base import AbstractMetric
from hedgerow.evaluate.compare import Comparison, compare, page, summary
from hedgerow.figures import aligned, many, percent, small
from hedgerow.job import JobValues
from hedgerow.planning import SmallLeaves
from hedgerow.public import BINNED, CodedTable, Schema
from hedgerow.steward.exact import ExactUse, exact_table, judge_uses, release_of, use_lines, use_row
from hedgerow.steward.inside import WARNING, WATERMARK, InsideOnly, in_fixed_words, write_inside

MARK = "INSIDE ONLY: exact numbers about confidential rows. Not covered by any epsilon; do not publish."


@final
@dataclass(frozen=True)
class ClassificationRates:
    """Exact rates, for the steward only.

    Attributes:
        rows: synthetic rows.
        matched: how many of them have exactly one confidential row of the same keys.
        match_rate: their share.
        true_rate: of the matched ones, how often the synthetic value of a column is the true one; None without any.
        by_chance: what labels drawn by the column's shares alone would reach.
        unlabelled: rows of the copy without a value in one of the columns (the papers' "nUnsynthesized").
        leaves: of every tree, the leaves with few public rows.
        mark: what must stand beside these numbers wherever they are shown.
    """

    rows: int
    matched: int
    match_rate: float
    true_rate: dict[str, float | None]
    by_chance: dict[str, float]
    unlabelled: int = 0
    leaves: tuple[SmallLeaves, ...] = ()
    mark: str = MARK

    def to_json(self) -> dict[str, Any]:
        """The rates as plain data."""
        return dict(vars(self)) | {"leaves": [asdict(t) for t in self.leaves]}


def classification_rates(
    confidential: CodedTable, copy: CodedTable, *, private: Sequence[str], keys: Sequence[str]
) -> ClassificationRates:
    """Match synthetic rows with confidential ones by ``keys``, columns of both, and compare ``private``.

    For what stays inside an ``InsideOnly`` only.
    """
    schema, needed = confidential.schema, confidential.schema.coding.needs(private)
    true, records = confidential.frame, copy.frame
    if lacking := [c for c in (*keys, *needed) if c not in true.columns or c not in records.columns]:
        raise JobError(f"Both tables need {', '.join(lacking)} to be compared. Nothing was compared.")
    one = _keyed(confidential, keys).with_row_index("at")
    alone = one.filter(pl.len().over(list(keys)) == 1)
    mine = _keyed(copy, keys).with_row_index("row")
    found = mine.join(alone, list(keys), how="inner", nulls_equal=True)
    here, there = copy.codes(private), confidential.codes(private)
    rate, chance = dict[str, float | None](), dict[str, float]()
    for c in private:
        same = here[c][found["row"].to_numpy()] == there[c][found["at"].to_numpy()]
        rate[c] = float(same.mean()) if len(same) else None
        shares = [np.bincount(x[c], minlength=schema.size([c])) / max(len(x[c]), 1) for x in (here, there)]
        chance[c] = float((shares[0] * shares[1]).sum())
    matched, bare = found.height, records.select(pl.any_horizontal(pl.col(needed).is_null()).sum()).item()
    return ClassificationRates(records.height, matched, matched / max(records.height, 1), rate, chance, int(bare))


def _keyed(table: CodedTable, keys: Sequence[str]) -> pl.DataFrame:
    """The keys as a release can hold them: of a listed column its cell, for a rare value may be merged there."""
    known = {c.name for c in table.schema.columns if c.kind not in BINNED}
    cells = table.codes([k for k in keys if k in known])
    return table.frame.select(
        pl.Series(k, cells[k]).cast(pl.String) if k in cells else pl.col(k).cast(pl.String) for k in keys
    )


def rates_of_job(
    job: JobValues, release: str | Path | None, leaves: Sequence[SmallLeaves]
) -> InsideOnly[ClassificationRates]:
    """The rates of a job's release (or another folder, or a file of records); ``leaves`` as its plan has them."""
    schema, copies = release_tables(job, release_of(job, release))
    if not attached_columns(job):
        raise JobError(f"Only a job that attaches columns to a [target] has such rates. {NOTHING}")

    def work(confidential: CodedTable) -> ClassificationRates:
        found = _rates(job, confidential, copies[0])
        if found is None:
            raise JobError(f"The release and the confidential table share no column to match rows by. {NOTHING}")
        return replace(found, leaves=tuple(leaves))

    table = exact_table(job.confidential.table, schema, job.confidential.count)
    return in_fixed_words(lambda: table.map(work))


def rates_text(found: InsideOnly[ClassificationRates], *, as_json: bool = False) -> str:
    """The rates for the steward's terminal, or as JSON with the warning as its first key."""
    rates = found.reveal()
    if as_json:
        return json.dumps({WATERMARK: WARNING, **rates.to_json()}, indent=2, allow_nan=False)
    return "\n".join([f"{WATERMARK}: {WARNING}", "", *_rate_lines(rates)])


Watch = Callable[[str], None]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Exact:
    """What was found: the release against the confidential table, and the public relative as it is against it.

    Attributes:
        release: synthetic against confidential.
        public: "the public table released as it is", which any release should beat; None without one.
        uses: each intended use of the job judged exactly; empty where a single file of records is compared.
        rates: where columns are attached to public rows, how often an attached value is the true one.
        beside: another release against the confidential table.
    """

    release: Comparison
    public: Comparison | None
    uses: tuple[ExactUse, ...] = ()
    rates: ClassificationRates | None = None
    beside: Comparison | None = None

    def __repr__(self) -> str:
        return "Exact(hidden)"


def compare_job(
    job: JobValues,
    *,
    rng: np.random.Generator,
    release: str | Path | None = None,
    beside: str | Path | None = None,
    metrics: Sequence[AbstractMetric] | None = None,
    watch: Watch = lambda phase: None,
) -> InsideOnly[Exact]:
    """The release of ``job`` (or another folder, or a file of records) against its confidential table.

    ``beside`` is another one, which is compared as well, in the terms of its own schema.
    """
    watch("reading the release")
    place = release_of(job, release)
    schema, copies = release_tables(job, place)
    relative = (
        None if job.public is None else CodedTable.read(job.rows_of(job.public), schema, "target", job.public.count)
    )
    watch("reading the confidential table, inside only")
    table = exact_table(job.confidential.table, schema, job.confidential.count)

    def work(confidential: CodedTable) -> Exact:
        watch("the intended uses")  # first: from one seed they are likened to the samples of `steward report`
        uses = judge_uses(job, place, confidential, rng) if place.is_dir() else ()
        pair = [(copies, watch), ([relative] if relative else [], lambda phase: watch(f"public as it is: {phase}"))]
        found = [
            compare(confidential, tables, rng=r, metrics=metrics, watch=say) if tables else None
            for (tables, say), r in zip(pair, rng.spawn(2), strict=True)
        ]
        assert found[0] is not None
        return Exact(found[0], found[1], uses, _rates(job, confidential, copies[0]))

    exact = in_fixed_words(lambda: table.map(work))
    if beside is None:
        return exact
    watch("the other release, inside only")
    its_own, others = release_tables(job, Path(beside).resolve())
    again = exact_table(job.confidential.table, its_own, job.confidential.count)
    other = in_fixed_words(lambda: again.map(lambda c: compare(c, others, rng=rng.spawn(1)[0], metrics=metrics)))
    return exact.map(lambda found: replace(found, beside=other.reveal()))


def _rates(job: JobValues, confidential: CodedTable, copy: CodedTable) -> ClassificationRates | None:
    """How often the values that a job attaches to public rows are the true ones; None for other jobs."""
    there = set(copy.frame.columns) & set(confidential.frame.columns)
    both = [c.name for c in copy.schema.columns if c.name in there]
    private = [c for c in attached_columns(job) if c in both]
    keys = [c for c in both if c not in private]
    return classification_rates(confidential, copy, private=private, keys=keys) if keys and private else None


def attached_columns(job: JobValues) -> tuple[str, ...]:
    """The columns that ``job`` attaches to given rows; none for other jobs."""
    given = job.guarantee.public_columns
    return tuple(c.name for c in job.schema.columns if c.name not in given) if job.target else ()


def release_tables(job: JobValues, place: Path) -> tuple[Schema, list[CodedTable]]:
    """The schema and the synthetic copies in a release folder, or in a file of records."""
    if place.is_file():
        schema = job.schema
        files = [place]
    else:
        known = place / "schema.toml"
        schema = Schema.load(known) if known.is_file() else job.schema
        files = sorted(place.glob("records*.parquet"), key=lambda p: (len(p.name), p.name))
        files = files or list(place.glob("counts.csv"))
    if not files:
        raise JobError(
            f"There is no release in {place}. Make one with: hedgerow run {job.where}\n"
            f"(in Python: job.run()), or name a folder with --release (in Python: release=...). {NOTHING}"
        )
    if not schema.is_resolved:
        raise JobError(
            f"The schema of {job.where} takes bins or labels from a public table. Compare a release folder, which\n"
            f"holds them settled, instead of a file. {NOTHING}"
        )
    return schema, [CodedTable.read(_records(f, schema), schema, role="target") for f in files]


def _records(file: Path, schema: Schema) -> Any:
    """Records as they are; a table of counts as so many rows of each cell, labels turned back into values."""
    if file.name != "counts.csv":
        return str(file)
    counts = pl.read_csv(file, infer_schema=False)
    rows = counts.with_columns(pl.col("count").cast(pl.Int64).clip(0))
    names = [c for c in counts.columns if c != "count"]
    texts = {n: dict(zip(schema.cell_labels(n), schema.column(n).cell_texts, strict=True)) for n in names}
    plain = rows.with_columns(pl.col(n).replace(texts[n]) for n in names)
    return plain.select(pl.col(n).repeat_by("count").list.explode() for n in names).drop_nulls()


def write_exact(folder: Path, found: InsideOnly[Exact]) -> Path:
    """The exact report as page, JSON and CSV, readable by their owner only, and the folder's warning."""
    exact = found.reveal()
    texts = {f"{WATERMARK.replace(' ', '-')}.txt": f"{WATERMARK}\n{WARNING}\n", ".gitignore": "*\n"}
    texts["comparison.json"] = exact_json(found)
    mark = f"# {WATERMARK}: {WARNING}\n"
    texts |= {name: mark + table for name, table in exact.release.csv_files().items()}
    pages = {"report": exact.release} | ({"public-as-it-is": exact.public} if exact.public else {})
    for name, comparison in pages.items():
        title = f"Exact comparison: {comparison.b.called}"
        sides = ("authentic", "synthetic" if name == "report" else "public")
        uses = [use_row(u) for u in exact.uses] if name == "report" else []
        beside, rates = (exact.beside, exact.rates) if name == "report" else (None, None)
        notes = [_rate_words(rates)] if rates else []
        marks = {"watermark": WATERMARK, "warning": WARNING}
        texts[f"{name}.html"] = page(
            comparison, title=title, names=sides, uses=uses, beside=beside, notes=notes, **marks
        )
    write_inside(folder, texts)
    return folder / "report.html"


def exact_json(found: InsideOnly[Exact]) -> str:
    """The exact numbers as JSON, with the warning as its first key."""
    exact = found.reveal()
    uses = [u.verdict.to_json() for u in exact.uses]
    data: dict[str, Any] = {WATERMARK: WARNING, "uses": uses, "release": exact.release.to_json()}
    if exact.beside:
        data["beside"] = exact.beside.to_json()
    if exact.public:
        data["public_as_it_is"] = exact.public.to_json()
    if exact.rates:
        data["classification"] = exact.rates.to_json()
    return json.dumps(data, indent=2, allow_nan=False)


def exact_text(found: InsideOnly[Exact]) -> str:
    """The exact numbers in lines for the steward's terminal."""
    exact = found.reveal()
    parts = [f"{WATERMARK}: {WARNING}", *(["", *use_lines(exact.uses)] if exact.uses else [])]
    parts += ["", "The release against the confidential table:", summary(exact.release)]
    if exact.beside:
        parts += ["", f"{exact.beside.b} against the confidential table:", summary(exact.beside)]
    if exact.public:
        parts += ["", "The public table as it is against the confidential table:", summary(exact.public)]
    if exact.rates:
        parts += ["", *_rate_lines(exact.rates)]
    return "\n".join(parts)


def _rate_words(rates: ClassificationRates) -> str:
    """The same as one paragraph of a page."""
    if not rates.matched:
        return _rate_lines(rates)[0] + " " + _rate_lines(rates)[1]
    each = ", ".join(f"{c} {small(rate)} (by chance {rates.by_chance[c]:.3f})" for c, rate in rates.true_rate.items())
    return (
        f"Attached values that are the true ones, among the {many(rates.matched, 'row')} "
        f"({percent(rates.match_rate)}) whose public columns match one confidential row alone: {each}. Rows "
        f"without a value: {rates.unlabelled:,}."
    )


def _rate_lines(rates: ClassificationRates) -> list[str]:
    """How often an attached value is the true one, in words."""
    bare = [f"Rows of the first copy without a value in one of them: {rates.unlabelled:,} of {rates.rows:,}."]
    if rates.leaves:
        head = ("leaf table of", "leaves", "with few public rows", "target rows in these")
        each = [(", ".join(t.labels), f"{t.leaves:,}", f"{t.small:,}", f"{t.target_rows:,.0f}") for t in rates.leaves]
        bare += ["", *aligned(head, each)]
    if not rates.matched:
        return [
            "How often an attached value is the true one cannot be said: no row of the first copy matches one",
            "confidential row alone in its public columns.",
            *bare,
        ]
    rows = [(c, small(rate), f"{rates.by_chance[c]:.3f}") for c, rate in rates.true_rate.items()]
    return [
        f"How often an attached value is the true one, in the {many(rates.matched, 'row')} of the first copy",
        f"({percent(rates.match_rate)}) whose public columns match one confidential row alone:",
        *aligned(("private column", "true", "by chance"), rows),
        *bare,
    ]
