"""The real tables of the attach benchmark, coded: public and confidential halves, private columns, an outcome."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hedgerow.public.schema import Schema

SHARED = Path(__file__).parents[2] / "shared" / "data"
_USED = {
    "adult_halves": (
        "age workclass education-num marital-status occupation relationship capital-gain hours-per-week "
        "native-country income>50K sex race",
        ("sex", "race"),
        "income>50K",
    ),
    "census": (
        "age class_of_worker major_industry major_occupation education wage_per_hour marital_status union_member "
        "full_part_time household_summary weeks_worked income sex race",
        ("sex", "race"),
        "income",
    ),
    "opm": (
        "Agency2 Agency Grade OccupationalCategory Occ2 BasicPay EducationYears Age",
        ("EducationYears", "Age"),
        "Grade",
    ),
    "acs_ma": (
        "AGEP MSP HISP NOC NPF HOUSING_TYPE OWN_RENT INDP_CAT EDU PINCP_DECILE DVET DREM DPHY SEX RAC1P",
        ("SEX", "RAC1P"),
        "PINCP_DECILE",
    ),
}
_COARSE = {"age": 5, "AGEP": 5, "hours-per-week": 8, "weeks_worked": 10, "wage_per_hour": 200, "BasicPay": 5000}


@dataclass(frozen=True)
class Split:
    """One real split: tables of text, the schema that codes them, private columns and the outcome."""

    name: str
    public: pl.DataFrame
    confidential: pl.DataFrame
    schema: Schema
    private: tuple[str, ...]
    outcome: str

    @property
    def given(self) -> tuple[str, ...]:
        """The columns that are public row by row."""
        return tuple(c for c in self.schema.attributes if c not in self.private)


def load(name: str) -> Split:
    """A split by name; ``adult_shifted`` has a public half that lacks Black people and well-paid women."""
    sys.path.insert(0, str(SHARED))
    import splits

    real = "adult_halves" if name == "adult_shifted" else name
    columns, private, outcome = _USED[real]
    tables = getattr(splits, real)()
    public, confidential = (_coded(tables[t], columns.split()) for t in ("public", "confidential"))
    if name == "adult_shifted":
        rng = np.random.default_rng(5)
        keep = np.where(public["race"] == "2", 0.5, 1.0)
        keep[((public["sex"] == "0") & (public["income>50K"] == "1")).to_numpy()] *= 0.4
        public = public.filter(pl.Series(rng.random(len(public)) < keep))
    both = pl.concat([public, confidential])
    text = "\n".join(_column(both, c) for c in both.columns)
    return Split(name, public, confidential, Schema.loads(text), private, outcome)


def _coded(table: Any, columns: list[str]) -> pl.DataFrame:
    out = {}
    for c in columns:
        values = table[c]
        if c in _COARSE:
            values = (values.astype(float) // _COARSE[c]).clip(0, 40).astype(int)
        out[c] = [str(v).strip().replace("/", "-").replace('"', "") or "blank" for v in values]
    return pl.DataFrame(out)


def _column(table: pl.DataFrame, name: str) -> str:
    values = sorted(
        table[name].unique().to_list(),
        key=lambda v: (not v.lstrip("-").isdigit(), int(v) if v.lstrip("-").isdigit() else 0, v),
    )
    numbers = sum(v.lstrip("-").isdigit() for v in values) >= 0.8 * len(values)
    kind = "ordered" if numbers and len(values) > 5 else "categorical"
    return f'[columns."{name}"]\nkind = "{kind}"\nvalues = {values!r}\n'.replace("'", '"')
