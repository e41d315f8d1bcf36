"""Write the simulated tables of this study beside it: the columns of RDT-2019, four years; ROWS sets their size."""

import os
from pathlib import Path

from hedgerow.reproduce.tables import YEARS, tables_of_four_years
from hedgerow.simulate.personnel import personnel_schema

here = Path(__file__).parent
tables_of_four_years(here, int(os.environ.get("ROWS", "600000")))

text = personnel_schema(years=YEARS).replace("# prefix = 2", "prefix = 2")
kept = [part for part in text.split("\n\n") if not part.startswith(("[columns.grade]", "[columns.supervisory]"))]
(here / "schema.toml").write_text("\n\n".join(kept), "utf-8")
