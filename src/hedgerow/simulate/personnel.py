"""Three made-up personnel tables whose truth is known, for the demo, the tests and the benchmarks.

People work in an agency for some years, grow older, are promoted and rise within their grade.  Pay is

    ln(pay) = ln(base pay of the grade) + 0.1 + 0.03 (step - 1) + agency + occupation + growth since 2010
              + effects of sex and race in that year + the person's own part + noise.

Given occupation, department and age, neither sex nor race has a part in education, grade or step.  So least
squares finds the effects of ``effects_in``, with the grade among its terms and nearly so without it, as long
as occupations are among them.  These are segregated, and a fit without them finds other gaps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import isfinite
from typing import final

import numpy as np
import polars as pl

from hedgerow.errors import JobError
from hedgerow.simulate.world import (
    EDUCATION,
    FAMILIES,
    PUBLIC_YEARS,
    RACES,
    REFERENCE,
    SUPERVISORY,
    YEARS,
    Floats,
    People,
    Places,
    World,
    agency_codes,
    draw_people,
    make_world,
    occupation_codes,
)

EFFECTS = {"F": -0.08, "A": -0.03, "B": -0.02, "C": -0.035, "D": -0.05}
"""On ln(pay) in 2010: a woman against a man; Native American, Asian, Hispanic, Black against White."""
CLOSING, GROWTH = 0.03, 0.015
"""How much of an effect goes in a year, and how much ln(pay) grows."""
# fmt: off
LOCALITY = 0.1
"""What is added to the base pay of a grade everywhere, in ln(pay)."""
BASE_PAY = (17_803, 20_017, 21_840, 24_518, 27_431, 30_577, 33_979, 37_631, 41_563, 45_771,
            50_287, 60_274, 71_674, 84_697, 99_628)
# fmt: on


@final
@dataclass(frozen=True, eq=False)
class Personnel:
    """The three tables of a simulation. No person is in two of them.

    Attributes:
        public: an earlier period, with sex and race.
        confidential: the later period, with sex and race.
        target: the later period again, without sex and race unless asked for.
        drift: how fast the simulated world changes.
    """

    public: pl.DataFrame
    confidential: pl.DataFrame
    target: pl.DataFrame
    drift: float

    def effects_in(self, year: int) -> dict[str, float]:
        """The true effects of sex and race on ln(pay) in a year, in this simulation."""
        return effects_in(year, self.drift)


def personnel(
    rows: int = 60_000,
    seed: int = 0,
    *,
    years: Sequence[int] = YEARS,
    public_years: Sequence[int] = PUBLIC_YEARS,
    drift: float = 1.0,
    agencies: int = 24,
    occupations: int = 46,
    labelled_target: bool = False,
) -> Personnel:
    """Public, confidential and target tables of ``rows`` rows each, one row for each person and year.

    Args:
        rows: of each table.
        seed: the same seed gives the same tables.
        years: of the confidential table and the target; a person has at most one row in each.
        public_years: of the public table.
        drift: 1 lets pay, gaps, schooling and the mix of people change over time as they did; 0 not at all.
        agencies: how many there are, up to 2,376.
        occupations: how many there are, up to 2,300.
        labelled_target: whether the target has sex and race too, to judge what is attached.
    """
    if rows < 1 or not isfinite(drift) or not all(y and list(y) == sorted(set(y)) for y in (years, public_years)):
        raise JobError("A simulation needs one row or more, years in order, and a finite drift.")
    seeds = np.random.SeedSequence(seed).spawn(4)
    world = make_world(agencies, occupations, np.random.default_rng(seeds[0]))
    tables, known = [], 0
    for period, child in zip((public_years, years, years), seeds[1:], strict=True):
        rng = np.random.default_rng(child)
        people = draw_people(world, rows, np.array(period), drift, rng)
        tables.append(_table(world, people, np.arange(known, known + people.number), drift, rng))
        known += people.number
    public, confidential, target = tables
    return Personnel(public, confidential, target if labelled_target else target.drop("sex", "race"), drift)


def effects_in(year: int, drift: float = 1.0) -> dict[str, float]:
    """The true effects of sex and race on ln(pay) in a year.

    >>> round(effects_in(2010)["F"], 4), round(effects_in(2001)["F"], 4)
    (-0.08, -0.1016)
    """
    return {k: e * (1 - CLOSING * drift * (year - REFERENCE)) for k, e in EFFECTS.items()}


def _table(world: World, people: People, numbers: Places, drift: float, rng: np.random.Generator) -> pl.DataFrame:
    """One row for every person and year, in the order of persons and years."""
    who = np.repeat(np.arange(people.number), people.length)
    since = np.arange(len(who)) - np.repeat(np.cumsum(people.length) - people.length, people.length)
    grade, year, age = people.grade[since, who], people.year[since, who], people.age[since, who]
    step = np.clip(people.step[who] + (year - people.year[0, who]) // 2 - 2 * (grade - people.grade[0, who]), 1, 10)
    log_pay = LOCALITY + np.log(BASE_PAY)[grade - 1] + 0.03 * (step - 1) + _effect(people, who, year, drift)
    log_pay += (world.agency_pay[people.agency] + world.occupation_pay[people.occupation] + people.own)[who]
    log_pay += GROWTH * drift * (year - REFERENCE) + rng.normal(0, 0.03, len(who))
    return pl.DataFrame(
        {
            "person": (10_000_000 + numbers * 7_368_787 % 90_000_000)[who],
            "year": year,
            "agency": _texts(world.agencies, people.agency[who]),
            "occupation": _texts(world.occupations, people.occupation[who]),
            "age": age,
            "education": people.education[who],
            "grade": grade,
            "supervisory": _texts(SUPERVISORY, _supervisory(people, who, grade, age, rng)),
            "pay": np.rint(np.exp(log_pay)).astype(np.int64),
            "sex": _texts(("M", "F"), people.female[who]),
            "race": _texts(RACES, people.race[who]),
        }
    )


def _effect(people: People, who: Places, year: Places, drift: float) -> Floats:
    effect = EFFECTS["F"] * people.female + np.array([EFFECTS.get(r, 0.0) for r in RACES])[people.race]
    return np.asarray(effect[who] * (1 - CLOSING * drift * (year - REFERENCE)))


def _supervisory(people: People, who: Places, grade: Places, age: Places, rng: np.random.Generator) -> Places:
    """The place in SUPERVISORY: higher grades lead more often, and who leads goes on to."""
    chance = 1 / (1 + np.exp(5.5 - 0.35 * grade - 0.02 * (age - 40)))
    return np.searchsorted((0.6, 0.75, 0.85, 1.0), rng.random(people.number)[who] / chance)


def _texts(labels: Sequence[str], codes: Places) -> pl.Series:
    return pl.Series(labels).gather(codes)


def personnel_schema(
    agencies: int = 24, occupations: int = 46, years: tuple[int, ...] = (*PUBLIC_YEARS, *YEARS)
) -> str:
    """The ``schema.toml`` that a steward would write by hand for so many agencies and occupations and these years."""
    schooling = ("some school", "high school", "some college", "associate", "bachelor", "master", "doctorate")
    leading = ("supervisor or manager", "supervisor of few", "management official", "leader", "none of these")
    people = ("Native American", "Asian", "Hispanic", "Black", "White")
    form = files("hedgerow.simulate").joinpath("personnel.toml").read_text("utf-8")
    return form.format(
        years=", ".join(f'"{y}"' for y in years),
        agencies=_lines(agency_codes(agencies)),
        occupations=_lines(occupation_codes(occupations)),
        families=min(len(FAMILIES), occupations),
        education=_pairs(EDUCATION, schooling),
        supervisory=_pairs(SUPERVISORY, leading),
        races=_pairs(RACES, people),
    )


def _pairs(values: tuple[object, ...], labels: tuple[str, ...]) -> str:
    return ", ".join(f'{v} = "{label}"' for v, label in zip(values, labels, strict=True))


def _lines(codes: tuple[str, ...]) -> str:
    rows = [codes[i : i + 12] for i in range(0, len(codes), 12)]
    return "\n".join("  " + " ".join(f'"{c}",' for c in row) for row in rows)
