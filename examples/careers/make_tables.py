"""Write the tables of this example: simulated careers of five years, and of other people in the eight years before."""

from pathlib import Path

from hedgerow import personnel
from hedgerow.simulate.personnel import personnel_schema

here = Path(__file__).parent
BEFORE, YEARS = tuple(range(2001, 2009)), tuple(range(2009, 2014))
tables = personnel(rows=12_000, seed=1, years=YEARS, public_years=BEFORE, agencies=8, occupations=12, moving=0.04)
tables.public.write_parquet(here / "public.parquet")
tables.confidential.write_parquet(here / "confidential.parquet")
(here / "schema.toml").write_text(personnel_schema(8, 12, years=(*BEFORE, *YEARS)), "utf-8")
