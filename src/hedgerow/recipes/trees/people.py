"""Private columns once per person: what is given and counted are facts about people, and rows carry their labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import polars as pl

from hedgerow.errors import NOTHING, JobError
from hedgerow.model.base import AbstractAttachment, Expected
from hedgerow.model.constants import GUIDED_TREE
from hedgerow.model.trees.given_rows import with_columns
from hedgerow.public import (
    CodedTable,
    Fact,
    Guarantee,
    Marginal,
    PeopleCoding,
    PublicData,
    Schema,
    Tariff,
    as_text,
    owners,
    people_schema,
    people_table,
    violations,
)
from hedgerow.recipes.base import AbstractRecipe
from hedgerow.recipes.trees.attach import code_rows
from hedgerow.recipes.trees.outcome import lloyd_cuts, outcome_of

_ROWS = (2, 3, 4, 6, 9, 13, 21)
"""Where numbers of rows are cut."""
_BANDS = 32
"""Of a mean residual: more than any question about it has."""
_STEADY = 0.01
"""Of the people with several rows, those in whom a column changes: at most so many for one that does not."""


def counted(public: PublicData, tariff: Tariff) -> tuple[PublicData, Guarantee]:
    """The public tables with a row for each unit that is counted, and the promise in the names of their columns.

    Those of a job that counts rows are what they are.
    """
    coding, guarantee = tariff.coding, tariff.guarantee
    if not isinstance(coding, PeopleCoding):
        return public, guarantee
    open_ = tuple(f.name for f in coding.facts if set(f.needs) <= set(guarantee.public_columns))
    promise = replace(guarantee, public_columns=open_)
    if _are_people(public, coding):
        return public, promise
    schema, relative, target = people_schema(public.schema, coding.facts), public.relative, public.target
    tables = [t and people_table(t, schema, coding, guarantee.person)[0] for t in (relative, target)]
    rows = public.assumed_rows
    if rows and relative and tables[0]:
        rows = max(1, round(rows * tables[0].rows / relative.rows))  # people, not rows
    seen = replace(public, schema=schema, relative=tables[0], target=tables[1], assumed_rows=rows, wanted=())
    return seen, promise


def _are_people(public: PublicData, coding: PeopleCoding) -> bool:
    """Whether the tables have a row for each person already."""
    return [c.name for c in public.schema.columns] == [f.name for f in coding.facts]


@final
@dataclass(frozen=True, eq=False)
class PersonLabels(AbstractAttachment):
    """Labels of people, carried by all of their rows.

    Attributes:
        of_people: what gives a row for each person its private columns.
        private: the attributes that are attached.
        schema: of rows.
        people: the schema of people.
        tariff: how people are told apart and reduced to facts.
    """

    of_people: AbstractAttachment
    private: tuple[str, ...]
    schema: Schema
    people: Schema
    tariff: Tariff

    def expected(self, question: Marginal) -> Expected:
        """The counts expected of the people that were planned for, flat, last column fastest."""
        return self.of_people.expected(question)

    def attach(self, target: CodedTable, rng: np.random.Generator) -> pl.DataFrame:
        """The rows of the target, in order, each with its person first and the private columns of that person.

        Who has a row that breaks a rule is drawn again, with all rows; if that does not help, takes others' labels.
        """
        table, who = people_table(target, self.people, self.tariff.coding, self.tariff.guarantee.person)
        names = list(self.schema.coding.needs(self.private))
        labels = self.of_people.attach(table, rng).select(names)
        frame = self._with(target, labels, who, rng)
        turns = GUIDED_TREE.rule_redraws if self.schema.zeros or self.schema.rules else 0
        for turn in range(3 * turns):
            bad = np.unique(who[violations(self.schema, frame).to_numpy()])
            if not len(bad):
                break
            place = np.arange(len(labels))
            place[bad] += len(labels)
            again = self.of_people.attach(table, rng) if turn < turns else labels[rng.permutation(len(labels))]
            labels = pl.concat([labels, again.select(names)])[place]
            frame = self._with(target, labels, who, rng)
        return frame

    def _with(self, target: CodedTable, labels: pl.DataFrame, who: Any, rng: np.random.Generator) -> pl.DataFrame:
        codes = self.schema.coding.encode(labels, self.private)
        plain = replace(self.schema, zeros=(), rules=())
        frame = with_columns(target, plain, lambda rows: {a: c[who[rows]] for a, c in codes.items()}, rng)
        person = target.frame[self.tariff.guarantee.person]
        named = person.cast(pl.Int64) if person.dtype.is_integer() else as_text(person)
        one = (labels[n].gather(who) for n in labels.columns)  # value for all rows of a person
        return pl.DataFrame([named]).hstack(frame.with_columns(one))


def carried(
    found: AbstractAttachment, private: tuple[str, ...], public: PublicData, tariff: Tariff
) -> AbstractAttachment:
    """What was found for each unit that is counted, for the rows of the target."""
    if not isinstance(tariff.coding, PeopleCoding) or _are_people(public, tariff.coding):
        return found
    return PersonLabels(found, private, public.schema, people_schema(public.schema, tariff.coding.facts), tariff)


def person_facts(
    recipe: AbstractRecipe, public: PublicData, *, person: str, time: str = "", said: Sequence[str] = ()
) -> tuple[Fact, ...]:
    """The facts that people are counted by, from what the target shows and the job says.

    ``said`` are facts as a job writes them: "last grade", "most agency", "rows", "residual pay".  Without any, the
    target decides: a column that does not change within people counts by its most frequent value; one that does, by
    the last; the time by first and last, or without one the number of rows instead; outcomes by their mean residual.
    The private columns are always there, each as its most frequent value.
    """
    schema, target = public.schema, public.target
    assert target is not None, "people are those of a target"
    parts = {j.name: j.columns for j in schema.joined}
    lacking = [c.name for c in schema.columns if c.name not in target.frame.columns and not c.determined_by]
    drawn = tuple(p for a in (recipe.private_columns or lacking) for p in parts.get(a, (a,)))
    given = [c.name for c in schema.columns if c.name in target.frame.columns and c.name not in drawn]
    given = [n for n in given if not schema.column(n).determined_by]
    if time and time not in given:
        raise JobError(f"[target] time = {time!r} is no column that the target and the schema have. {NOTHING}")
    whose = owners(target, person)
    words = list(said) or _by_default(target, whose, given, time)
    words += [w for o in recipe.outcome_columns if (w := f"residual {o}") not in words]
    facts = [_fact(w, given, time) for w in dict.fromkeys(words)]
    facts = [_residual(public, target, whose, given, f) if f.rule == "mean" else f for f in facts]
    return (*facts, *(Fact(c, "most", c) for c in drawn))


def _by_default(target: CodedTable, whose: pl.Series, given: Sequence[str], time: str) -> list[str]:
    found = ["rows"] if not time else []
    for name in given:
        if name == time:
            found += [f"first {name}", f"last {name}"]
        else:
            steady = _changing(whose, target.codes([name])[name]) <= _STEADY
            found.append(f"last {name}" if time and not steady else f"most {name}")
    return found


def _changing(whose: pl.Series, codes: Any) -> float:
    """The share of people with several rows in whom the codes are not all the same."""
    each = (
        pl.DataFrame({"p": whose, "c": pl.Series(codes)})
        .group_by("p")
        .agg(pl.len().alias("n"), pl.n_unique("c").alias("c"))
    )
    several = each.filter(pl.col("n") > 1)
    return float((several["c"] > 1).mean() or 0.0)  # type: ignore[arg-type]


def _fact(words: str, given: Sequence[str], time: str) -> Fact:
    rule, _, column = words.partition(" ")
    if words == "rows":
        return Fact("rows", "rows", cuts=_ROWS)
    if rule not in ("first", "last", "most", "residual") or column not in given:
        raise JobError(
            f"[target] facts has {words!r}. A fact is rows, or one of first, last, most and residual with a column\n"
            f"that the target has: {', '.join(given)}; as in 'last {given[0]}'. {NOTHING}"
        )
    if rule in ("first", "last") and not time:
        raise JobError(
            f"[target] facts has {words!r}: which row of a person is the {rule} one needs a column of times. Name\n"
            f"it: [target] time = 'year' (in Python: Target(..., time='year')). {NOTHING}"
        )
    kinds: Mapping[str, Any] = {"residual": "mean"}
    timed = time if rule in ("first", "last") else ""
    return Fact(words, kinds.get(rule, rule), "" if rule == "residual" else column, timed)


def _residual(public: PublicData, target: CodedTable, whose: pl.Series, given: Sequence[str], fact: Fact) -> Fact:
    """The mean over a person's rows of what the other given columns leave of an outcome, in both public tables."""
    name, columns, relative = fact.name.removeprefix("residual "), tuple(given), public.relative
    rows = every = code_rows(target, columns)
    if relative is not None and set(columns) <= set(relative.frame.columns):
        every = np.concatenate([rows, code_rows(relative, columns)], axis=1)  # a year of one table has a mean
    left = outcome_of(target.schema, columns, every, name, logs=True).residual
    points = tuple((c, tuple(p.tolist())) for c, p in zip(columns, left.points, strict=True))
    sums = pl.DataFrame({"p": whose, "r": left.of(rows)}).group_by("p").agg(pl.sum("r"), pl.len().alias("n"))
    means = sums["r"].to_numpy() // sums["n"].to_numpy().astype(np.int64)
    cuts = lloyd_cuts(*np.unique(means, return_counts=True), _BANDS)
    return replace(fact, points=points, cuts=tuple(cuts))
