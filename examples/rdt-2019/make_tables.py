"""Write the simulated tables of this study beside it: the columns of RDT-2019, four years; ROWS sets their size."""

import os
from pathlib import Path

from hedgerow.reproduce.rdt_2019 import YEARS, make_tables
from hedgerow.simulate.personnel import personnel_schema

here = Path(__file__).parent
make_tables(here, int(os.environ.get("ROWS", "600000")))

text = personnel_schema(years=YEARS).replace("# prefix = 2", "prefix = 2")
kept = [part for part in text.split("\n\n") if not part.startswith(("[columns.grade]", "[columns.supervisory]"))]
(here / "schema.toml").write_text("\n\n".join(kept), "utf-8")
