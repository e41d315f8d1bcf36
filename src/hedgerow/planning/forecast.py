"""What a job will ask, cost and give, computed before any confidential row is read."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, sqrt
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import polars as pl

from hedgerow.errors import NOTHING, HedgerowError, JobError
from hedgerow.figures import table_html
from hedgerow.planning.tables import Imagined, RecipeForecast, imagined, side_by_side
from hedgerow.public import (
    BINNED,
    Budget,
    Column,
    PricedQuestion,
    PublicData,
    Schema,
    Spend,
    TableFit,
    Tariff,
    career_time,
    law_of,
    people_facts,
    spend_to_json,
    unknown_rule,
)
from hedgerow.recipes import AbstractRecipe
from hedgerow.stand_in import FEWEST, RUNS, StandIn, quick
from hedgerow.uses import AbstractUse, Verdict


class PlanWarning(UserWarning):
    """What a plan warns of, said by a run in Python before anything is booked."""


WEAK = 10
"""An epsilon above this may turn a guess held with one chance in 1,000 into near certainty."""


FEW = 100
"""Rows: a table of unknown size is taken to have as many."""


def weak_promise(budget: Budget, unit: str) -> str:
    """What an epsilon above ``WEAK`` means; empty for others.

    >>> weak_promise(Budget("100"), "record")[:37]
    'epsilon 100 is a weak promise: a gues'
    """
    if budget.epsilon <= WEAK:
        return ""
    odds = exp(min(float(budget.epsilon), 700.0)) / 999
    after = f"{100 * odds / (1 + odds):.0f}" if odds < 99 else "more than 99"
    return (
        f"epsilon {float(budget.epsilon):g} is a weak promise: a guess about one {unit} that somebody holds with 1 "
        f"chance in 1,000 may become one with {after} in 100. Choose {WEAK} or less, unless more is what you mean."
    )


def too_noisy(requests: Sequence[Spend], rows: int | None, budget: Budget) -> str:
    """Whether even the clearest table that is asked for gets more noise than a table of ``rows`` rows has counts.

    Where the number of rows is not known it says how many there must be.  Empty where all is well, or nothing
    is measured with noise.  What ``budget`` keeps for later is taken to go to the same tables: the best case.
    """
    tables = _noisy(requests, budget)
    if not tables:
        return ""
    noise, clearest = min(tables, key=lambda t: t[0])
    later = sum((r.cost for r in requests), Fraction(0)) < budget.total
    case = ", if all that is left of the budget goes to the same tables" * later
    said = f"the clearest table asked for, gets about {noise:,.0f} counts of noise over its cells{case}"
    if rows is None and noise < FEW:
        return ""
    if rows is None:
        return (
            f"the number of rows is not declared. {clearest.question}, {said}. Of a table with fewer rows than that, "
            "what is published is mostly noise. Say the number with assumed_rows in [confidential], if it is public."
        )
    if noise < rows:
        return ""
    return (
        f"noise exceeds the table: even {clearest.question}, {said}, and {rows:,} rows are assumed. Ask for fewer or "
        "coarser columns, or allow a larger epsilon."
    )


def mostly_noise(requests: Sequence[Spend], rows: int | None, budget: Budget) -> str:
    """How many of the tables get noise that moves a quarter of the rows, if these are half of them; else empty."""
    tables = _noisy(requests, budget)
    lost = [noise for noise, _ in tables if rows and 2 * noise >= rows]
    if not lost or 2 * len(lost) < len(tables):
        return ""
    return (
        f"in {len(lost):,} of the {len(tables):,} tables asked for, noise moves a quarter of the {rows:,} assumed "
        "rows or more, and no public table makes up for it. Ask for fewer or coarser columns, or allow a larger "
        "epsilon."
    )


def one_value(columns: Iterable[Column]) -> tuple[str, ...]:
    """Of each column in which the schema knows one value only, what becomes of rows with another."""

    def known(c: Column) -> int:
        return c.bin_count + len(c.special) if c.kind in BINNED and c.beyond == "unknown" else len(c.values)

    return tuple(
        f"{c.name} has one value in the schema, {c.cell_labels[0]}. Rows of the confidential table with any other "
        f"would be {unknown_rule(c)}, and published so, for the same price. If there can be others, list them in the "
        "schema; if not, leave the column out."
        for c in columns
        if c.knows_unknown and known(c) == 1
    )


def beyond_bins(columns: Iterable[Column]) -> tuple[str, ...]:
    """Of each column whose numbers beyond the bins have no bin, what becomes of them."""
    return tuple(
        f"{c.name} is known from {c.cell_labels[0]} to {c.cell_labels[c.bin_count - 1]}: rows beyond are "
        f"{unknown_rule(c)}"
        for c in columns
        if c.bin_count > 1 and c.beyond == "unknown"
    )


def _noisy(requests: Sequence[Spend], budget: Budget) -> list[tuple[float, PricedQuestion]]:
    """The expected sum of all noise on each table, without its sign, as if the whole budget went to these tables."""
    part = float(sum((r.cost for r in requests), Fraction(0)) / budget.total)
    ease = part if budget.measure in ("pure", "basic") else sqrt(part)
    asked = (a for r in requests for a in r.asked)
    return [(ease * law.mean_absolute * a.cells, a) for a in asked if (law := law_of(a.noise)).added]


@runtime_checkable
class AbstractDetails(Protocol):
    """What a kind of job has to say besides: as plain data, and in lines for people."""

    def to_json(self) -> dict[str, Any]:
        """The details as plain data."""

    def lines(self) -> list[str]:
        """The details for people."""


@dataclass(frozen=True, repr=False)
class Plan:
    """The forecast of one job.

    Attributes:
        recipe: its name.
        tariff: under which promise requests are priced.
        budget: what is promised.
        requests: what will be asked, as far as it is known before the first answer.
        verdicts: how each intended use is expected to fare.
        assumed_rows: the number of rows the errors are worked out for, a public guess; None without one.
        memory: bytes the run will need, about.
        seconds: CPU seconds it will need, about.
        remarks: what the recipe has to say of its plan.
        recipe_forecasts: for a table of counts, how each recipe for tables would fare.
        imagined: the table that these recipe_forecasts are worked out for.
        narrow: of columns in which the schema knows one value only, what becomes of others.
        ends: of columns whose numbers beyond the bins have no bin, where these end.
        fits: how the public table and the target fit the schema, each under its role.
        attach: of a job that attaches columns by trees: what these are expected to give; see ``planning/attach.py``.
    """

    recipe: str
    tariff: Tariff
    budget: Budget
    requests: tuple[Spend, ...]
    verdicts: tuple[Verdict, ...]
    assumed_rows: int | None
    memory: int
    seconds: float
    remarks: tuple[str, ...] = ()
    recipe_forecasts: tuple[RecipeForecast, ...] = ()
    imagined: Imagined | None = None
    narrow: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    fits: tuple[tuple[str, TableFit], ...] = ()
    attach: AbstractDetails | None = None

    @property
    def asked(self) -> tuple[PricedQuestion, ...]:
        """Every question of every request."""
        return tuple(a for r in self.requests for a in r.asked)

    @property
    def cells(self) -> int:
        """How many noisy counts will be published."""
        return sum(a.cells for a in self.asked)

    @property
    def kept(self) -> float:
        """The part of the budget whose questions follow from the first answers."""
        return float(1 - sum((r.cost for r in self.requests), Fraction(0)) / self.budget.total)

    @property
    def outside(self) -> tuple[str, ...]:
        """What the public table and the target hold that the schema does not know, and where its numbers end."""
        return (*(f"{role} table: {line}" for role, fit in self.fits for line in fit.lines), *self.ends)

    @property
    def noise_exceeds(self) -> bool:
        """Whether even the clearest table gets more noise than the assumed rows have counts."""
        return self.assumed_rows is not None and bool(too_noisy(self.requests, self.assumed_rows, self.budget))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must be seen before paying: weak promises, noise, lone values, uses expected to be missed."""
        rows, unit = self.assumed_rows, self.tariff.guarantee.unit
        asks, relative = (self.requests, rows, self.budget), any(role == "public" for role, _ in self.fits)
        noisy = too_noisy(*asks) or ("" if relative else mostly_noise(*asks))
        general = [w for w in (weak_promise(self.budget, unit), noisy) if w]
        prior = (f.warning for f in self.recipe_forecasts if f.chosen and f.warning)
        return (*general, *prior, *self.narrow, *(v.sentence for v in self.missed))

    @property
    def missed(self) -> tuple[Verdict, ...]:
        """The uses whose tolerance is not expected to be met."""
        return tuple(v for v in self.verdicts if v.expected_met is False)

    def __repr__(self) -> str:
        missed = f", {len(self.missed)} expected to be missed" if self.missed else ""
        return (
            f"Plan({self.recipe}: epsilon {float(self.budget.epsilon):g}, {len(self.asked)} tables, {self.cells:,} "
            f"noisy counts, {len(self.verdicts)} uses{missed})"
        )

    def _repr_html_(self) -> str:
        rows = [(v.use.name, v.use.what, *v.shown) for v in self.verdicts]
        return table_html(repr(self), ("intended use", "of", "forecast error", "tolerance", ""), rows)

    def to_json(self) -> dict[str, Any]:
        """The plan as plain data."""
        guarantee = self.tariff.guarantee
        return {
            "recipe": self.recipe,
            "budget": {
                "epsilon": float(self.budget.epsilon),
                "delta": float(self.budget.delta),
                "measure": self.budget.measure,
                "total": str(self.budget.total),
            },
            "guarantee": {
                "unit": guarantee.unit,
                "rows_per_person": guarantee.rows_per_person,
                "relation": guarantee.relation,
                "public_columns": list(guarantee.public_columns),
                **({"count": guarantee.count} if guarantee.count else {}),
            },
            "requests": [spend_to_json(r) for r in self.requests],
            "tables": len(self.asked),
            "cells": self.cells,
            "kept_for_later": self.kept,
            "assumed_rows": self.assumed_rows,
            "memory_bytes": self.memory,
            "cpu_seconds": self.seconds,
            "uses": [v.to_json() for v in self.verdicts],
            "minutes": self.seconds / 60,
            "remarks": list(self.remarks),
            "outside": list(self.outside),
            "tables_and_schema": [{"role": role, **fit.to_json()} for role, fit in self.fits],
            "warnings": list(self.warnings),
            "tables_side_by_side": [f.to_json() for f in self.recipe_forecasts],
            **({} if self.imagined is None else {"side_by_side_on": self.imagined.assumed}),
            **({} if self.attach is None else {"attach": self.attach.to_json()}),
            "confidential_rows_read": 0,
        }


def outline(
    recipe: AbstractRecipe,
    public: PublicData,
    *,
    tariff: Tariff,
    budget: Budget,
    rows: int | None = None,
    rng: np.random.Generator,
    limit: int | None = None,
    per_row: int = 0,
) -> Plan:
    """What ``recipe`` will ask, cost and need. Cheap: nothing is fitted, and no use is judged.

    ``rows`` is a public guess of the confidential table's size.  By default it is the number that the recipe is
    told, or the size of the public table; where columns are attached, that of the target.  A plan that needs more
    than ``limit`` bytes of memory is refused; ``per_row`` is what counting holds of each row besides its codes, as a
    cap on the rows of a person does.
    """
    assumed = rows or next((n for n in _public_sizes(recipe, public) if n), None)
    size = assumed or 1_000_000
    # what to ask may be worked out on arrays as wide as those of the run
    check_fits(recipe.asking_memory(public, size), limit, public.schema, size, lighter=recipe.lighter(public, size))
    requests = recipe.requests(tariff, budget, public)
    spared = recipe.spared(requests, public, size)
    cells = sum(a.cells for r in requests for a in r.asked)
    most = size + recipe.surplus(requests)
    held = sum(t.frame.estimated_size() for t in (public.relative, public.target) if t is not None)
    each, second = (140, 7e-6) if recipe.table_settings else (40, 2e-7)  # of a cell; one that is published takes more
    memory = 275_000_000 + each * cells + int(held) + recipe.memory(public, most) - spared.memory + per_row * size
    check_fits(memory, limit, public.schema, most, lighter=_lighter(recipe, public, size, most))
    if not any(r.asked for r in requests):
        raise JobError(
            f"The recipe {recipe.name} asks for no table before its first answer: see AbstractRecipe. {NOTHING}"
        )
    asked = {c for r in requests for a in r.asked for c in a.question.columns} if recipe.table_settings else None
    columns = [c for c in public.schema.columns if asked is None or c.name in asked]
    table = imagined(recipe, public, tariff=tariff, rows=assumed, table=requests[0].asked[0].question)
    return Plan(
        recipe=recipe.name,
        tariff=tariff,
        budget=budget,
        requests=requests,
        verdicts=(),
        assumed_rows=assumed,
        memory=memory,
        # Python and its libraries start first; recipes for tables are set side by side
        seconds=3.3
        + cells * second
        + 1.2 * bool(recipe.table_settings)
        + recipe.seconds(public, size)
        - spared.seconds,
        remarks=recipe.remarks(tariff, budget, public),
        narrow=one_value(columns),
        ends=beyond_bins(columns),
        recipe_forecasts=() if table is None else side_by_side(recipe, table, budget, rng),
        imagined=table,
        fits=tuple(
            (role, t.fit) for role, t in (("public", public.relative), ("target", public.target)) if t is not None
        ),
    )


def forecast(
    plan: Plan,
    recipe: AbstractRecipe,
    public: PublicData,
    uses: Sequence[AbstractUse],
    *,
    person: pl.Series | None = None,
    rng: np.random.Generator,
    watch: Callable[[str], None] = lambda phase: None,
) -> tuple[Verdict, ...]:
    """How each use is expected to fare under ``plan``: by runs on the public table, which take a while.

    Without a public table that has all columns the runs are on tables made up from the schema, and where the number
    of rows is not known either, errors come from noise scales alone.  ``person`` says whose each public row is, where
    that is known.  ``watch`` is told before anything is fitted.
    """
    for use in uses:
        use.check(public.schema)
    relative, rows = public.relative, plan.assumed_rows
    scales = tuple(_from_scales(use, plan.requests, plan.tariff, rows) for use in uses)
    if not rows or not uses or (relative is not None and relative.rows < FEWEST):
        return scales
    stand_in = StandIn(recipe, public, plan.tariff, tuple(uses), rows, person)
    if not stand_in.imagined:
        watch("forecasting the intended uses on the public table")
        return quick(stand_in, plan.budget, RUNS, rng)
    watch("forecasting the intended uses on tables made up from the schema")
    try:
        return quick(stand_in, plan.budget, RUNS, rng)
    except HedgerowError:  # no made-up table keeps the rules of the schema, or the recipe needs the one it was given
        return scales


def _public_sizes(recipe: AbstractRecipe, public: PublicData) -> Iterator[int | None]:
    """What is known of the number of confidential rows, without a guess: the nearest to the truth first."""
    yield getattr(recipe, "rows", None)
    sizes = [t.rows if t is not None else None for t in (public.relative, public.target)]
    yield from reversed(sizes) if recipe.attaches else sizes  # a run that attaches takes the target's size as well


def _lighter(recipe: AbstractRecipe, public: PublicData, rows: int, most: int) -> str:
    """What makes this recipe need less memory, besides a smaller schema."""
    if most <= 2 * rows:
        return recipe.lighter(public, rows)
    return (
        f"At this budget noise alone may add {most - rows:,} records to {rows:,}: declare the number with\n"
        f"[{recipe.name}] rows = ..., or allow a larger epsilon."
    )


def _from_scales(use: AbstractUse, requests: Sequence[Spend], tariff: Tariff, rows: int | None) -> Verdict:
    """The expected error of a use whose table is measured, or is part of a measured one, from the noise alone."""
    parts = {j.name: set(j.parts) for j in tariff.coding.joined}
    people = bool(people_facts(tariff.coding) or career_time(tariff.coding))  # no table of rows is measured
    cells = 1 if people else tariff.coding.cells(use.groups)
    sizes = (
        []
        if people
        else [
            law_of(a.noise).mean_absolute
            * sqrt(a.cells / cells)  # a cell of the use is the sum of so many measured ones
            for a in (a for r in requests for a in r.asked)
            if law_of(a.noise).added
            and set(use.groups)
            <= {p for c in a.question.columns for p in parts.get(c, {c})} | set(a.question.columns)
        ]
    )
    if not sizes:
        return Verdict(
            use,
            None,
            None,
            "no forecast: it is not measured directly, and the job says no assumed_rows and names no public table",
        )
    error, note = use.from_noise(min(sizes), cells, rows)
    return Verdict(use, error, None, note)


_GROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def machine_memory() -> int:
    """The bytes of memory of this machine, or of the container that we run in if that has fewer."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in _GROUP_LIMITS:
        try:
            found.append(int(Path(file).read_text("ascii")))
        except (OSError, ValueError):
            continue
    return min(found)


def check_fits(memory: int, limit: int | None, schema: Schema, rows: int, *, lighter: str = "") -> None:
    """Refuse a plan that needs more than ``limit`` bytes, and say what would make it smaller.

    ``lighter`` is what the recipe itself has to say to that.
    """
    if limit is None or memory <= limit:
        return
    sizes = sorted(((schema.size([a]), a) for a in schema.attributes), reverse=True)
    widest = ", ".join(f"{name} ({size:,} values)" for size, name in sizes[:3])
    raise JobError(
        f"It needs about {memory / 1e9:,.1f} GB of memory for {rows:,} rows; {limit / 1e9:,.1f} GB are there.\n"
        + (f"{lighter}\n" if lighter else "")
        + f"Give the widest columns fewer bins or values: {widest}; leave columns out of the schema; say a smaller\n"
        "[confidential] assumed_rows if that was a guess; or allow more with [job] memory_gb (in\n"
        "Python: memory_gb=...).\n"
        "No confidential row was read and nothing was spent."
    )
