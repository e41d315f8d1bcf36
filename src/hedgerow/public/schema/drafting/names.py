"""What a column's name and labels say about its kind: lists of words, nothing learnt from rows.

>>> says("num_persons_employer", QUANTITY), says("OccupationCode", CODE), says("agenda", QUANTITY)
(True, True, False)
>>> in_order(["high", "Low", "medium"])
('Low', 'medium', 'high')
>>> in_order(["65+", "18-24", "25-64", "under 18"])
('under 18', '18-24', '25-64', '65+')
>>> in_order(["north", "south"]) is None
True
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import inf, isfinite


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


QUANTITY = _set(
    "age ages agep year years yr yrs fy week weeks month months day days hour hours minutes count num "
    "number size persons people children kids pay salary wage wages earnings income amount amt price cost "
    "tax weight wt wgt height length score total sum mean rate ratio percent pct share balance distance "
    "dividends gains losses expenditure revenue sales"
)
CODE = _set(
    "code codes cd occ occupation occup ind industry naics sic soc fips puma zip zipcode postcode county "
    "state region country msa tract district agency department dept sector category cat type status race "
    "ethnicity hispanic sex gender group area nationality language religion marital citizenship citizen "
    "origin diagnosis icd plan relationship"
)
WRITTEN_CODE = _set("zip zipcode postcode fips puma naics sic soc tract icd msa")
"""Codes that stay as they are written, leading zeros and all, however many there are."""
YEAR = frozenset(["year", "yr", "fy"])
_EARLIEST_YEAR, _LATEST_YEAR = 1850, 2100
MONTH = frozenset(["month"])
ORDER = _set(
    "grade level education educ edu degree rank rating stage severity decile quartile quintile band bracket tier "
    "step occasion visit wave round"
)
IDENTIFIER = _set(
    "id ids pid uid uuid guid ssn hhid caseid empid identifier serial serialno seqn recordid personid "
    "pseudoid rownames rowname index"
)
PERSON = _set(
    "person individual respondent participant patient student employee worker member subject household family "
    "case record claimant taxpayer customer client"
)
MISSING = frozenset(["", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", ".", "--", "missing"])

_SCALES = tuple(
    tuple(scale.split("|"))
    for scale in (
        "none|very low|low|medium|moderate|middle|high|very high",
        "never|rarely|seldom|sometimes|often|usually|always",
        "strongly disagree|disagree|neutral|neither agree nor disagree|agree|strongly agree",
        "very poor|poor|fair|good|very good|excellent",
        "small|medium|large",
        "monday|tuesday|wednesday|thursday|friday|saturday|sunday",
        "mon|tue|wed|thu|fri|sat|sun",
        "january|february|march|april|may|june|july|august|september|october|november|december",
        "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec",
    )
)
_BAND = re.compile(
    r"(?P<under><=?|under|less than|below|up to)?(?P<over>>=?|over|more than|above)?\s*"
    r"[$€£]?(?P<low>-?\d[\d,]*(\.\d+)?)\s*(?P<open>\+|and over|or more|or over|and above)?"
    r"(\s*(-|–|to|and under|and)\s*[$€£]?(?P<high>\d[\d,]*(\.\d+)?))?\s*(years|yrs|year|%|k)?( old)?",
    re.IGNORECASE,
)


def words(name: str) -> tuple[str, ...]:
    """The words of a column name in lower case: ``NumPersons`` and ``num_persons`` are num, persons."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return tuple(w.lower() for w in re.split(r"[^A-Za-z0-9]+", spaced) if w)


def says(name: str, among: frozenset[str]) -> bool:
    """Whether one of the words of ``name`` is among those."""
    return any(w in among for w in words(name))


def names_people(name: str) -> bool:
    """Whether a column with this name and very many values names people: a key, a person, a case number.

    >>> names_people("PseudoID"), names_people("person"), names_people("case_number"), names_people("patient_weight")
    (True, True, True, False)
    """
    measured = set(words(name)) & QUANTITY - {"number", "num", "size"}
    return says(name, IDENTIFIER) or (says(name, PERSON) and not measured)


def is_key(name: str) -> bool:
    """Whether the name says nothing but that it is a key: ``id``, not ``plot_id``, which may be one of 24 plots.

    >>> is_key("ID"), is_key("plot_id")
    (True, False)
    """
    return len(words(name)) == 1 and says(name, IDENTIFIER)


def is_year(name: str, low: float, high: float) -> bool:
    """Whether whole numbers between these are years: the name says so, or all lie where years of our records do.

    >>> is_year("s020", 1981, 2004), is_year("iyear", 70, 99), is_year("year", 1, 2), is_year("weight", 1950, 2050)
    (True, True, True, False)
    """
    if says(name, YEAR) or any(w.endswith("year") for w in words(name)):
        return True
    among = low >= _EARLIEST_YEAR and high <= _LATEST_YEAR
    return among and not says(name, QUANTITY) and not says(name, CODE)


def natural(text: str) -> tuple[tuple[int, float, str], ...]:
    """A key that sorts 2 before 10, also inside texts."""
    parts = re.split(r"(\d+)", text)
    return tuple((0, float(p), "") if p.isdecimal() else (1, 0.0, p.lower()) for p in parts if p)


def naturally(values: Iterable[str]) -> tuple[str, ...]:
    """The values in the order a person would list them; numbers by size."""
    return tuple(sorted(values, key=_key))


def in_order(values: Sequence[str]) -> tuple[str, ...] | None:
    """The values along a scale we know (low to high, age bands, months); None when there is none."""
    lowered = {v.strip().lower(): v for v in values}
    if len(values) < 3 or len(lowered) < len(values):
        return None
    for scale in _SCALES:
        if set(lowered) <= set(scale):
            return tuple(lowered[s] for s in scale if s in lowered)
    bands = sorted((*_band(v), v) for v in values)
    apart = all(high <= low for (_, high, _), (low, _, _) in pairwise(bands))
    real = all(isfinite(low) or isfinite(high) for low, high, _ in bands)
    wide = any(low < high for low, high, _ in bands)
    return tuple(v for _, _, v in bands) if apart and real and wide else None


def _band(value: str) -> tuple[float, float]:
    """The ends of a band such as ``25-64`` or ``65+``; both infinite when it is none."""
    found = _BAND.fullmatch(value.strip())
    if found is None:
        return -inf, inf
    low = float(found["low"].replace(",", ""))
    if found["under"]:
        return -inf, low
    if found["over"] or found["open"]:
        return low, inf
    return low, float(found["high"].replace(",", "")) if found["high"] else low


def _key(value: str) -> tuple[int, float, tuple[tuple[int, float, str], ...], str]:
    try:
        number = float(value)
    except ValueError:
        number = inf
    return (0, number, (), value) if isfinite(number) else (1, 0.0, natural(value), value)
