"""People at the gate: the checks on fixed tables, and planted bugs that each of them must catch.

A row of the small world is (sex, race, pay, area, id); ``pay`` plays the time.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow import pipeline
from hedgerow.counting.plan import UNIT, CountPlan
from hedgerow.job import facts_for
from hedgerow.ledger.book import Ledger, RunAccount
from hedgerow.private import Gate
from hedgerow.private.people import PeopleCounter
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public import CodedTable, coding_of
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.question import TOTAL, Marginal, Tree
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.files import open_source
from hedgerow.public.people import Fact, PeopleCoding, by_person
from hedgerow.public.schema import Schema
from tests.privacy.checks import quick_folder, run_job
from tests.privacy.watch import Request, Tape, check_order, check_price, watched
from tests.privacy.world import SCHEMA, Pair, Row, frame, write_job

Patch = pytest.MonkeyPatch
SIZES = {"pay": 4, "area": 3}
FACTS = (
    Fact("first pay", "first", "pay", "pay"),
    Fact("last race", "last", "race", "pay"),
    Fact("area", "most", "area"),
    Fact("rows", "rows", cuts=(2, 3, 5)),
    Fact("residual pay", "mean", points=(("pay", (-3, -1, 1, 3)), ("area", (0, 1, -1))), cuts=(-1, 1)),
    Fact("sex", "most", "sex"),
    Fact("race", "most", "race"),
)
CODING = coding_of(Schema.loads(SCHEMA), FACTS)
BY_FACTS = Tree.of(("rows", "area"), 6, [0, 1], [0, 4], [1, -1, -2, -3, -4, -5, -6])
ASKED = (
    TOTAL,
    *(Marginal((f.name,)) for f in FACTS),
    Marginal(("sex_area",)),
    Marginal(("sex", "race"), BY_FACTS),
    Marginal(("first pay", "residual pay", "sex")),
    Marginal(("area", "rows"), None, "sex"),
    Marginal(("last race",), None, "sex"),
)
PEOPLE = {
    f"people, {r}": Guarantee("person", 1, r, ("pay", "area") * (r == "label-change"), "id")
    for r in ("add-remove", "replace-one", "label-change")
}

_REST: tuple[Row, ...] = (
    ("M", "B", "12", "s", "a"),
    ("F", "A", "5", "n", "b"),
    ("M", "C", "39", "n", "b"),
    ("F", "A", "5", "n", None),
    ("M", None, "x", "?", "c"),
)
_ME: tuple[Row, ...] = (("F", "A", "5", "n", "me"), ("F", "A", "12", "s", "me"), ("F", "B", "39", "s", "me")) * 2
_YOU: tuple[Row, ...] = (("M", "C", "25", "w", "me"),)
PAIRS: dict[str, list[Pair]] = {
    "add-remove": [
        Pair(_REST + _ME, _REST),
        Pair(_ME[:3] + _REST + _ME[3:], _REST),
        Pair(_REST + _YOU, _REST),
        Pair(_YOU, ()),
    ],
    "replace-one": [Pair(_REST + _ME, _YOU + _REST), Pair(_REST + _ME, _REST + _ME[:1])],
    "label-change": [
        Pair(_REST + _ME, _REST + tuple(("M", "C", *r[2:]) for r in _ME)),
        Pair(_REST + _ME, _REST + tuple(("F", "C", *r[2:]) for r in _ME)),
    ],
}


def check_people() -> None:
    """Every check on people: the rule by itself, the gate under every relation, and a whole job."""
    check_rule()
    for guarantee in PEOPLE.values():
        for pair in PAIRS[guarantee.relation]:
            check_gate(guarantee, "0", pair)
        check_gate(guarantee, "1e-6", pair)
    for guarantee in (PEOPLE["people, add-remove"], PEOPLE["people, label-change"]):
        with quick_folder() as folder:
            check_job(Path(folder), guarantee, PAIRS[guarantee.relation][0])


def check_rule() -> None:
    """Facts of a person follow from that person's rows, in any order; and are what they say."""
    plain = {"pay": [3, 0, 2, 2, 0], "area": [1, 0, 1, 2, 2], "sex": [0, 1, 1, 1, 0]}
    coded = {n: np.array(c, np.uint8) for n, c in plain.items()}
    facts = [f for f in FACTS if set(f.needs) <= set(coded)]
    sizes = {"pay": 4, "area": 3, "sex": 2}
    whole = by_person(np.array([0, 0, 0, 1, 1], np.uint8), coded, facts, sizes)
    assert {n: c.tolist() for n, c in whole.items()} == {
        "first pay": [0, 0],
        "area": [1, 2],
        "rows": [2, 1],
        "residual pay": [2, 0],  # means of 4, -3 and 2, and of 0 and -4: 1 and -2
        "sex": [1, 0],
    }
    for order in ([2, 1, 0], [1, 2, 0]):
        alone = by_person(np.zeros(3, np.uint32), {n: c[order] for n, c in coded.items()}, facts, sizes)
        assert all(alone[n][0] == whole[n][0] for n in whole), "a fact depends on the order, or on others' rows"


def check_gate(guarantee: Guarantee, delta: str, pair: Pair) -> None:
    """Tables of facts on both tables of the pair, with the same answers; and how many people there are."""
    tape, budget, asked = Tape(), Budget("2", delta), list[list[Request]]()
    for rows, play in ((pair.here, False), (pair.there, True)):
        with quick_folder() as folder, watched(tape, play=play) as requests:
            account = RunAccount(Ledger.open(f"{folder}/ledger.db"), table="toy", run="run")
            tariff = Tariff(CODING, guarantee, budget.measure, budget.delta)
            gate = Gate(open_source(frame(rows)), tariff, budget, account, PeopleCounter)
            found = gate.measure(ASKED, budget.total / 2)
            gate.select({m.question: np.maximum(m.counts, 0) for m in found[:4]}, gate.left)
        check_order(requests)
        people = len({r[-1] for r in rows if r[-1]})
        assert requests[1].counted[0].tolist() == [people], "not everybody is counted once"
        asked.append(requests)
    check_price(asked[0], asked[1], budget.measure, budget.total)


def check_fingerprint() -> None:
    """Whoever counts people of a table is known to have counted its rows."""
    source, guarantee = open_source(frame(_REST + _ME)), PEOPLE["people, add-remove"]
    people = ConfidentialRows(source, CODING, guarantee, PeopleCounter)
    rows = ConfidentialRows(source, Schema.loads(SCHEMA).coding, guarantee)
    assert people.fingerprint(b"k") == rows.fingerprint(b"k"), "the same rows pass for another table"


def check_job(folder: Path, guarantee: Guarantee, pair: Pair) -> None:
    """A whole job, with labels once per person, on both tables with the same answers: the same bytes and words."""
    tape, outcomes = Tape(), list[tuple[list[Request], dict[str, bytes], str]]()
    for name, rows, play in (("here", pair.here, False), ("there", pair.there, True)):
        place = folder / name
        place.mkdir()
        job = people_job(place, guarantee)
        frame(rows).write_csv(place / "secret.csv")
        with watched(tape, play=play, public=[place / "public.csv", place / "target.csv"]) as requests:
            outcomes.append((requests, *run_job(job)))
        check_order(requests, saved=True)
    (here, bytes_here, said_here), (there, bytes_there, said_there) = outcomes
    assert "statement.json" in bytes_here, said_here
    check_price(here, there, "pure", Budget("1.5").total)
    assert bytes_here == bytes_there, "a file differs on a neighbour with equal answers"
    assert said_here == said_there, "something else was said on a neighbour"


def people_job(place: Path, guarantee: Guarantee) -> Path:
    """The toy job, attaching sex and race once to each of twenty people of the target."""
    job = write_job(place, guarantee, recipe="guided_tree")
    (place / "schema.toml").write_text(SCHEMA.split("[[joined]]")[0], "utf-8")
    rng = np.random.default_rng(0)
    who = np.sort(rng.integers(0, 80, 240))
    public = pl.DataFrame(
        {
            "sex": np.array(["F", "M"])[who % 2],
            "race": rng.choice(["A", "B", "C"], 240),
            "pay": rng.integers(0, 40, 240).astype(str),
            "area": np.array(["n", "s", "w"])[who % 3],
            "id": [f"p{w}" for w in who],
        }
    )
    public.write_csv(place / "public.csv")
    public.select("pay", "area", "id").head(60).write_csv(place / "target.csv")
    tables = "[public]\ntable = 'public.csv'\n[target]\ntable = 'target.csv'\nperson = 'id'\ntime = 'pay'\n"
    recipe = "[guided_tree]\ncolumns = ['sex', 'race']\noutcomes = ['pay']\n"
    text = job.read_text("utf-8").split("[[use]]")[0].replace("rows_per_person = 1\n", "")
    job.write_text(text + tables + recipe, "utf-8")
    return job


def a_person_is_counted_twice(patch: Patch) -> None:
    """Everybody stands in the reduced table twice."""
    original = PeopleCoding.reduce

    def reduce(self: PeopleCoding, *given: Any) -> Any:
        return {n: np.tile(c, 2) for n, c in original(self, *given).items()}

    patch.setattr(PeopleCoding, "reduce", reduce)


def rows_are_taken_for_people(patch: Patch) -> None:
    """Each row is somebody by itself, at the price of a person."""

    def count(self: PeopleCounter, plan: CountPlan) -> Any:
        names = plan.columns

        def people(codes: Any) -> Any:
            return self._coding.reduce(np.arange(len(codes[UNIT]), dtype=np.uint32), codes, names)

        return self._rows.count(replace(plan, mapping=people, looks=(*self._coding.needs(names), UNIT)))

    patch.setattr(PeopleCounter, "count", count)


def cells_that_depend_on_private_columns_go_for_public(patch: Patch) -> None:
    """A fact about a private column is priced as if its cells could not change."""
    original = PeopleCoding.needs
    patch.setattr(
        PeopleCoding, "needs", lambda self, names: tuple(c for c in original(self, names) if c not in ("sex", "race"))
    )


def public_facts_from_the_confidential_rows(patch: Patch) -> None:
    """What people are counted by is decided by the confidential table instead of the target."""

    def facts(road: pipeline.PreparedJob) -> Any:
        secret = pl.read_csv(road.job.confidential.table, infer_schema=False).select("pay", "area", "id")
        table = CodedTable.read(secret, road.schema, "target")
        return facts_for(road.job, replace(road.public, target=table))

    patch.setattr(pipeline.PreparedJob, "facts", property(facts))


def bands_cut_by_the_confidential_rows(patch: Patch) -> None:
    """Numbers of rows are cut below the largest one of the table."""
    original = by_person

    def cut(who: Any, codes: Any, facts: Any, sizes: Any) -> Any:
        most = int(np.bincount(who).max(initial=1))
        moved = [replace(f, cuts=(most, most + 1, most + 2)) if f.rule == "rows" else f for f in facts]
        return original(who, codes, moved, sizes)

    patch.setattr("hedgerow.public.people.by_person", cut)


def ties_go_to_what_others_have(patch: Patch) -> None:
    """Of equally frequent values a person gets the one that is most frequent in the table."""
    original = by_person

    def tied(who: Any, codes: Any, facts: Any, sizes: Any) -> Any:
        found = original(who, codes, facts, sizes)
        for f in facts:
            if f.rule == "most" and len(who):
                common = int(np.bincount(codes[f.column]).argmax())
                often = [
                    np.bincount(codes[f.column][who == p], minlength=common + 1) for p in range(int(max(who)) + 1)
                ]
                tie = np.array([o[common] == o.max() for o in often])
                found[f.name] = np.where(tie, common, found[f.name]).astype(found[f.name].dtype)
        return found

    patch.setattr("hedgerow.public.people.by_person", tied)


def unnamed_rows_are_somebody(patch: Patch) -> None:
    """Rows that name nobody count as one more person, who cannot be told from others."""

    def cap(person: pl.Series, most: int) -> pl.Series:
        return pl.Series([True] * len(person))

    patch.setattr("hedgerow.private.local.within_cap", cap)


PEOPLE_MUTANTS = (
    a_person_is_counted_twice,
    rows_are_taken_for_people,
    cells_that_depend_on_private_columns_go_for_public,
    public_facts_from_the_confidential_rows,
    bands_cut_by_the_confidential_rows,
    ties_go_to_what_others_have,
    unnamed_rows_are_somebody,
)
