"""How fast exact noise is drawn, as ratios within one run.

To NumPy's floating-point Laplace and normal (which no promise may use), to OpenDP (exact, the trusted yardstick)
and to the operating system's random bytes (the limit: four bytes a draw, eight or twelve at large scales).
All times are CPU time; the best of several runs.

    python bench/noise.py [--quick] [--json]
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

import numpy as np

from hedgerow.private import noise
from hedgerow.public.costs.question import Law, Noise

SCALES = [Fraction(1, 2), Fraction(1), Fraction(10), Fraction(100), Fraction(1000), Fraction(10**4), Fraction(10**6)]
LAWS: tuple[Law, ...] = ("laplace", "gaussian")


def best(work: Callable[[], object], runs: int) -> float:
    """The CPU seconds of the fastest of some runs."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def opendp_sampler(law: Law, scale: float, n: int) -> Callable[[], object]:
    """OpenDP's whole-number mechanism on ``n`` zeros."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain, zeros = dp.vector_domain(dp.atom_domain(T=int)), [0] * n
    if law == "laplace":
        mechanism: Any = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale)
    else:
        mechanism = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
    return lambda: mechanism(zeros)


def row(law: Law, scale: Fraction, n: int, runs: int) -> dict[str, Any]:
    """The cost of one draw at one scale (a standard deviation, for the Gaussian), in nanoseconds."""
    rng = np.random.default_rng()
    asked = Noise(law, scale if law == "laplace" else scale**2)
    first = best(lambda: noise.draw(asked, 1000), 1)  # builds the table
    ours = best(lambda: noise.draw(asked, n), runs) / n
    numpy = best(lambda: (rng.laplace if law == "laplace" else rng.normal)(0, float(scale), n), runs) / n
    size = 4 if int(scale) < (512 if law == "laplace" else 1024) else 8 if int(scale) < 1 << 19 else 12
    limit = best(lambda: os.urandom(size << 16), runs) / (1 << 16)
    out: dict[str, Any] = {"law": law, "scale": float(scale), "ns": ours * 1e9, "table_ms": first * 1e3}
    out |= {"bytes": size, "to_urandom": ours / limit, "to_numpy": ours / numpy, "opendp_to_ours": None}
    if find_spec("opendp"):
        few = max(n // 50, 1000)
        out["opendp_to_ours"] = best(opendp_sampler(law, float(scale), few), 2) / few / ours
    return out


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--quick", action="store_true", help="fewer draws and scales")
    options.add_argument("--json", action="store_true", help="print JSON instead of a table")
    asked = options.parse_args()
    n, runs = (200_000, 2) if asked.quick else (1_000_000, 5)
    rows = [row(law, scale, n, runs) for law in LAWS for scale in (SCALES[1::2] if asked.quick else SCALES)]
    if asked.json:
        print(json.dumps({"draws": n, "rows": rows}, indent=1))
        return
    print(f"{n:,} draws")
    print("law        scale      ns/draw  first call ms  x its random bytes  x numpy float  OpenDP/ours")
    for r in rows:
        other = f"{r['opendp_to_ours']:11.0f}" if r["opendp_to_ours"] else "  not here"
        print(
            f"{r['law']:9} {r['scale']:8g} {r['ns']:11.1f} {r['table_ms']:14.1f}"
            f" {r['to_urandom']:19.2f} {r['to_numpy']:14.2f} {other}"
        )


if __name__ == "__main__":
    main()
