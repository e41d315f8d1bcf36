"""Write the simulated tables of RDT-2018 and its two schemas beside this file; QUICK=1 for small ones."""

import os
from pathlib import Path

from hedgerow.reproduce.tables import tables_of_1988

tables_of_1988(Path(__file__).parent, quick=bool(os.environ.get("QUICK")))
