"""Speed of the metrics: the pay model with absorbed effects on millions of rows, beside pyfixest; and every metric.

python bench/judge.py                              # 2 million rows, 800 x 500 levels; all metrics at 2e5 and 2e6 rows
python bench/judge.py --model 0 --metrics 200000   # all metrics alone, on fewer rows
"""

import argparse
import resource
import time

import numpy as np

from hedgerow.evaluate.least_squares import by_pyfixest, designs, least_squares
from hedgerow.evaluate.registry import METRICS
from hedgerow.public.formula import Formula
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable
from hedgerow.simulate.personnel import personnel, personnel_schema

PAY = "ln(pay) ~ sex + race + age + I(age^2) + education | agency + occupation"


def model(rows: int) -> None:
    """The pay model once with each fitter, on the same design."""
    made = personnel(rows, 1, agencies=800, occupations=500, labelled_target=True)
    schema = Schema.loads(personnel_schema(800, 500))
    start = time.process_time()
    table = CodedTable.read(made.confidential, schema, role="target")
    design = designs(Formula.parse(PAY), [table], schema)[0]
    levels = [int(a.max()) + 1 for a in design.absorbed]
    print(f"{rows:,} rows, {levels[0]} x {levels[1]} levels: coding takes {time.process_time() - start:.1f} CPU-s")
    fits = {}
    for name, fit in (("hedgerow", least_squares), ("pyfixest", by_pyfixest)):
        start = time.process_time()
        try:
            fits[name] = fit(design)
        except Exception as wrong:  # the library may be absent
            print(f"  {name}: {wrong}")
            continue
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"  {name:<9} {time.process_time() - start:6.2f} CPU-s, peak memory so far {peak:.2f} GB")
    if len(fits) == 2:
        apart = np.nanmax(np.abs(fits["hedgerow"].values / fits["pyfixest"].values - 1))
        print(f"  the coefficients differ by at most {apart:.1e} of their size")
    truth = made.effects_in(2010)["F"]
    at = fits["hedgerow"].names.index("sex[female]") if "sex[female]" in fits["hedgerow"].names else 0
    print(f"  {fits['hedgerow'].names[at]} {fits['hedgerow'].values[at]:.4f}; simulated in 2010: female {truth:.4f}")


def every(rows: int) -> None:
    """Each metric on two samples of the simulated population, as ``hedgerow compare`` asks for them."""
    made, schema = personnel(rows, 2, labelled_target=True), Schema.loads(personnel_schema())
    start = time.process_time()
    a, b = (CodedTable.read(f, schema, role="target") for f in (made.confidential, made.target))
    del made
    print(f"{rows:,} rows, {len(schema.columns)} columns: reading takes {time.process_time() - start:.1f} CPU-s")
    first = time.process_time()
    for name, metric in METRICS.items():
        start = time.process_time()
        found = metric().of(a, b, rng=np.random.default_rng(0))
        value, null = (f"{v:.4g}" if v is not None else "" for v in (found.value, found.null))
        took, peak = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"  {name:<20} {took:6.2f} CPU-s  {peak:5.2f} GB so far   found {value:>8}   by chance {null:>8}")
    print(f"  all {len(METRICS)} metrics {time.process_time() - first:17.2f} CPU-s")


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--model", type=int, default=2_000_000, help="rows of the pay model; 0 leaves it out")
    asked.add_argument("--metrics", type=int, nargs="*", default=[200_000, 2_000_000], help="rows of all metrics")
    said = asked.parse_args()
    for size in said.metrics:
        every(size)
    if said.model:
        model(said.model)  # last, for the memory that pyfixest takes would stand in every later line
