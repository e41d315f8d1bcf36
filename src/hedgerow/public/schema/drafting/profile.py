"""What a public table shows of each column, read once in batches: its values with their counts.

Memory is bounded whatever the table: a column keeps at most ``MOST_VALUES`` distinct values (the most
frequent ones), and relations between columns are looked for in at most ``MOST_ROWS`` rows, taken evenly.
"""

from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import TableMismatch
from hedgerow.public.coding import as_text
from hedgerow.public.files import Source
from hedgerow.public.schema.column import spellings

MOST_VALUES = 200_000
MOST_ROWS = 50_000
Stored = Literal["text", "number", "date", "logical", "nested"]


@final
@dataclass(frozen=True)
class Profile:
    """The values of one column of a public table.

    Attributes:
        name: the column.
        stored: how the file holds it.
        rows: how many rows the table has.
        blank: how many of them hold nothing.
        counts: its distinct texts (``value``) with their counts (``n``), most frequent first.
        complete: whether ``counts`` has every value; the most frequent ones otherwise.
        low: the smallest number among all rows (NaN when there is none).
        high: the largest number among all rows.
    """

    name: str
    stored: Stored
    rows: int
    blank: int
    counts: pl.DataFrame
    complete: bool = True
    low: float = float("nan")
    high: float = float("nan")

    @property
    def distinct(self) -> int:
        """How many different values were kept, missing not counted."""
        return self.counts.height

    @property
    def known(self) -> int:
        """How many rows hold one of the kept values."""
        return int(self.counts["n"].sum())

    @property
    def values(self) -> tuple[str, ...]:
        """The distinct texts, most frequent first."""
        return tuple(self.counts["value"].to_list())

    def without(self, texts: frozenset[str]) -> "Profile":
        """The same with some texts taken as missing."""
        kept = self.counts.filter(~pl.col("value").is_in(list(texts)))
        return replace(self, counts=kept)

    def numbers(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """The values that read as finite numbers, sorted, with their counts."""
        number = self.counts.select(
            pl.col("value").cast(pl.Float64, strict=False).alias("number"), pl.col("n")
        ).filter(pl.col("number").is_finite())
        merged = number.group_by("number").agg(pl.col("n").sum()).sort("number")
        return merged["number"].to_numpy(), merged["n"].to_numpy()

    def plus(self, series: pl.Series) -> "Profile":
        """The same with further rows."""
        if self.stored == "nested":
            return self
        text = as_text(series.dt.date() if isinstance(series.dtype, pl.Datetime) else series)
        new = text.drop_nulls().rename("value").value_counts(name="n").cast({"n": pl.Int64})
        number = new["value"].cast(pl.Float64, strict=False)
        number = number.filter(number.is_finite())
        both = pl.concat([self.counts, new]).group_by("value").agg(pl.col("n").sum())
        return replace(
            self,
            blank=self.blank + text.null_count(),
            counts=both if both.height <= MOST_VALUES else _most_frequent(both).head(MOST_VALUES),
            complete=self.complete and both.height <= MOST_VALUES,
            low=float(np.fmin(self.low, _or_nan(number.min()))),
            high=float(np.fmax(self.high, _or_nan(number.max()))),
        )

    def settled(self, *, rows: int, sample: pl.Series) -> "Profile":
        """The profile of the whole table, of which ``sample`` was taken evenly."""
        counts = self.counts
        if not self.complete and not np.isnan(self.low):
            # The most frequent of very many numbers are no fair picture of all; an even sample is.
            counts = as_text(sample).drop_nulls().rename("value").value_counts(name="n")
        return replace(self, rows=rows, counts=_most_frequent(_as_whole(counts.cast({"n": pl.Int64}))))


@final
@dataclass(frozen=True)
class TableProfile:
    """A public table, read once.

    Attributes:
        rows: how many rows it has.
        profiles: one per column, in file order.
        sample: rows taken evenly from the whole table, at most ``MOST_ROWS``.
        head: its first rows as they follow each other, at most as many.
    """

    rows: int
    profiles: tuple[Profile, ...]
    sample: pl.DataFrame
    head: pl.DataFrame


def read_profile(source: Source) -> TableProfile:
    """The profile of every column and an even sample of rows, in one pass."""
    names = tuple(source.columns)
    profiles: dict[str, Profile] = {}
    nothing = pl.DataFrame(schema={"value": pl.String, "n": pl.Int64})
    sample: list[pl.DataFrame] = []
    rows, step, size, head = 0, 1, 0, pl.DataFrame()
    for batch in source.batches(names):
        for name in names:
            empty = Profile(name, _stored(batch[name]), 0, 0, nothing)
            profiles[name] = profiles.get(name, empty).plus(batch[name])
        head = batch.head(MOST_ROWS) if head.is_empty() else head
        part = batch.gather_every(step, offset=-rows % step)
        sample, rows, size = [*sample, part], rows + batch.height, size + part.height
        while size > MOST_ROWS:
            step *= 2
            sample = [pl.concat(sample, how="vertical_relaxed").gather_every(2)]
            size = sample[0].height
    if rows < 2:
        has = "a header but no rows" if rows == 0 else "one row only"
        raise TableMismatch(
            f"Cannot draft a schema from {source.name}: it has {has}, and a list of values or a range cannot be seen "
            "in it. Give a public table with rows, or a code book (a CSV of column, value, label; a Frictionless "
            "table schema; a NIST parameters.json). No confidential row was read and nothing was spent."
        )
    together = pl.concat(sample, how="vertical_relaxed")
    settled = tuple(profiles[n].settled(rows=rows, sample=together[n]) for n in names)
    return TableProfile(rows, settled, together, head)


def _most_frequent(counts: pl.DataFrame) -> pl.DataFrame:
    """The most frequent first, equals by their text, so that the same table gives the same draft."""
    return counts.sort(["n", "value"], descending=[True, False])


def _as_whole(counts: pl.DataFrame) -> pl.DataFrame:
    """Whole numbers without the ".0" that a missing value beside them brings into a file: "1.0" is 1, 1.5 stays."""
    number = counts.filter(pl.col("value").cast(pl.Float64, strict=False).is_not_null())["value"]
    if number.is_empty() or not all(text.endswith(".0") and len(spellings(text)) > 1 for text in number):
        return counts
    whole = pl.when(pl.col("value").is_in(number.implode())).then(pl.col("value").str.strip_suffix(".0"))
    return counts.with_columns(whole.otherwise("value").alias("value"))


def _stored(series: pl.Series) -> Stored:
    dtype = series.dtype
    if dtype == pl.Boolean:
        return "logical"
    if dtype.is_numeric():
        return "number"
    if dtype in (pl.Date, pl.Datetime):
        return "date"
    return "text" if dtype in (pl.String, pl.Categorical, pl.Enum, pl.Time, pl.Null) else "nested"


def _or_nan(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else float("nan")
