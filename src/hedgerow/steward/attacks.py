"""All attacks on one job, for the steward: what an attacker could do, beside what the promise allows him.

Membership inference: can an attacker tell from synthetic records whether one odd record was in the table?  The job's
recipe is fitted again and again to a public stand-in, with a canary (the oddest record of the public table) in it or
not by the toss of a coin.  The attacker knows every other record, the recipe and the canary; where columns are
attached to public rows, the canary's row is among them, and he looks at what is attached.  Nothing confidential is
read.  The outcome is a check of the whole road for gross leaks, not a proof: the proof is in ``private/PROOFS.md``,
and the exact audits of noise and gate are in ``tests/privacy``.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import exp, lgamma, log
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import NOTHING, JobError
from hedgerow.evaluate.base import DoesNotApply
from hedgerow.evaluate.cells import in_both
from hedgerow.evaluate.classifiers import auc
from hedgerow.figures import aligned
from hedgerow.job import JobValues, only_rows
from hedgerow.public import CodedTable, Codes, PublicData, Schema, Tariff
from hedgerow.stand_in import Parts, run_once
from hedgerow.steward.compare import release_tables
from hedgerow.steward.exact import exact_table, release_of
from hedgerow.steward.inside import WARNING, WATERMARK, InsideOnly, in_fixed_words

Watch = Callable[[str], None]
Floats = npt.NDArray[np.float64]
_LEVEL = 0.05 / 4
"""Of each of the four bounds, so that all hold together 95 times in 100."""


@final
@dataclass(frozen=True)
class Membership:
    """How well the attacker did over all runs.

    Attributes:
        runs: half of them choose the attacker's threshold, half judge it.
        auc: the chance that a run with the canary looks more like it than a run without.
        right: the share of judged runs in which the attacker was right; 0.5 is guessing.
        allowed: the largest share that the promise allows anybody to reach in the long run.
        epsilon_at_least: what the runs prove of epsilon, at 95 % confidence; far below the promise as a rule.
        promised: epsilon as promised.
    """

    runs: int
    auc: float
    right: float
    allowed: float
    epsilon_at_least: float
    promised: float

    @property
    def sound(self) -> bool:
        """Whether nothing was proven against the promise."""
        return self.epsilon_at_least <= self.promised

    def to_json(self) -> dict[str, Any]:
        """The outcome as plain data."""
        return {**vars(self), "sound": self.sound}


def membership(
    job: JobValues,
    public: CodedTable,
    *,
    runs: int,
    rng: np.random.Generator,
    rows: int = 1000,
    watch: Watch = lambda phase: None,
) -> Membership:
    """The attack on the job's recipe, with parts of ``public`` as stand-in and as relative."""
    if runs < 20 or public.rows < 40:
        raise JobError("A membership test needs 20 runs or more and 40 public rows. Nothing was read or spent.")
    world = _World.of(job, public, rows, rng)
    inside = rng.permutation(np.arange(runs) % 2 == 0)
    score = np.empty(runs)
    for i, there in enumerate(inside):
        if i % max(1, runs // 10) == 0:
            watch(f"membership: run {i + 1} of {runs}")
        score[i] = world.score(bool(there), rng)
    return judged(score, inside, promised=float(job.budget.epsilon), delta=float(job.budget.delta))


def judged(score: Floats, inside: npt.NDArray[np.bool_], *, promised: float, delta: float) -> Membership:
    """The attack's success: the threshold is chosen on the first half of the runs and judged on the second."""
    half = len(score) // 2
    options = np.unique(score[:half])
    good = [np.mean((score[:half] >= t) == inside[:half]) for t in options]
    guess, truth = score[half:] >= options[int(np.argmax(good))], inside[half:]
    hits, falls = int((guess & truth).sum()), int((guess & ~truth).sum())
    n, m = int(truth.sum()), int((~truth).sum())
    bounds = [
        _log_ratio(_least(hits, n, _LEVEL), _most(falls, m, _LEVEL), delta),
        _log_ratio(_least(m - falls, m, _LEVEL), _most(n - hits, n, _LEVEL), delta),
    ]
    return Membership(
        len(score),
        auc(inside.astype(float), score),
        float(np.mean(guess == truth)),
        min(1.0, (exp(min(promised, 50.0)) + delta) / (1 + exp(min(promised, 50.0)))),
        max(0.0, *bounds),
        promised,
    )


@final
@dataclass(frozen=True, eq=False)
class _World:
    """What stays the same over runs: everybody but the canary, and what the attacker expects without it."""

    job: JobValues
    schema: Schema
    known: PublicData
    others: pl.DataFrame
    canary: pl.DataFrame
    instead: pl.DataFrame
    pairs: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, job: JobValues, public: CodedTable, rows: int, rng: np.random.Generator) -> "_World":
        frame, schema = public.frame, public.schema
        oddness = np.zeros(public.rows)
        for name in schema.attributes:
            codes = public.codes([name])[name]
            oddness -= np.log(np.bincount(codes)[codes] / public.rows)
        odd = int(np.argmax(oddness))
        order = rng.permutation(np.delete(np.arange(public.rows), odd))
        half = min(rows, len(order) // 2)
        others, relative = frame[order[:half]], frame[order[half : 2 * half]]
        secret, guarantee = frame[[odd]], job.guarantee
        typical = frame[[int(np.argmin(oddness))]]
        if guarantee.relation == "label-change":
            private = [c for c in frame.columns if c not in guarantee.public_columns]
            typical = secret.with_columns(typical[c] for c in private)
        times = guarantee.rows_per_person if guarantee.unit == "person" else 1
        canary, instead = (pl.concat([f] * times) for f in (secret, typical))
        if guarantee.relation == "add-remove":
            instead = instead.head(0)
        given = _given(job, frame)
        rows_ = pl.concat([others, canary]) if guarantee.relation == "label-change" else others
        target = CodedTable.read(rows_.select(given), schema, role="target")
        known = PublicData(schema, CodedTable.read(relative, schema), target)
        hidden = {a for a in schema.attributes if not set(schema.coding.needs([a])) <= set(given)}
        pairs = tuple(p for p in combinations(schema.attributes, 2) if not hidden or hidden.intersection(p))
        return cls(job, schema, known, others, canary, instead, pairs)

    def score(self, there: bool, rng: np.random.Generator) -> float:
        """How much more the synthetic records look like the canary than the other records do."""
        frame = pl.concat([self.others, self.canary if there else self.instead])
        stand_in = CodedTable.read(frame, self.schema)
        tariff = Tariff(self.schema.coding, self.job.guarantee, self.job.budget.measure, self.job.budget.delta)
        parts, budget = Parts(stand_in, self.known, stand_in), self.job.budget
        made = run_once(self.job.recipe, parts, tariff=tariff, budget=budget, noising=rng, drawing=rng)
        if made.counts is not None:
            raise JobError("A membership test needs a recipe that makes records. Nothing was read or spent.")
        base = self.expected
        return float(((self.like_canary(made) - base) / np.sqrt(base + 1)).sum())

    @cached_property
    def expected(self) -> Floats:
        """For each pair of columns, how many of the others have the canary's values in both."""
        return self.like_canary(CodedTable.read(self.others, self.schema, role="synthetic"))

    @cached_property
    def _mine(self) -> Mapping[str, Codes]:
        return CodedTable.read(self.canary.head(1), self.schema, role="synthetic").codes(self.schema.attributes)

    def like_canary(self, table: CodedTable) -> Floats:
        """For each pair of columns, how many rows have the canary's values in both."""
        codes = table.codes(self.schema.attributes)
        same = {a: codes[a] == self._mine[a][0] for a in self.schema.attributes}
        return np.array([np.count_nonzero(same[one] & same[two]) for one, two in self.pairs], np.float64)


def _given(job: JobValues, frame: pl.DataFrame) -> list[str]:
    """The columns that the job's target has; all of them for a job without a target."""
    if job.target is None:
        return frame.columns
    there = job.target.columns(job.engine.master)
    return [c for c in frame.columns if c in there]


def _log_ratio(up: float, down: float, delta: float) -> float:
    return log((up - delta) / down) if up > delta and down > 0 else 0.0


def _least(hits: int, n: int, level: float = 0.025) -> float:
    """The smallest chance under which so many hits are not unusual (Clopper and Pearson)."""
    return 0.0 if hits == 0 else _bisect(lambda p: 1 - _up_to(hits - 1, n, p) < level)


def _most(hits: int, n: int, level: float = 0.025) -> float:
    """The largest chance under which so few hits are not unusual."""
    return 1.0 if hits == n else _bisect(lambda p: _up_to(hits, n, p) > level)


def _bisect(low_enough: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if low_enough(middle) else (low, middle)
    return low


def _up_to(k: int, n: int, p: float) -> float:
    """The chance of at most k hits in n."""
    if p <= 0 or p >= 1:
        return 1.0 if p <= 0 or k >= n else 0.0
    terms = (
        lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) + i * log(p) + (n - i) * log(1 - p) for i in range(k + 1)
    )
    return min(1.0, sum(map(exp, terms)))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Attacks:
    """What the attacks found; the table of attribute inference depends on confidential rows."""

    membership: Membership
    attributes: InsideOnly[pl.DataFrame] | None


def attack_job(
    job: JobValues,
    *,
    rng: np.random.Generator,
    runs: int = 200,
    rows: int = 1000,
    release: Path | None = None,
    watch: Watch = lambda phase: None,
) -> Attacks:
    """Membership inference on the job's public table; attribute inference where there is a release to attack."""
    only_rows(job, "The membership test")
    place = release_of(job, release)
    if job.public is None:
        raise JobError(
            f"The membership test runs on a public stand-in, and {job.where} names no [public] table.\n"
            f"Add one, of your own making if need be. {NOTHING}"
        )
    table, count = job.rows_of(job.public), job.public.count
    found = membership(
        job, CodedTable.read(table, job.schema, count=count), runs=runs, rows=rows, rng=rng, watch=watch
    )
    if not place.exists():
        return Attacks(found, None)
    watch("attribute inference, inside only")
    schema, copies = release_tables(job, place)
    public = CodedTable.read(table, schema, "target", count)
    open_ = job.guarantee.public_columns
    attack = AttributeInference(tuple(c.name for c in schema.columns if c.name not in open_) if open_ else ())
    secret = exact_table(job.confidential.table, schema, job.confidential.count)
    return Attacks(found, in_fixed_words(lambda: attack.of(secret, copies[0], public, schema, rng=rng)))


def attack_text(found: Attacks, *, as_json: bool = False) -> str:
    """The outcome in lines for the steward's terminal, or as JSON."""
    m = found.membership
    table = found.attributes.reveal() if found.attributes is not None else pl.DataFrame()
    if as_json:
        data = {WATERMARK: WARNING, "membership": m.to_json(), "attributes": table.to_dicts()}
        return json.dumps(data, indent=2)
    lines = [
        f"Membership of the oddest public record, {m.runs} runs on stand-ins: the attacker is right in "
        f"{100 * m.right:.0f} of 100 cases",
        f"(50 is guessing, the promise allows {100 * m.allowed:.0f}); this proves epsilon of at least "
        f"{m.epsilon_at_least:.2f}, promised is {m.promised:g}. " + ("" if m.sound else "THE PROMISE IS BROKEN."),
    ]
    if len(table):
        head = ("private column", "with release", "with public", "by mode", "gained")
        keys = ("with_release", "with_public", "by_mode", "gained")
        rows = [
            (r["column"], *("" if r[k] is None else f"{r[k]:.3f}" for k in keys)) for r in table.iter_rows(named=True)
        ]
        lines += ["", "How often a private column is guessed right, knowing the others:", *aligned(head, rows)]
    return "\n".join(lines)


Places = npt.NDArray[np.int64]


@final
@dataclass(frozen=True)
class AttributeInference:
    """Does the release help to guess a person's private column, beyond what the public table does?

    The attacker knows all other columns of a confidential record and guesses the private one by Bayes' rule from a
    table: the synthetic records, or the public relative alone.  What both get right is knowledge about groups, which
    no release can withhold; only the difference is the release's.

    Attributes:
        columns: the private columns; those that the guarantee does not declare public, by default all.
        most: so many confidential records are attacked, chosen at random.
    """

    columns: tuple[str, ...] = ()
    most: int = 5000

    def of(
        self,
        confidential: InsideOnly[CodedTable],
        release: CodedTable,
        public: CodedTable | None,
        schema: Schema,
        *,
        rng: np.random.Generator,
    ) -> InsideOnly[pl.DataFrame]:
        """For each column: how often the guess is right with the release, with the public table, and by the mode."""
        return confidential.map(lambda table: self._attack(table, release, public, schema, rng))

    def _attack(
        self,
        table: CodedTable,
        release: CodedTable,
        public: CodedTable | None,
        schema: Schema,
        rng: np.random.Generator,
    ) -> pl.DataFrame:
        names = in_both(table, release)
        private = [n for n in (self.columns or names) if n in names and schema.size([n]) > 1]
        if not private:
            raise DoesNotApply("there is no private column that the release has too")
        some = rng.choice(table.rows, min(self.most, table.rows), replace=False)
        rows = []
        for column in private:
            known = [n for n in names if n not in private]  # the attacker knows the public columns
            known = known or [n for n in names if n != column]
            truth = table.codes([column])[column][some]
            codes = [table.codes([n])[n][some].astype(np.int64) for n in known]
            row: dict[str, str | float | None] = {"column": column}
            for name, source in (("with_release", release), ("with_public", public)):
                right = None
                if source is not None and column in source.frame.columns:
                    right = float(np.mean(guesses(source, column, known, codes, schema) == truth))
                row[name] = right
            row["by_mode"] = float(np.bincount(truth).max() / len(truth))
            got, base = row["with_release"], row["with_public"] if row["with_public"] is not None else row["by_mode"]
            row["gained"] = float(got) - float(base) if got is not None and base is not None else None
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)


def guesses(source: CodedTable, column: str, known: Sequence[str], codes: Sequence[Places], schema: Schema) -> Places:
    """The most likely code of ``column`` given the ``codes`` of known columns, by naive Bayes from ``source``.

    A value that ``source`` never shows (a later year) says nothing; one it shows seldom says little.
    """
    size = schema.size([column])
    labels = source.codes([column])[column].astype(np.int64)
    prior = np.bincount(labels, minlength=size) + 0.5
    log_chance = np.tile(np.log(prior / prior.sum()), (len(codes[0]), 1))
    for name, code in zip(known, codes, strict=True):
        if name not in source.frame.columns:
            continue
        levels = schema.size([name])
        table = np.bincount(labels * levels + source.codes([name])[name], minlength=size * levels)
        table, seen = table.reshape(size, levels), np.bincount(source.codes([name])[name], minlength=levels)
        share = (table + seen / seen.sum()) / (table.sum(axis=1, keepdims=True) + 1.0)
        log_chance += np.log(np.where(seen > 0, share, 1.0)).T[code]
    return np.asarray(log_chance.argmax(axis=1))
