"""Planted privacy bugs: each must be caught by the checks. ``python -m tests.privacy.mutants`` tells how many are.

The list of THEORY.md part D, layer 5, as far as the verbs exist, and more.  A mutant is a patch; it is caught when
some check fails under it.  The first line shows that the checks pass without a patch.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow import pipeline
from hedgerow.counting.plan import CountPlan
from hedgerow.errors import HedgerowError, JobError
from hedgerow.ledger.book import Ledger, RunAccount
from hedgerow.model.records.models import fit_product
from hedgerow.private import entropy, local, noise
from hedgerow.private.gate import Gate
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public.coding import CodedColumn
from hedgerow.public.costs import accounting, spend
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.noise_laws import Gaussian
from hedgerow.public.costs.question import Counts, Measurement, Noise
from hedgerow.public.costs.spend import Spend, Tariff
from hedgerow.release import measurements
from tests.privacy.accounting_checks import check_accounting
from tests.privacy.accounting_mutants import ACCOUNTING_MUTANTS
from tests.privacy.checks import check_run, check_stand_in_noise, check_verbs, quick_folder
from tests.privacy.count_mutants import COUNT_MUTANTS, check_counts
from tests.privacy.local_mutants import LOCAL_MUTANTS, check_local
from tests.privacy.people_mutants import PEOPLE_MUTANTS, check_people
from tests.privacy.recipe_mutants import RECIPE_MUTANTS, check_recipe, planted
from tests.privacy.release_mutants import MUTANTS as RELEASE_MUTANTS
from tests.privacy.release_mutants import check_release
from tests.privacy.unknown_mutants import UNKNOWN_MUTANTS, check_unknown
from tests.privacy.urn_checks import check_crossing, check_urn_law
from tests.privacy.urn_mutants import URN_MUTANTS
from tests.privacy.world import GUARANTEES, Pair, Row

Patch = pytest.MonkeyPatch
Mutant = Callable[[Patch], None]

_ME: tuple[Row, ...] = (("F", "A", "5", "n", "me"),) * 5
_YOU: tuple[Row, ...] = (("M", "C", "39", "s", "me"),) * 5
_UNNAMED: tuple[Row, ...] = (("F", "A", "5", "n", None), ("F", "A", "5", "n", " ")) * 3
_RELABELLED: tuple[Row, ...] = (("M", "C", "5", "n", "me"),) * 5
_REST: tuple[Row, ...] = (("M", "B", "12", "s", "a"), ("M", None, "x", "?", "c"), ("F", "A", "5", "n", "b"))
PAIRS: dict[str, list[Pair]] = {
    "add-remove": [Pair(_REST + _ME, _REST), Pair(_ME + _REST, _REST), Pair((("F", "Z", None, "w", "me"),), ())],
    "replace-one": [Pair(_REST + _ME, _REST + _YOU)],
    "label-change": [Pair(_REST + _ME, _REST + _RELABELLED)],
}


def pairs(guarantee: Guarantee) -> list[Pair]:
    """Fixed neighbours that move as much as the relation allows."""
    found = PAIRS[guarantee.relation]
    if guarantee.unit == "person":  # who has rows under a name may have others without one
        unnamed = [Pair(_REST + _ME + _UNNAMED, _REST)] if guarantee.relation == "add-remove" else []
        return found + unnamed
    return [Pair(_first_of_me(p.here), _first_of_me(p.there)) for p in found]


def _first_of_me(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    mine = [r for r in rows if r[-1] == "me"][:1]
    return (*(r for r in rows if r[-1] != "me"), *mine)


def check_everything() -> None:
    """Every check, on fixed pairs, under every guarantee, pure and zCDP; and that noise is never the same twice."""
    law = Noise("laplace", Fraction(50))  # first: with words that repeat, drawing again until it fits would never end
    assert (noise.draw(law, 64) != noise.draw(law, 64)).any(), "the noise came twice: it is seeded"
    for guarantee in GUARANTEES.values():
        for delta in ("0", "1e-6"):
            for pair in pairs(guarantee):
                check_verbs(guarantee, delta, pair)
                with quick_folder() as folder:
                    check_run(Path(folder), guarantee, delta, pair)
    check_urn_law()
    check_crossing()
    check_stand_in_noise()


def _measure_with(patch: Patch, answer: Callable[[Counts, Noise], Any]) -> None:
    """Answer every table by ``answer(true counts, noise law)``."""

    def measure(self: Gate, questions: Any, cost: Fraction, **more: Any) -> tuple[Measurement, ...]:
        asked = self.tariff.measure_all(questions, cost, **more)

        def draw(counts: tuple[Counts, ...]) -> tuple[Measurement, ...]:
            return tuple(
                Measurement(a.question, answer(true, a.noise), a.noise)
                for a, true in zip(asked.asked, counts, strict=True)
            )

        return self._answered(asked, questions, draw)

    patch.setattr(Gate, "measure", measure)


def sensitivity_1_under_label_change(patch: Patch) -> None:
    """One count for a change of label, as the papers say."""
    patch.setattr(Guarantee, "l1", property(lambda self: self.rows_per_person))


def l2_sensitivity_of_add_remove_everywhere(patch: Patch) -> None:
    """The Gaussian scale of add-remove used for replacement."""
    patch.setattr(Guarantee, "l2_squared", property(lambda self: self.rows_per_person**2))


def noise_only_on_observed_cells(patch: Patch) -> None:
    """Empty cells stay empty, as a table() of observed labels would have it."""
    _measure_with(patch, lambda true, law: true + np.where(true > 0, noise.draw(law, len(true)), 0))


def one_noise_vector_for_all_tables(patch: Patch) -> None:
    """Noise is drawn once and used again."""
    drawn: dict[int, Counts] = {}

    def answer(true: Counts, law: Noise) -> Counts:
        if len(true) not in drawn:
            drawn[len(true)] = noise.draw(law, len(true))
        return true + drawn[len(true)]

    _measure_with(patch, answer)


def clip_before_noise(patch: Patch) -> None:
    """Counts are cut before noise is added."""
    _measure_with(patch, lambda true, law: np.minimum(true, 2) + noise.draw(law, len(true)))


def number_of_rows_from_the_data(patch: Patch) -> None:
    """The release has as many records as the confidential table."""
    original = ConfidentialRows.count
    exact: list[int] = []

    def count(self: ConfidentialRows, plan: CountPlan) -> tuple[Counts, ...]:
        counted = original(self, plan)
        exact.append(int(counted[0].sum()))
        return counted

    fit = fit_product
    patch.setattr(ConfidentialRows, "count", count)
    patch.setattr("hedgerow.recipes.independent.fit_product", lambda c, m, total=None: fit(c, m, total=exact[-1] + 1))


def labels_collapsed_by_confidential_counts(patch: Patch) -> None:
    """The schema is settled on the confidential table."""
    original = vars(pipeline.PreparedJob)["schema"].func

    def settled(road: pipeline.PreparedJob) -> Any:
        schema = original(road)
        seen = pl.read_csv(road.job.confidential.table, infer_schema=False)["race"].n_unique()
        return schema.__class__.loads(schema.dumps().replace('title = "Toy"', f'title = "{seen} races"'))

    patch.setattr(pipeline.PreparedJob, "schema", property(settled))


def epsilon_not_divided_among_tables(patch: Patch) -> None:
    """Every table gets noise for the whole cost."""
    original = spend.noise_for
    patch.setattr(spend, "noise_for", lambda cost, *rest: original(cost * 3, *rest))


def charged_half(patch: Patch) -> None:
    """The ledger is told half the price."""

    def book(self: RunAccount, asked: Spend) -> None:
        self._ledger.spend(self._run, asked.digest, asked.cost / 2, str(asked))

    patch.setattr(RunAccount, "book", book)


def seeded_noise(patch: Patch) -> None:
    """A seed makes the noise predictable."""
    patch.setattr(entropy, "words", lambda n: np.random.default_rng(0).integers(0, 2**32, n, dtype=np.uint32))


def float_noise(patch: Patch) -> None:
    """Floating-point Laplace noise."""
    rng = np.random.default_rng()
    _measure_with(patch, lambda true, law: true + rng.laplace(0, float(law.scale), len(true)))


def rounded_float_noise(patch: Patch) -> None:
    """Floating-point noise, rounded, where the exact sampler stood."""
    rng = np.random.default_rng()
    patch.setattr(noise, "draw", lambda law, n: np.rint(rng.laplace(0, float(law.scale), n)).astype(np.int64))


def score_with_half_the_sensitivity(patch: Patch) -> None:
    """The exponential mechanism as if the score were monotone."""
    original = spend.selection_rate
    patch.setattr(spend, "selection_rate", lambda *args: 2 * original(*args))


def zcdp_selection_at_twice_the_rate(patch: Patch) -> None:
    """epsilon^2 / 2 instead of epsilon^2 / 8 inverted the wrong way."""
    original = accounting.floor_sqrt
    patch.setattr(accounting, "floor_sqrt", lambda x: 2 * original(x))


def cap_per_person_not_enforced(patch: Patch) -> None:
    """All rows of a person count, whatever the promise says."""
    patch.setattr("hedgerow.private.local.within_cap", lambda people, most: people.is_not_null())


def one_person_pushes_out_another(patch: Patch) -> None:
    """One cap over all people: the first rows of the file are kept, so one person's rows push out another's."""
    patch.setattr("hedgerow.private.local.within_cap", lambda people, most: pl.Series(np.arange(len(people)) < 2))


def rows_without_a_person_count(patch: Patch) -> None:
    """Rows that name no person are capped as if they were one more person's."""

    def cap(person: pl.Series, most: int) -> pl.Series:
        return person.alias("p").to_frame().select(pl.int_range(pl.len()).over("p")).to_series() < most

    patch.setattr("hedgerow.private.local.within_cap", cap)


def read_before_booking(patch: Patch) -> None:
    """Rows are counted first and paid for afterwards."""

    def answered(self: Gate, asked: Spend, questions: Any, draw: Callable[..., Any]) -> Any:
        counts = self._rows.count(CountPlan(questions, self.tariff.coding))
        self._account.book(asked)
        return self._account.keep(asked, draw(counts))

    patch.setattr(Gate, "_answered", answered)


def draw_not_marked(patch: Patch) -> None:
    """A killed run could draw again for free until it likes the answer."""
    patch.setattr(RunAccount, "mark", lambda self, asked, saved: None)


def marked_before_it_is_saved(patch: Patch) -> None:
    """A kill between the two loses what was paid: the request is drawn, and its answer is nowhere."""

    def keep(self: RunAccount, asked: Spend, answer: Any) -> Any:
        self.mark(asked, "")
        self._save(asked, answer)
        return answer

    patch.setattr(RunAccount, "keep", keep)


def marked_before_the_noise(patch: Patch) -> None:
    """The same, with the drawing itself between the two."""

    def booked(self: Gate, asked: Spend, count: Callable[[], Any], draw: Callable[..., Any]) -> Any:
        self._account.book(asked)
        found = count()
        self._account.keep(asked, ())
        return draw(found)

    patch.setattr(Gate, "_booked", booked)


def marked_and_never_saved(patch: Patch) -> None:
    """The ledger says that the answer exists, and the work folder does not have it."""
    patch.setattr(RunAccount, "keep", lambda self, asked, answer: (self.mark(asked, ""), answer)[1])


def drawn_again_after_it_was_saved(patch: Patch) -> None:
    """What is given out is not what was saved and marked, but a second draw."""
    original = Gate._booked

    def booked(self: Gate, asked: Spend, count: Callable[[], Any], draw: Callable[..., Any]) -> Any:
        original(self, asked, count, draw)
        return draw(count())

    patch.setattr(Gate, "_booked", booked)


def error_on_a_value_outside_the_schema(patch: Patch) -> None:
    """Encoding refuses a strange value, and so tells that it is there."""
    original = CodedColumn.encode

    def encode(self: CodedColumn, series: pl.Series) -> Any:
        if series.dtype == pl.String and (series == "Z").any():
            raise JobError("strange value: Z")
        return original(self, series)

    patch.setattr(CodedColumn, "encode", encode)


def count_in_a_message(patch: Patch) -> None:
    """The number of rows is told while they are read."""
    original = local.stored

    def stored(parts: Any, most: int) -> Any:
        kept = original(parts, most)
        sys.stderr.write(f"read {sum(len(p['sex']) for p in kept)} rows\n")
        return kept

    patch.setattr(local, "stored", stored)


def noise_scale_from_the_data(patch: Patch) -> None:
    """Less noise where there is more data."""
    original = Gate._answered

    def answered(self: Gate, asked: Spend, questions: Any, draw: Callable[..., Any]) -> Any:
        def scaled(counts: tuple[Counts, ...]) -> Any:
            factor = Fraction(1, 1 + int(counts[0].sum()))
            for a in asked.asked:
                object.__setattr__(a, "noise", Noise(a.noise.law, a.noise.scale * factor))
            return draw(counts)

        return original(self, asked, questions, scaled)

    patch.setattr(Gate, "_answered", answered)


def true_counts_beside_the_answers(patch: Patch) -> None:
    """The exact counts find their way into the release."""
    original_count, original_flatten = ConfidentialRows.count, measurements.flatten
    exact: list[tuple[Counts, ...]] = []

    def count(self: ConfidentialRows, plan: CountPlan) -> tuple[Counts, ...]:
        exact.append(original_count(self, plan))
        return exact[-1]

    def flatten(record: Any) -> Any:
        answers = original_flatten(record)
        position, first = answers[0]
        return ((position, Measurement(first.question, exact[-1][0], first.noise)), *answers[1:])

    patch.setattr(ConfidentialRows, "count", count)
    patch.setattr(pipeline, "flatten", flatten)


def fingerprint_in_the_release(patch: Patch) -> None:
    """A hash of the confidential rows is published as the run's anchor."""
    original, seen = ConfidentialRows.fingerprint, [""]

    def fingerprint(self: ConfidentialRows, key: bytes) -> str:
        seen[0] = original(self, bytes(32))
        return seen[0]

    contents: Any = pipeline._contents
    patch.setattr(ConfidentialRows, "fingerprint", fingerprint)
    patch.setattr(pipeline, "_contents", lambda *given: contents(*given[:-1], seen[0]))


def stand_in_takes_laplace_for_gaussian(patch: Patch) -> None:
    """Whatever is rehearsed with Laplace noise is rehearsed with Gaussian noise of that number as its variance."""
    patch.setattr("hedgerow.answers.law_of", lambda noise: Gaussian(noise.scale))


def unlimited_requests(patch: Patch) -> None:
    """The price is booked as next to nothing, so that the total never runs out."""
    original = Ledger.spend
    patch.setattr(
        Ledger, "spend", lambda self, run, request, cost, *more: original(self, run, request, cost / 100, *more)
    )
    patch.setattr(Tariff, "measure_all", _thrice(Tariff.measure_all))


def _thrice(original: Callable[..., Spend]) -> Callable[..., Spend]:
    def measure_all(self: Tariff, questions: Any, cost: Fraction, **more: Any) -> Spend:
        return original(self, questions, cost * 3, **more)

    return measure_all


MUTANTS: tuple[Mutant, ...] = (
    sensitivity_1_under_label_change,
    l2_sensitivity_of_add_remove_everywhere,
    noise_only_on_observed_cells,
    one_noise_vector_for_all_tables,
    clip_before_noise,
    number_of_rows_from_the_data,
    labels_collapsed_by_confidential_counts,
    epsilon_not_divided_among_tables,
    charged_half,
    seeded_noise,
    float_noise,
    rounded_float_noise,
    score_with_half_the_sensitivity,
    zcdp_selection_at_twice_the_rate,
    cap_per_person_not_enforced,
    one_person_pushes_out_another,
    rows_without_a_person_count,
    read_before_booking,
    draw_not_marked,
    marked_before_it_is_saved,
    marked_before_the_noise,
    marked_and_never_saved,
    drawn_again_after_it_was_saved,
    error_on_a_value_outside_the_schema,
    count_in_a_message,
    noise_scale_from_the_data,
    true_counts_beside_the_answers,
    fingerprint_in_the_release,
    stand_in_takes_laplace_for_gaussian,
    unlimited_requests,
    *URN_MUTANTS,
)


def caught_by(mutant: Mutant, check: Callable[[], None] = check_everything) -> str | None:
    """What ``check`` says when ``mutant`` is planted; None when it sees nothing."""
    with planted(mutant):
        try:
            check()
        except AssertionError as seen:
            return str(seen).splitlines()[0] if str(seen) else "an assertion"
        except HedgerowError as refusal:
            return f"an error that depends on a row: {str(refusal).splitlines()[0]}"
    return None


def trials() -> Iterator[tuple[str, Mutant, Callable[[], None]]]:
    """Every planted bug, and the check that must see it."""
    for mutant in MUTANTS:
        yield mutant.__name__, mutant, check_everything
    for mutant in ACCOUNTING_MUTANTS:
        yield mutant.__name__, mutant, check_accounting
    for mutant, jobs in RECIPE_MUTANTS:
        for job in jobs:
            yield f"{mutant.__name__} ({job})", mutant, partial(check_recipe, job)
    for mutant in COUNT_MUTANTS:
        yield mutant.__name__, mutant, check_counts
    for mutant in LOCAL_MUTANTS:
        yield mutant.__name__, mutant, check_local
    for mutant in UNKNOWN_MUTANTS:
        yield mutant.__name__, mutant, check_unknown
    for mutant in PEOPLE_MUTANTS:
        yield mutant.__name__, mutant, check_people
    for mutant in RELEASE_MUTANTS:
        yield mutant.__name__, mutant, check_release


def untouched() -> tuple[Callable[[], None], ...]:
    """Every check, to be made without a patch."""
    jobs = sorted({job for _, jobs in RECIPE_MUTANTS for job in jobs})
    plain = (check_everything, check_counts, check_local, check_unknown, check_people, check_accounting)
    return (*plain, check_release, *(partial(check_recipe, job) for job in jobs))


def _pass(place: int) -> None:
    """Make one check, in a process of its own."""
    untouched()[place]()


def _try(place: int) -> tuple[str, str | None]:
    """Plant one bug, in a process of its own: its name, and what the check says."""
    name, mutant, check = next(islice(trials(), place, None))
    return name, caught_by(mutant, check)


def main() -> int:
    """Run the checks without a patch, then under every mutant; as many at once as there are cores."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        list(pool.map(_pass, range(len(untouched()))))
        sys.stdout.write("the checks pass without a planted bug\n")
        found = []
        for name, seen in pool.map(_try, range(sum(1 for _ in trials()))):
            found.append(seen)
            sys.stdout.write(f"{'caught' if seen else 'MISSED'}  {name.replace('_', ' ')}: {seen or ''}\n")
    missed = found.count(None)
    sys.stdout.write(f"our audit catches {len(found) - missed}/{len(found)} planted bugs\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
