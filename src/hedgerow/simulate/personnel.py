"""Three made-up personnel tables whose truth is known, for the demo, the tests and the benchmarks.

People work in an agency for some years, grow older, are promoted and rise within their grade.  Pay is

    ln(pay) = ln(base pay of the grade) + 0.1 + 0.03 (step - 1) + agency + occupation + growth since 2010
              + effects of sex and race in that year + the person's own part + noise.

Given occupation, department and age, neither sex nor race has a part in education, grade or step.  So least
squares finds the effects of ``effects_in``, with the grade among its terms and nearly so without it, as long
as occupations are among them.  These are segregated, and a fit without them finds other gaps.

The civil service is made up too: sizes, shares and premiums are drawn from a seed around rough figures for US federal
white-collar work.  Women and minorities are spread unevenly over occupations and departments, so that raw pay gaps
are several times the true ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import isfinite
from typing import final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import JobError

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

# fmt: off
DEPARTMENTS = (
    "VA", "AR", "NV", "AF", "TR", "HS", "DJ", "AG", "IN", "HE", "DD", "SZ",
    "CM", "DL", "TD", "ST", "EP", "GS", "HU", "ED", "NN", "OM", "SB", "NF",
)
FAMILIES = {
    "00": (0.03, 0.20, 13.5, 8.0, 0.010), "01": (0.05, 0.62, 16.5, 9.5, 0.000),
    "02": (0.04, 0.72, 14.5, 9.5, -0.010), "03": (0.24, 0.78, 13.2, 6.5, -0.025),
    "04": (0.04, 0.38, 15.5, 9.0, 0.000), "05": (0.10, 0.62, 15.2, 9.0, -0.005),
    "06": (0.13, 0.76, 15.5, 8.0, 0.025), "07": (0.01, 0.35, 18.0, 12.0, 0.000),
    "08": (0.09, 0.12, 15.8, 11.0, 0.000), "09": (0.04, 0.52, 17.5, 11.0, 0.010),
    "10": (0.02, 0.50, 15.0, 9.5, -0.010), "11": (0.06, 0.52, 15.0, 10.5, 0.015),
    "12": (0.01, 0.32, 17.5, 12.5, 0.020), "13": (0.03, 0.24, 16.8, 11.5, 0.000),
    "14": (0.01, 0.68, 16.0, 9.5, -0.010), "15": (0.02, 0.42, 16.5, 11.5, 0.010),
    "16": (0.01, 0.14, 13.5, 9.5, -0.010), "17": (0.02, 0.58, 16.5, 10.0, 0.010),
    "18": (0.09, 0.24, 14.8, 10.0, 0.030), "19": (0.01, 0.14, 13.5, 10.0, -0.020),
    "20": (0.03, 0.48, 13.2, 7.5, -0.020), "21": (0.03, 0.26, 13.8, 10.0, 0.000),
    "22": (0.06, 0.38, 15.0, 11.0, 0.020),
}
"""Of each family of occupations: share of staff, share of women, years of education, grade, growth in a year."""
# fmt: on
_LEAVING = 0.08
"""The share of staff that leaves in a year and is replaced."""
_ELSEWHERE = 0.2
"""How much an agency of another department draws those who change, against one of the same."""
REFERENCE = 2010
"""The year for which all figures hold; the world changes before and after it."""
YEARS, PUBLIC_YEARS = (2008, 2009, 2010, 2011), (2001, 2002, 2003, 2004)
EDUCATION = (10, 12, 13, 14, 16, 18, 20)
"""Years of schooling that a person can have."""
SUPERVISORY = ("2", "4", "5", "6", "8")
"""Supervisor or manager, supervisor of few, management official, leader, none of these."""
RACES = ("A", "B", "C", "D", "E")
"""Native American, Asian, Hispanic, Black, White: the letters of the personnel file."""
_RACE_ODDS = (0.030, 0.070, 0.110, 0.270)
"""Of the first four, against White."""


@final
@dataclass(frozen=True, eq=False)
class World:
    """What all people of one simulation have in common.

    Attributes:
        agencies: their codes; the first two letters are the department.
        department: the department of each agency.
        agency_share: how staff is spread over agencies.
        agency_pay: what an agency adds to the logarithm of pay.
        occupations: their codes; the first two digits are the family.
        family: the family of each occupation, as its place in FAMILIES.
        occupation_share: how the staff of a family is spread over its occupations.
        occupation_pay: what an occupation adds to the logarithm of pay.
        occupation_grade: what it adds to the typical grade of its family.
        women: the log-odds that a person of the occupation is a woman.
        mix: the log preference of each department for each family.
        race: the log-odds of the first four races against the last, by department and by family.
    """

    agencies: tuple[str, ...]
    department: Places
    agency_share: Floats
    agency_pay: Floats
    occupations: tuple[str, ...]
    family: Places
    occupation_share: Floats
    occupation_pay: Floats
    occupation_grade: Floats
    women: Floats
    mix: Floats
    race: tuple[Floats, Floats]


def agency_codes(number: int) -> tuple[str, ...]:
    """The codes of so many agencies, about three to a department until the departments run out."""
    departments = min(len(DEPARTMENTS), max(1, number // 3))
    _check("agencies", number, departments * 99)
    return tuple(f"{DEPARTMENTS[i % departments]}{i // departments + 1:02}" for i in range(number))


def occupation_codes(number: int) -> tuple[str, ...]:
    """The codes of so many occupations, spread over the families."""
    families = min(len(FAMILIES), number)
    _check("occupations", number, families * 100)
    return tuple(f"{list(FAMILIES)[i % families]}{i // families:02}" for i in range(number))


def make_world(agencies: int, occupations: int, rng: np.random.Generator) -> World:
    """A civil service of that many agencies and occupations."""
    agency, occupation = agency_codes(agencies), occupation_codes(occupations)
    departments, families = len({a[:2] for a in agency}), len({o[:2] for o in occupation})
    figures = np.array(list(FAMILIES.values()))[:families]
    family = np.arange(occupations) % families
    odds = np.log(figures[:, 1] / (1 - figures[:, 1]))
    return World(
        agencies=agency,
        department=np.arange(agencies) % departments,
        agency_share=_shares(agencies, 0.8, rng),
        agency_pay=rng.normal(0, 0.04, agencies),
        occupations=occupation,
        family=family,
        occupation_share=(1.0 + np.arange(occupations) // families) ** -0.8 * rng.lognormal(0, 0.3, occupations),
        occupation_pay=rng.normal(0, 0.05, occupations),
        occupation_grade=rng.normal(0, 0.8, occupations),
        women=odds[family] + rng.normal(0, 0.5, occupations),
        mix=np.log(figures[:, 0]) + rng.normal(0, 0.8, (departments, families)),
        race=(np.log(_RACE_ODDS) + rng.normal(0, 0.35, (departments, 4)), rng.normal(0, 0.25, (families, 4))),
    )


def _shares(number: int, power: float, rng: np.random.Generator) -> Floats:
    size = (1.0 + np.arange(number)) ** -power * rng.lognormal(0, 0.3, number)
    return np.asarray(size / size.sum())


def _check(what: str, number: int, most: int) -> None:
    if not 1 <= number <= most:
        raise JobError(f"There can be 1 to {most} {what}, not {number}.")


@final
@dataclass(frozen=True, eq=False)
class People:
    """Everybody of one table.

    Attributes:
        length: how many years each person is in the table.
        agency: the place of the agency in the world, for every year since the first (down) and person (across).
        occupation: the place of the occupation in the world.
        education: in years.
        female: 1 for a woman, 0 for a man.
        race: the place of the race in RACES.
        step: within the grade, in the first year.
        own: the person's own part of ln(pay).
        year: the calendar year, for every year since the first (down) and person (across).
        age: the age then.
        grade: the grade then.
    """

    length: Places
    agency: Places
    occupation: Places
    education: Places
    female: Places
    race: Places
    step: Places
    own: Floats
    year: Places
    age: Places
    grade: Places

    @property
    def number(self) -> int:
        """How many they are."""
        return len(self.length)


def draw_people(
    world: World, rows: int, years: Places, drift: float, moving: float, rng: np.random.Generator
) -> People:
    """As many people as have ``rows`` person-years in a period between them."""
    first, length = _spells(rows, years, rng)
    number, time = len(first), (years[first] - REFERENCE) * drift
    agency = _choose(world.agency_share[None, :], np.zeros(number, np.int64), rng)
    department = world.department[agency]
    occupation = _occupations(world, department, float(time.mean()), rng)
    family = world.family[occupation]
    usual = np.array(list(FAMILIES.values()))[family]
    schooling = usual[:, 2] + 0.05 * time + rng.normal(0, 1.7, number)
    education = np.array(EDUCATION)[np.searchsorted((11, 12.5, 13.5, 15, 17, 19), schooling)]
    entrant = first > 0
    age = np.where(entrant, 33, 45) + np.where(entrant, 9, 10) * rng.standard_normal(number) + 0.1 * time
    age = np.clip(age, 18, 68).astype(np.int64)
    rank = usual[:, 3] + world.occupation_grade[occupation] + 0.45 * (education - usual[:, 2])
    rank += 0.6 - 3 * np.exp((20 - age) / 12) + rng.normal(0, 1.3, number)
    year, ages, grade = _careers(years, first, age, np.clip(np.rint(rank), 1, 15).astype(np.int64), rng)
    woman = world.women[occupation] + 0.015 * (44 - age) + 0.03 * time
    odds = np.exp(world.race[0][department] + world.race[1][family] + 0.02 * time[:, None])
    return People(
        length=length,
        agency=_agencies(world, agency, year, moving, rng.spawn(1)[0]),
        occupation=occupation,
        education=education,
        female=(rng.random(number) < 1 / (1 + np.exp(-woman))).astype(np.int64),
        race=_choose(np.column_stack([odds, np.ones(number)]), np.arange(number), rng),
        step=np.clip((age - 24) // 4 + rng.integers(-1, 3, number), 1, 10),
        own=rng.normal(0, 0.05, number),
        year=year,
        age=ages,
        grade=grade,
    )


def _spells(rows: int, years: Places, rng: np.random.Generator) -> tuple[Places, Places]:
    """The first year of each person, as a place, and how many years follow: ``rows`` in all."""
    period, gap = len(years), (years[-1] - years[0]) / max(len(years) - 1, 1)
    leaving = 1 - (1 - _LEAVING) ** max(gap, 1)
    stock = 1 / (1 + leaving * (period - 1))
    entered = rng.integers(1, period, rows) if period > 1 else np.zeros(rows, np.int64)
    first = np.where(rng.random(rows) < stock, 0, entered)
    length = np.minimum(rng.geometric(leaving, rows), period - first)
    total = np.cumsum(length)
    number = int(np.searchsorted(total, rows)) + 1
    first, length = first[:number], length[:number].copy()
    length[-1] -= total[number - 1] - rows
    return first, length


def _agencies(world: World, first: Places, year: Places, moving: float, rng: np.random.Generator) -> Places:
    """The agency in every year since the first: who changes goes mostly to another of the same department."""
    same = world.department[:, None] == world.department
    towards = world.agency_share * np.where(same, 1.0, _ELSEWHERE) * ~np.eye(len(same), dtype=bool)
    found = [first]
    for since in range(1, len(year)):
        changes = rng.random(len(first)) < 1 - (1 - moving) ** (year[since] - year[since - 1])
        found.append(np.where(changes, _choose(towards, found[-1], rng), found[-1]) if moving else first)
    return np.stack(found)


def _occupations(world: World, department: Places, time: float, rng: np.random.Generator) -> Places:
    """An occupation for everyone: a family by the taste of the department, then one of that family."""
    families = world.mix.shape[1]
    growth = np.array(list(FAMILIES.values()))[:families, 4]
    family = _choose(np.exp(world.mix + growth * time), department, rng)
    share = np.zeros((families, -(-len(world.family) // families)))
    within = np.arange(len(world.family)) // families
    share[world.family, within] = world.occupation_share
    return np.asarray(_choose(share, family, rng) * families + family)


def _careers(
    years: Places, first: Places, age: Places, grade: Places, rng: np.random.Generator
) -> tuple[Places, Places, Places]:
    """Year, age and grade for every year since the first; one is promoted less often as one grows older."""
    year = years[np.minimum(first + np.arange(len(years))[:, None], len(years) - 1)]
    ages = age + year - year[0]
    grades = [grade]
    for since in range(1, len(years)):
        chance = 0.22 * np.exp((25 - np.maximum(ages[since], 25)) / 22)
        promoted = rng.binomial(year[since] - year[since - 1], chance)
        grades.append(np.minimum(grades[-1] + promoted, 15))
    return year, ages, np.stack(grades)


def _choose(weights: Floats, row: Places, rng: np.random.Generator) -> Places:
    """For everyone a column of the table of weights, drawn from their row of it."""
    up_to = np.cumsum(weights, axis=1)
    up_to = up_to / up_to[:, -1:] + np.arange(len(weights))[:, None]
    found = np.searchsorted(up_to.ravel(), row + rng.random(len(row)), side="right") - row * weights.shape[1]
    return np.asarray(np.minimum(found, weights.shape[1] - 1))


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


def personnel(  # noqa: PLR0913 -- each names one thing that a world may have
    rows: int = 60_000,
    seed: int = 0,
    *,
    years: Sequence[int] = YEARS,
    public_years: Sequence[int] = PUBLIC_YEARS,
    drift: float = 1.0,
    agencies: int = 24,
    occupations: int = 46,
    labelled_target: bool = False,
    moving: float = 0.0,
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
        moving: the share of people that change their agency from one year to the next.
    """
    if not 0 <= moving < 1 or (moving and agencies < 2):
        raise JobError("moving is a share below 1 of people that change their agency; it needs two agencies or more.")
    if rows < 1 or not isfinite(drift) or not all(y and list(y) == sorted(set(y)) for y in (years, public_years)):
        raise JobError("A simulation needs one row or more, years in order, and a finite drift.")
    seeds = np.random.SeedSequence(seed).spawn(4)
    world = make_world(agencies, occupations, np.random.default_rng(seeds[0]))
    tables, known = [], 0
    for period, child in zip((public_years, years, years), seeds[1:], strict=True):
        rng = np.random.default_rng(child)
        people = draw_people(world, rows, np.array(period), drift, moving, rng)
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
    agency = people.agency[since, who]
    log_pay += world.agency_pay[agency] + world.occupation_pay[people.occupation][who] + people.own[who]
    log_pay += GROWTH * drift * (year - REFERENCE) + rng.normal(0, 0.03, len(who))
    return pl.DataFrame(
        {
            "person": (10_000_000 + numbers * 7_368_787 % 90_000_000)[who],
            "year": year,
            "agency": _texts(world.agencies, agency),
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
        year=years[-1],
        agency=agency_codes(agencies)[-1],
        occupation=occupation_codes(occupations)[-1],
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
