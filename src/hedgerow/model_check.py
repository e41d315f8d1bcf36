"""Does a coefficient found in the synthetic file hold in the confidential table? Asked, priced and answered.

What can be known without the confidential table is worked out first and costs nothing: the claim as plain data, how
many parts of the synthetic (or public) file agree with it, and how likely each verdict is if the confidential table
is like that.  Then one noisy count is bought.
"""

import json
import re
import uuid
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import lgamma
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.plan import CountPlan
from hedgerow.errors import NOTHING, JobError, LedgerError, SchemaError
from hedgerow.job import JobValues
from hedgerow.pipeline import PreparedJob
from hedgerow.private.verification import verify_model
from hedgerow.public import (
    Budget,
    Claim,
    CodedTable,
    Codes,
    Formula,
    Noise,
    Spend,
    Tariff,
    law_of,
    make_claim,
    same_file,
)
from hedgerow.run_gate import Journal, account_of, open_table, opened

Floats = npt.NDArray[np.float64]
Verdict = Literal["holds", "does not hold", "cannot tell"]
_GRID = 2000
SURE = 0.95
"""The posterior probability at which a verdict is given."""
ROWS_EACH = 2
"""A part must have at least so many rows for every coefficient, fixed effects included."""


@final
@dataclass(frozen=True)
class AgreementPosterior:
    """What a noisy count of agreeing parts says of the share that agrees: a posterior, exact but for a fine grid.

    Of M parts each agrees with probability r; noise of a known law is added to their number.  With r equally likely
    anywhere between 0 and 1 beforehand, the posterior of r is a sum of binomial terms weighted by the noise.

    >>> from fractions import Fraction
    >>> a = AgreementPosterior(47, 50, Noise("laplace", Fraction(2)))
    >>> round(a.estimate, 2), [round(x, 2) for x in a.interval(0.9)], a.verdict
    (0.91, [0.84, 1.0], 'holds')

    Attributes:
        noisy: the count that came out; noise may take it below 0 or above ``parts``.
        parts: how many there are.
        noise: the law of what was added.
    """

    noisy: int
    parts: int
    noise: Noise

    @cached_property
    def _posterior(self) -> tuple[Floats, Floats]:
        """A grid of shares and the probability of each."""
        share = (np.arange(_GRID) + 0.5) / _GRID
        k = np.arange(self.parts + 1)
        ways = np.array([lgamma(self.parts + 1) - lgamma(i + 1) - lgamma(self.parts - i + 1) for i in k])
        log = ways + k * np.log(share)[:, None] + (self.parts - k) * np.log1p(-share)[:, None]
        noise = law_of(self.noise).log_weights(self.noisy - k)
        mass = np.exp(log + noise - noise.max()).sum(axis=1)
        return share, mass / mass.sum()

    @property
    def estimate(self) -> float:
        """The posterior mean of the share that agrees."""
        share, mass = self._posterior
        return float(share @ mass)

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """The shortest interval that holds the share with this posterior probability; it may reach 0 or 1.

        Equal tails would always leave the ends out, and often enough all parts agree, or none.
        """
        share, mass = self._posterior
        likely = np.argsort(-mass, kind="stable")
        held = share[likely[: int(np.searchsorted(np.cumsum(mass[likely]), level)) + 1]]
        return max(float(held.min()) - 0.5 / _GRID, 0.0), min(float(held.max()) + 0.5 / _GRID, 1.0)

    @property
    def most_agree(self) -> float:
        """The posterior probability that a part is more likely to agree than not."""
        share, mass = self._posterior
        return float(mass[share > 0.5].sum())

    @property
    def verdict(self) -> Verdict:
        """What may be said when one wants to be 95 % sure."""
        if self.most_agree >= SURE:
            return "holds"
        return "does not hold" if self.most_agree <= 1 - SURE else "cannot tell"

    def to_json(self) -> dict[str, Any]:
        """The answer and what it says, as plain data."""
        low, high = self.interval(0.9)
        return {
            "parts": self.parts,
            "noisy_count": self.noisy,
            "noise": {"law": self.noise.law, "scale": str(self.noise.scale)},
            "share": {"estimate": self.estimate, "low": low, "high": high, "level": 0.9},
            "probability_that_most_agree": self.most_agree,
            "verdict": self.verdict,
        }


def chances(share: float, parts: int, noise: Noise) -> dict[Verdict, float]:
    """How likely each verdict is when every part agrees with probability ``share``: the power of a check."""
    reach = int(8 * law_of(noise).variance ** 0.5) + 2
    seen = np.arange(-reach, parts + reach + 1)
    k = np.arange(parts + 1)
    p = min(max(share, 1e-12), 1 - 1e-12)
    ways = np.array([lgamma(parts + 1) - lgamma(i + 1) - lgamma(parts - i + 1) for i in k])
    binomial = np.exp(ways + k * np.log(p) + (parts - k) * np.log1p(-p))
    weights = np.exp(law_of(noise).log_weights(seen[:, None] - k))
    weights /= np.exp(law_of(noise).log_weights(np.arange(-4 * reach, 4 * reach + 1))).sum()
    found: dict[Verdict, float] = {"holds": 0.0, "does not hold": 0.0, "cannot tell": 0.0}
    for s, mass in zip(seen.tolist(), (weights * binomial).sum(axis=1).tolist(), strict=True):
        found[AgreementPosterior(s, parts, noise).verdict] += mass
    return found


@final
@dataclass(frozen=True, eq=False)
class ModelCheck:
    """A claim about a job's confidential table, and what it would take to check it.

    Attributes:
        road: the job with its public tables.
        model: the model as it was written.
        text: the claim as it was written, or just the name of a coefficient, whose sign is then the claim.
        budget: what the check may cost: its own line in the ledger.
        parts: how many parts the table is divided into.
        references: for columns taken as labels, the one that others are compared with.
        synthetic: the file, or the folder of the release, in which the coefficient was found; the public table takes
            its place without one.
    """

    road: PreparedJob
    model: str
    text: str
    budget: Budget
    parts: int = 50
    references: tuple[tuple[str, str], ...] = ()
    synthetic: Path | None = None

    def __post_init__(self) -> None:
        secret = self.road.job.confidential.table
        if self._file is not None and same_file(secret, self._file.resolve()):
            raise JobError(
                "--synthetic (in Python: synthetic=) names the confidential table itself. Name the synthetic file:\n"
                f"its coefficients may be looked at freely. {NOTHING}"
            )
        if self.rows is not None and self.rows < ROWS_EACH * self.parts * self.size:
            most = self.rows // (ROWS_EACH * self.size)
            cure = (
                f"Use --parts {most} or fewer (in Python: parts={most})"
                if most >= 10
                else "Leave out terms or fixed effects, or give up the check"
            )
            raise JobError(
                f"{self.rows:,} rows in {self.parts} parts leave about {self.rows // self.parts:,} for each, but the "
                f"model has {self.size} coefficients,\nfixed effects included, and needs {ROWS_EACH} rows for each. "
                f"{cure}.\nThe number of rows is that of {self._stands_in}. {NOTHING}"
            )

    @cached_property
    def formula(self) -> Formula:
        """The model."""
        try:
            model = Formula.parse(self.model, dict(self.references))
            return model.bound(self.road.comparing(model.unsettled, re.findall(r"\w+\[[^\]]*\]", self.text)))
        except SchemaError as wrong:
            raise JobError(f"The model {self.model!r} cannot be checked. {wrong} {NOTHING}") from None

    @cached_property
    def claim(self) -> Claim:
        """The claim as plain data."""
        if "<" in self.text or ">" in self.text:
            return make_claim(self.text, self.formula, self.road.schema)
        found = self._coefficient(make_claim(f"{self.text} > 0", self.formula, self.road.schema))
        if found is None or not np.isfinite(found):
            raise JobError(
                f"{self.text!r} alone claims the sign it has in the synthetic file, which does not determine it.\n"
                f"Write the claim out, like '{self.text} < 0', or name the file with --synthetic (in Python:\n"
                f"synthetic=). {NOTHING}"
            )
        return make_claim(f"{self.text} {'<' if found < 0 else '>'} 0", self.formula, self.road.schema)

    @cached_property
    def size(self) -> int:
        """How many coefficients the model has, fixed effects included."""
        schema = self.road.schema
        return 1 + len(self.formula.names(schema)) + sum(schema.size([c]) - 1 for c in self.formula.absorbed)

    @cached_property
    def stand_in(self) -> CodedTable | None:
        """The synthetic file, or else the public table: what may be looked at freely."""
        if self._file is not None:
            return CodedTable.read(self._file, self.road.schema, role="synthetic")
        return self.road.public.relative

    @cached_property
    def _file(self) -> Path | None:
        """The synthetic records: the file itself, or the first copy of a release."""
        if self.synthetic is None or not self.synthetic.is_dir():
            return self.synthetic
        for name in ("records.parquet", "records-1.parquet"):
            if (self.synthetic / name).is_file():
                return self.synthetic / name
        raise JobError(
            f"The folder {self.synthetic} has no records.parquet, so it is no release of records. A model needs\n"
            "records: name their file, or the folder of a release that has them, with --synthetic (in Python:\n"
            f"synthetic=). {NOTHING}"
        )

    @property
    def rows(self) -> int | None:
        """A public guess of the number of rows."""
        assumed = self.road.job.confidential.assumed_rows
        return assumed or (self.stand_in.rows if self.stand_in is not None else None)

    @property
    def spend(self) -> Spend:
        """The request, priced."""
        tariff = Tariff(self.road.schema.coding, self.road.guarantee, self.budget.measure)
        return self.claim.price(tariff, self.parts, self.budget.total)

    @property
    def noise(self) -> Noise:
        """The noise on the count of agreeing parts."""
        return self.spend.asked[0].noise

    def forecast(self) -> tuple[float | None, float, dict[Verdict, float]] | None:
        """On the file that stands in: the coefficient, the share of parts that agree, the chance of each verdict."""
        if self.stand_in is None:
            return None
        rng = np.random.Generator(np.random.PCG64(0))
        plan = CountPlan(self.claim.questions, self.road.schema.coding)
        codes, keep = self._codes(self.claim)
        part = rng.integers(0, self.parts, self.stand_in.rows)
        agreed = 0
        for p in range(self.parts):
            mine = {c: x[keep & (part == p)] for c, x in codes.items()}
            agreed += self.claim.holds(plan.split(plan.count(mine)))
        share = (agreed + 0.5) / (self.parts + 1)
        return self._coefficient(self.claim), agreed / self.parts, chances(share, self.parts, self.noise)

    def _codes(self, claim: Claim) -> tuple[dict[str, Codes], npt.NDArray[np.bool_]]:
        """The codes of the file that stands in, and its rows that have all numbers of the model."""
        assert self.stand_in is not None
        codes = self.stand_in.codes(claim.columns)
        return codes, np.logical_and.reduce([u[codes[c]] for c, u in zip(claim.columns, claim.usable, strict=True)])

    def _coefficient(self, claim: Claim) -> float | None:
        """The coefficient in the file that stands in."""
        if self.stand_in is None:
            return None
        codes, keep = self._codes(claim)
        plan = CountPlan(claim.questions, self.road.schema.coding)
        return claim.coefficient(plan.split(plan.count({c: x[keep] for c, x in codes.items()})))

    @property
    def _stands_in(self) -> str:
        if self.road.job.confidential.assumed_rows:
            return "assumed_rows in the job"
        return "the synthetic file" if self.synthetic is not None else "the public table"


@final
@dataclass(frozen=True)
class Answer:
    """The noisy answer and what it says. Everything here may be published.

    Attributes:
        claim: what was claimed, in which model.
        agreement: the noisy count of the parts that agree.
        budget: what was promised for it.
        unit: who is protected, in words.
        table: the ledger's name of the table.
        run: the name of this check in the ledger.
    """

    claim: str
    agreement: AgreementPosterior
    budget: Budget
    unit: str
    table: str
    run: str

    def to_json(self) -> dict[str, Any]:
        """The answer as plain data."""
        return {
            "claim": self.claim,
            **self.agreement.to_json(),
            "epsilon": float(self.budget.epsilon),
            "delta": float(self.budget.delta),
            "protects": self.unit,
            "ledger": {"table": self.table, "run": self.run},
        }


def prepare(job: JobValues, model: str, text: str, *, epsilon: str, **more: Any) -> ModelCheck:
    """A check of ``job``. Reads no confidential row and costs nothing."""
    return ModelCheck(PreparedJob(job), model, text, Budget(epsilon), **more)


def carry_out(check: ModelCheck, out: Path) -> Answer:
    """Book the check, ask, and write the answer to ``out`` before anything is done with it.

    A check of the same claim that was cut short there goes on, and pays nothing twice.
    """
    road, job, budget = check.road, check.road.job, check.budget
    if out.exists():
        raise JobError(f"{out} exists already. Choose another place with --out (in Python: out). {NOTHING}")
    if not out.parent.is_dir():
        raise JobError(f"There is no folder {out.parent} for the answer. {NOTHING}")
    source, claim, journal = open_table(job), check.claim, Journal.beside(out)
    tariff = Tariff(road.schema.coding, road.guarantee, budget.measure)
    digest = sha256(repr((road.digest, check.spend.digest, budget)).encode()).hexdigest()
    with journal.held("the same command"):
        run = journal.resume(digest) if journal.exists else uuid.uuid4().hex[:16]
        account = account_of(road.ledger(), job, run, journal)
        try:
            gate, kept = opened(source, tariff, budget, account, journal=journal, run=run, digest=digest)
            known = kept[0].measurements[0] if kept else None
            found = known or verify_model(gate, claim, check.parts, budget.total)
        except LedgerError as lost:
            raise LedgerError(
                f"{lost}\n{account.standing()}\nOnce it can be used, the same command goes on."
            ) from lost
        agreement = AgreementPosterior(int(found.counts[0]), check.parts, found.noise)
        answer = Answer(claim.text, agreement, budget, _unit(road), job.table, run)
        journal.write(out, json.dumps(answer.to_json(), indent=2) + "\n")
        journal.finish()
    return answer


def _unit(road: PreparedJob) -> str:
    g = road.guarantee
    who = "one record" if g.unit == "record" else f"one person with at most {g.rows_per_person} rows"
    return f"{who}, {g.relation}"
