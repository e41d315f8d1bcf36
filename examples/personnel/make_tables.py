"""Write the tables of this example: simulated personnel, an earlier period public, a later one confidential."""

from pathlib import Path

from hedgerow import personnel

here = Path(__file__).parent
tables = personnel(rows=20_000, seed=1)
tables.public.write_parquet(here / "public.parquet")
tables.confidential.write_parquet(here / "confidential.parquet")
