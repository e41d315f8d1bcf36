"""Write the tables and the schema of this example beside it."""

from pathlib import Path

from hedgerow.simulate.personnel import personnel, personnel_schema

here = Path(__file__).parent
tables = personnel(rows=20_000, seed=1)
for name in ("public", "confidential", "target"):
    getattr(tables, name).write_parquet(here / f"{name}.parquet")
(here / "schema.toml").write_text(personnel_schema(), "utf-8")
