"""The checks of a bundle, by somebody who has it and nothing else.

First the arithmetic of its statement, done again; then what lies around it: files, job, tables and pages.
"""

import filecmp
import json
import re
from collections.abc import Sequence, Set
from dataclasses import replace
from fractions import Fraction
from math import isclose
from pathlib import Path
from re import fullmatch
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow import __version__
from hedgerow.errors import HedgerowError, VerifyFailed
from hedgerow.job import read_published
from hedgerow.model.tables import ALL
from hedgerow.public import (
    BINNED,
    LAWS,
    Column,
    Guarantee,
    Measure,
    Noise,
    PricedQuestion,
    Schema,
    Spend,
    Table,
    Tariff,
    Urn,
    as_float,
    as_text,
    epsilon_in,
    law_of,
    noise_for,
    open_source,
    pieces,
    price_urn,
    priced,
    selection_rate,
    violations,
    whole,
)
from hedgerow.release import manifest
from hedgerow.release.bundle import BundleReader, NotChecked
from hedgerow.release.contents import COUNTS, FIGURES, FORMATS, Contents, count_tables, label_columns, write_one
from hedgerow.release.pages import COMBINE, RENDERED, pages
from hedgerow.release.words import promise_of, promise_sentence

_GRAIN = Fraction(2, 10**12)
"""Two steps of the rounding of rho, which another machine's logarithm may take differently."""


def says_what_follows(bundle: BundleReader) -> str:
    """Every figure and sentence of the statement that follows from its promise and events."""
    raw, statement = bundle.raw, bundle.statement
    due = statement.to_json() if statement.version == __version__ else manifest.as_it_was(statement.to_json(), raw)
    if set(raw) != set(due):
        raise VerifyFailed(f"statement.json must say {', '.join(due)}, and nothing else.")
    for key, value in due.items():
        if key == "spent_epsilon":
            held = isinstance(raw[key], float | int) and isclose(raw[key], value, rel_tol=1e-9, abs_tol=1e-12)
        elif key == "total":
            held = abs(Fraction(raw[key]) - Fraction(value)) <= (0 if due["measure"] in ("pure", "basic") else _GRAIN)
        else:
            held = json.dumps(raw[key]) == json.dumps(value)
        if not held:
            raise VerifyFailed(
                f"statement.json says {key} = {_short(raw[key])}; from its events follows {_short(value)}."
            )
    return f"{due['format']}; {len(statement.spends)} request{'s' * (len(statement.spends) != 1)}"


def costs_are_right(bundle: BundleReader) -> str:
    """The cost of every table and selection follows from its noise, the relation and the rows per person."""
    statement = bundle.statement
    tariff = Tariff(bundle.coding, statement.guarantee, statement.budget.measure, statement.budget.delta)
    for i, spend in enumerate(statement.spends):
        try:
            if spend.verb != "measure" and tariff.measure not in ("pure", "zcdp"):
                raise VerifyFailed(f"a promise in {tariff.measure} is for noisy counts alone.")
            (_urn_is_right if spend.verb == "draw" else _cost_is_right)(spend, tariff)
        except HedgerowError as wrong:
            raise VerifyFailed(f"Request {i + 1} ({spend}): {wrong}") from None
    return f"{sum(max(1, len(s.asked)) for s in statement.spends)} costs worked out anew"


def _cost_is_right(spend: Spend, tariff: Tariff) -> None:
    measure, guarantee = tariff.measure, tariff.guarantee
    if spend.verb in ("measure", "relabel"):
        if not spend.asked or spend.candidates or spend.rate or bool(spend.detail) != (spend.verb == "relabel"):
            raise VerifyFailed("to measure, it must ask for tables and nothing else.")
        if spend.detail and not _relabels(spend, tariff):
            raise VerifyFailed(
                "to count relabelled rows, it must name the laws of their labels, and count them whole."
            )
        measure, asked = _priced(spend, tariff)
        for a in asked:
            _price_is_right(a, measure, tariff.guarantee_of(a.question))
        added = sum((a.cost for a in spend.asked), Fraction(0))
        if spend.cost != added:
            raise VerifyFailed(f"it says cost {spend.cost}, but its tables cost {added}.")
    elif spend.verb == "select":
        if spend.asked or not spend.candidates or spend.rate <= 0 or spend.cost <= 0 or spend.detail:
            raise VerifyFailed("to select, it must name candidates, a rate and a cost.")
        if spend.rate != selection_rate(spend.cost, measure, guarantee):
            raise VerifyFailed(f"a cost of {spend.cost} does not buy the rate {spend.rate}.")
        if selection_cost(spend.rate, measure, guarantee) > spend.cost:
            raise VerifyFailed(f"the rate {spend.rate} costs more than {spend.cost}.")
    else:
        raise VerifyFailed("there is no such request.")


def _priced(spend: Spend, tariff: Tariff) -> tuple[Measure, tuple[PricedQuestion, ...]]:
    """In what its noise is priced, and what it asks at that price: with a delta, parts of the whole request's rho."""
    laws = {a.noise.law for a in spend.asked}
    rho, measure, delta = priced(spend.cost, min(laws), tariff.measure, tariff.delta)
    if delta != spend.delta or (delta and len(laws) > 1):
        raise VerifyFailed(f"it takes delta {spend.delta}, and its noise delta {delta}.")
    if not delta:
        return measure, spend.asked
    found = sum((cost_of(a.noise, "zcdp", tariff.guarantee_of(a.question)) for a in spend.asked), Fraction(0))
    if abs(found - rho) > _GRAIN:  # the last digit of a logarithm may differ between machines
        raise VerifyFailed(f"its noise costs rho {found}; epsilon {spend.cost} at delta {delta} buys {rho}.")
    return measure, tuple(replace(a, cost=found * a.cost / spend.cost) for a in spend.asked)


def _relabels(spend: Spend, tariff: Tariff) -> bool:
    """Whether it names laws of labels, by hash, and nothing else; which laws they are changes no price."""
    try:
        told = [(law["column"], tuple(law["trees"]), law["weights"]) for law in json.loads(spend.detail)["relabel"]]
        columns = {column for column, _, _ in told}
    except (ValueError, TypeError, KeyError):
        return False
    plain = {"relabel": [{"column": c, "trees": list(t), "weights": w} for c, t, w in told]}
    hashes = [h for _, trees, weights in told for h in (weights, *trees)]
    fits = 0 < len(told) == len(columns) and columns <= set(tariff.coding.sizes) and all(t for _, t, _ in told)
    fits &= all(type(h) is str and fullmatch("[0-9a-f]{64}", h) for h in hashes) and not any(
        a.question.only for a in spend.asked
    )
    return fits and json.dumps(plain, sort_keys=True) == spend.detail


def _urn_is_right(spend: Spend, tariff: Tariff) -> None:
    """A draw must be one that the gate would have agreed to at this cost."""
    try:
        urn = Urn.loads(spend.detail)
    except ValueError:
        raise VerifyFailed("it draws from something that is no urn.") from None
    if not spend.asked or price_urn(tariff, spend.asked[0].question, urn, spend.cost) != spend:
        raise VerifyFailed("its cost, cells or prior weights do not follow from one another.")


def _price_is_right(asked: PricedQuestion, measure: Measure, guarantee: Guarantee) -> None:
    noise = asked.noise
    if noise.law not in LAWS or not LAWS[noise.law].added or noise.scale <= 0 or asked.cost <= 0:
        raise VerifyFailed(f"{asked.question} has no noise that exists, or no cost.")
    due = cost_of(noise, measure, guarantee)
    if due > asked.cost or noise != noise_for(asked.cost, noise.law, measure, guarantee):
        raise VerifyFailed(
            f"{asked.question} says cost {asked.cost}, but its noise of scale {noise.scale} costs {due}."
        )


def cost_of(noise: Noise, measure: Measure, guarantee: Guarantee) -> Fraction:
    """What noise on one table of counts costs: the inverse of ``noise_for``, never below the truth."""
    if (cost := law_of(noise).cost(measure, guarantee)) is None:
        raise VerifyFailed(f"{noise.law.capitalize()} noise of scale {noise.scale} has no price in {measure}.")
    return cost


def selection_cost(rate: Fraction, measure: Measure, guarantee: Guarantee) -> Fraction:
    """What a selection at this rate costs: the inverse of ``selection_rate``, never below the truth."""
    epsilon = rate * 2 * guarantee.l1
    return epsilon if measure == "pure" else epsilon**2 / 8


def cells_are_right(bundle: BundleReader) -> str:
    """The number of cells of every table follows from the schema."""
    coding, statement = bundle.coding, bundle.statement
    for spend in statement.spends:
        for a in spend.asked:
            if a.cells != (due := a.question.leaves * coding.cells(a.question.columns)):
                raise VerifyFailed(f"The table {a.question} says {a.cells} cells; the schema gives it {due}.")
        for q in (*(a.question for a in spend.asked), *spend.candidates):  # a column the schema lacks is refused
            coding.shape([*q.columns, *(q.tree.columns if q.tree else ()), *filter(None, [q.only])])
    bundle.schema.coding.shape(statement.guarantee.public_columns)
    return f"{sum(a.cells for s in statement.spends for a in s.asked):,} cells, as the schema has them"


def promise_is_kept(bundle: BundleReader) -> str:
    """All costs together are within the promised epsilon and delta."""
    statement = bundle.statement
    budget, spent = statement.budget, statement.spent
    if spent > budget.total + (0 if budget.measure in ("pure", "basic") else _GRAIN):
        raise VerifyFailed(f"All requests together cost {spent}, more than the promised {budget.total}.")
    if sum((s.delta for s in statement.spends), Fraction(0)) > budget.delta:
        raise VerifyFailed("More delta was taken than was promised.")
    if budget.delta and epsilon_in(budget.measure, spent, budget.delta) > float(budget.epsilon) * (1 + 1e-9):
        raise VerifyFailed("What was spent is worth more than the promised epsilon at the promised delta.")
    left = 100 * float(1 - spent / budget.total)
    return f"epsilon {float(budget.epsilon):g}, delta {float(budget.delta):g}; {left:.3g} % not spent"


def answers_were_paid_for(bundle: BundleReader) -> str:
    """The noisy answers are those of the events: each table once, with its noise, and nothing more."""
    statement, answers = bundle.statement, bundle.answers
    due = [(i, a) for i, s in enumerate(statement.spends) for a in s.asked]
    if len(due) != len(answers):
        raise VerifyFailed(f"measurements.parquet has {len(answers)} tables; {len(due)} were paid for.")
    for (i, asked), (j, m) in zip(due, answers, strict=True):
        if (i, asked.question, asked.cells, asked.noise) != (j, m.question, len(m.counts), m.noise):
            raise VerifyFailed(
                f"measurements.parquet has {m.question} ({len(m.counts)} cells, {m.noise.law} {m.noise.scale}) as an "
                f"answer to request {j + 1}; paid for was {asked.question} "
                f"({asked.cells} cells, {asked.noise.law} {asked.noise.scale}) in request {i + 1}."
            )
    selections = [i for i, s in enumerate(statement.spends) if s.verb == "select"]
    if [i for i, _ in statement.choices] != selections:
        raise VerifyFailed("statement.json must say what each selection chose, once and in order.")
    for i, chosen in statement.choices:
        if chosen not in statement.spends[i].candidates:
            raise VerifyFailed(f"Request {i + 1} chose {chosen}, which was not among its candidates.")
    return f"{len(answers)} tables, {sum(len(m.counts) for _, m in answers):,} noisy counts"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"


_TABLE = re.compile(rf"{COUNTS.pattern}|records(-[1-9][0-9]*)?\.(parquet|{'|'.join(FORMATS)})")
_TYPES: tuple[Any, ...] = (pl.Int64, pl.Float64, pl.Date, pl.Boolean, pl.String)
_NEEDED = {"statement.json", "measurements.parquet", "schema.toml", "job.toml", *RENDERED}


def files_are_listed(bundle: BundleReader, needed: Set[str] = _NEEDED, table: re.Pattern[str] = _TABLE) -> str:
    """The folder holds the files of the manifest, with their sizes and hashes: those needed, tables, nothing else."""
    listed = manifest.loads(bundle.text(manifest.NAME))
    there = set(bundle.names) - {manifest.NAME, manifest.SIGNATURE}
    signed = manifest.SIGNATURE in bundle.names
    if signed and len(bundle.data(manifest.SIGNATURE)) != 64:
        raise VerifyFailed(f"{manifest.SIGNATURE} is no signature: it must hold 64 bytes.")
    for name in sorted(there | set(listed) | needed):
        if name not in there:
            raise VerifyFailed(f"{name} is missing.")
        if name not in listed:
            raise VerifyFailed(f"{name} is not in the manifest.")
        if name not in needed and name != COMBINE and not table.fullmatch(name):
            raise VerifyFailed(f"{name} does not belong in a {bundle.kind}.")
        try:
            found = manifest.facts_of(bundle.folder / name)
        except OSError:
            raise VerifyFailed(
                f"{name} is a link, a folder, or cannot be read: only plain files belong here."
            ) from None
        if found != listed[name]:
            raise VerifyFailed(
                f"{name} was changed after it was written: its size or hash is not that of the manifest."
            )
    found_all = f"{len(listed)} files, {sum(f.bytes for f in listed.values()):,} bytes"
    return f"{found_all}; signed (by whom, --key FILE tells)" if signed else found_all


def job_agrees(bundle: BundleReader) -> str:
    """The job file asked for the table, the recipe, the unit, the relation and the budget of the statement."""
    statement = bundle.statement
    job = read_published(bundle.text("job.toml"), Path("job.toml"), bundle.schema)
    pairs = {
        "the budget": (job.budget, statement.budget),
        "the unit and relation": (job.guarantee, statement.guarantee),
        "whether careers are counted": (job.recipe.career_time, statement.careers),
        "whether people are counted": (bool(job.target and job.target.person), bool(statement.facts)),
        "the table's name": (job.table, statement.table),
        "the recipe": (job.stated_recipe, statement.recipe),
        **(bundle.told_of(job) if statement.version == __version__ else {}),  # another may have said uses otherwise
    }
    bundle.must_agree(pairs)
    return f"{statement.guarantee.unit}, {statement.guarantee.relation}, recipe {statement.recipe}"


def tables_fit(bundle: BundleReader) -> str:
    """Every synthetic record, and every label of the counts, is one that the schema allows."""
    schema = bundle.schema
    if not bundle.copies and bundle.counts is None:
        raise VerifyFailed("There are neither records nor counts.")
    cells = _counts_fit(bundle)
    rows = 0
    for name, records in zip(bundle.copies, bundle.records, strict=True):
        if wrong := outside_schema(schema, records, bundle.persons):
            raise VerifyFailed(f"{name}: {wrong}")
        rows += len(records)
    copies = {n.removesuffix(".parquet"): f for n, f in zip(bundle.copies, bundle.records, strict=True)}
    for name in bundle.names:
        stem, _, suffix = name.rpartition(".")
        if suffix in FORMATS and not COUNTS.fullmatch(name):
            manifest.facts_of(bundle.folder / name)  # a plain file, before a library opens it by its path
            same = csv_holds_the_same if suffix == "csv" else holds_the_same
            if stem not in copies or not same(bundle, copies[stem], bundle.folder / name):
                raise VerifyFailed(f"{name} does not hold the records of its Parquet file.")
    said = f"{rows:,} records in {len(bundle.copies)} cop{'y' if len(bundle.copies) == 1 else 'ies'}"
    return f"{said}; {cells:,} cells of counts" if cells else said


def _counts_fit(bundle: BundleReader) -> int:
    """Counts have the schema's labels, margins are their sums, and every other file says the same."""
    there = [n for n in bundle.names if COUNTS.fullmatch(n)]
    if bundle.counts is None:
        if there:
            raise VerifyFailed(f"{there[0]} stands without counts.parquet.")
        return 0
    _copies_fit(bundle, bundle.counts)
    if bundle.margins is not None and (wrong := margins_outside_counts(bundle.counts, bundle.margins)):
        raise VerifyFailed(f"margins.parquet: {wrong}")
    due = count_tables(bundle.counts, bundle.margins, bundle.further_counts)
    if set(due) != set(there):
        raise VerifyFailed(f"The files of the counts must be {', '.join(due)}.")
    with TemporaryDirectory() as folder:
        for name, frame in due.items():
            write_one(frame, Path(folder) / name, bundle.contents)
            if (Path(folder) / name).read_bytes() != bundle.data(name):
                raise VerifyFailed(f"{name} does not say what counts.parquet and margins.parquet say.")
    return len(bundle.counts)


def _copies_fit(bundle: BundleReader, first: pl.DataFrame) -> None:
    """Every copy has the cells of the first; a drawn one has, cell by cell, the counts that the gate drew."""
    copies = (first, *bundle.further_counts)
    for i, frame in enumerate(copies):
        name = f"counts-{i + 1}.parquet" if i else "counts.parquet"
        if wrong := counts_outside_schema(bundle.schema, frame):
            raise VerifyFailed(f"{name}: {wrong}")
        if not frame.select(label_columns(frame)).equals(first.select(label_columns(first))):
            raise VerifyFailed(f"{name} has other cells than counts.parquet.")
    drawn = [m.counts.tolist() for i, m in bundle.answers if bundle.statement.spends[i].verb == "draw"]
    if drawn and drawn != [frame["count"].to_list() for frame in copies]:
        raise VerifyFailed("The counts are not those that were drawn (measurements.parquet).")


def pages_agree(bundle: BundleReader) -> str:
    """Every page is what this version writes from the other files.

    Another version may have written them otherwise: then they are not checked, and whoever reads them is told so.
    """
    contents = bundle.contents
    tables = {n: manifest.facts_of(bundle.folder / n) for n in bundle.names if _TABLE.fullmatch(n)}
    written = pages(contents, tables)
    there = (*RENDERED, "schema.toml", "job.toml", *(n for n in (COMBINE,) if n in bundle.names))
    other = [name for name in there if bundle.text(name) != written.get(name)]
    if not other:  # this version wrote them, whichever is named: else a made-up one would let them say anything
        bundle.must_agree(bundle.told_of(read_published(bundle.text("job.toml"), Path("job.toml"), bundle.schema)))
        return f"{', '.join(RENDERED)} written again, the same"
    if contents.statement.version == __version__:
        raise VerifyFailed(f"{other[0]} says something else than the statement, answers and records it is made from.")
    _promise_is_there(bundle, contents)
    version = contents.statement.version or "that it does not name"
    raise NotChecked(
        f"Pages not checked: {', '.join(other)} were written by version {version}, and this is {__version__}. What "
        "they say beside the promise may be anything. Check them with that version, or do not open them."
    )


def schema_is_stated(bundle: BundleReader) -> str:
    """The schema is, byte by byte, the one that the statement names; whichever version wrote it."""
    found = manifest.facts_of(bundle.folder / "schema.toml").sha256
    if [i.sha256 for i in bundle.statement.public_inputs if i.role == "schema"] != [found]:
        raise VerifyFailed(f"schema.toml is not the schema that {bundle.statement_name} names.")
    return f"sha256 {found[:16]}"


def _promise_is_there(bundle: BundleReader, contents: Contents) -> None:
    promise, version = promise_of(contents.statement), contents.statement.version
    said = f"epsilon = {promise.epsilon}, delta = {promise.delta or '0'}"
    if said not in bundle.text("privacy-statement.md") or promise_sentence(promise) not in bundle.text("report.html"):
        raise VerifyFailed(f"The pages, written by version {version}, do not state the promise of statement.json.")


def outside_schema(schema: Schema, records: Table, persons: Sequence[str] = ()) -> str:
    """The first thing in ``records`` that the schema does not allow, in a sentence; empty when there is none.

    ``persons`` is the column, if there is one, that says whose each row is: it comes first, and holds anything.
    """
    names = [*persons, *(c.name for c in schema.columns)]
    if records.columns != names:
        return f"its columns must be {', '.join(names)}, in this order."
    for name, kind in records.schema.items():
        if kind not in _TYPES:
            return f"the column {name} is of a type that no column of a release has."
    bad, broken = dict.fromkeys(names, 0), 0
    for piece in pieces(records):
        for column in schema.columns:
            bad[column.name] += int((~_allowed(column, piece[column.name])).sum())
        broken += int(violations(schema, piece).sum()) if not any(bad.values()) else 0
    for name, many in bad.items():
        if many:
            return f"{many:,} value{'s' * (many != 1)} of {name} are not among those of the schema."
    if broken:
        return f"{broken:,} record{'s' * (broken != 1)} break a structural zero or a rule of the schema."
    return ""


def counts_outside_schema(schema: Schema, counts: pl.DataFrame) -> str:
    """The first thing in a table of counts that the schema does not allow; empty if there is none."""
    names, figures = label_columns(counts), [c for c in counts.columns if c in FIGURES]
    if (
        not names
        or counts.columns != [*names, *figures]
        or figures not in (["count"], list(FIGURES))
        or not set(names) <= {c.name for c in schema.columns}
    ):
        return "its columns must be columns of the schema, then count and, if there is one, its interval."
    if counts["count"].dtype != pl.Int64 or not (counts["count"] >= 0).fill_null(False).all():
        return "it has a count that is not a whole number, 0 or more."
    for column in (schema.column(n) for n in names):
        known = [*column.cell_texts, *column.cell_labels]
        if not counts[column.name].cast(pl.String).fill_null("").unique().is_in(known).all():
            return f"a label of {column.name} is not among those of the schema."
    return ""


def margins_outside_counts(counts: pl.DataFrame, margins: pl.DataFrame) -> str:
    """The first margin that is not the sum of its counts; empty if there is none."""
    names = label_columns(counts)
    if label_columns(margins) != names or margins["count"].dtype != pl.Int64 or margins["count"].has_nulls():
        return "its columns must be those of the counts."
    summed = margins.select((pl.col(n) != ALL).alias(n) for n in names)
    for kept in summed.unique().rows():
        over = [n for n, k in zip(names, kept, strict=True) if k]
        here = margins.filter(pl.all_horizontal(pl.col(n).ne(ALL) == k for n, k in zip(names, kept, strict=True)))
        true = counts.group_by(over).agg(pl.col("count").sum()) if over else counts.select(pl.col("count").sum())
        true = true.with_columns(pl.col(n).cast(pl.String) for n in over)
        met = (
            here.select(*over, "count")
            .sort(over or "count")
            .equals(true.select(*over, "count").sort(over or "count"))
        )
        if not met:
            return f"the margin of {', '.join(over) or 'everything'} is not the sum of its counts."
    return ""


def csv_holds_the_same(bundle: BundleReader, records: Table, path: Path) -> bool:
    """Whether a CSV file has the cells that ``records`` are written as, name by name and value by value."""
    with TemporaryDirectory() as folder:
        again = Path(folder) / path.name
        write_one(records, again, bundle.contents)
        if filecmp.cmp(again, path, shallow=False):
            return True
        here, there = (pl.read_csv(p, has_header=False, infer_schema=False) for p in (path, again))
        return here.equals(there)  # another version of the library may quote otherwise


def holds_the_same(bundle: BundleReader, records: Table, path: Path) -> bool:
    """Whether the table in ``path`` has the records of ``records``, each value in the same cell of the schema.

    Formats differ in the names and types they know, so columns are matched by place and values by code.
    """
    schema = bundle.schema
    source, start, frame = open_source(path), 0, whole(records)
    if len(source.columns) != len(frame.columns):
        return False
    for batch in source.batches(source.columns):
        here, there = (
            batch.rename(dict(zip(source.columns, frame.columns, strict=True))),
            frame[start : start + len(batch)],
        )
        if len(here) != len(there):
            return False
        for column in schema.columns:
            if (column.coded.encode(here[column.name]) != column.coded.encode(there[column.name])).any():
                return False
        if not all(as_text(here[c]).equals(as_text(there[c])) for c in bundle.persons):
            return False
        start += len(batch)
    return start == len(frame)


def _allowed(column: Column, series: pl.Series) -> npt.NDArray[np.bool_]:
    """Whether each value is one that the column's cells decode to."""
    named = [t for t in column.cell_texts[column.bin_count :] if t]
    text = series.cast(pl.String)
    allowed = np.array(text.is_in(named).fill_null(False)) | (np.array(text.is_null()) & column.missing)
    if column.kind not in BINNED:
        return allowed
    number = column.coded.numbers(series)
    inside = (number >= column.cuts[0]) & (number < column.cuts[-1])
    if column.kind == "integer":
        inside &= number == np.floor(number)
    special = [x for x in (as_float(t) for t in named) if x is not None]
    return np.asarray(allowed | inside | np.isin(number, special))
