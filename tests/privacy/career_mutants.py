"""Careers at the gate: the checks on fixed tables, and planted bugs that each of them must catch.

A row of the small world is (sex, race, pay, area, id); ``pay`` plays the time, in four values.
"""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.counting.plan import UNIT
from hedgerow.ledger.book import Ledger, RunAccount
from hedgerow.model.careers import crossed
from hedgerow.private import Gate
from hedgerow.private.careers import CareerCounter, Reduction
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public import careers as rules
from hedgerow.public.career_tables import career_coding
from hedgerow.public.careers import CareerCoding
from hedgerow.public.costs.accounting import Budget, Guarantee, Relation
from hedgerow.public.costs.question import TOTAL, Marginal, Tree
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.files import open_source
from hedgerow.public.schema import Schema
from tests.privacy.checks import quick_folder, run_job
from tests.privacy.watch import Request, Tape, check_order, check_price, watched
from tests.privacy.world import SCHEMA, Pair, Row, frame, write_job

Patch = pytest.MonkeyPatch
CODING = career_coding(Schema.loads(SCHEMA), "pay")
BY_MOVE = Tree.of(("gap", "sex"), 3, [0, 1], [0, 4], [1, -1, -2, -1, -2, -3])
BANDS = crossed(BY_MOVE, "move race", np.minimum(np.arange(CODING.parts["steps"]["move race"]), 2))
PEOPLE = (
    TOTAL,
    Marginal(("span",)),
    Marginal(("first pay",)),
    Marginal(("first sex_area",)),
    Marginal(("first pay", "span", "first sex")),
    Marginal(("first area",), None, "first sex"),
)
STEPS = (
    Marginal(("gap",)),
    Marginal(("move race",)),
    Marginal(("area", "move area")),
    Marginal(("move pay",), BY_MOVE),
    Marginal((), BANDS),
    Marginal(("move sex", "move race"), None, "sex"),
)
RELATIONS: tuple[Relation, ...] = ("add-remove", "replace-one", "label-change")
CAREERS = {
    f"careers of {m}, {r}": Guarantee("person", m, r, ("pay", "area") * (r == "label-change"), "id")
    for r in RELATIONS
    for m in (2, 4)
}

_REST: tuple[Row, ...] = (
    ("M", "B", "12", "s", "a"),
    ("F", "A", "5", "n", "b"),
    ("M", "C", "39", "n", "b"),
    ("F", "A", "5", "n", None),
    ("M", None, "x", "?", "c"),
    ("F", "A", "25", "n", "c"),
    ("F", "A", "25", "n", None),
)
_ME: tuple[Row, ...] = (
    ("F", "A", "39", "n", "me"),
    ("F", "A", "5", "s", "me"),
    ("M", "B", "12", "s", "me"),
    ("F", "C", None, "w", "me"),
    ("F", "A", "5", "s", "me"),
    ("F", "B", "5", "n", "me"),
)
_YOU: tuple[Row, ...] = (("M", "C", "25", "w", "me"),)
_SAME: tuple[Row, ...] = (("F", "A", "5", "n", "me"),) * 9
PAIRS: dict[str, list[Pair]] = {
    "add-remove": [
        Pair(_REST + _ME, _REST),
        Pair(_ME[:3] + _REST + _ME[3:], _REST),
        Pair(_REST + _SAME, _REST),
        Pair(_YOU + _REST, _REST),
        Pair(_ME, ()),
    ],
    "replace-one": [Pair(_REST + _ME, _YOU + _REST), Pair(_REST + _SAME, _REST + _ME[:2])],
    "label-change": [
        Pair(_REST + _ME, _REST + tuple(("M", "C", *r[2:]) for r in _ME)),
        Pair(_REST + _SAME, _REST + tuple(("M", "C", *r[2:]) for r in _SAME)),
    ],
}


def check_careers() -> None:
    """Every check on careers: the rule by itself, the gate under every relation, and a whole job."""
    check_rule()
    for guarantee in CAREERS.values():
        few = guarantee.rows_per_person == 2
        for pair in PAIRS[guarantee.relation][: 1 if few else None]:
            check_gate(guarantee, "1e-6" if few else "0", pair)
    with quick_folder() as folder:
        check_job(Path(folder), CAREERS["careers of 4, add-remove"], PAIRS["add-remove"][0])


def plain_counts(rows: tuple[Row, ...], most: int) -> tuple[int, int, list[int]]:
    """People, steps that count and their gaps, by code that does it row by row."""
    times, pay = defaultdict[str, list[int]](list), Schema.loads(SCHEMA).coding.encode(frame(rows), ["pay"])["pay"]
    for row, time in zip(rows, pay.tolist(), strict=True):
        if row[-1] is not None:
            times[row[-1]].append(time)
    gaps = [0] * 4
    for mine in times.values():
        steps = [b - a for a, b in zip(sorted(mine), sorted(mine)[1:], strict=False)]
        kept = min(len(steps), most)
        for i, gap in enumerate(steps):
            if kept * (i + 1) // len(steps) > kept * i // len(steps):
                gaps[gap] += 1
    return len(times), sum(gaps), gaps


def check_rule() -> None:
    """A career follows from the rows of its person, in any order, and is what it says."""
    codes = {
        "pay": np.array([3, 0, 1, 1, 0], np.uint8),
        "sex": np.array([0, 1, 1, 0, 0], np.uint8),
        "race": np.array([0, 1, 1, 4, 2], np.uint8),
        "area": np.array([1, 0, 0, 2, 2], np.uint8),
    }
    who = np.array([0, 0, 0, 1, 1])
    people = CODING.reduce(who, codes, ("first sex", "first race", "span"), 1)
    assert {n: c.tolist() for n, c in people.items()} == {
        "first sex": [1, 0],
        "first race": [1, 2],
        "span": [3, 1],
    }
    steps = CODING.reduce(who, codes, ("gap", "pay", "move pay", "move race", "sex"), 3)
    assert {n: c.tolist() for n, c in steps.items()} == {
        "gap": [1, 2, 1],
        "pay": [0, 1, 0],
        "move pay": [4, 5, 4],  # rises by 1, 2 and 1, from -3 on
        "move race": [0, 1, 5],  # stayed; to A; to missing
        "sex": [1, 1, 0],
    }
    for order in ([2, 1, 0, 4, 3], [1, 2, 0, 3, 4]):
        moved = {n: c[order] for n, c in codes.items()}
        for names, whole in ((tuple(people), people), (tuple(steps), steps)):
            again = CODING.reduce(who, moved, names, 3)
            assert all((again[n] == whole[n]).all() for n in names), "a career depends on the order of the file"
    alone = CODING.reduce(np.zeros(3, np.int64), {n: c[:3] for n, c in codes.items()}, tuple(steps), 3)
    assert all(alone[n].tolist() == steps[n][:2].tolist() for n in steps), "a career depends on others' rows"
    for rows in range(1, 12):
        for most in range(1, 6):
            many = {n: np.zeros(rows, np.uint8) for n in codes}
            kept = len(CODING.reduce(np.zeros(rows), many, ("gap",), most)["gap"])
            assert kept == min(rows - 1, most), "more steps than count, or fewer"


def check_gate(guarantee: Guarantee, delta: str, pair: Pair) -> None:
    """Tables of people and steps on both tables of the pair, with the same answers; and how many there are."""
    tape, budget, asked = Tape(), Budget("2", delta), list[list[Request]]()
    for rows, play in ((pair.here, False), (pair.there, True)):
        with quick_folder() as folder, watched(tape, play=play) as requests:
            account = RunAccount(Ledger.open(f"{folder}/ledger.db"), table="toy", run="run")
            tariff = Tariff(CODING, guarantee, budget.measure, budget.delta)
            gate = Gate(open_source(frame(rows)), tariff, budget, account, CareerCounter)
            gate.measure((STEPS[0], *PEOPLE, *STEPS[1:]), budget.total / 2)
            gate.measure(STEPS, budget.total / 8)
            found = gate.measure(PEOPLE, budget.total / 8)
            gate.select({m.question: np.maximum(m.counts, 0) for m in found}, gate.left)
        check_order(requests)
        people, steps, gaps = plain_counts(rows, guarantee.rows_per_person - 1)
        counted = requests[1].counted
        assert counted[0].tolist() == gaps, "gaps are not those of a person's rows in the order of time"
        assert counted[1].tolist() == [people], "not everybody is counted once"
        assert counted[len(PEOPLE) + 1].sum() == steps, "not every step that counts is counted once"
        asked.append(requests)
    check_price(asked[0], asked[1], budget.measure, budget.total)


def check_fingerprint() -> None:
    """Whoever counts careers of a table is known to have counted its rows."""
    source, guarantee = open_source(frame(_REST + _ME)), CAREERS["careers of 4, add-remove"]
    careers = ConfidentialRows(source, CODING, guarantee, CareerCounter)
    rows = ConfidentialRows(source, Schema.loads(SCHEMA).coding, guarantee)
    assert careers.fingerprint(b"k") == rows.fingerprint(b"k"), "the same rows pass for another table"


def check_job(folder: Path, guarantee: Guarantee, pair: Pair) -> None:
    """A whole job on both tables with the same answers: the same bytes and words."""
    tape, outcomes = Tape(), list[tuple[list[Request], dict[str, bytes], str]]()
    for name, rows, play in (("here", pair.here, False), ("there", pair.there, True)):
        place = folder / name
        place.mkdir()
        job = career_job(place, guarantee)
        frame(rows).write_csv(place / "secret.csv")
        with watched(tape, play=play, public=[place / "public.csv"]) as requests:
            outcomes.append((requests, *run_job(job)))
        check_order(requests, saved=True)
    (here, bytes_here, said_here), (there, bytes_there, said_there) = outcomes
    assert "statement.json" in bytes_here, said_here
    check_price(here, there, "pure", Budget("1.5").total)
    assert bytes_here == bytes_there, "a file differs on a neighbour with equal answers"
    assert said_here == said_there, "something else was said on a neighbour"


def career_job(place: Path, guarantee: Guarantee) -> Path:
    """The toy job of careers, with eighty public people."""
    job = write_job(place, guarantee, recipe="careers")
    rng = np.random.default_rng(0)
    who = np.sort(rng.integers(0, 80, 240))
    public = pl.DataFrame(
        {
            "sex": np.array(["F", "M"])[who % 2],
            "race": rng.choice(["A", "B", "C"], 240),
            "pay": rng.integers(0, 40, 240).astype(str),
            "area": np.array(["n", "s"])[who % 2],
            "id": [f"p{w}" for w in who],
        }
    )
    public.write_csv(place / "public.csv")
    text = job.read_text("utf-8").split("[[use]]")[0]
    job.write_text(text + "[public]\ntable = 'public.csv'\n[careers]\ntime = 'pay'\n", "utf-8")
    return job


def a_person_is_counted_twice(patch: Patch) -> None:
    """Everybody stands in the reduced table twice."""
    original = CareerCoding.reduce

    def reduce(self: CareerCoding, *given: Any) -> Any:
        return {n: np.tile(c, 2) for n, c in original(self, *given).items()}

    patch.setattr(CareerCoding, "reduce", reduce)


def steps_go_from_one_person_to_the_next(patch: Patch) -> None:
    """All rows of a part are taken for one career."""
    patch.setattr(Reduction, "__call__", _reduced(lambda codes: np.zeros(len(codes[UNIT]), np.int64)))


def steps_by_the_order_of_the_file(patch: Patch) -> None:
    """Rows of a person follow each other as they stand."""
    patch.setattr(CareerCoding, "order", lambda self, who, codes: np.argsort(who, kind="stable"))


def more_steps_than_count(patch: Patch) -> None:
    """All steps of a person count, however many are paid for."""
    patch.setattr(rules, "_spread", lambda number, steps, most: np.ones(len(number), bool))


def one_step_too_many(patch: Patch) -> None:
    """As many steps as rows count, one more than is paid for."""
    original = rules._spread
    patch.setattr(rules, "_spread", lambda number, steps, most: original(number, steps, most + 1))


def gaps_in_time_are_filled(patch: Patch) -> None:
    """A step over a gap counts as many steps of one."""
    original = CareerCoding.reduce

    def reduce(self: CareerCoding, who: Any, codes: Any, names: Any, most: int) -> Any:
        if self.kind(names) == "people":
            return original(self, who, codes, names, most)
        found = original(self, who, codes, tuple({*names, "gap"}), most)
        times = np.maximum(found["gap"], 1)
        return {n: np.repeat(found[n], times) for n in names}

    patch.setattr(CareerCoding, "reduce", reduce)


def steps_at_the_price_of_people(patch: Patch) -> None:
    """A table of steps is priced as if everybody counted once."""
    patch.setattr(CareerCoding, "most", lambda self, names, rows: 1)
    original = CareerCounter.__init__

    def init(self: CareerCounter, *given: Any, **more: Any) -> None:
        original(self, *given, **more)
        self._coding = replace(self._coding)
        object.__setattr__(self._coding, "most", lambda names, rows: rows - 1)

    patch.setattr(CareerCounter, "__init__", init)


def bands_of_moves_at_the_price_of_people(patch: Patch) -> None:
    """What leaves look at is forgotten when they are priced: bands of moves pass for the number of people."""
    original = Tariff.guarantee_of

    def guarantee_of(self: Tariff, question: Marginal) -> Guarantee:
        return original(self, question if question.columns else replace(question, tree=None))

    patch.setattr(Tariff, "guarantee_of", guarantee_of)


def unnamed_rows_are_somebody(patch: Patch) -> None:
    """Rows that name nobody are one more career, which nobody can cap."""
    patch.setattr("hedgerow.private.local.within_cap", lambda person, most: pl.Series([True] * len(person)))


def which_steps_count_depends_on_others(patch: Patch) -> None:
    """The distance between steps that count follows from the longest career of the table."""
    original = rules._spread

    def spread(number: Any, steps: Any, most: int) -> Any:
        return original(number, np.full_like(steps, steps.max(initial=1)), most)

    patch.setattr(rules, "_spread", spread)


def _reduced(who: Any) -> Any:
    def call(self: Reduction, codes: Any) -> Any:
        return self.coding.reduce(who(codes), codes, self.names, self.most)

    return call


CAREER_MUTANTS = (
    a_person_is_counted_twice,
    steps_go_from_one_person_to_the_next,
    steps_by_the_order_of_the_file,
    more_steps_than_count,
    one_step_too_many,
    gaps_in_time_are_filled,
    steps_at_the_price_of_people,
    bands_of_moves_at_the_price_of_people,
    unnamed_rows_are_somebody,
    which_steps_count_depends_on_others,
)
