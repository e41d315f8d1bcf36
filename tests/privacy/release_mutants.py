"""Planted bugs in what a release says of itself, and in verify: each must be caught by reading a real release."""

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from hedgerow.ledger.book import RunAccount
from hedgerow.public import whole
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Noise
from hedgerow.public.costs.statement import Statement
from hedgerow.release import checks, redraw, verify, words
from hedgerow.release.bundle import BundleReader, Contents, read_bundle, write_bundle
from tests.jobs import loads
from tests.privacy.world import frame, write_job

Patch = pytest.MonkeyPatch
ROWS = (
    ("F", "A", "5", "n", "a"),
    ("M", "B", "12", "s", "b"),
    ("M", None, "39", "n", "c"),
    ("F", "C", "25", "s", "d"),
)
EPSILONS = ("1.5", "0.123456789", "1/3")


def check_release() -> None:
    """A release holds; one whose answers, records or words were changed does not; its anchor is its own promise."""
    from hedgerow.pipeline import run

    with TemporaryDirectory() as place:
        folder = Path(place)
        frame(ROWS * 40).write_csv(folder / "secret.csv")
        text = write_job(folder, Guarantee()).read_text("utf-8")
        for i, epsilon in enumerate(EPSILONS):
            job = loads(text.replace("epsilon = 1.5", f'epsilon = "{epsilon}"'), folder / "job.toml")
            release = run(job, folder / str(i), forecast=False)
            assert not _failed(release), "an honest release does not hold"
            _words_do_not_promise_more(release, Fraction(epsilon))
            _anchor_is_of_its_promise(release, folder / "ledger.db", i)
        contents = read_bundle(release)
        _answers_have_the_noise_they_say(contents, folder)
        _records_are_of_the_answers(contents, folder)


def _failed(release: Path) -> tuple[str, ...]:
    return tuple(c.name for c in verify.verify(release) if c.held is not True)


def _words_do_not_promise_more(release: Path, promised: Fraction) -> None:
    statement = BundleReader(release).statement
    said = Fraction(str(BundleReader(release).raw["spent_epsilon"]))
    assert said >= min(Fraction(statement.spent), promised) * (1 - Fraction(1, 10**12)), (
        "spent epsilon is rounded down"
    )
    for name in ("privacy-statement.md", "report.html"):
        told = re.findall(r"epsilon\s*(?:=|of|is)?\s*([0-9]+(?:\.[0-9]+)?)", (release / name).read_text("utf-8"))
        assert told, f"{name} says no epsilon"
        near = [Fraction(t) for t in told if abs(Fraction(t) - promised) < promised / 20]
        assert near and min(near) >= promised, f"{name} rounds epsilon down"


def _anchor_is_of_its_promise(release: Path, ledger: Path, before: int) -> None:
    """The hash of a promise is booked before a row is read; the head of the ledger tells what came after."""
    from hedgerow.ledger.book import Ledger

    statement = BundleReader(release).statement
    promises = [e for e in Ledger.open(str(ledger)).entries() if e.kind == "promise"]
    own = [e.hash for e in promises if e.facts["run"] == statement.run]
    assert len(promises) == before + 1 and own == [statement.anchor], "the anchor is not that of the run's promise"


def _answers_have_the_noise_they_say(contents: Contents, folder: Path) -> None:
    position, first = contents.answers[0]
    told = first.noise
    for name, noise in {
        "law": replace(told, law="gaussian" if told.law == "laplace" else "laplace"),
        "scale": replace(told, scale=told.scale * 2),
    }.items():
        other = ((position, replace(first, noise=noise)), *contents.answers[1:])
        write_bundle(folder / name, replace(contents, answers=other))
        assert "noisy answers were paid for" in _failed(folder / name), (
            f"verify does not look at the {name} of answers"
        )


def _records_are_of_the_answers(contents: Contents, folder: Path) -> None:
    other = whole(contents.records[0]).reverse()
    write_bundle(folder / "other", replace(contents, records=(other,)))
    assert verify.DRAWN in _failed(folder / "other"), "verify does not draw the records again"


def a_verify_that_ignores_the_noise_of_answers(patch: Patch) -> None:
    """Answers are matched to requests by question and cells alone; their law and scale may be anything."""

    def ignoring(bundle: BundleReader) -> str:
        asked = [a.noise for s in bundle.statement.spends for a in s.asked]
        told = tuple((i, replace(m, noise=n)) for (i, m), n in zip(bundle.answers, asked, strict=True))
        bundle.__dict__["answers"] = told
        return checks.answers_were_paid_for(bundle)

    replaced = [(n, ignoring if f is checks.answers_were_paid_for else f) for n, f in verify.CHECKS]
    patch.setattr(verify, "CHECKS", tuple(replaced))


def a_verify_that_ignores_the_law_alone(patch: Patch) -> None:
    """Two laws of one scale are taken for the same noise."""
    patch.setattr(Noise, "__eq__", lambda self, other: self.scale == other.scale)


def a_statement_that_rounds_spent_epsilon_down(patch: Patch) -> None:
    """What was spent, cut after two decimals."""
    true = Statement.epsilon.fget  # type: ignore[attr-defined]
    patch.setattr(Statement, "epsilon", property(lambda self: int(true(self) * 100) / 100))


def pages_that_round_epsilon_down(patch: Patch) -> None:
    """The promise in words, cut after two decimals."""
    patch.setattr(words, "decimal", lambda value, digits=5: f"{int(value * 100) / 100:g}" if value > 0.01 else "0")


def an_anchor_of_the_head_of_the_ledger(patch: Patch) -> None:
    """The last entry at the end of the run: it tells how many answers there were, and who else ran."""
    patch.setattr(RunAccount, "anchor", lambda self: self._ledger.entries()[-1].hash)


def a_verify_that_does_not_draw_again(patch: Patch) -> None:
    """Records inside the schema are believed."""
    patch.setattr(verify, "records_are_drawn", lambda again: "believed")


def a_verify_that_only_counts_the_records(patch: Patch) -> None:
    """So many records as there should be, whatever they say."""
    patch.setattr(redraw, "_first_difference", lambda made, released: "")
    patch.setattr(redraw, "_in_bytes", lambda again, made: "")


MUTANTS: tuple[Callable[[Patch], None], ...] = (
    a_verify_that_ignores_the_noise_of_answers,
    a_verify_that_ignores_the_law_alone,
    a_statement_that_rounds_spent_epsilon_down,
    pages_that_round_epsilon_down,
    an_anchor_of_the_head_of_the_ledger,
    a_verify_that_does_not_draw_again,
    a_verify_that_only_counts_the_records,
)
