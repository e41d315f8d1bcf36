"""Coverage and power of ``verify-model``, simulated through the gate: tables of a known world, several checks each.

    python bench/verify_model.py [--tables 15] [--checks 6] [--rows 4000] [--parts 40] [--epsilon 0.5]

Every check draws its own parts and noise (from the operating system: no seed). The true share r of parts of a table
that agree is counted here without noise, over ten draws of parts. Printed for each claim: the mean of r, how often
the 90 % interval holds the r of its table, how often each verdict came out, and what ``agreement.chances`` foretells.
"""

import argparse
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from hedgerow.counting.plan import CountPlan
from hedgerow.ledger.book import Ledger, RunAccount
from hedgerow.model_check import AgreementPosterior, chances
from hedgerow.private.gate import Gate
from hedgerow.private.verification import verify_model
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.claim import Claim
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.files import open_source
from hedgerow.public.formula import Formula, make_claim
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable
from hedgerow.simulate.personnel import personnel, personnel_schema

MODEL = "ln(pay) ~ C(sex, ref=M) + age + I(age^2) + number(education) + grade"
CLAIMS = ("sex[F] < -0.04", "sex[F] < -0.07", "sex[F] < -0.1")
SCHEMA = Schema.loads(personnel_schema())


def main() -> None:
    """Simulate, and print coverage and power."""
    options, began = _options(), time.process_time()
    tables = [personnel(options.rows, seed).confidential.drop("person") for seed in range(options.tables)]
    print(
        f"{options.tables} tables of {options.rows:,} rows, {options.checks} checks each; epsilon {options.epsilon:g}"
    )
    print(f"{options.parts} parts; {MODEL}\nclaim             r  covers  verdicts (foretold)")
    for text in CLAIMS:
        claim = make_claim(text, Formula.parse(MODEL), SCHEMA)
        shares = [_share(claim, table, options.parts) for table in tables]
        found = [list(_checks(claim, table, options)) for table in tables]
        within = [
            lo <= r <= hi for r, seen in zip(shares, found, strict=True) for lo, hi in (a.interval() for a in seen)
        ]
        foretold = [chances(r, options.parts, found[0][0].noise) for r in shares]
        said = [a.verdict for seen in found for a in seen]
        verdicts = ", ".join(
            f"{v} {said.count(v) / len(said):.2f} ({np.mean([f[v] for f in foretold]):.2f})" for v in foretold[0]
        )
        print(f"{text:<14} {np.mean(shares):.2f}  {np.mean(within):>6.2f}  {verdicts}", flush=True)
    print(f"{time.process_time() - began:.0f} s of CPU")


def _checks(claim: Claim, table: pl.DataFrame, options: argparse.Namespace) -> Iterator[AgreementPosterior]:
    """What some checks of one table answer."""
    budget, tariff = Budget(str(options.epsilon)), Tariff(SCHEMA.coding, Guarantee(), "pure")
    with tempfile.TemporaryDirectory() as folder:
        book = Ledger.open(str(Path(folder) / "ledger.db"))
        for _ in range(options.checks):
            gate = Gate(open_source(table), tariff, budget, RunAccount(book, table="t", run=uuid.uuid4().hex))
            answer = verify_model(gate, claim, options.parts, budget.total)
            yield AgreementPosterior(int(answer.counts[0]), options.parts, answer.noise)


def _share(claim: Claim, frame: pl.DataFrame, parts: int) -> float:
    """The share of parts that agree, without noise, over ten draws of parts."""
    rng, plan = np.random.default_rng(9), CountPlan(claim.questions, SCHEMA.coding)
    codes, agreed = CodedTable.read(frame, SCHEMA).codes(claim.columns), 0
    keep = np.logical_and.reduce([u[codes[c]] for c, u in zip(claim.columns, claim.usable, strict=True)])
    for _ in range(10):
        part = np.where(keep, rng.integers(0, parts, len(frame)), -1)
        for p in range(parts):
            agreed += claim.holds(plan.split(plan.count({c: x[part == p] for c, x in codes.items()})))
    return agreed / (10 * parts)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=15)
    parser.add_argument("--checks", type=int, default=6)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--parts", type=int, default=40)
    parser.add_argument("--epsilon", type=float, default=0.5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
