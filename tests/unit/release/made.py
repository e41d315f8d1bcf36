"""A small release, made without a gate: noisy counts of a pretended table, and records drawn from them."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from hedgerow import __version__
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.question import TOTAL, Marginal, Measurement
from hedgerow.public.costs.spend import Spend, Tariff
from hedgerow.public.costs.statement import PublicInput, Statement
from hedgerow.public.schema import Schema, decode
from hedgerow.release.contents import Contents
from hedgerow.uses import Table, Verdict

SCHEMA = """
title = "Personnel of a pretended agency"
source = "code book of the agency, edition 3"

[columns.sex]
kind = "categorical"
description = "Sex as on file"
labels = { F = "Female", M = "Male" }
missing = true

[columns.agency]
kind = "categorical"
values = ["AG", "DN", "HE", "TR", "VA"]
other = "other agencies"

[columns.education]
kind = "ordered"
labels = { 1 = "no diploma", 2 = "high school", 3 = "college", 4 = "graduate school" }

[columns.age]
kind = "integer"
description = "Age in years at the end of the year"
bins = { low = 16, high = 75, width = 1 }

[columns.pay]
kind = "integer"
bins = { low = 0, high = 100000, width = 4000 }
special = { N = "not paid" }
unit = 100

[columns.hired]
kind = "date"
bins = { unit = "year", low = 1998-01-01, high = 2009-12-31 }

[columns.supervisor]
kind = "yes-no"

[[zero]]
where = { education = ["4"], age = { below = 20 } }
"""

JOB = """
[job]
recipe = "made.by.hand"
title = "Personnel 2009"
seed = 7
formats = ["csv"]

[confidential]
table = "personnel.parquet"
unit = "{unit}"
{person}
relation = "{relation}"
{public_columns}

[public]
table = "personnel-2008.csv"
provenance = "released in 2009, independent"

[budget]
epsilon = {epsilon}
delta = {delta}

[[use]]
name = "sex by agency"
columns = ["sex", "agency"]
tolerance = 0.02

[[use]]
name = "age, cells of 50 or more"
columns = ["age"]
within = "relative"
tolerance = 0.05
cell_size = 50

[[use]]
columns = ["pay"]
tolerance = 0.01

[ledger]
url = "postgresql://steward:hunter2@ledger.example/hedgerow"
"""


def a_schema() -> Schema:
    return Schema.loads(SCHEMA)


def a_release(
    *,
    guarantee: Guarantee | None = None,
    budget: Budget | None = None,
    rows: int = 4000,
    copies: int = 1,
    pairs: bool = False,
    **changes: Any,
) -> Contents:
    """A consistent release of ``rows`` pretended records; ``changes`` replace parts of its contents."""
    schema, rng = a_schema(), np.random.default_rng(5)
    guarantee, budget = guarantee or Guarantee(), budget or Budget(1)
    tariff = Tariff(schema.coding, guarantee, budget.measure)
    questions = [Marginal((name,)) for name in schema.attributes]
    spends = [tariff.measure_all([TOTAL], budget.total / 10), tariff.measure_all(questions, budget.total * 6 / 10)]
    choices: tuple[tuple[int, Marginal], ...] = ()
    if pairs:
        candidates = [Marginal(("sex", "agency")), Marginal(("agency", "education"))]
        spends.append(tariff.select_one(candidates, budget.total / 10))
        spends.append(tariff.measure_all(candidates[:1], budget.total / 10, law="laplace"))
        choices = ((2, candidates[0]),)
    codes = {name: _skewed(schema.size([name]), rows, rng) for name in schema.attributes}
    answers = tuple((i, m) for i, s in enumerate(spends) for m in _answered(schema, codes, s, rng))
    records = tuple(_drawn(schema, answers, rows + 3, rng) for _ in range(copies))
    contents = Contents(
        schema=schema,
        statement=Statement(
            table="personnel",
            guarantee=guarantee,
            budget=budget,
            spends=tuple(spends),
            public_inputs=(
                PublicInput("schema", "schema.toml", _hash(schema.dumps()), schema.source),
                PublicInput("public", "personnel-2008.csv", _hash("x"), "released in 2009, independent"),
            ),
            recipe="made.by.hand (not one of Hedgerow's recipes)",
            run="6f1d2ab3c4d5e6f7",
            anchor=_hash("anchor"),
            version=__version__,
            choices=choices,
        ),
        answers=answers,
        job=_job(guarantee, budget),
        records=records,
        verdicts=(
            Verdict(
                Table(["sex", "agency"], tolerance=0.02, name="sex by agency"),
                0.0113,
                0.62,
                "3 pretended runs on the public table",
            ),
            Verdict(
                Table(["age"], relative=0.05, cell_size=50, name="age, cells of 50 or more"),
                0.081,
                0.17,
                "3 pretended runs on the public table",
            ),
            Verdict(Table(["pay"], tolerance=0.01), None, None, "no public table"),
        ),
        formats=("csv",),
        title="Personnel 2009",
    )
    return replace(contents, **changes)


def _job(guarantee: Guarantee, budget: Budget) -> str:
    person = (
        f'person = "{guarantee.person}"\nrows_per_person = {guarantee.rows_per_person}' if guarantee.person else ""
    )
    public = f"public_columns = {list(guarantee.public_columns)}" if guarantee.public_columns else ""
    return JOB.format(
        unit=guarantee.unit,
        person=person,
        relation=guarantee.relation,
        public_columns=public,
        epsilon=float(budget.epsilon),
        delta=float(budget.delta),
    )


def _hash(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()


def _skewed(size: int, rows: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.minimum(rng.binomial(size, 0.4, rows), size - 1)


def _answered(schema: Schema, codes: dict[str, Any], spend: Spend, rng: np.random.Generator) -> list[Measurement]:
    found = []
    for a in spend.asked:
        shape = schema.shape(a.question.columns)
        rows = len(next(iter(codes.values())))
        cell = (
            np.ravel_multi_index([codes[c] for c in a.question.columns], shape) if shape else np.zeros(rows, np.int64)
        )
        true = np.bincount(cell, minlength=a.cells).astype(np.int64)
        p = 1 - np.exp(-1 / float(a.noise.scale)) if a.noise.law == "laplace" else 0.0
        if a.noise.law == "laplace":
            noise = rng.geometric(p, a.cells) - rng.geometric(p, a.cells)
        else:
            noise = np.rint(rng.normal(0, float(a.noise.scale) ** 0.5, a.cells)).astype(np.int64)
        found.append(Measurement(a.question, true + noise, a.noise))
    return found


def _drawn(schema: Schema, answers: Any, rows: int, rng: np.random.Generator) -> pl.DataFrame:
    singles = {m.question.columns[0]: m for _, m in answers if len(m.question.columns) == 1}
    codes = {}
    for name, m in singles.items():
        kept = np.maximum(m.counts, 0) + 1e-9
        shares = kept / kept.sum()
        codes[name] = rng.choice(len(shares), rows, p=shares)
    codes["education"] = np.where((codes["age"] < 4) & (codes["education"] == 3), 2, codes["education"])
    return decode(schema, codes, rng)
