"""The made-up civil service: its agencies, its occupations, and who works in them.

Nothing here is anybody's: sizes, shares and premiums are drawn from a seed around rough figures for US
federal white-collar work.  Women and minorities are spread unevenly over occupations and departments, so
that raw pay gaps are several times the true ones.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

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
        race=(
            np.log(_RACE_ODDS) + rng.normal(0, 0.35, (departments, 4)),
            rng.normal(0, 0.25, (families, 4)),
        ),
    )


def _shares(number: int, power: float, rng: np.random.Generator) -> Floats:
    size = (1.0 + np.arange(number)) ** -power * rng.lognormal(0, 0.3, number)
    return np.asarray(size / size.sum())


def _check(what: str, number: int, most: int) -> None:
    if not 1 <= number <= most:
        raise JobError(f"There can be 1 to {most} {what}, not {number}.")
