"""A table of counts as it is and as it was released, side by side. For the steward's eyes, never in a release."""

import html
from dataclasses import dataclass
from pathlib import Path
from typing import final

import polars as pl

from hedgerow.counting.plan import CountPlan
from hedgerow.errors import JobError
from hedgerow.job import JobValues
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public import Marginal, Schema, open_source, shares, total_variation
from hedgerow.steward.compare import release_of
from hedgerow.steward.inside import WARNING, WATERMARK, InsideOnly, write_inside

FILES = ("INSIDE-ONLY.txt", "side-by-side.csv", "side-by-side.html", "side-by-side.svg")
"""What is written into the steward's folder."""
_FIGURES = ("count", "standard_error", "low", "high")
_MOST_BARS, _MOST_LINES = 40, 60


@final
@dataclass(frozen=True, eq=False, repr=False)
class SideBySide:
    """Original and synthetic counts of the same cells, and how far apart they are."""

    columns: tuple[str, ...]
    table: pl.DataFrame

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
            + "or name its folder with --release. No confidential row was read and nothing was spent."
        ) from None
    columns = tuple(c for c in counts.columns if c not in _FIGURES)
    rows = ConfidentialRows(open_source(job.confidential.table), schema.coding, job.guarantee)
    (true,) = rows.count(CountPlan([Marginal(columns)], schema.coding))
    table = counts.select(*columns, synthetic="count").insert_column(len(columns), pl.Series("original", true))
    table = table.with_columns(difference=pl.col("synthetic") - pl.col("original"))
    return InsideOnly(SideBySide(columns, table))


def write(folder: Path, found: InsideOnly[SideBySide]) -> tuple[Path, ...]:
    """The table as CSV, a page with a figure, and the folder's warning; readable by their owner only."""
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
    write_inside(folder, dict(zip(FILES, texts, strict=True)))
    return tuple(folder / name for name in FILES)


def as_text(found: InsideOnly[SideBySide]) -> str:
    """The table in lines for the steward's terminal."""
    pair = found.reveal()
    lines = [f"{WATERMARK}: {WARNING}", "", f"{' x '.join(pair.columns):<44} {'original':>12} {'synthetic':>12}"]
    for *labels, original, synthetic, _ in pair.table.head(_MOST_LINES).rows():
        lines.append(f"{' · '.join(map(str, labels))[:44]:<44} {original:>12,} {synthetic:>12,}")
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
            f'<text x="{left - 8}" y="{y + 18}" text-anchor="end">{html.escape(label[:34])}</text>'
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
        said = html.escape(" · ".join(map(str, labels)))
        cells.append(f"<tr><td>{said}</td><td>{original:,}</td><td>{synthetic:,}</td><td>{gap:+,}</td></tr>")
    return f"<table><tr>{head}</tr>{''.join(cells)}</table>"
