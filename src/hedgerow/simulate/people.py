"""People of the made-up civil service, and their careers over a period of years."""

from dataclasses import dataclass
from typing import final

import numpy as np

from hedgerow.simulate.world import EDUCATION, FAMILIES, REFERENCE, Floats, Places, World

_LEAVING = 0.08
"""The share of staff that leaves in a year and is replaced."""


@final
@dataclass(frozen=True, eq=False)
class People:
    """Everybody of one table.

    Attributes:
        length: how many years each person is in the table.
        agency: the place of the agency in the world.
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


def draw_people(world: World, rows: int, years: Places, drift: float, rng: np.random.Generator) -> People:
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
        agency=agency,
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
