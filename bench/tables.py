"""A table of a million cells (or of the given sides cubed) through the recipes for tables: CPU seconds and memory."""

import resource
import sys
import time
from fractions import Fraction

import numpy as np

from hedgerow.private import noise, urns
from hedgerow.public.question import Marginal, Measurement, Noise
from hedgerow.public.schema import Schema
from hedgerow.public.urn import Urn
from hedgerow.recipes import IntegerCounts, PublicData


def run(side: int) -> None:
    """Noise on every cell, a margin, least squares, projection, rounding, labels; then an urn of the same size."""
    values = ", ".join(f'"{i}"' for i in range(side))
    text = "".join(f'[columns.{c}]\nkind = "categorical"\nvalues = [{values}]\n' for c in ("x", "y", "z"))
    cells, law = side**3, Noise("laplace", Fraction(1))
    true = np.random.default_rng(0).poisson(2, cells)
    noise.draw(law, 10)
    start = time.process_time()
    answers = (
        Measurement(Marginal(("x", "y", "z")), true + noise.draw(law, cells), law),
        Measurement(Marginal(("x",)), true.reshape(side, -1).sum(axis=1) + noise.draw(law, side), law),
    )
    recipe = IntegerCounts(columns=("x", "y", "z"), margins=(("x",),))
    table = recipe.made(PublicData(Schema.loads(text)), answers)
    table.margins(table.counts(np.random.default_rng(1)))
    spent = time.process_time() - start
    start = time.process_time()
    urns.draw(Urn((int(true.sum()),), (10**6,)), true, 1)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    drawn = time.process_time() - start
    print(f"{cells:>11,} cells: integer_counts {spent:.2f} s, urn {drawn:.2f} s, at most {most:.2f} GB")


if __name__ == "__main__":
    for side in map(int, sys.argv[1:] or ["100"]):
        run(side)
