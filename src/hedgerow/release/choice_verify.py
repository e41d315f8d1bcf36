"""Checking the folder of a choice without the confidential table: the same arithmetic as for a release."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hedgerow.errors import VerifyFailed
from hedgerow.job import Job
from hedgerow.release import arithmetic, choice, manifest
from hedgerow.release.bundle_checks import counts_outside_schema, outside_schema
from hedgerow.release.choice import ChoiceReader

_FILES = {choice.NAME, choice.PAGE, "job.toml", "schema.toml", "measurements.parquet"}
_TABLES = ("records.parquet", "counts.parquet")


def is_choice(folder: Path) -> bool:
    """Whether a folder is that of a choice, and not of a release."""
    return (folder / choice.NAME).is_file() and not (folder / "statement.json").exists()


def files_are_listed(opened: ChoiceReader) -> str:
    """The folder holds the files of the manifest, with their sizes and hashes, and nothing else."""
    there = set(opened.files.names) - {manifest.NAME}
    listed = manifest.loads(opened.files.text(manifest.NAME))
    if not _FILES <= there <= _FILES | set(_TABLES) or not there & set(_TABLES):
        raise VerifyFailed(
            f"A choice is {', '.join(sorted(_FILES))} and a table; here are {', '.join(sorted(there))}."
        )
    if there != set(listed):
        raise VerifyFailed(
            f"{', '.join(sorted(there ^ set(listed)))}: in the folder or in the manifest, not in both."
        )
    for name in sorted(there):
        opened.files.data(name)  # a plain file
        if manifest.facts_of(opened.files.folder / name) != listed[name]:
            raise VerifyFailed(f"{name} was changed after it was written: its hash is not that of the manifest.")
    return f"{len(listed)} files"


def price_follows(opened: ChoiceReader) -> str:
    """One run, answers and score, times what the stopping law makes of it, is the price of the whole."""
    made = opened.made
    if made.run.budget.measure != "pure" or made.run.budget.total != made.choice.each(made.epsilon)[0]:
        raise VerifyFailed("The budget of the best run is not that of one run of this choice.")
    if type(made.chosen) is not int or not 0 <= made.chosen < len(made.candidates):
        raise VerifyFailed("The best setting is not among those that were chosen from.")
    if made.score is None or type(made.score) is not int:
        raise VerifyFailed("The best run failed: there is nothing to check.")
    opened.schema.shape([c for t in made.tables for c in t.columns])
    one = made.epsilon / made.stopping.factor
    return (
        f"epsilon {float(made.epsilon):g} = {made.stopping.factor} x {float(one):g} ({made.stopping.law} law), among "
        f"{len(made.candidates)} settings; request {made.spend.digest[:16]} of run {made.run.run}"
    )


def job_is_chosen(opened: ChoiceReader) -> str:
    """``job.toml`` has the chosen settings, the promise and the budget of the best run."""
    text, made = opened.files.text("job.toml"), opened.made
    job, data = Job.loads(text, Path("job.toml")), tomllib.loads(text)
    for key, value in made.candidates[made.chosen].settings.items():
        if _plain(_at(data, key)) != _plain(value):
            raise VerifyFailed(f"job.toml does not have the chosen {key} = {value}.")
    pairs = {
        "the budget": (job.budget, made.run.budget),
        "the unit and relation": (job.guarantee, made.run.guarantee),
        "the table's name": (job.table, made.run.table),
        "the recipe": (job.recipe.stated, made.run.recipe),
    }
    for what, (asked, stated) in pairs.items():
        if asked != stated:
            raise VerifyFailed(f"job.toml and {choice.NAME} do not agree on {what}.")
    return f"recipe {made.run.recipe}, {made.run.guarantee.unit}, {made.run.guarantee.relation}"


def tables_fit(opened: ChoiceReader) -> str:
    """Every synthetic record, or every label of the counts, is one that the schema allows."""
    for frame in opened.files.records:
        if wrong := outside_schema(opened.schema, frame):
            raise VerifyFailed(f"records.parquet: {wrong}")
    counts = opened.files.counts
    if counts is not None and (wrong := counts_outside_schema(opened.schema, counts)):
        raise VerifyFailed(f"counts.parquet: {wrong}")
    return f"{sum(len(f) for f in opened.files.records):,} records" if counts is None else f"{len(counts):,} cells"


def page_agrees(opened: ChoiceReader) -> str:
    """The page says what ``choice.json`` says, and the schema is the one it names."""
    if opened.files.text(choice.PAGE) != choice.page(opened.made):
        raise VerifyFailed(f"{choice.PAGE} says something else than {choice.NAME}.")
    stated = [i.sha256 for i in opened.made.run.public_inputs if i.role == "schema"]
    if stated != [manifest.facts_of(opened.files.folder / "schema.toml").sha256]:
        raise VerifyFailed(f"schema.toml is not the schema that {choice.NAME} names.")
    return f"{choice.PAGE} written again, the same"


CHECKS: tuple[tuple[str, Callable[[ChoiceReader], str]], ...] = (
    ("files are those of the manifest", files_are_listed),
    ("price of the choice follows from its law", price_follows),
    ("every cost of the best run follows from its noise", arithmetic.costs_are_right),
    ("cells follow from the schema", arithmetic.cells_are_right),
    ("costs keep to the budget of one run", arithmetic.promise_is_kept),
    ("noisy answers were paid for", arithmetic.answers_were_paid_for),
    ("job is the setting that was chosen", job_is_chosen),
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
