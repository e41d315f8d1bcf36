"""Watch a gate: what was read, counted, booked and drawn, in order; and play its answers again elsewhere.

``watched`` records everything that crosses the gate.  Given the tape of an earlier run, the noise is chosen so
that every noisy answer comes out as it did then: with the answers equal, everything else must be equal too.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow.answers import Reply
from hedgerow.counting.plan import CountPlan
from hedgerow.ledger.book import Ledger
from hedgerow.private import entropy, noise, relabel, urns
from hedgerow.private.gate import Gate
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public.costs.accounting import Measure, epsilon_of, floor_sqrt
from hedgerow.public.costs.question import Counts, Measurement, Noise
from hedgerow.public.costs.urn import Urn, exp_floor
from hedgerow.public.files import Source
from hedgerow.run_gate import Journal
from tests.oracles import dirichlet_multinomial as dm


@dataclass
class Request:
    """One request at the gate: its price, and everything the noise has to hide."""

    cost: Fraction = Fraction(0)
    steps: list[str] = field(default_factory=list)
    counted: list[Counts] = field(default_factory=list)
    noises: list[tuple[Noise, Counts]] = field(default_factory=list)
    choice: tuple[list[int], Fraction] | None = None
    drawn: tuple[Urn, Counts, int, Counts] | None = None
    words: int = 0
    saved: list[tuple[Any, str]] = field(default_factory=list)


@dataclass
class Tape:
    """What a run answered: noisy counts, and chosen positions."""

    counts: list[Counts] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)


@contextmanager
def watched(tape: Tape, *, play: bool, public: Sequence[Path] = ()) -> Iterator[list[Request]]:
    """Record every request made inside; with ``play``, make the answers those on ``tape``.

    Reading is free of the very files handed in as ``public``, as they are now: not of others of that name, of links
    to others, or once anything else was written to them.
    """
    free = {file.resolve(strict=True): _bytes_of(file) for file in public}
    requests = [Request()]  # the first holds whatever happens outside a request
    counts, chosen = iter(list(tape.counts)), iter(list(tape.chosen))
    spend, mark, read, keep = Ledger.spend, Ledger.mark_drawn, Source.batches, Journal.keep
    count, draw, choose, words = ConfidentialRows.count, noise.draw, noise.exponential_choice, entropy.words
    measure, draw_tables, from_urn, below = Gate.measure, urns.draw_urn, urns.draw, entropy.below
    count_drawn, measure_drawn, draw_labels = relabel.counted, relabel.measure_relabelled, relabel.relabelled

    def watched_spend(self: Ledger, run: str, request: str, cost: Fraction, what: str, *delta: Fraction) -> None:
        requests.append(Request(cost, ["book"]))
        spend(self, run, request, cost, what, *delta)

    def watched_mark(self: Ledger, run: str, request: str, answer: str = "") -> None:
        requests[-1].steps.append("mark")
        mark(self, run, request, answer)

    def watched_save(self: Journal, position: int, answered: Reply, *rest: Any) -> str:
        requests[-1].steps.append("save")
        requests[-1].saved.append((answered.measurements, keep(self, position, answered, *rest)))
        return requests[-1].saved[-1][1]

    def watched_read(self: Source, columns: Any, *rest: Any) -> Iterator[Any]:
        file = Path(self.name)
        if file.resolve() not in free or _bytes_of(file) != free[file.resolve()]:
            requests[-1].steps.append("read")
        yield from read(self, columns, *rest)

    def watched_count(self: ConfidentialRows, plan: CountPlan) -> tuple[Counts, ...]:
        requests[-1].steps.append("count")
        true = count(self, plan)
        requests[-1].counted.extend(c.copy() for c in true)
        return true

    def watched_relabelling(laws: Any, codes: Any, drawn: Any) -> Any:
        rows = len(next(iter(codes.values())))
        assert [len(w) for w in drawn] == [2 * rows] * len(laws), "a label was drawn with another row's bits"
        assert requests[-1].words >= 2 * rows, "labels were drawn without asking the operating system"
        return draw_labels(laws, codes, [_own_words(codes, i) for i in range(len(laws))])

    def watched_counted(*args: Any) -> tuple[Counts, ...]:
        requests[-1].steps.append("count")
        true = count_drawn(*args)
        requests[-1].counted.extend(c.copy() for c in true)
        return true

    def watched_draw(law: Noise, n: int) -> Counts:
        now = requests[-1]
        now.steps.append("noise")
        before = now.words
        fresh = draw(law, n)
        assert n == 0 or now.words > before, "noise was drawn without asking the operating system"
        assert len(now.counted) > len(now.noises), "noise was drawn for something that this request did not count"
        true = now.counted[len(now.noises)]
        assert n == len(true), "noise was not drawn for every table in its turn"
        known = next(counts, None) if play else true + fresh
        assert known is not None and len(known) == len(true), "a neighbour was asked something else"
        given = known - true
        now.noises.append((law, given))
        return given

    def watched_choice(scores: Any, rate: Fraction, *rest: Any) -> int:
        requests[-1].steps.append("noise")
        requests[-1].choice = (list(scores), rate)
        at = next(chosen) if play else choose(scores, rate, *rest)
        if not play:
            tape.chosen.append(at)
        return at

    def watched_urns(urn: Urn, true: Counts, groups: int) -> Counts:
        now = requests[-1]
        now.steps.append("noise")
        before = now.words
        fresh = from_urn(urn, true, groups)
        assert now.words > before, "an urn was drawn from without asking the operating system"
        assert (true == now.counted[-1]).all(), "an urn holds something that this request did not count"
        given = np.stack([next(counts) for _ in fresh]) if play else fresh
        now.drawn = (urn, true.copy(), groups, given.copy())
        return given

    def watched_tables(gate: Gate, question: Any, urn: Urn, cost: Fraction) -> tuple[Measurement, ...]:
        answers = draw_tables(gate, question, urn, cost)
        _check_drawn(requests[-1], answers, urn)
        if not play:
            tape.counts.extend(m.counts.copy() for m in answers)
        return answers

    def watched_words(n: int) -> Any:
        requests[-1].words += n
        return words(n)

    def watched_below(n: int) -> int:
        requests[-1].words += 1
        return below(n)

    def answered(answers: tuple[Measurement, ...]) -> tuple[Measurement, ...]:
        _check_answers(requests[-1], answers)
        if not play:
            tape.counts.extend(m.counts.copy() for m in answers)
        return answers

    def watched_measure(self: Gate, *args: Any, **kwargs: Any) -> tuple[Measurement, ...]:
        return answered(measure(self, *args, **kwargs))

    def watched_drawn(*args: Any) -> tuple[Measurement, ...]:
        return answered(measure_drawn(*args))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "spend", watched_spend)
        patch.setattr(Ledger, "mark_drawn", watched_mark)
        patch.setattr(Journal, "keep", watched_save)
        patch.setattr(Source, "batches", watched_read)
        patch.setattr(ConfidentialRows, "count", watched_count)
        patch.setattr(noise, "draw", watched_draw)
        patch.setattr(noise, "exponential_choice", watched_choice)
        patch.setattr(entropy, "words", watched_words)
        patch.setattr(entropy, "below", watched_below)
        patch.setattr(Gate, "measure", watched_measure)
        patch.setattr(urns, "draw", watched_urns)
        patch.setattr(urns, "draw_urn", watched_tables)
        patch.setattr(relabel, "relabelled", watched_relabelling)
        patch.setattr(relabel, "counted", watched_counted)
        patch.setattr(relabel, "measure_relabelled", watched_drawn)
        yield requests


def _bytes_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "no file"


def _own_words(codes: Any, turn: int) -> Any:
    """Bits that a row brings along, from its own codes: rows that two tables share draw alike in both."""
    rows = zip(*(codes[c].tolist() for c in sorted(codes)), strict=True)
    held = [np.frombuffer(hashlib.sha256(repr((turn, r)).encode()).digest()[:8], np.uint32) for r in rows]
    return np.array(held, np.uint32).reshape(-1, 2).T.ravel()


def _check_answers(request: Request, answers: tuple[Measurement, ...]) -> None:
    """Every answer is its exact count plus noise of its own, drawn for every cell, in whole numbers."""
    for kept, _ in request.saved:
        same = len(kept) == len(answers) and all(a is b for a, b in zip(kept, answers, strict=True))
        assert same, "another answer was given out than was saved"
    assert len(request.noises) == len(answers), "not every table got noise of its own"
    for answer, true, (law, drawn) in zip(answers, request.counted, request.noises, strict=True):
        assert answer.counts.dtype == np.int64, "an answer is not whole numbers"
        assert len(drawn) == len(true), "not every cell got noise"
        assert (answer.counts == true + drawn).all(), "an answer is not its count plus its noise"
        assert answer.noise == law, "an answer claims another noise than was drawn"


def _check_drawn(request: Request, answers: tuple[Measurement, ...], urn: Urn) -> None:
    """The answers are what was drawn, in whole numbers, as many as the public size says."""
    assert request.drawn is not None, "a table was given out that no urn drew"
    held, _, groups, drawn = request.drawn
    assert held == urn, "another urn was drawn from than was asked for"
    assert len(answers) == urn.copies == len(drawn), "there are not as many copies as were paid for"
    for answer, due in zip(answers, drawn, strict=True):
        assert answer.counts.dtype == np.int64, "an answer is not whole numbers"
        assert answer.counts.shape == due.shape and (answer.counts == due).all(), "an answer is not what was drawn"
        sums = answer.counts.reshape(groups, -1).sum(axis=1)
        assert (sums == np.broadcast_to(urn.sizes, groups)).all(), "the number of counts drawn is not the public size"


def urn_loss(here: Request, there: Request) -> Fraction:
    """The largest ratio of chances over the outcomes with all balls in one cell of each group, and the one drawn.

    Copies are parts of one sequence of balls whose order tells nothing, so the sum over copies has their ratio.
    """
    assert here.drawn is not None and there.drawn is not None
    (urn, a, groups, drawn), (_, b, _, _) = here.drawn, there.drawn
    cells, alphas = len(a) // groups, np.broadcast_to(urn.alphas, len(a)).tolist()
    worst = [Fraction(1), Fraction(1)]
    for g in range(groups):
        part = slice(g * cells, (g + 1) * cells)
        size, weights = urn.copies * urn.sizes[g % len(urn.sizes)], [Fraction(x, urn.grain) for x in alphas[part]]
        outcomes = [drawn.sum(axis=0)[part].tolist(), *(np.eye(cells, dtype=int) * size).tolist()]
        one, two = a[part].tolist(), b[part].tolist()
        ratios = [dm.probability(z, one, weights) / dm.probability(z, two, weights) for z in outcomes]
        worst = [worst[0] * max(ratios), worst[1] / min(ratios)]
    return max(worst)


def check_order(requests: list[Request], *, saved: bool = False) -> None:
    """Nothing is read outside a request; every request is booked, read, drawn, saved, marked, in this order.

    With ``saved`` there is a work folder, and every answer must be in it.
    """
    assert not requests[0].steps, "something was read or drawn outside a request"
    rank = {"book": 0, "read": 1, "count": 1, "noise": 2, "save": 3, "mark": 4}
    for request in requests[1:]:
        steps = [rank[s] for s in request.steps]
        assert steps == sorted(steps), f"out of order: {request.steps}"
        assert "noise" not in request.steps or request.steps.count("mark") == 1, "noise without a mark"
        assert not saved or request.steps.count("save") == request.steps.count("mark"), "an answer was not saved"


def loss(here: Request, there: Request, measure: Measure, delta: Fraction) -> Fraction:
    """A bound on the privacy loss of one request on this pair, from the noise laws really used.

    Where epsilons add up and one request has the delta, the rho of its noise is worth an epsilon at that delta.
    """
    if measure == "basic":
        if all(law.law == "laplace" for law, _ in here.noises):
            return loss(here, there, "pure", delta)
        rho = loss(here, there, "zcdp", delta)
        return Fraction(epsilon_of(rho, delta)) if rho else rho
    if here.choice and there.choice:
        (scores, rate), (other, _) = here.choice, there.choice
        shift = [a - b for a, b in zip(scores, other, strict=True)]
        epsilon = rate * (max(shift) - min(shift))
        return epsilon if measure == "pure" else epsilon**2 / 8
    total = Fraction(0)
    for (law, _), a, b in zip(here.noises, here.counted, there.counted, strict=True):
        moved = [abs(int(x)) for x in a - b]
        if law.law == "laplace":
            assert measure != "gdp", "Laplace noise under a promise of Gaussian noise alone"
            epsilon = sum(moved) / law.scale
            total += epsilon if measure == "pure" else epsilon**2 / 2
        else:
            assert measure != "pure", "Gaussian noise under a pure promise"
            normal = law.scale if measure == "zcdp" else law.scale * Fraction(9_999, 10_000) - 1
            assert normal > 0, "no allowance for whole numbers"
            total += sum(x * x for x in moved) / (2 * normal)
    return total


def check_price(
    here: list[Request], there: list[Request], measure: Measure, total: Fraction, delta: Fraction = Fraction(0)
) -> None:
    """Both runs asked the same, paid the same, and no request lost more than it paid."""
    assert [r.steps for r in here] == [r.steps for r in there], "a neighbour was treated differently"
    assert [r.cost for r in here] == [r.cost for r in there], "a neighbour was charged differently"
    assert sum(r.cost for r in here) <= total, "more was spent than promised"
    normal = [r for r in here if any(law.law == "gaussian" for law, _ in r.noises)]
    assert measure != "basic" or len(normal) <= 1, "the delta was taken twice"
    for a, b in zip(here[1:], there[1:], strict=True):
        assert [law for law, _ in a.noises] == [law for law, _ in b.noises], "the noise depends on the rows"
        if a.drawn or b.drawn:
            epsilon = a.cost if measure == "pure" else floor_sqrt(2 * a.cost)
            assert urn_loss(a, b) <= exp_floor(epsilon), "the urn tells more than its price"
        else:
            assert loss(a, b, measure, delta) <= a.cost, "the noise is worth less than its price"
