"""The schema of the made-up personnel tables, as a steward would write it by hand."""

from hedgerow.simulate.world import (
    EDUCATION,
    FAMILIES,
    PUBLIC_YEARS,
    RACES,
    SUPERVISORY,
    YEARS,
    agency_codes,
    occupation_codes,
)

_TEXT = """\
title = "Simulated federal personnel"
source = "the code book of hedgerow's simulator; nobody's data"

[columns.year]
kind = "ordered"
description = "Fiscal year"
type = "integer"
values = [{years}]

[columns.agency]
kind = "categorical"
description = "Agency; the first two letters are the department"
values = [
{agencies}
]
# prefix = 2                                  # keeps the department only
# collapse = {{ below = 500, into = "other" }}  # merges agencies with few rows in the public table

[columns.occupation]
kind = "categorical"
description = "Occupational series; the first two digits are the family"
values = [
{occupations}
]
# prefix = 2                                  # keeps the family only: {families} cells

[columns.age]
kind = "integer"
description = "Age in years"
bins = {{ low = 18, high = 80, width = 1 }}

[columns.education]
kind = "ordered"
description = "Years of education"
type = "integer"
labels = {{ {education} }}

[columns.grade]
kind = "integer"
description = "General Schedule grade"
bins = {{ low = 1, high = 15, width = 1 }}

[columns.supervisory]
kind = "categorical"
description = "Supervisory status"
labels = {{ {supervisory} }}

[columns.pay]
kind = "integer"
description = "Basic pay in US dollars a year, counted in steps of 2,000"
bins = {{ low = 0, high = 200000, width = 2000 }}

[columns.sex]
kind = "categorical"
description = "Sex"
labels = {{ F = "female", M = "male" }}

[columns.race]
kind = "categorical"
description = "Race or national origin"
labels = {{ {races} }}
"""


def personnel_schema(
    agencies: int = 24, occupations: int = 46, years: tuple[int, ...] = (*PUBLIC_YEARS, *YEARS)
) -> str:
    """The text of ``schema.toml`` for tables of so many agencies and occupations and these years."""
    schooling = ("some school", "high school", "some college", "associate", "bachelor", "master", "doctorate")
    leading = ("supervisor or manager", "supervisor of few", "management official", "leader", "none of these")
    people = ("Native American", "Asian", "Hispanic", "Black", "White")
    return _TEXT.format(
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
