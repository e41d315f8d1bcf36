"""Replay of ``choose_run`` on neighbours: the same draws and noisy answers, so the same best run, at its price."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hedgerow.ledger.book import Ledger, RunAccount
from hedgerow.private import Gate, entropy, noise, selection
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.question import Counts, Marginal, Measurement, Noise
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.costs.stopping import Choice, Stopping
from hedgerow.public.files import Source, open_source
from hedgerow.public.schema import Schema
from tests.privacy.checks import quick_folder
from tests.privacy.world import SCHEMA, Pair, Row, frame

FACTOR = {"logarithmic": 2, "geometric": 3}
"""What the theorem says the whole costs, over one run: not taken from the code under test."""
TABLES = (Marginal(("sex",)), Marginal(("sex", "area")))
CHOICES = {
    law: Choice(("coarse", "fine", "fails", "asks too much"), TABLES, Stopping(law, Fraction(1, 4)))  # type: ignore[arg-type]
    for law in FACTOR
}
COST = Fraction(2)


@dataclass
class Run:
    """One run of the mechanism: which setting, what it counted, at what scales, how far off it was, and its score."""

    setting: int = -1
    counted: list[tuple[Counts, Noise]] = field(default_factory=list)
    answers: list[Counts] = field(default_factory=list)
    off: int = 0
    score: int | None = None
    law: Noise | None = None
    made: Any = None


@dataclass
class Seen:
    """What one table's choice did."""

    steps: list[str] = field(default_factory=list)
    booked: Fraction = Fraction(0)
    below: list[tuple[int, int]] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    chosen: selection.Chosen | None = None


def trial(which: int, gate: Gate) -> tuple[dict[Marginal, Counts], Any]:
    """Settings that measure one table or another; one fails, and one asks for more than its part."""
    if which == 2:
        raise ValueError("this setting never works")
    question = TABLES[0] if which == 0 else TABLES[1]
    (answer,) = gate.measure([question], gate.left)
    if which == 3:
        (answer,) = gate.measure([question], gate.budget.total)
    cells = np.maximum(answer.counts, 0)
    if which == 0:
        return {TABLES[0]: cells, TABLES[1]: np.repeat(cells // 3, 3)}, [answer]
    return {TABLES[0]: cells.reshape(2, 3).sum(axis=1), TABLES[1]: cells}, [answer]


def check_selection(guarantee: Guarantee, law: str, pair: Pair) -> None:
    """Both tables of the pair with the same draws: the same runs and best, and no run worth more than its part."""
    here = _choose(guarantee, CHOICES[law], pair.here, None)
    there = _choose(guarantee, CHOICES[law], pair.there, here)
    for seen in (here, there):
        rank = {"book": 0, "read": 1, "draw": 2}
        first = [rank.get(s, 3) for s in seen.steps[: seen.steps.index("draw") + 1]]
        assert first == sorted(first) and set(first) == {0, 1, 2}, f"out of order: {seen.steps}"
        assert seen.steps.count("mark") == 1, "the choice was not marked"
        assert seen.steps[-1] == "mark", "something was drawn or read after the mark"
        assert seen.booked == COST, "another price was booked"
        _check_best(seen)
    assert here.below == there.below, "the draws depend on the rows"
    assert [r.setting for r in here.runs] == [r.setting for r in there.runs], "the runs depend on the rows"
    part = COST / FACTOR[law]
    for a, b in zip(here.runs, there.runs, strict=True):
        lost = Fraction(0)
        for (x, scale), (y, _) in zip(a.counted, b.counted, strict=True):
            lost += Fraction(int(np.abs(x - y).sum())) / scale.scale
        if a.law is not None:
            lost += Fraction(abs(a.off - b.off)) / a.law.scale
        assert lost <= part, "a run is worth more than its part of the price"
    assert here.chosen is not None and there.chosen is not None
    assert here.chosen.candidate == there.chosen.candidate and here.chosen.score == there.chosen.score


def _check_best(seen: Seen) -> None:
    """What left is the best run and nothing else."""
    chosen = seen.chosen
    assert chosen is not None and {f.name for f in fields(chosen)} == {"candidate", "score", "made"}
    scores = [r.score if r.score is not None else selection._WORST for r in seen.runs]
    best = seen.runs[int(np.argmax(scores))]
    assert (chosen.candidate, chosen.score) == (best.setting, max(scores)), "what left is not the best run"
    assert chosen.made is best.made, "something else than the best run left"
    for r in seen.runs:
        assert (r.setting in (2, 3)) == (r.score is None), "a run has no noisy score, or should have failed"


def _choose(guarantee: Guarantee, choice: Choice, rows: tuple[Row, ...], tape: Seen | None) -> Seen:
    seen = Seen()
    budget = Budget(str(COST))
    with quick_folder() as folder, _watched(seen, tape):
        account = RunAccount(Ledger.open(f"{folder}/ledger.db"), table="toy", run="run")
        tariff = Tariff(Schema.loads(SCHEMA).coding, guarantee, "pure")
        gate = Gate(open_source(frame(rows)), tariff, budget, account)

        def watched_trial(which: int, inner: Gate) -> Any:
            seen.runs.append(Run(which))
            estimates, made = trial(which, inner)
            seen.runs[-1].made = made
            return estimates, made

        try:
            seen.chosen = selection.choose_run(gate, choice, watched_trial, COST)
        except Exception as wrong:
            raise AssertionError(f"an error left the choice: {wrong}") from None
    return seen


@contextmanager
def _watched(seen: Seen, tape: Seen | None) -> Iterator[None]:
    """Record every draw; with a tape, make draws and noisy answers those of the tape."""
    spend, mark, read = Ledger.spend, Ledger.mark_drawn, Source.batches
    below, draw, measure, count = entropy.below, noise.draw, Gate.measure, ConfidentialRows.count
    inside = [0]

    def watched_spend(self: Ledger, run: str, request: str, cost: Fraction, what: str, *delta: Fraction) -> None:
        seen.steps.append("book")
        seen.booked += cost
        spend(self, run, request, cost, what, *delta)

    def watched_mark(self: Ledger, run: str, request: str, answer: str = "") -> None:
        seen.steps.append("mark")
        mark(self, run, request, answer)

    def watched_read(self: Source, columns: Any, *rest: Any) -> Iterator[Any]:
        seen.steps.append("read")
        yield from read(self, columns, *rest)

    def watched_below(n: int) -> int:
        seen.steps.append("draw")
        at = len(seen.below)
        if tape is None:
            value = below(n)
        else:
            assert at < len(tape.below) and tape.below[at][0] == n, "the draws depend on the rows"
            value = tape.below[at][1]
        seen.below.append((n, value))
        return value

    def watched_count(self: ConfidentialRows, plan: Any) -> Any:
        true = count(self, plan)
        if inside[0]:
            seen.runs[-1].counted.append((np.concatenate(true), Noise("laplace", Fraction(1))))
        return true

    def watched_measure(self: Gate, *args: Any, **kwargs: Any) -> tuple[Measurement, ...]:
        inside[0] += 1
        try:
            answers = measure(self, *args, **kwargs)
        finally:
            inside[0] -= 1
        now = seen.runs[-1]
        now.counted[-1] = (now.counted[-1][0], answers[0].noise)
        if tape is not None:
            counts = tape.runs[len(seen.runs) - 1].answers[len(now.answers)]
            answers = (Measurement(answers[0].question, counts, answers[0].noise),)
        now.answers.append(answers[0].counts)
        return answers

    def watched_draw(law: Noise, n: int) -> Counts:
        seen.steps.append("draw")
        fresh = draw(law, n)
        if inside[0] or not seen.runs:
            return fresh
        now = seen.runs[-1]
        now.law = law
        if tape is not None:
            taped = tape.runs[len(seen.runs) - 1].score
            assert taped is not None, "a neighbour's run failed"
            fresh = np.array([taped + now.off], np.int64)
        now.score = int(fresh[0]) - now.off
        return fresh

    distance = selection._distance

    def watched_distance(true: Counts, estimate: Counts) -> int:
        off = distance(true, estimate)
        seen.runs[-1].off += off
        return off

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "spend", watched_spend)
        patch.setattr(Ledger, "mark_drawn", watched_mark)
        patch.setattr(Source, "batches", watched_read)
        patch.setattr(entropy, "below", watched_below)
        patch.setattr(noise, "draw", watched_draw)
        patch.setattr(Gate, "measure", watched_measure)
        patch.setattr(ConfidentialRows, "count", watched_count)
        patch.setattr(selection, "_distance", watched_distance)
        yield
