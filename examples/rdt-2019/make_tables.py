"""Write the simulated tables of this study beside it: the columns of RDT-2019, four years."""

import os
from pathlib import Path

from hedgerow.simulate.personnel import personnel, personnel_schema

here = Path(__file__).parent
rows = int(os.environ.get("ROWS", "600000"))
tables = personnel(rows=rows, seed=2019, public_years=(1988, 1996, 2003, 2011), years=(2008, 2009, 2010, 2011))
for name in ("public", "confidential", "target"):
    getattr(tables, name).drop("grade", "supervisory").write_parquet(here / f"{name}.parquet")

text = personnel_schema(years=(1988, 1996, 2003, 2008, 2009, 2010, 2011)).replace("# prefix = 2", "prefix = 2")
kept = [part for part in text.split("\n\n") if not part.startswith(("[columns.grade]", "[columns.supervisory]"))]
(here / "schema.toml").write_text("\n\n".join(kept), "utf-8")
