"""The confidential table as the steward sees it: each use judged on it, with a page; and counts beside their release.

Nothing here is protected by any noise.  The release cannot import this room, and nothing in it writes into a release.
What came out stands, exactly, beside what was foretold, on pages that are marked and lie in a folder of their own.
"""

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import polars as pl
from markupsafe import Markup

from hedgerow import __version__
from hedgerow.counting.plan import CountPlan
from hedgerow.errors import NOTHING, JobError, TableMismatch
from hedgerow.figures import (
    LinePoint,
    Trace,
    Twin,
    aligned,
    beside,
    lines,
    many,
    one_line,
    percent,
    render,
    sheet,
    small,
    twins,
)
from hedgerow.job import JobValues
from hedgerow.planning import Imagined, error_section, imagined
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public import (
    Budget,
    CodedTable,
    Counts,
    Floats,
    Marginal,
    PublicData,
    Schema,
    Tariff,
    expanded,
    must_be_here,
    open_confidential,
    open_source,
    shares,
    total_variation,
    typed_as,
)
from hedgerow.steward.inside import (
    SUFFIX,
    WARNING,
    WATERMARK,
    InsideOnly,
    in_fixed_words,
    inside_folder,
    write_inside,
)
from hedgerow.uses import AbstractUse, ExactVerdict, Verdict, like_sample, not_judged

_NOTE = "exact: the confidential table itself; not protected"


def release_of(job: JobValues, release: str | Path | None) -> Path:
    """The release folder that is meant: the one given, or the job's own."""
    return Path(release).resolve() if release else job.out


def exact_table(table: Any, schema: Schema, count: str = "") -> InsideOnly[CodedTable]:
    """The confidential ``table``, a path or a frame. Costs no budget, because nothing of it may leave.

    All rows of the file are in it, also those beyond ``rows_per_person`` that the gate did not count: the steward
    wants to know how close the release is to the table, not to the part of it that was paid for.  With ``count`` a
    line is written out as often as that column says.
    """
    source = expanded(open_source(must_be_here(table)), count)
    described = {c.name: c for c in schema.columns if c.name in source.columns}
    if not described:
        raise TableMismatch("The confidential table has none of the schema's columns. Only its header was read.")
    batches = list(source.batches(list(source.columns)))
    if not batches:
        raise TableMismatch("The confidential table has no rows to compare with. Nothing was spent.")
    frame = pl.concat(batches, how="vertical_relaxed")
    typed = frame.with_columns(typed_as(column, frame[name]) for name, column in described.items())
    return InsideOnly(CodedTable(schema, typed, "confidential"))


@final
@dataclass(frozen=True, eq=False, repr=False)
class ExactUse:
    """One use as it came out: all but ``forecast`` and ``made`` is confidential. Revealed, it says its verdict.

    Attributes:
        verdict: the exact error and whether it keeps the tolerance.
        forecast: what the release says was expected; None when it says nothing.
        names: what the cells or groups are called that are judged.
        true: the figures of the confidential table.
        errors: their standard errors, where they are estimates; else empty.
        made: the figures of the synthetic copies, a row per copy.
        lines: for a figure over time, the line each is on and its time; else empty.
        times: what the times are called.
    """

    verdict: ExactVerdict
    forecast: Verdict | None
    names: tuple[str, ...]
    true: Floats
    errors: Floats
    made: Floats
    lines: tuple[tuple[str, int], ...] = ()
    times: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"ExactUse({WATERMARK}: {self.verdict!r}, {len(self.true):,} figures not shown)"


def exact_uses(job: JobValues, release: Path, rng: np.random.Generator) -> InsideOnly[tuple[ExactUse, ...]]:
    """Every use of ``job``, judged on the confidential table and the copies in ``release``."""
    if not job.uses:
        raise JobError(
            "The job names no intended use, so there is nothing to judge. Add a [[use]] (in Python: uses=[...]).\n"
            "Nothing was spent."
        )
    table = exact_table(job.confidential.table, Schema.load(release / "schema.toml"), job.confidential.count)
    return in_fixed_words(lambda: table.map(lambda confidential: judge_uses(job, release, confidential, rng)))


def judge_uses(
    job: JobValues, release: Path, confidential: CodedTable, rng: np.random.Generator
) -> tuple[ExactUse, ...]:
    """The same for a confidential table that is already read; for what stays inside an ``InsideOnly`` only."""
    _, copies = _release(release)
    forecasts = {v.use: v for v in _forecasts(release)}
    uses, generators = [u.on(confidential.schema) for u in job.uses], rng.spawn(len(job.uses))
    return tuple(_exact(u, confidential, copies, forecasts.get(u), r) for u, r in zip(uses, generators, strict=True))


def _exact(
    use: AbstractUse,
    truth: CodedTable,
    copies: tuple[CodedTable, ...],
    forecast: Verdict | None,
    rng: np.random.Generator,
) -> ExactUse:
    true, made = use.figures(truth), [use.figures(c) for c in copies]
    judged = [use.error(m, true) for m in made]
    error = float(np.mean([j.error for j in judged]))
    spread = use.half_sample_error(truth, true, rng)
    kept = [j.sign_kept for j in judged]
    known = np.isfinite(error)
    verdict = ExactVerdict(
        use,
        error if known else None,
        like_sample(error, spread) if known else None,
        _NOTE if known else not_judged(use),
        sign_kept=None if kept[0] is None else all(kept),
    )
    places = np.flatnonzero(np.isfinite(true.values) & np.isfinite(judged[0].parts))
    lines = use.over_time(truth.schema, places)
    return ExactUse(
        verdict,
        forecast,
        use.labels(truth.schema, places),
        true.values[places],
        true.errors[places] if len(true.errors) else true.errors,
        np.array([use.scaled(m, true)[places] for m in made]),
        lines,
        use.time_labels(truth.schema) if lines else (),
    )


def _release(folder: Path) -> tuple[Schema, tuple[CodedTable, ...]]:
    schema = Schema.load(folder / "schema.toml")
    if (folder / "counts.csv").exists():
        return schema, (CodedTable.of_counts(schema, pl.read_csv(folder / "counts.csv", infer_schema=False)),)
    found = sorted(folder.glob("records*.parquet"), key=lambda p: (len(p.name), p.name))
    if not found:
        raise JobError(
            f"{folder} holds no synthetic records. Run the job first: hedgerow run JOB.toml (in Python:\njob.run())."
        )
    return schema, tuple(CodedTable(schema, pl.read_parquet(p)) for p in found)


def _forecasts(folder: Path) -> tuple[Verdict, ...]:
    """What the release itself says of its uses."""
    try:
        data: dict[str, Any] = json.loads((folder / "datapackage.json").read_text("utf-8"))
        return tuple(Verdict.from_json(u) for u in data["hedgerow"]["uses"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return ()


def use_lines(found: Sequence[ExactUse]) -> list[str]:
    """The table in letters."""
    head = ("intended use", "tolerance", "foretold", "exact", "like a", "")
    rows = []
    for r in map(use_row, found):
        word = r["word"].upper() if r["kind"] == "missed" else r["word"]
        like = r["like"] if r["like"] == "-" else f"{r['like']} sample"
        rows.append((r["name"], r["tolerance"], r["foretold"], r["error"], like, word))
    return [*aligned(head, rows, left=(0, 5)), *(f"{u.verdict.use.name}: {n}" for u in found if (n := _near_0(u)))]


def use_row(u: ExactUse) -> dict[str, str]:
    """One use as words."""
    v, show = u.verdict, percent if u.verdict.use.as_share else small
    return {
        "name": v.use.name,
        "what": v.use.what + (f". {near}" if (near := _near_0(u)) else ""),
        "tolerance": show(v.use.tolerance),
        "foretold": "-" if u.forecast is None else _band(u.forecast),
        "error": beside(v.error, v.use.tolerance, share=v.use.as_share),
        "like": percent(v.like_sample),
        "word": v.word,
        "verdict": v.word,
        "plain": v.in_words,
        "detail": _detail(u),
        "kind": v.mark,
    }


def _near_0(u: ExactUse) -> str:
    """What to say of relative errors that are large because they are relative to next to nothing; else nothing."""
    near = np.abs(u.true) <= 0.01 * np.abs(u.true).max(initial=0.0)
    if u.verdict.use.within != "relative" or not (near.any() or (u.verdict.error or 0) > 10):
        return ""
    which = f"{near.sum()} of {many(len(near), 'figure')}" if near.any() else "What it is relative to"
    verb = "are" if near.sum() > 1 else "is"
    return f"{which} {verb} near 0, where a relative error says little: state a plain tolerance"


def _detail(u: ExactUse) -> str:
    """The same in the statistician's terms."""
    use, like = u.verdict.use, percent(u.verdict.like_sample)
    error = beside(u.verdict.error, use.tolerance, share=use.as_share)
    allowed = percent(use.tolerance) if use.as_share else small(use.tolerance)
    foretold = "" if u.forecast is None or u.forecast.error is None else f", foretold {_band(u.forecast)}"
    sample, near = f"; like a sample of {like}" * (like != "-"), _near_0(u)
    return f"{use.what}. Error {error}{foretold}; tolerance {allowed}{sample}" + f". {near}" * bool(near)


def _band(v: Verdict) -> str:
    low, error, high = (beside(x, v.use.tolerance, share=v.use.as_share) for x in (v.low, v.error, v.high))
    return error if v.low is None else f"{low} to {high}"


FILES = ("INSIDE-ONLY.txt", "side-by-side.csv", "side-by-side.html", "side-by-side.svg", "errors.svg")
"""What is written into the steward's folder; the last where expected errors can be worked out."""
_FIGURES = ("count", "standard_error", "low", "high")
_MOST_BARS, _MOST_LINES = 40, 60


@final
@dataclass(frozen=True, eq=False, repr=False)
class SideBySide:
    """Original and synthetic counts of the same cells, and how far apart they are."""

    columns: tuple[str, ...]
    table: pl.DataFrame
    imagined: Imagined | None = None
    budget: Budget | None = None

    @property
    def distance(self) -> float:
        """Half the summed difference of shares."""
        return total_variation(*(shares(self.table[c].to_numpy()) for c in ("original", "synthetic")))

    def __repr__(self) -> str:
        return "SideBySide(hidden)"


def side_by_side(job: JobValues, release: str | Path | None = None) -> InsideOnly[SideBySide]:
    """The table of ``job``, counted exactly as the gate counts it, beside its release."""
    folder = release_of(job, release)
    try:
        counts, schema = pl.read_parquet(folder / "counts.parquet"), Schema.load(folder / "schema.toml")
    except (OSError, pl.exceptions.PolarsError):
        raise JobError(
            f"There is no table of counts in {folder}. "
            + (
                f"This release has records: see hedgerow steward report {job.where}\n"
                if (folder / "MANIFEST.json").is_file()
                else f"Make one first: hedgerow run {job.where}\n"
            )
            + f"or name its folder with --release. {NOTHING}"
        ) from None
    columns = tuple(c for c in counts.columns if c not in _FIGURES)
    rows = ConfidentialRows(open_confidential(must_be_here(job.confidential.table)), schema.coding, job.guarantee)
    (true,) = rows.count(CountPlan([Marginal(columns)], schema.coding))
    table = counts.select(*columns, synthetic="count").insert_column(len(columns), pl.Series("original", true))
    table = table.with_columns(difference=pl.col("synthetic") - pl.col("original"))
    return InsideOnly(SideBySide(columns, table, _actual(job, schema, columns, true), job.budget))


def _actual(job: JobValues, schema: Schema, columns: tuple[str, ...], true: Counts) -> Imagined | None:
    """The table itself in the place of the one that a plan assumes."""
    tariff = Tariff(schema.coding, job.guarantee, job.budget.measure)
    found = imagined(
        job.recipe, PublicData(schema), tariff=tariff, rows=int(true.sum()) or None, table=Marginal(columns)
    )
    return found and replace(found, counts=np.asarray(true, np.float64), actual=True)


def write(folder: Path, found: InsideOnly[SideBySide]) -> tuple[Path, ...]:
    """The table as CSV, a page with a figure, error against epsilon on this very table, and the folder's warning.

    All are readable by their owner only.
    """
    pair = found.reveal()
    figure = bar_pairs(pair)
    page = (
        f"<!doctype html><meta charset='utf-8'><title>{WATERMARK}</title>"
        "<style>body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
        "td,th{padding:.15em .8em;text-align:right}th:first-child,td:first-child{text-align:left}"
        ".mark{color:#b00020;font-weight:700}</style>"
        f"<p class='mark'>{WATERMARK}: {html.escape(WARNING)}</p><h1>Original and synthetic, side by side</h1>"
        f"<p>Total-variation distance {pair.distance:.4f}.</p>{figure}{_rows(pair)}<p class='mark'>{WATERMARK}</p>"
    )
    comment = f"# {WATERMARK}: {WARNING}\n"
    texts = (f"{WATERMARK}\n{WARNING}\n", comment + pair.table.write_csv(), page, figure)
    files = dict(zip(FILES[:-1], texts, strict=True))
    if pair.imagined is not None and pair.budget is not None:
        section, _ = error_section(pair.imagined, pair.budget, np.random.Generator(np.random.PCG64(0)))
        files[FILES[-1]] = sheet([replace(section, heading=f"{WATERMARK}: {section.heading}")])
    write_inside(folder, files)
    return tuple(folder / name for name in files)


def as_text(found: InsideOnly[SideBySide]) -> str:
    """The table in lines for the steward's terminal."""
    pair = found.reveal()
    lines = [
        f"{WATERMARK}: {WARNING}",
        "",
        f"{one_line(' x '.join(pair.columns)):<44} {'original':>12} {'synthetic':>12}",
    ]
    for *labels, original, synthetic, _ in pair.table.head(_MOST_LINES).rows():
        lines.append(f"{one_line(' · '.join(map(str, labels)))[:44]:<44} {original:>12,} {synthetic:>12,}")
    if len(pair.table) > _MOST_LINES:
        lines.append(f"... and {len(pair.table) - _MOST_LINES:,} more cells, in side-by-side.csv")
    sums = [pair.table[c].sum() for c in ("original", "synthetic")]
    lines.append(f"{'sum':<44} {sums[0]:>12,} {sums[1]:>12,}")
    return "\n".join([*lines, f"total-variation distance {pair.distance:.4f}"])


def bar_pairs(pair: SideBySide) -> str:
    """Authentic against synthetic as pairs of bars, the watermark across them."""
    table = pair.table
    if len(table) > _MOST_BARS:
        table = table.with_row_index("_at").sort("original", "_at", descending=[True, False]).head(_MOST_BARS)
    labels = [" · ".join(map(str, row)) for row in table.select(pair.columns).rows()]
    most = max(1, *table["original"].to_list(), *table["synthetic"].to_list())
    left, wide, step = 230, 420, 34
    height = step * len(labels) + 40
    out = []
    for i, (label, true, made) in enumerate(zip(labels, table["original"], table["synthetic"], strict=True)):
        y = 6 + i * step
        out.append(
            f'<text x="{left - 8}" y="{y + 18}" text-anchor="end">{html.escape(one_line(label)[:34])}</text>'
            f'<rect x="{left}" y="{y}" width="{true / most * wide:.1f}" height="12" fill="#444444"/>'
            f'<rect x="{left}" y="{y + 13}" width="{made / most * wide:.1f}" height="12" fill="#5b8db8"/>'
            f'<text x="{left + wide + 6}" y="{y + 11}">{true:,}</text>'
            f'<text x="{left + wide + 6}" y="{y + 24}" fill="#2f6690">{made:,}</text>'
        )
    out.append(
        f'<text x="{left}" y="{height - 12}">dark: original (confidential); blue: synthetic</text>'
        f'<text x="360" y="{height / 2:.0f}" text-anchor="middle" font-size="44" fill="#b00020" opacity="0.25" '
        f'transform="rotate(-14 360 {height / 2:.0f})">{WATERMARK}</text>'
    )
    return (
        f'<svg viewBox="0 0 720 {height}" role="img" aria-label="{WATERMARK}: original against synthetic" '
        f'xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="12">{"".join(out)}</svg>'
    )


def _rows(pair: SideBySide) -> str:
    head = "".join(f"<th>{html.escape(c)}</th>" for c in ("cell", "original", "synthetic", "difference"))
    cells = []
    for *labels, original, synthetic, gap in pair.table.head(200).rows():
        said = html.escape(one_line(" · ".join(map(str, labels))))
        cells.append(f"<tr><td>{said}</td><td>{original:,}</td><td>{synthetic:,}</td><td>{gap:+,}</td></tr>")
    return f"<table><tr>{head}</tr>{''.join(cells)}</table>"


NAME = "uses.html"
_MOST, _DRAWN, _PANELS = 60, 24, 12


def write_report(
    job: JobValues, *, out: Path | None, rng: np.random.Generator, release: Path | None = None
) -> tuple[Path, InsideOnly[tuple[ExactUse, ...]]]:
    """Judge a release of ``job`` exactly, and write the page; never into the release itself."""
    place = release_of(job, release)
    if not (place / "schema.toml").is_file():
        raise JobError(
            f"There is no release in {place}. Run the job first: hedgerow run {job.where}\n"
            "(in Python: job.run()), or name the folder of another release with --release (in Python: release=...).\n"
            "Nothing was read or spent."
        )
    folder = inside_folder(out or place.with_name(place.name + SUFFIX), (place,))
    found = exact_uses(job, place, rng)
    write_inside(folder, {NAME: page_of(job, found.reveal())})
    return folder / NAME, found


def text_of(found: InsideOnly[tuple[ExactUse, ...]]) -> str:
    """The uses in lines for the steward's terminal."""
    return "\n".join([f"{WATERMARK}: {WARNING}", "", *use_lines(found.reveal())])


def page_of(job: JobValues, found: tuple[ExactUse, ...]) -> str:
    """The page: every use with its exact error, and the figures behind it."""
    names = {
        "version": __version__,
        "title": job.title or job.table,
        "table": job.table,
        "rows": [use_row(u) for u in found],
        "cards": [_card(u) for u in found],
        "timed": any(u.lines for u in found),
        "missed": sum(u.verdict.expected_met is False for u in found),
        "open": sum(u.verdict.expected_met is None for u in found),
    }
    return render("hedgerow.steward", "steward-report.html.j2", names)


def _card(u: ExactUse) -> dict[str, Any]:
    use, made = u.verdict.use, u.made.mean(axis=0)
    counts, show = use.figures_are_counts, _whole if use.figures_are_counts else small
    order = np.argsort(-np.abs(np.nan_to_num(made) - u.true), kind="stable") if counts else np.arange(len(u.true))
    places = order[:_MOST]
    pairs = [
        Twin(u.names[i], float(u.true[i]), _reach(u, i), float(made[i]), _copies(u, i))
        for i in places[:_DRAWN].tolist()
        if np.isfinite(made[i])
    ]
    rows = [
        (u.names[i], show(float(u.true[i])), show(float(made[i])), show(float(made[i] - u.true[i])))
        for i in places.tolist()
    ]
    figures = _over_time(u, made) if u.lines else ()
    if not figures and pairs:
        figures = (("", twins(pairs, said=f"{use.name}: authentic and synthetic", show=show)),)
    return {
        "name": use.name,
        "about": use.what + ("; counts brought to the same total, largest differences first" if counts else ""),
        "figures": figures,
        "rows": rows,
        "more": len(u.true) - len(places),
    }


def _over_time(u: ExactUse, made: Floats) -> tuple[tuple[str, Markup], ...]:
    """A figure for every line: authentic solid, synthetic dashed, and the corridor that the tolerance leaves."""
    use, show = u.verdict.use, small
    shown = sorted({t for _, t in u.lines})
    place = {t: k for k, t in enumerate(shown)}
    found = []
    for name in list(dict.fromkeys(n for n, _ in u.lines))[:_PANELS]:
        here = [i for i, (n, _) in enumerate(u.lines) if n == name and np.isfinite(made[i])]
        if not here:
            continue
        true, other, corridor = list[LinePoint](), list[LinePoint](), []
        for i in here:
            at, year, value = place[u.lines[i][1]], u.times[u.lines[i][1]], float(u.true[i])
            true.append(LinePoint(at, value, *_reach(u, i), f"{year}: authentic {show(value)}"))
            other.append(LinePoint(at, float(made[i]), *_copies(u, i), f"{year}: synthetic {show(float(made[i]))}"))
            off = use.tolerance * (abs(value) if use.within == "relative" else 1.0)
            corridor.append((at, value - off, value + off))
        traces = (Trace("true", tuple(true)), Trace("made", tuple(other)))
        said = f"{use.name}{', ' * bool(name)}{name}: authentic solid, synthetic dashed"
        figure = lines([u.times[t] for t in shown], traces, said=said, show=show, corridor=corridor)
        found.append((name, figure))
    return tuple(found)


def _reach(u: ExactUse, i: int) -> tuple[float, float]:
    """The 95 % interval of the authentic figure where it is an estimate; the figure itself otherwise."""
    reach = 1.96 * float(u.errors[i]) if len(u.errors) and np.isfinite(u.errors[i]) else 0.0
    return float(u.true[i]) - reach, float(u.true[i]) + reach


def _copies(u: ExactUse, i: int) -> tuple[float, float]:
    known = u.made[:, i][np.isfinite(u.made[:, i])]
    return float(known.min()), float(known.max())


def _whole(value: float) -> str:
    return f"{value:,.0f}" if np.isfinite(value) else "-"
