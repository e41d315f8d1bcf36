"""A choice on the confidential table: the settings, the law of the runs, the price, the best run; and its checks.

``choice.json`` is to a choice what ``statement.json`` is to a release.  The promise is that of the whole choice; the
best run within it has a smaller budget, and is no release of its own: runs that nobody sees were thrown away for it.
The folder is read and checked as a bundle, by the same arithmetic.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, final

from hedgerow.errors import VerifyFailed
from hedgerow.figures import printable
from hedgerow.public import (
    Budget,
    Choice,
    Marginal,
    Spend,
    Statement,
    Stopping,
    decimal,
    fraction_of,
    question_from_json,
    question_to_json,
)
from hedgerow.release import checks
from hedgerow.release.bundle import BundleReader, NotChecked
from hedgerow.release.checks import __version__
from hedgerow.release.commands import where_from
from hedgerow.release.redraw import software as software
from hedgerow.release.words import promise_more, promise_of, promise_sentence

NAME, PAGE = "choice.json", "README.md"
FORMAT = "hedgerow-choice/1"
_FILES = {NAME, PAGE, "job.toml", "schema.toml", "measurements.parquet"}
_TABLE = re.compile(r"(records|counts)\.parquet")


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
        software: the libraries that drew its records, with their versions.
    """

    epsilon: Fraction
    stopping: Stopping
    tables: tuple[Marginal, ...]
    candidates: tuple[Candidate, ...]
    chosen: int
    score: int | None
    run: Statement
    software: Mapping[str, str] = field(default_factory=dict)

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
            **({"software": dict(self.software)} if self.software else {}),
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
                epsilon=fraction_of(data["promised"]["epsilon"]),
                stopping=Stopping(data["stopping"]["law"], fraction_of(data["stopping"]["gamma"])),
                tables=tuple(map(question_from_json, data["tables"])),
                candidates=tuple(Candidate(c["levels"], c["settings"]) for c in data["candidates"]),
                chosen=data["position"],
                score=None if distance is None else -distance,
                run=Statement.from_json(data["best_run"]),
                software={str(k): str(v) for k, v in data.get("software", {}).items()},
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
        _origin(made.run),
        "`job.toml` is that run with its own budget. It is no release for that budget: the others were paid for too.",
        "",
        f"In the ledger: run `{made.run.run}`, request `{made.spend.digest[:16]}`, anchor `{made.run.anchor[:16]}`.",
        *_checking(made.run),
    ]
    return "\n".join(map(printable, lines)) + "\n"


def _checking(run: Statement) -> tuple[str, ...]:
    """What a reader types inside the folder to check it, and the tables that it takes."""
    tables = [i for i in run.public_inputs if i.role in ("public", "target")]
    options = "".join(f" --{i.role} {shlex.quote(f'../{i.name}')}" for i in tables)
    known = (
        f"{where_from(tables)} Where records cannot be drawn again without, it ends with exit code 7, not confirmed."
    )
    return (f"Check all of it, in this folder, with `hedgerow verify .{options}`.", *([known] if tables else []))


def _origin(run: Statement) -> str:
    """What in the folder is synthetic, and what is given."""
    if target := [i.name for i in run.public_inputs if i.role == "target"]:
        return (
            f"The records are the rows of “{target[0]}”, as they are given; only the columns that `job.toml` adds "
            "to them are synthetic."
        )
    return "Records in this folder are synthetic in every column; of a table of counts the labels are the schema's."


@final
class ChoiceReader(BundleReader):
    """The parts of the choice in ``folder``: a bundle whose statement is that of the best run."""

    kind = "choice"
    statement_name = NAME

    @cached_property
    def choice(self) -> ChoiceStatement:
        """What was chosen, and how."""
        return ChoiceStatement.loads(self.text(NAME))

    @cached_property
    def statement(self) -> Statement:
        """The best run."""
        return self.choice.run

    @property
    def software(self) -> dict[str, str]:
        """The libraries that drew the records, as far as the choice says so."""
        return dict(self.choice.software)


def is_choice(folder: Path) -> bool:
    """Whether a folder is that of a choice, and not of a release."""
    return (folder / NAME).is_file() and not (folder / "statement.json").exists()


def files_are_listed(bundle: ChoiceReader) -> str:
    """The folder holds the files of the manifest, with their sizes and hashes; one of them is a table."""
    found = checks.files_are_listed(bundle, _FILES, _TABLE)
    if not any(_TABLE.fullmatch(name) for name in bundle.names):
        raise VerifyFailed("There are neither records nor counts.")
    return found


def price_follows(bundle: ChoiceReader) -> str:
    """One run, answers and score, times what the stopping law makes of it, is the price of the whole."""
    made = bundle.choice
    if made.run.budget.measure != "pure" or made.run.budget.total != made.choice.each(made.epsilon)[0]:
        raise VerifyFailed("The budget of the best run is not that of one run of this choice.")
    if type(made.chosen) is not int or not 0 <= made.chosen < len(made.candidates):
        raise VerifyFailed("The best setting is not among those that were chosen from.")
    if made.score is None or type(made.score) is not int:
        raise VerifyFailed("The best run failed: there is nothing to check.")
    if abs(made.score) >= 1 << 63:
        raise VerifyFailed("The noisy distance has more digits than an answer of the gate can have.")
    bundle.schema.shape([c for t in made.tables for c in t.columns])
    one = made.epsilon / made.stopping.factor
    return (
        f"epsilon {float(made.epsilon):g} = {made.stopping.factor} x {float(one):g} ({made.stopping.law} law), among "
        f"{len(made.candidates)} settings; request {made.spend.digest[:16]} of run {made.run.run}"
    )


def job_is_chosen(bundle: ChoiceReader) -> str:
    """``job.toml`` has the chosen settings, the promise and the budget of the best run."""
    data, made = tomllib.loads(bundle.text("job.toml")), bundle.choice
    for key, value in made.candidates[made.chosen].settings.items():
        if _plain(_at(data, key)) != _plain(value):
            raise VerifyFailed(f"job.toml does not have the chosen {key} = {value}.")
    return checks.job_agrees(bundle)


def tables_fit(bundle: ChoiceReader) -> str:
    """Every synthetic record, or every label of the counts, is one that the schema allows."""
    for frame in bundle.records:
        if wrong := checks.outside_schema(bundle.schema, frame):
            raise VerifyFailed(f"records.parquet: {wrong}")
    counts = bundle.counts
    if counts is not None and (wrong := checks.counts_outside_schema(bundle.schema, counts)):
        raise VerifyFailed(f"counts.parquet: {wrong}")
    return f"{sum(len(f) for f in bundle.records):,} records" if counts is None else f"{len(counts):,} cells"


def page_agrees(bundle: ChoiceReader) -> str:
    """The page says what ``choice.json`` says."""
    if bundle.text(PAGE) != page(bundle.choice):
        if (version := bundle.statement.version) != __version__:
            raise NotChecked(f"{PAGE} not checked: it was written by version {version}, and this is {__version__}.")
        raise VerifyFailed(f"{PAGE} says something else than {NAME}.")
    return f"{PAGE} written again, the same"


CHECKS: tuple[tuple[str, Callable[[ChoiceReader], str]], ...] = (
    ("files are those of the manifest", files_are_listed),
    ("price of the choice follows from its law", price_follows),
    ("every cost of the best run follows from its noise", checks.costs_are_right),
    ("cells follow from the schema", checks.cells_are_right),
    ("costs keep to the budget of one run", checks.promise_is_kept),
    ("noisy answers were paid for", checks.answers_were_paid_for),
    ("job is the setting that was chosen", job_is_chosen),
    ("schema is the one that was stated", checks.schema_is_stated),
    ("tables lie inside the schema", tables_fit),
    ("page says what the choice says", page_agrees),
)
"""Every check of a choice by name, in the order of the report."""


def _at(data: Any, key: str) -> Any:
    for part in key.split("."):
        data = data.get(part) if isinstance(data, dict) else None
    return data


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
