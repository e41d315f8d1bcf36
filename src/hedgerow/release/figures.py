"""Measured tables, of one column and of several: the noisy counts against the synthetic ones; and their figures.

Both sides are public, so the comparison is free and may be published.  It shows how well the records follow what was
measured, cell by cell and in the slopes and correlations between levels that joint tables imply; how far the
measurement itself is from the truth is what the noise says.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod, sqrt
from typing import Any, final

import numpy as np
import numpy.typing as npt
import polars as pl
from markupsafe import Markup, escape

from hedgerow.figures import WIDE, Bar, bars, columns, percent, svg, text
from hedgerow.model.tables import ALL
from hedgerow.public import CodedTable, Counts, Marginal, Measurement, Schema, law_of, shares, total_variation
from hedgerow.release.contents import Contents, label_columns
from hedgerow.release.words import Odds, at_most, of_100
from hedgerow.uses import cell_names

Floats = npt.NDArray[np.float64]
_MOST_CELLS = 2_000_000
_MANY = 0.2
"""From this share of records on, what the schema does not know of a column is said."""
_LARGE = 3.0
"""A level is looked at when its noisy count is this many times what noise may put it off by."""


@dataclass(frozen=True, eq=False)
class MeasuredTable:
    """Counts of the same cells, measured and synthetic.

    Attributes:
        noisy: the noisy counts, flat.
        band: a noisy count is within this of the truth 95 times in 100.
        synthetic: the counts in the synthetic data, the mean over copies.
    """

    noisy: Counts
    band: float
    synthetic: Floats

    @property
    def distance(self) -> float:
        """Half the summed difference of shares, noisy against synthetic."""
        return total_variation(shares(np.maximum(self.noisy, 0)), shares(self.synthetic))

    @property
    def within(self) -> float:
        """The share of cells whose synthetic count is within ``band`` of the noisy one."""
        return float(np.mean(np.abs(self.noisy - self.synthetic) <= self.band + 0.5))


@dataclass(frozen=True, eq=False)
class OneWayTable(MeasuredTable):
    """The cells of one column, measured and synthetic.

    Attributes:
        name: the column.
        labels: a label per cell.
        ordered: whether the order of the cells has a meaning.
        source: the measured table the noisy counts come from.
    """

    name: str
    labels: tuple[str, ...]
    ordered: bool
    source: str


def one_way_tables(contents: Contents) -> tuple[OneWayTable, ...]:
    """Every column of the records that some answer tells of, in the order of the schema."""
    schema = contents.counted_schema
    kinds = {c.name: c.kind for c in schema.columns}
    found = []
    for name in schema.attributes:
        best = _best_answer(name, [m for _, m in contents.answers])
        made = synthetic(contents, (name,)) if contents.records else None
        if best is None or made is None:
            continue
        others = len(best.counts) // schema.size([name])
        found.append(
            OneWayTable(
                name=name,
                labels=schema.cell_labels(name),
                ordered=kinds.get(name, "categorical") not in ("categorical", "yes-no"),
                noisy=_summed(schema, name, best),
                band=law_of(best.noise).half_width(others),
                synthetic=made,
                source=str(best.question),
            )
        )
    return tuple(found)


def _best_answer(name: str, answers: Sequence[Measurement]) -> Measurement | None:
    """The answer that tells most exactly how many rows have each value of ``name``."""
    telling = [m for m in answers if name in m.question.columns]
    return min(telling, key=lambda m: law_of(m.noise).variance * len(m.counts), default=None)


def _summed(schema: Schema, name: str, answer: Measurement) -> Counts:
    shape = schema.shape(answer.question.columns)
    at = answer.question.columns.index(name)
    cube = answer.counts.reshape(-1, shape[at], prod(shape[at + 1 :]))
    return np.asarray(cube.sum(axis=(0, 2)), np.int64)


def synthetic(contents: Contents, columns: tuple[str, ...]) -> Floats | None:
    """The counts of a table in the synthetic copies, their mean; None where the copies lack a column."""
    if people := contents.counted:  # of people, as they were counted
        size = contents.counted_schema.size(columns)
        return np.asarray(np.mean([np.bincount(t.cells(columns), minlength=size) for t in people], axis=0))
    if contents.records:
        found = [tally[columns] for tally in contents.tallies if columns in tally]
        return np.mean(found, axis=0) if len(found) == len(contents.records) else None
    assert contents.counts is not None
    size, total = prod(contents.schema.shape(columns)), np.zeros(prod(contents.schema.shape(columns)))
    for counts in (contents.counts, *contents.copies):
        if not set(columns) <= set(counts.columns):
            return None
        copy = CodedTable.of_counts(contents.schema, counts)
        total += np.bincount(copy.cells(columns), copy.counts, size)
    return total / (1 + len(contents.copies))


def mostly_unknown(contents: Contents) -> tuple[str, ...]:
    """Of each column in which many released records have no value that the schema knows, how many.

    Told by the records, which are public; a column that a target gives is as the target has it.
    """
    found, what = [], "of the records have" if contents.records else "of the sum of counts has"
    for c in contents.schema.columns:
        here = c.name in contents.labels or (contents.records and c.name not in contents.given)
        made = synthetic_rows(contents, c.name) if here and c.knows_unknown else None
        if made is None or made.sum() <= 0 or made[c.unknown] < _MANY * made.sum():
            continue
        part = made[c.unknown] / made.sum()
        share = percent(part) if part < 0.995 else "All" if part == 1 else "Over 99 %"
        value = f"no {c.name}" if c.other is None else f"{c.cell_labels[c.unknown or 0]!r} in {c.name}"
        why = "what is missing, and for values" if c.other is None else "values"
        prior = " The prior weight of the urns is in it, as in every cell." * contents.drawn
        found.append(f"{share} {what} {value}: that is the cell for {why} that the schema does not know.{prior}")
    return tuple(found)


def synthetic_rows(contents: Contents, column: str) -> Floats | None:
    """The counts of the cells of a column over all rows of the synthetic copies, their mean."""
    if contents.records:
        found = [tally[column,] for tally in contents.tallies if (column,) in tally]
        return np.mean(found, axis=0) if found else None
    return synthetic(contents, (column,))


@final
@dataclass(frozen=True, eq=False)
class JointTable(MeasuredTable):
    """One measured table of several columns.

    Attributes:
        columns: what was crossed.
        shape: how many values each has.
    """

    columns: tuple[str, ...]
    shape: tuple[int, ...]

    @property
    def name(self) -> str:
        """The columns that are crossed."""
        return " x ".join(self.columns)

    @property
    def is_mapped(self) -> bool:
        """Whether a map of the noise is drawn of it: two columns that fit on a page."""
        return len(self.shape) == 2 and len(self.noisy) <= 600 and self.shape[1] <= 40

    def named(self, schema: Schema, places: npt.NDArray[np.int64]) -> tuple[str, ...]:
        """Labels of the cells at ``places``."""
        return cell_names(schema, self.columns, places)

    def largest(self, schema: Schema, most: int) -> OneWayTable:
        """Its largest cells, largest first, to be drawn like the cells of one column."""
        places = np.argsort(-np.maximum(self.noisy, self.synthetic), kind="stable")[:most]
        return OneWayTable(
            name=self.name,
            labels=self.named(schema, places),
            ordered=False,
            noisy=self.noisy[places],
            band=self.band,
            synthetic=self.synthetic[places],
            source=self.name,
        )


def joint_tables(contents: Contents) -> tuple[JointTable, ...]:
    """Every measured table of two columns or more, those furthest outside their bands first."""
    found = []
    known = contents.counted_schema.coding.sizes  # steps are no table of anything that a release has a row for
    for m in (m for m in _latest(contents) if set(m.question.columns) <= set(known)):
        if not len(m.counts) == contents.counted_schema.size(m.question.columns) <= _MOST_CELLS:
            continue
        made = synthetic(contents, m.question.columns)
        if made is not None:
            shape = contents.counted_schema.shape(m.question.columns)
            found.append(JointTable(m.counts, law_of(m.noise).half_width(), made, m.question.columns, shape))
    return tuple(sorted(found, key=lambda j: (j.within, j.name)))


def _latest(contents: Contents) -> list[Measurement]:
    """The answers that are tables of several columns; of those asked twice, the more exact."""
    best: dict[Marginal, Measurement] = {}
    for _, m in contents.answers:
        if isinstance(m.question, Marginal) and len(m.question.columns) > 1 and law_of(m.noise).added:
            old = best.get(m.question)
            if old is None or law_of(m.noise).variance < law_of(old.noise).variance:
                best[m.question] = m
    return list(best.values())


@final
@dataclass(frozen=True, eq=False)
class LevelPair:
    """A level of one column and a level of another: slope and correlation of their indicators, on both sides."""

    name: str
    noisy_slope: float
    slope: float
    noisy_correlation: float
    correlation: float


def level_pairs(schema: Schema, tables: tuple[JointTable, ...]) -> tuple[LevelPair, ...]:
    """All pairs of levels of the measured two-column tables whose levels are large against their noise.

    With p the share of both, a and b the shares of each: covariance p - a b; slope of the second on the first
    (p - a b) / (a (1 - a)); correlation (p - a b) / sqrt(a (1 - a) b (1 - b)).
    """
    found: list[LevelPair] = []
    for j in tables:
        if len(j.shape) != 2:
            continue
        noisy = j.noisy.reshape(j.shape).astype(np.float64)
        kept = [
            _large(noisy.sum(axis=1), j.band * j.shape[1] ** 0.5),
            _large(noisy.sum(axis=0), j.band * j.shape[0] ** 0.5),
        ]
        if not len(kept[0]) or not len(kept[1]):
            continue
        there, here = _related(noisy, kept), _related(j.synthetic.reshape(j.shape), kept)
        names = [schema.cell_labels(c) for c in j.columns]
        for x, a in enumerate(kept[0].tolist()):
            for y, b in enumerate(kept[1].tolist()):
                said = f"{j.columns[0]} {names[0][a]}, {j.columns[1]} {names[1][b]}"
                found.append(LevelPair(said, there[0][x, y], here[0][x, y], there[1][x, y], here[1][x, y]))
    return tuple(found)


def _large(sums: Floats, band: float) -> npt.NDArray[np.int64]:
    return np.flatnonzero(sums >= max(_LARGE * band, 1.0))


def _related(table: Floats, kept: list[npt.NDArray[np.int64]]) -> tuple[Floats, Floats]:
    """Slopes and correlations between the kept levels of the two columns of a table of counts."""
    total = max(float(table.sum()), 1.0)
    p = table[np.ix_(kept[0], kept[1])] / total
    a, b = table.sum(axis=1)[kept[0]] / total, table.sum(axis=0)[kept[1]] / total
    covariance = p - np.outer(a, b)
    va, vb = (np.maximum(s * (1 - s), 1e-12) for s in (a, b))
    return covariance / va[:, None], covariance / np.sqrt(np.outer(va, vb))


_MOST_BARS, _MOST_COLUMNS, _MOST_ROWS = 30, 100, 200
_UPRIGHT_FROM = 13


@final
@dataclass(frozen=True)
class ReportPanel:
    """A figure, what it is of, a remark, and the table behind it."""

    name: str
    about: str
    figure: Markup
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: str = ""
    extra: tuple[Markup, ...] = ()


@dataclass(frozen=True)
class _Mark:
    """One cell as drawn: label, synthetic count, noisy count, half width of its 95 % band."""

    label: str
    synthetic: float
    noisy: float
    band: float

    @property
    def title(self) -> str:
        return f"{self.label}: synthetic {self.synthetic:,.0f}, noisy {self.noisy:,.0f} ± {self.band:,.0f}"


def noise_bars(one: OneWayTable) -> Markup:
    """Bars of synthetic counts with the noisy counts and their 95 % bands marked on them."""
    upright = one.ordered and len(one.labels) >= _UPRIGHT_FROM
    marks, left_out = _marks(one, upright)
    said = f"Synthetic and noisy counts of {one.name}" + (f"; {left_out}" if left_out else "")
    most = max([1.0, *(m.synthetic for m in marks), *(m.noisy + min(m.band, abs(m.noisy)) for m in marks)])
    cells = [
        Bar(
            _beginning(m.label) if upright else m.label,
            m.synthetic,
            m.title,
            low=m.noisy - m.band,
            high=m.noisy + m.band,
            dot=m.noisy,
        )
        for m in marks
    ]
    return (columns if upright else bars)(cells, said=said, counts=True, most=most)


def omission_note(one: OneWayTable) -> str:
    """What the figure leaves out or puts together; empty when it shows every cell."""
    return _marks(one, one.ordered and len(one.labels) >= _UPRIGHT_FROM)[1]


def _marks(one: OneWayTable, upright: bool) -> tuple[list[_Mark], str]:
    cells = len(one.labels)
    if upright and cells > _MOST_COLUMNS:
        together = ceil(cells / _MOST_COLUMNS)
        groups = (range(i, min(i + together, cells)) for i in range(0, cells, together))
        return [_joined(_marked(one, g)) for g in groups], f"drawn with {together} neighbouring cells together"
    if not upright and cells > _MOST_BARS:
        kept = np.argsort(-np.maximum(one.synthetic, one.noisy), kind="stable")[:_MOST_BARS]
        order = sorted(kept.tolist()) if one.ordered else kept.tolist()
        return _marked(one, order), f"the {_MOST_BARS} largest of {cells:,} cells"
    return _marked(one, range(cells)), ""


def _marked(one: OneWayTable, places: Sequence[int]) -> list[_Mark]:
    """The cells at ``places``, and no others: there may be a million."""
    return [_Mark(one.labels[i], float(one.synthetic[i]), float(one.noisy[i]), one.band) for i in places]


def _joined(group: Sequence[_Mark]) -> _Mark:
    label = group[0].label if len(group) == 1 else f"{group[0].label} … {group[-1].label}"
    band = group[0].band * sqrt(len(group))
    return _Mark(label, sum(m.synthetic for m in group), sum(m.noisy for m in group), band)


def spending(parts: Sequence[tuple[str, float]], left: float) -> Markup:
    """One bar: the share of the promise that each request took, and what was not spent."""
    out, x, wide = [], 0.0, float(WIDE)
    for i, (name, share) in enumerate(parts):
        out.append(
            f'<g><title>{escape(name)}: {100 * share:.1f} %</title><rect class="part{i % 3}" '
            f'x="{x:.1f}" y="2" width="{max(share * wide - 1, 0.5):.1f}" height="22"/></g>'
        )
        x += share * wide
    out.append(
        f'<g><title>not spent: {100 * left:.1f} %</title><rect class="unspent" x="{x:.1f}" y="2.5" '
        f'width="{max(wide - x - 0.5, 0):.1f}" height="21"/></g>'
    )
    return svg("".join(out), WIDE, 26, "The share of the promise each request took")


def chances(odds: Sequence[Odds]) -> Markup:
    """For each prior a bar of 100 guesses: right without the release, and at most with it."""
    out = []
    for i, o in enumerate(odds):
        y, before, after = 2 + 32 * i, 300 * o.before, 300 * o.after
        out.append(
            f'<rect class="rail" x="0.5" y="{y + 0.5}" width="299" height="21"/>'
            f'<rect class="after" x="0" y="{y}" width="{after:.1f}" height="22"/>'
            f'<rect class="before" x="0" y="{y}" width="{before:.1f}" height="22"/>'
            + text(before - 6, y + 16, of_100(o.before), "inside", "end")
            + (
                text(after - 6, y + 16, of_100(o.after), "inside", "end")
                if after - before >= 32
                else text(after + 6, y + 16, of_100(o.after), "label", "start")
            )
            + text(308, y + 16, "of 100", "tick", "start")
        )
    pairs = "; ".join(f"{of_100(o.before)} in 100 becomes {at_most(o.after)} in 100" for o in odds)
    return svg("".join(out), 360, 32 * len(odds) - 6, pairs)


def _beginning(label: str) -> str:
    """Where the span of a label begins: enough for a mark on an axis."""
    return label.split(" … ")[0].split(" to ")[0].lstrip("[").split(",")[0]


def count_figures(contents: Contents) -> tuple[dict[str, Any], ...]:
    """The table itself, then the margin of each of its columns."""
    if contents.counts is None:
        return ()
    labels = label_columns(contents.counts)
    found = [_figure(" x ".join(labels), contents.counts, labels)]
    if contents.margins is not None and len(labels) > 1:
        for name in labels:
            others = [pl.col(o) == ALL for o in labels if o != name]
            margin = contents.margins.filter(pl.all_horizontal(*others) & (pl.col(name) != ALL))
            found.append(_figure(name, margin, (name,)))
    return tuple(found)


def _figure(name: str, counts: pl.DataFrame, labels: Sequence[str]) -> dict[str, Any]:
    shown = counts
    if len(counts) > _MOST_BARS:
        shown = counts.with_row_index("_at").sort("count", "_at", descending=[True, False]).head(_MOST_BARS)
    note = f"Shown: the {_MOST_BARS} largest of {len(counts):,} cells." if len(counts) > _MOST_BARS else ""
    rows = tuple(
        (b.label, f"{b.value:,.0f}", "" if b.low is None else f"{b.low:,.0f} to {b.high:,.0f}")
        for b in _cells(counts.head(_MOST_ROWS), labels)
    )
    more = f"{len(counts) - _MOST_ROWS:,}" if len(counts) > _MOST_ROWS else ""
    figure = bars(_cells(shown, labels), said=f"Synthetic counts of {name}", counts=True)
    return {"name": name, "figure": figure, "note": note, "rows": rows, "rows_more": more}


def _cells(counts: pl.DataFrame, labels: Sequence[str]) -> tuple[Bar, ...]:
    """The cells of a table as bars, each with the interval around its count, if it has one."""
    named = [pl.col(c).cast(pl.String).fill_null("missing") for c in labels]
    names = counts.select(pl.concat_str(named, separator=" · ")).to_series()
    ends: list[Sequence[float | None]] = [
        counts[c].to_list() if c in counts.columns else [None] * len(counts) for c in ("low", "high")
    ]
    cells = zip(names.to_list(), counts["count"].to_list(), *ends, strict=True)
    return tuple(Bar(label, count, _title(label, count, low, high), low, high) for label, count, low, high in cells)


def _title(label: str, count: float, low: float | None, high: float | None) -> str:
    return f"{label}: {count:,.0f}" + ("" if low is None else f", 95 % interval {low:,.0f} to {high:,.0f}")
