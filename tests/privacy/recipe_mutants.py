"""Planted bugs of recipes for whole records: each must be caught by replaying runs on fixed neighbours."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow import pipeline
from hedgerow.answers import RecordedAnswers
from hedgerow.counting.plan import CountPlan
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public.costs.question import Counts, Measurement
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes.blend.noisy_tables import NoisyTables
from hedgerow.recipes.blend.tree_blend import TreeBlend
from hedgerow.recipes.dpsyn.dpsyn import DPSyn
from tests.privacy.checks import check_run, quick_folder
from tests.privacy.recipe_world import JOBS
from tests.privacy.world import GUARANTEES, Pair, Row

Patch = pytest.MonkeyPatch
_REST: tuple[Row, ...] = (("M", "B", "12", "s", "a"), ("M", None, "x", "?", "c"), ("F", "A", "5", "n", "b"))
_MORE: tuple[Row, ...] = tuple(("M", "C", "25", "s", f"p{i}") for i in range(40))
_ME: tuple[Row, ...] = (("F", "A", "25", "n", "me"),)
PAIRS = (Pair(_REST + _ME, _REST), Pair(_REST + _MORE + _ME, _REST + _MORE))
"""Somebody alone in a group, and somebody who makes a large one larger."""


def check_recipe(job: str) -> None:
    """A run of ``job`` on fixed neighbours, records and persons, pure and zCDP."""
    for kind in ("record, add-remove", "person, add-remove"):
        for delta in ("0", "1e-6"):
            for pair in PAIRS:
                with quick_folder() as folder:
                    check_run(Path(folder), GUARANTEES[kind], delta, pair, JOBS[job])


def _exact(patch: Patch) -> list[tuple[Counts, ...]]:
    """The exact counts of every request so far: what no recipe may have."""
    original, seen = ConfidentialRows.count, list[tuple[Counts, ...]]()

    def count(self: ConfidentialRows, plan: CountPlan) -> tuple[Counts, ...]:
        seen.append(original(self, plan))
        return seen[-1]

    patch.setattr(ConfidentialRows, "count", count)
    return seen


def _public_as(patch: Patch, table: Callable[[pipeline.PreparedJob], Path]) -> None:
    """The public relative is read from another place."""

    def public(road: pipeline.PreparedJob) -> PublicData:
        return PublicData(road.schema, CodedTable.read(table(road), road.schema))

    patch.setattr(pipeline.PreparedJob, "public", property(public))


def confidential_rows_as_the_public_relative(patch: Patch) -> None:
    """Records are sampled from the confidential table itself."""
    _public_as(patch, lambda road: road.job.confidential.table)


def confidential_rows_under_the_public_name(patch: Patch) -> None:
    """The confidential table is copied over the public one, then read as public."""

    def copied(road: pipeline.PreparedJob) -> Path:
        assert road.job.public is not None
        shutil.copy(road.job.confidential.table, road.job.public.table)
        return Path(road.job.public.table)

    _public_as(patch, copied)


def a_table_of_the_public_name_elsewhere(patch: Patch) -> None:
    """The confidential table is read from a file that is called like the public one."""

    def copied(road: pipeline.PreparedJob) -> Path:
        here = Path(road.job.confidential.table).parent
        place = here.with_name(here.name + "-copy")
        place.mkdir(exist_ok=True)
        shutil.copy(road.job.confidential.table, place / "public.csv")
        return place / "public.csv"

    _public_as(patch, copied)


def as_many_records_as_rows(patch: Patch) -> None:
    """dpsyn scales its groups to the exact number of rows."""
    exact, sizes = _exact(patch), DPSyn._sizes

    def scaled(self: DPSyn, noisy: Any, split: Any, spread: Any) -> Any:
        return sizes(self, noisy, split, spread) + (int(exact[-1][0].sum()) if exact else 0)

    patch.setattr(DPSyn, "_sizes", scaled)


def groups_that_occur(patch: Patch) -> None:
    """Only groups with a confidential row get records."""
    exact, sizes = _exact(patch), DPSyn._sizes

    def occurring(self: DPSyn, noisy: Any, split: Any, spread: Any) -> Any:
        if not exact:
            return sizes(self, noisy, split, spread)
        (true,) = next(c for c in exact[::-1] if len(c) == 1 and len(c[0]) == len(noisy))
        return np.where(true > 0, sizes(self, noisy, split, spread), 0)

    patch.setattr(DPSyn, "_sizes", occurring)


def sizes_drawn_towards_the_true_ones(patch: Patch) -> None:
    """Noisy group sizes are drawn towards the exact ones instead of public ones."""
    exact, nearer = _exact(patch), DPSyn._nearer

    def drawn(self: DPSyn, grouped: Measurement, relative: CodedTable) -> Any:
        sizes = nearer(self, grouped, relative)
        known = [c[0] for c in exact[::-1] if len(c) == 1 and len(c[0]) == len(sizes)]
        return (sizes + known[0]) / 2 if known else sizes

    patch.setattr(DPSyn, "_nearer", drawn)


def regime_by_the_true_number_of_rows(patch: Patch) -> None:
    """The budget is divided by the exact number of rows, not the noisy one."""
    exact, split = _exact(patch), DPSyn._split

    def divided(self: DPSyn, tariff: Any, budget: Any, rows: float, columns: int) -> Any:
        return split(self, tariff, budget, float(exact[-1][0].sum()) if exact else rows, columns)

    patch.setattr(DPSyn, "_split", divided)


def group_sizes_without_noise(patch: Patch) -> None:
    """The recipe puts the exact group sizes in the place of the noisy ones."""
    exact, measure = _exact(patch), RecordedAnswers.measure

    def answered(self: RecordedAnswers, questions: Any, cost: Fraction, **more: Any) -> tuple[Measurement, ...]:
        answers = measure(self, questions, cost, **more)
        if len(answers) > 1 or not answers[0].question.columns or not exact:
            return answers
        return (Measurement(answers[0].question, exact[-1][0], answers[0].noise),)

    patch.setattr("hedgerow.answers.RecordedAnswers.measure", answered)


def selection_without_cost(patch: Patch) -> None:
    """The pairs to measure are chosen by exact counts that nobody paid for."""
    exact, chosen = _exact(patch), TreeBlend._resolutions

    def chosen_by_truth(self: TreeBlend, axes: Any, *args: Any) -> Any:
        found = chosen(self, axes, *args)[0] or list(combinations(range(len(axes.names)), 2))
        odd = int(exact[-1][0].sum()) % 2 if exact else 0
        return found[odd:] or found, {}

    patch.setattr(TreeBlend, "_resolutions", chosen_by_truth)


def exact_margins_in_the_model(patch: Patch) -> None:
    """Estimates start from exact one-way tables."""
    exact, margins = _exact(patch), NoisyTables.margins

    def true(self: NoisyTables) -> Any:
        k = len(self.axes.names)
        known = [c[:k] for c in exact[::-1] if [len(t) for t in c[:k]] == list(self.shape)]
        return [np.asarray(t, np.float64) + 0.01 for t in known[0]] if known else margins(self)

    patch.setattr(NoisyTables, "margins", true)


def exact_total_in_the_model(patch: Patch) -> None:
    """A blend has as many records as the confidential table has rows."""
    exact = _exact(patch)
    patch.setattr(NoisyTables, "total", property(lambda self: int(exact[-1][0].sum()) + 1 if exact else 1))


def cheaper_than_it_is_worth(patch: Patch) -> None:
    """A recipe's request carries noise for three times what is booked."""
    original = Tariff.measure_all

    def priced(self: Tariff, questions: Any, cost: Fraction, **more: Any) -> Any:
        asked = original(self, questions, cost * 3, **more)
        object.__setattr__(asked, "cost", cost)
        return asked

    patch.setattr(Tariff, "measure_all", priced)


def count_in_the_progress(patch: Patch) -> None:
    """Progress tells how many rows there are."""
    exact, measure = _exact(patch), RecordedAnswers.measure

    def told(self: RecordedAnswers, questions: Any, cost: Fraction, **more: Any) -> tuple[Measurement, ...]:
        answers = measure(self, questions, cost, **more)
        self.tell(f"{int(exact[-1][0].sum())} rows" if exact else "no rows")
        return answers

    patch.setattr("hedgerow.answers.RecordedAnswers.measure", told)


RECIPE_MUTANTS: tuple[tuple[Callable[[Patch], None], tuple[str, ...]], ...] = (
    (confidential_rows_as_the_public_relative, ("dpsyn, one_way, repaired", "dpsyn, two_way, paper", "public_blend")),
    (confidential_rows_under_the_public_name, ("dpsyn, public_only, repaired", "public_blend")),
    (a_table_of_the_public_name_elsewhere, ("dpsyn, one_way, repaired", "public_blend")),
    (as_many_records_as_rows, ("dpsyn, public_only, repaired", "dpsyn, two_way, paper")),
    (groups_that_occur, ("dpsyn, public_only, repaired", "dpsyn, one_way, paper")),
    (sizes_drawn_towards_the_true_ones, ("dpsyn, public_only, repaired", "dpsyn, one_way, repaired")),
    (regime_by_the_true_number_of_rows, ("dpsyn, one_way, repaired", "dpsyn, one_way, paper")),
    (group_sizes_without_noise, ("dpsyn, two_way, repaired",)),
    (count_in_the_progress, ("dpsyn, one_way, repaired", "tree_blend", "public_blend")),
    (selection_without_cost, ("tree_blend",)),
    (exact_margins_in_the_model, ("tree_blend",)),
    (exact_total_in_the_model, ("tree_blend", "public_blend")),
    (cheaper_than_it_is_worth, ("dpsyn, one_way, repaired", "tree_blend", "public_blend")),
)
"""Every planted bug, with the jobs that it must be caught in: each of them, not just one."""


@contextmanager
def planted(mutant: Callable[[Patch], None]) -> Iterator[None]:
    """The bug is there, inside."""
    with pytest.MonkeyPatch.context() as patch:
        mutant(patch)
        yield
