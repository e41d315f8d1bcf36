"""The checks themselves, as plain functions: tests call them on drawn pairs, mutants on fixed ones."""

import io
import logging
import tempfile
import uuid
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from hedgerow.answers import StandInGate
from hedgerow.api.job import Job
from hedgerow.errors import HedgerowError
from hedgerow.ledger.book import Ledger, RunAccount
from hedgerow.private import Gate, noise, urns
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.gaussian import budget_for
from hedgerow.public.costs.question import TOTAL, Law, Marginal
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.files import open_source
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes.counts.urns import UrnPlan
from tests.privacy.watch import Request, Tape, check_order, check_price, watched
from tests.privacy.world import COLUMNS, SCHEMA, Pair, Row, frame, write_job

QUESTIONS = (TOTAL, *(Marginal((c,)) for c in (*COLUMNS, "sex_area")), *map(Marginal, combinations(COLUMNS, 2)))


def quick_folder() -> "tempfile.TemporaryDirectory[str]":
    """A temporary folder in memory where there is one: these checks book hundreds of entries, each synced to disk."""
    return tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)


def check_verbs(guarantee: Guarantee, delta: str, pair: Pair) -> None:
    """Every verb of the gate, in several forms, on both tables of the pair with the same answers."""
    tape, budget = Tape(), Budget("2", delta)
    here = _ask_everything(guarantee, budget, pair.here, tape, play=False)
    there = _ask_everything(guarantee, budget, pair.there, tape, play=True)
    check_order(here)
    check_order(there)
    check_price(here, there, budget.measure, budget.total)


def _ask_everything(
    guarantee: Guarantee, budget: Budget, rows: tuple[Row, ...], tape: Tape, *, play: bool
) -> list[Request]:
    schema = Schema.loads(SCHEMA)
    with quick_folder() as folder, watched(tape, play=play) as requests:
        account = RunAccount(Ledger.open(f"{folder}/ledger.db"), table="toy", run="run")
        gate = Gate(open_source(frame(rows)), Tariff(schema.coding, guarantee, budget.measure), budget, account)
        part = budget.total / 5
        first = gate.measure(QUESTIONS, part)
        gate.measure([TOTAL], part)
        gate.measure(QUESTIONS[1:4], part, weights=[Fraction(1), Fraction(2), Fraction(1, 3)], law="laplace")
        estimates = {m.question: np.maximum(m.counts, 0) for m in first}
        for _ in range(2):
            gate.select(estimates, gate.left / 2)
        by_sex, by_area = Marginal(("sex", "race")), Marginal(("area", "sex"))
        for question, size, groups, copies in ((by_sex, 7, 0, 1), (by_area, 4, 1, 1), (by_area, 2, 1, 3)):
            cost = gate.left / 2
            plan = UrnPlan("toy", question, groups, size, copies=copies)
            urns.draw_urn(gate, question, plan.urn(gate.tariff, cost, PublicData(schema)), cost)
    return requests


def check_stand_in_noise() -> None:
    """A stand-in adds noise as wide as the gate's, under either law: rehearsals would promise something else."""
    schema = Schema.loads(SCHEMA)
    table = CodedTable.read(frame((("F", "A", "5", "n", "me"), ("M", "B", "12", "s", "you"))), schema)
    tariff, budget = Tariff(schema.coding, Guarantee(), "zcdp"), Budget("1", "1e-6")
    gate = StandInGate(tariff, budget, table, table.rows, np.random.default_rng(1))
    laws: tuple[Law, ...] = ("laplace", "gaussian")
    for law in laws:
        answers = gate.measure(QUESTIONS * 40, budget.total / 2, law=law)
        true = gate.truth(QUESTIONS) * 40
        added = np.concatenate([a.counts - t for a, t in zip(answers, true, strict=True)])
        ratio = added.var() / noise.draw(answers[0].noise, added.size).var()
        assert 0.8 < ratio < 1.25, "a stand-in has the noise of another law"


Write = Callable[..., Path]
"""Writes a job for a guarantee and a delta in a folder, and beside it ``public.csv`` if it has a public table."""


def check_run(
    folder: Path, guarantee: Guarantee, delta: str, pair: Pair, write: Write = write_job, **job_of: str
) -> None:
    """A whole job on both tables with the same answers: the same bytes, files, lines, errors and prices."""
    tape = Tape()
    outcomes = []
    for name, rows, play in (("here", pair.here, False), ("there", pair.there, True)):
        place = folder / name
        place.mkdir()
        job = write(place, guarantee, delta=delta, **job_of)
        frame(rows).write_csv(place / "secret.csv")
        with watched(tape, play=play, public=list(place.glob("public.csv"))) as requests:
            outcomes.append((requests, *run_job(job)))
        check_order(requests, saved=True)
    (here, bytes_here, said_here), (there, bytes_there, said_there) = outcomes
    budget = budget_for("1.5", delta, Job.load(job).recipe.accounting)
    check_price(here, there, budget.measure, budget.total, budget.delta)
    assert "statement.json" in bytes_here, said_here
    assert bytes_here.keys() == bytes_there.keys(), "other files were written on a neighbour"
    for file in bytes_here:
        assert bytes_here[file] == bytes_there[file], f"{file} differs on a neighbour with equal answers"
    assert said_here == said_there, "something else was said on a neighbour"


def run_job(job: Path) -> tuple[dict[str, bytes], str]:
    """Every file of the release, and everything said on the way: terminal, log, warnings, phases, error."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    logging.getLogger().addHandler(handler)
    phases: list[str] = []
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        patch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=7))  # the name of the run is public and random
        patch.setattr(RunAccount, "anchor", lambda self: "anchor")  # holds the time of day
        with redirect_stdout(said), redirect_stderr(said):
            try:
                Job.load(job).run(watch=phases.append)
            except HedgerowError as refusal:
                phases.append(f"{type(refusal).__name__}: {refusal}")
    logging.getLogger().removeHandler(handler)
    release = job.parent / "release"
    files = {str(p.relative_to(release)): p.read_bytes() for p in sorted(release.rglob("*")) if p.is_file()}
    text = "\n".join([said.getvalue(), *phases, *(str(w.message) for w in warned)])
    return files, text.replace(str(job.parent), "FOLDER")
