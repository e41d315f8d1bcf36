"""Write the simulated survey by area and year, and its schema, beside this file; ROWS sets its size."""

import os
from pathlib import Path

from hedgerow.reproduce.dpsyn import make_tables

make_tables(Path(__file__).parent, int(os.environ.get("ROWS", "8000")), 6)
