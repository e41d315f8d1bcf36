"""Real tables for the utility of the attach recipes: a public and a confidential part, private columns, an outcome.

The target is the confidential table's own public columns, as under label-change.  ``adult_shifted`` and ``acs_state``
have a public table that is not like the confidential one.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hedgerow.public.schema import Schema

SHARED = Path(__file__).parents[2] / "shared" / "data"
NAMES = ("adult_halves", "census", "opm", "acs_ma", "adult_shifted", "acs_state")
# what is public row by row (o: the codes have an order), the private columns, the outcome of the declared analysis
_USED: dict[str, tuple[str, str, str]] = {
    "adult_halves": (
        "age:o workclass education-num:o marital-status occupation relationship capital-gain:o hours-per-week:o "
        "native-country income>50K",
        "sex race",
        "income>50K",
    ),
    "census": (
        "age:o class_of_worker major_industry major_occupation education wage_per_hour:o marital_status union_member "
        "full_part_time household_summary weeks_worked:o income",
        "sex race",
        "income",
    ),
    "opm": ("Agency2 Agency Grade:o OccupationalCategory Occ2 BasicPay:o", "EducationYears:o Age:o", "Grade"),
    "acs_ma": (
        "AGEP:o MSP HISP NOC:o NPF:o HOUSING_TYPE OWN_RENT INDP_CAT EDU:o PINCP_DECILE:o DVET DREM DPHY",
        "SEX RAC1P",
        "PINCP_DECILE",
    ),
    "acs_state": (
        "AGE:o MARST HISPAN CITIZEN GQ HCOVANY HINSCAID EDUC:o EMPSTAT INCTOT:o POVERTY:o YEAR:o",
        "SEX RACE",
        "INCTOT",
    ),
}
_WIDTH = {"age": 5, "AGEP": 5, "hours-per-week": 8, "weeks_worked": 10, "wage_per_hour": 200, "BasicPay": 5000}
_FROM = {"adult_shifted": "adult_halves", "acs_state": "acs_by_state"}


@dataclass(frozen=True)
class Split:
    """One split: tables of text, the schema that codes them, private columns and the outcome."""

    name: str
    public: pl.DataFrame
    confidential: pl.DataFrame
    schema: Schema
    private: tuple[str, ...]
    outcome: str
    ordered: frozenset[str]

    @property
    def given(self) -> tuple[str, ...]:
        """The columns that are public row by row."""
        return tuple(c for c in self.schema.attributes if c not in self.private)


def load(name: str) -> Split:
    """A split by name."""
    sys.path.insert(0, str(SHARED))
    import splits

    tables = getattr(splits, _FROM.get(name, name))()
    given, private, outcome = _USED["adult_halves" if name == "adult_shifted" else name]
    columns = [c.split(":") for c in (*given.split(), *private.split())]
    public, confidential = (_texts(tables[t], [c[0] for c in columns]) for t in ("public", "confidential"))
    if name == "adult_shifted":
        public = _thinned(public)
    if name == "acs_state":  # every second row: 40,000 each, and a minute less for the public model
        public, confidential = public[::2], confidential[::2]
    both, ordered = pl.concat([public, confidential]), frozenset(c[0] for c in columns if len(c) == 2)
    text = "\n".join(_column(both, c, c in ordered) for c in both.columns)
    names = tuple(c.split(":")[0] for c in private.split())
    return Split(name, public, confidential, Schema.loads(text), names, outcome, ordered)


def _thinned(adult: pl.DataFrame) -> pl.DataFrame:
    """A biased public half: half of its Black people, well-paid women and men of two occupations are missing.

    The same kinds of people as in the prototype of this project, at its rates: 0.5, 0.4 and 0.5 of them stay.
    """
    keep = np.where(adult["race"] == "2", 0.5, 1.0)
    keep[((adult["sex"] == "0") & (adult["income>50K"] == "1")).to_numpy()] *= 0.4
    keep[((adult["sex"] == "1") & adult["occupation"].is_in(["1", "8"])).to_numpy()] *= 0.5
    return adult.filter(pl.Series(np.random.default_rng(5).random(len(adult)) < keep))


def _texts(table: Any, columns: list[str]) -> pl.DataFrame:
    out = {}
    for c in columns:
        values = table[c]
        if c in _WIDTH:
            values = (values.astype(float) // _WIDTH[c]).clip(0, 40).astype(int)
        out[c] = [str(v).strip().replace("/", "-").replace('"', "") or "blank" for v in values]
    return pl.DataFrame(out)


def _column(table: pl.DataFrame, name: str, ordered: bool) -> str:
    def rank(v: str) -> tuple[bool, float, str]:
        try:
            return False, float(v), v
        except ValueError:
            return True, 0.0, v

    values = sorted(table[name].unique().to_list(), key=rank)
    kind = "ordered" if ordered else "categorical"
    return f'[columns."{name}"]\nkind = "{kind}"\nvalues = {values!r}\n'.replace("'", '"')
