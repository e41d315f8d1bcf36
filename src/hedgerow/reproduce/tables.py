"""The simulated personnel tables of both RDT reports, with their schemas: what they collapse and round."""

from pathlib import Path

import numpy as np
import polars as pl

from hedgerow.simulate.personnel import personnel, personnel_schema

ATTRIBUTES = ("age", "education", "agency", "occupation", "supervisory", "pay")
YEAR, YEARS = 1988, (1988, 1996, 2003, 2011)
"""Of the report of 2018, and of that of 2019."""
_AGENCIES, _OCCUPATIONS = 72, 138
_PAY = "bins = { low = 0, high = 200000, width = 2000 }"
_ROUNDED = "bins = {{ low = 0, high = 200000, nearest = {} }}"
_COLLAPSED = {"schema-2.toml": (2000, 0, 0), "schema-2500.toml": (2500, 0, 0), "schema-5000.toml": (5000, 100, 250)}


def tables_of_1988(folder: Path, *, quick: bool = False) -> None:
    """Write the three tables and the two schemas of the report of 2018 into ``folder``."""
    rows = 12_000 if quick else 80_000
    made = personnel(rows, YEAR, years=(YEAR,), public_years=(YEAR,), agencies=_AGENCIES, occupations=_OCCUPATIONS)
    kept = [*ATTRIBUTES, "sex", "race"]
    agency = sorted(made.confidential["agency"].unique())
    rng = np.random.Generator(np.random.PCG64(YEAR))
    factor = pl.DataFrame({"agency": agency, "up": 1.12 + 0.05 * rng.standard_normal(len(agency))})

    def adjusted(frame: pl.DataFrame) -> pl.DataFrame:
        joined = frame.join(factor, "agency", how="left", maintain_order="left")
        return joined.with_columns((pl.col("pay") * pl.col("up").fill_null(1.12)).round().cast(pl.Int64)).drop("up")

    confidential, others = adjusted(made.confidential), adjusted(made.target)
    own = confidential.head(round(0.8 * rows)).select(ATTRIBUTES)
    target = pl.concat([own, others.head(rows - own.height).select(ATTRIBUTES)])
    for name, frame in (
        ("public", made.public.select(kept)),
        ("confidential", confidential.select(kept)),
        ("target", target),
    ):
        frame.write_parquet(folder / f"{name}.parquet")
    text = personnel_schema(_AGENCIES, _OCCUPATIONS, (YEAR,))
    left = ("[columns.grade]", "[columns.year]")
    text = "\n\n".join(part for part in text.split("\n\n") if not part.startswith(left))
    ten = text.replace(_PAY, "bins = { low = 0, high = 200000, width = 10000 }")
    (folder / "schema-10.toml").write_text(ten, "utf-8")
    merged = text.replace(_PAY, "bins = { low = 0, high = 200000, width = 25000 }")
    for name, least in (("agency", 500), ("occupation", 200)):
        merged = _collapsed(merged, name, least // 4 if quick else least)
    (folder / "schema-25.toml").write_text(merged, "utf-8")


def tables_of_four_years(folder: Path, rows: int) -> None:
    """Write tables of four years and the schemas of the report of 2019 into ``folder``."""
    tables = personnel(rows=rows, seed=2019, public_years=YEARS, years=YEARS)
    left = ("grade", "supervisory")
    tables.public.drop(left).write_parquet(folder / "public.parquet")
    tables.confidential.drop(left).write_parquet(folder / "confidential.parquet")
    tables.target.drop(left).write_parquet(folder / "target.parquet")
    tables.confidential.drop(*left, "sex").write_parquet(folder / "target-race.parquet")
    text = personnel_schema(years=YEARS).replace("# prefix = 2", "prefix = 2")
    text = "\n\n".join(p for p in text.split("\n\n") if not p.startswith(tuple(f"[columns.{c}]" for c in left)))
    for name, (nearest, agency, occupation) in _COLLAPSED.items():
        made = text.replace(_PAY, _ROUNDED.format(nearest))
        for column, least in (("agency", agency), ("occupation", occupation)):
            made = _collapsed(made, column, least) if least else made
        (folder / name).write_text(made, "utf-8")


def _collapsed(text: str, column: str, least: int) -> str:
    """The schema with small labels of a column combined, as counted in the public table."""
    head, _, tail = text.partition(f"[columns.{column}]")
    part, blank, rest = tail.partition("\n\n")
    lines = [x for x in part.splitlines() if not x.startswith(("other =", "#"))]
    lines.append(f'collapse = {{ below = {least}, into = "other" }}')
    return f"{head}[columns.{column}]" + "\n".join(lines) + blank + rest
