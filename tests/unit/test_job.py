"""Jobs as values: what a file says and what Python says are equal; mistakes are refused with the cure."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import JobError
from hedgerow.job.values import JobValues
from tests.jobs import loads

LEAST = '[confidential]\ntable = "secret.csv"\n[budget]\nepsilon = 1\n'
PUBLIC = '[public]\ntable = "public.csv"\n'
TARGET = '[target]\ntable = "target.csv"\n'
SCHEMA = """
[columns.sex]
kind = "categorical"
values = ["F", "M"]
[columns.pay]
kind = "integer"
bins = { low = 0, high = 20, width = 10 }
"""
FRAME = pl.DataFrame({"sex": ["F", "M"], "pay": [3, 15], "id": ["a", "b"]})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "schema.toml").write_text(SCHEMA, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def job(text: str, folder: Path) -> JobValues:
    return loads(text, folder / "job.toml")


def made(**changes: Any) -> hr.Job:
    """A job made in Python; ``changes`` in place of its own values."""
    given: dict[str, Any] = {
        "confidential": hr.Confidential(FRAME, name="toy"),
        "budget": hr.Budget(1),
        "schema": hr.Schema.loads(SCHEMA),
    }
    return hr.Job(**{**given, **changes})


@pytest.mark.parametrize(
    ("text", "recipe"),
    [
        (LEAST, "tree_blend"),
        (LEAST + PUBLIC, "public_blend"),
        (LEAST + PUBLIC + TARGET, "guided_tree"),
        ('[job]\nrecipe = "dpsyn"\n' + LEAST + PUBLIC, "dpsyn"),
    ],
)
def test_a_job_that_names_no_recipe_gets_the_best_for_what_it_has(here: Path, text: str, recipe: str) -> None:
    assert job(text, here).recipe.name == recipe


def test_settings_of_the_default_recipe_are_read_and_those_of_another_are_refused(here: Path) -> None:
    assert job(LEAST + PUBLIC + TARGET + '[guided_tree]\nprior = "leaves"\n', here).recipe.prior == "leaves"  # type: ignore[attr-defined]
    with pytest.raises(JobError, match="dpsyn"):
        job(LEAST + PUBLIC + "[dpsyn]\n", here)


def test_a_misspelled_recipe_is_answered_with_the_nearest(here: Path) -> None:
    with pytest.raises(JobError, match=r"Did you mean public_blend\?"):
        job('[job]\nrecipe = "publicblend"\n' + LEAST, here)
    with pytest.raises(JobError, match=r"Did you mean public_blend\?"):
        made(recipe="publicblend")


WHOLE = """
[job]
recipe = "random_trees"
title = "Toy"
seed = 7
copies = 2
formats = ["dta"]
memory_gb = 2.5
out = "there"
[random_trees]
trees = 2
columns = ["sex"]
[confidential]
table = "secret.parquet"
name = "toy"
unit = "person"
person = "id"
rows_per_person = 4
relation = "label-change"
public_columns = ["pay"]
assumed_rows = 100
[public]
table = "duckdb:some.db#last"
provenance = "released"
[target]
table = "target.csv"
[budget]
epsilon = 0.1
delta = 1e-6
[ledger]
url = "postgresql://me@host/books"
[plan]
width = 0.2
[[use]]
name = "sex"
columns = ["sex"]
tolerance = 0.02
[[use]]
name = "gap"
kind = "coefficient"
formula = "ln(pay) ~ sex"
term = "sex[F]"
tolerance = 0.05
"""


def test_a_job_read_from_a_file_is_written_to_one_that_reads_back_equal(here: Path) -> None:
    (here / "job.toml").write_text(WHOLE, "utf-8")
    first = hr.Job.load(here / "job.toml")
    (here / "elsewhere").mkdir()
    again = hr.Job.load(first.save(here / "elsewhere" / "copy.toml"))
    assert again == first
    assert hash(again) == hash(first)
    assert (here / "elsewhere" / "schema.toml").exists()
    assert replace(first, seed=8) != first


def test_the_same_values_in_python_and_in_a_file_are_equal_jobs(here: Path) -> None:
    (here / "job.toml").write_text(
        '[job]\nrecipe = "tree_blend"\nseed = 3\n[confidential]\ntable = "secret.csv"\nunit = "person"\n'
        "person = 'id'\nrows_per_person = 4\n[budget]\nepsilon = 0.5\n"
        "[[use]]\nname = 's'\ncolumns = ['sex']\ntolerance = 0.1\n",
        "utf-8",
    )
    in_python = hr.Job(
        confidential=hr.Confidential("secret.csv", unit=hr.Person("id", rows=4)),
        schema="schema.toml",  # type: ignore[arg-type]
        budget=hr.Budget(epsilon=0.5),
        recipe=hr.recipes.TreeBlend(),
        seed=3,
        uses=[hr.uses.Table(["sex"], tolerance=0.1, name="s")],  # type: ignore[arg-type]
    )
    assert hr.Job.load("job.toml") == in_python
    assert in_python.table == "secret"


def test_a_changed_job_forgets_the_text_it_was_read_from(here: Path) -> None:
    (here / "job.toml").write_text(LEAST, "utf-8")
    read = hr.Job.load("job.toml")
    assert read.text == LEAST
    assert replace(read, budget=hr.Budget(5)).text == "", "a stale text would be published as the job"


@pytest.mark.parametrize("frame", [FRAME, FRAME.to_arrow(), FRAME.to_pandas().convert_dtypes()])
def test_tables_may_be_frames_of_any_kind(frame: Any) -> None:
    first = made(confidential=hr.Confidential(frame, name="toy"))
    assert first == made(confidential=hr.Confidential(frame, name="toy"))
    assert first != made(confidential=hr.Confidential(FRAME.clone(), name="toy"))
    assert "F" not in repr(first.confidential), "a repr shows no row"


@pytest.mark.parametrize(
    ("changes", "cure"),
    [
        ({"confidential": FRAME}, r"confidential=Confidential\("),
        ({"public": FRAME}, r"public=Public\("),
        ({"target": "target.csv"}, r"target=Target\("),
        ({"budget": 1.0}, r"budget=Budget\(epsilon"),
        ({"schema": FRAME}, r"Schema\.draft\(public\)"),
        ({"recipe": hr.recipes.TreeBlend}, r"recipe=TreeBlend\(\)"),
        ({"recipe": 3}, "write a recipe"),
        ({"uses": "race"}, "write a list"),
        ({"uses": ["race"]}, "no intended use"),
        ({"seed": -1}, "whole number of 0 or more"),
        ({"seed": 1.5}, "whole number"),
        ({"copies": 0}, "between 1 and 1000"),
        ({"formats": "csv"}, "list of names"),
        ({"formats": ["xls"]}, "choose among csv"),
        ({"ledger": 7}, "a path or an address"),
        ({"memory_gb": 0}, "above 0"),
        ({"epsilon": 1.0}, "does not know 'epsilon'"),
        ({"buget": hr.Budget(1)}, "Did you mean budget"),
        ({"recipe": "guided_tree"}, r"target=Target"),
    ],
)
def test_a_mistake_of_type_or_name_is_refused_with_the_cure(changes: dict[str, Any], cure: str) -> None:
    with pytest.raises(JobError, match=cure) as refusal:
        made(**changes)
    assert "othing was" in str(refusal.value)


@pytest.mark.parametrize(
    ("make", "cure"),
    [
        (lambda: hr.Confidential(FRAME), "Give the confidential frame a name"),
        (lambda: hr.Confidential(FRAME, name="x", unit="id"), r"Person\('COLUMN'"),  # type: ignore[arg-type]
        (lambda: hr.Confidential(FRAME, name="x", relation="swap"), "choose add-remove"),  # type: ignore[arg-type]
        (lambda: hr.Confidential(FRAME, name="x", public_columns="pay"), "list of names"),  # type: ignore[arg-type]
        (lambda: hr.Confidential([1, 2], name="x"), "or a frame"),
        (lambda: hr.Confidential(pd.DataFrame({"a": [1, "x"]}), name="x"), "convert_dtypes"),
        (lambda: hr.Confidential(None), "a path, or a frame"),
        (lambda: hr.Confidential(FRAME.lazy(), name="x"), "lazy frame"),
        (lambda: hr.Confidential(pd.DataFrame({"a": [1, 2]}).astype("category"), name="x"), "one row decides"),
        (lambda: hr.Person("id", rows=0), "from 1 to 1,000,000"),
        (lambda: hr.Person("id", rows=2**70), "from 1 to 1,000,000"),  # counting would fail, when it is paid for
        (lambda: hr.Person(4), "name of a column"),  # type: ignore[arg-type]
        (lambda: hr.Public(FRAME, provenance=2023), "in words"),  # type: ignore[arg-type]
        (lambda: hr.Public(FRAME, from_="x"), "does not know 'from_'"),  # type: ignore[call-arg]
        (lambda: hr.Public("duckdb:file"), "duckdb:FILE#TABLE"),
    ],
)
def test_a_mistake_in_a_part_is_refused_with_the_cure(make: Any, cure: str) -> None:
    with pytest.raises(Exception, match=cure) as refusal:
        make()
    assert type(refusal.value).__module__ == "hedgerow.errors"


def test_the_confidential_frame_cannot_be_named_public() -> None:
    with pytest.raises(JobError, match="confidential table itself"):
        made(public=hr.Public(FRAME))
    with pytest.raises(JobError, match="confidential table itself"):
        made(target=hr.Target(FRAME))


def test_a_frame_or_a_recipe_of_ones_own_cannot_be_saved_and_the_cure_is_said(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="write_parquet"):
        made().save(tmp_path / "job.toml")
    assert not list(tmp_path.iterdir())


def test_an_arrow_table_is_a_frame() -> None:
    assert hr.Public(pa.table({"a": [1]})).is_frame


@pytest.mark.parametrize(
    "make",
    [
        lambda secret: hr.Confidential("personnel", secret),
        lambda secret: hr.Person(secret["id"]),
        lambda secret: hr.Confidential(secret, name="x", public_columns=secret["id"]),
        lambda secret: hr.Confidential(secret, name="x", unit=secret["id"]),
        lambda secret: hr.Confidential(secret, name="x", relation=secret["id"]),
        lambda secret: hr.Public(secret, provenance=secret),
        lambda secret: made(seed=secret),
        lambda secret: made(recipe=secret),
        lambda secret: made(ledger=secret),
        lambda secret: made(out=secret),
        lambda secret: hr.recipes.GuidedTree(outcomes=secret["id"]),
        lambda secret: hr.uses.Mean(secret["id"], relative=0.1),
    ],
)
def test_no_refusal_shows_a_row(make: Any) -> None:
    secret = pl.DataFrame({"id": ["JANE-DOE"] * 20, "pay": [1] * 20})
    for frame in (secret, secret.to_pandas()):
        with pytest.raises(hr.errors.HedgerowError) as refusal:
            make(frame)
        assert "JANE" not in str(refusal.value)
