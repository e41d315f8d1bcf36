"""What a choice on the confidential table says of itself: the settings, the law of the runs, the price, the best run.

``choice.json`` is to a choice what ``statement.json`` is to a release.  The promise is that of the whole choice; the
best run within it has a smaller budget, and is no release of its own: runs that nobody sees were thrown away for it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, final

from hedgerow.errors import VerifyFailed
from hedgerow.public.costs.accounting import Budget
from hedgerow.public.costs.question import Marginal
from hedgerow.public.costs.spend import Spend
from hedgerow.public.costs.statement import Statement, question_from_json, question_to_json
from hedgerow.public.costs.stopping import Choice, Stopping
from hedgerow.public.schema import Schema
from hedgerow.release.bundle_reader import BundleReader
from hedgerow.release.measurements import Answers
from hedgerow.release.words import decimal, promise_more, promise_of, promise_sentence

NAME, PAGE = "choice.json", "README.md"
FORMAT = "hedgerow-choice/1"


@final
@dataclass(frozen=True)
class Candidate:
    """One setting: its name, the levels that people read, and the keys of the job that it sets."""

    levels: Mapping[str, str]
    settings: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The setting in one text, as the ledger has it."""
        return "(" + ", ".join(f"{k} = {v}" for k, v in self.levels.items()) + ")"


@final
@dataclass(frozen=True)
class ChoiceStatement:
    """A choice that was made and paid for. All of it may be published.

    Attributes:
        epsilon: what the whole choice cost.
        stopping: the law of the number of runs.
        tables: by what runs were judged.
        candidates: what was chosen among.
        chosen: which of them was best.
        score: minus its noisy distance from the true tables; None when the best run failed.
        run: its requests, under the budget of one run's answers.
    """

    epsilon: Fraction
    stopping: Stopping
    tables: tuple[Marginal, ...]
    candidates: tuple[Candidate, ...]
    chosen: int
    score: int | None
    run: Statement

    @property
    def choice(self) -> Choice:
        """The request."""
        return Choice(tuple(c.name for c in self.candidates), self.tables, self.stopping)

    @property
    def spend(self) -> Spend:
        """The request as the ledger has it, priced."""
        return self.choice.price(self.run.guarantee, self.epsilon)

    @property
    def whole(self) -> Statement:
        """The choice as the ledger has it: one promise, one request."""
        budget = Budget(self.epsilon)
        return Statement(
            self.run.table, self.run.guarantee, budget, (self.spend,), run=self.run.run, anchor=self.run.anchor
        )

    def to_json(self) -> dict[str, Any]:
        """The choice as plain data."""
        answers, score = self.choice.each(self.epsilon)
        best = self.candidates[self.chosen]
        return {
            "format": FORMAT,
            "table": self.run.table,
            "epsilon": float(self.epsilon),
            "promised": {"epsilon": str(self.epsilon), "delta": "0"},
            "chosen": dict(best.levels),
            "noisy_distance": None if self.score is None else -self.score,
            "noise_on_distance": {"law": "laplace", "scale": str(self.spend.asked[0].noise.scale)},
            "tables": [question_to_json(t) for t in self.tables],
            "candidates": [{"levels": dict(c.levels), "settings": dict(c.settings)} for c in self.candidates],
            "position": self.chosen,
            "epsilon_of_one_run": {"answers": str(answers), "score": str(score)},
            "stopping": {"law": self.stopping.law, "gamma": str(self.stopping.gamma)},
            "ledger": {"run": self.run.run, "anchor": self.run.anchor, "request": self.spend.digest},
            "best_run": self.run.to_json(),
        }

    def dumps(self) -> str:
        """The choice as the text of ``choice.json``."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def loads(cls, text: str) -> "ChoiceStatement":
        """The choice in the text of ``choice.json``; fails loudly on anything that ``dumps`` would not write."""
        try:
            data = json.loads(text)
            distance = data["noisy_distance"]
            found = cls(
                epsilon=Fraction(data["promised"]["epsilon"]),
                stopping=Stopping(data["stopping"]["law"], Fraction(data["stopping"]["gamma"])),
                tables=tuple(map(question_from_json, data["tables"])),
                candidates=tuple(Candidate(c["levels"], c["settings"]) for c in data["candidates"]),
                chosen=data["position"],
                score=None if distance is None else -distance,
                run=Statement.from_json(data["best_run"]),
            )
            written = found.dumps()
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, ZeroDivisionError, RecursionError):
            raise VerifyFailed(f"{NAME} is not a choice this version can read.") from None
        if written != text:
            raise VerifyFailed(f"{NAME} says something that does not follow from the rest of it: it was edited.")
        return found


def page(made: ChoiceStatement) -> str:
    """The choice for people, as Markdown."""
    promise, (answers, score) = promise_of(made.whole), made.choice.each(made.epsilon)
    best = made.candidates[made.chosen]
    lines = [
        f"# The best of {len(made.candidates)} settings for {made.run.table}",
        "",
        f"Chosen on the confidential table itself: {', '.join(f'{k} = {v}' for k, v in best.levels.items())}.",
        f"**The choice, and everything in this folder, cost epsilon {promise.epsilon}** for {promise.unit}.",
        promise_sentence(promise),
        *promise_more(promise),
        "",
        f"A random number of runs ({made.stopping.law} law, gamma {made.stopping.gamma}) drew settings at random, "
        f"each with epsilon {decimal(answers)} for its answers and {decimal(score)} for its score; the best is here.",
        "`job.toml` is that run with its own budget. It is no release for that budget: the others were paid for too.",
        "",
        f"In the ledger: run `{made.run.run}`, request `{made.spend.digest[:16]}`, anchor `{made.run.anchor[:16]}`.",
        "Check all of it with `hedgerow verify` and the name of this folder.",
    ]
    return "\n".join(lines) + "\n"


@final
class ChoiceReader:
    """The parts of the choice in ``folder``: what a release has, and the choice that it is the best run of."""

    def __init__(self, folder: Path) -> None:
        self.files = BundleReader(folder)

    @cached_property
    def made(self) -> ChoiceStatement:
        """What was chosen, and how."""
        return ChoiceStatement.loads(self.files.text(NAME))

    @property
    def statement(self) -> Statement:
        """The best run."""
        return self.made.run

    @property
    def schema(self) -> Schema:
        """What the columns mean."""
        return self.files.schema

    @property
    def answers(self) -> Answers:
        """The best run's noisy answers."""
        return self.files.answers
