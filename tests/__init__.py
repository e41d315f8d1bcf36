"""The tests. Matrices are small: as on the command line, and before any library is loaded, each has one thread."""

import os

for _library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
