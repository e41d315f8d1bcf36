"""Real tables as codes, for benchmarks: public rows, confidential rows, and how many codes each column has.

What a column may hold is read off the public table (or a published code book) alone: a value of the confidential
rows that the public table lacks falls in one cell for all others, as a schema drafted from public data would say.
"""

import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from hedgerow.public.schema import Schema

DATA = Path(__file__).parents[2] / "shared" / "data"
ACS_MA = "PUMA AGEP SEX MSP HISP RAC1P NOC NPF HOUSING_TYPE OWN_RENT INDP_CAT EDU PINCP_DECILE POVPIP DVET DREM DPHY"
CENSUS = (
    "age class_of_worker education wage_per_hour marital_status major_industry major_occupation race sex "
    "union_member household_summary weeks_worked citizenship income"
)
ACS = (
    "GQ SEX AGE MARST RACE HISPAN CITIZEN SPEAKENG HCOVANY HCOVPRIV HINSEMP HINSCAID HINSCARE EDUC EMPSTAT "
    "LABFORCE WORKEDYR INCTOT"
)
OPM = "Agency2 Grade OccupationalCategory Occ2 Age EducationYears BasicPay"
COLUMNS = {"acs_ma": ACS_MA, "census": CENSUS, "acs_by_state": ACS, "acs_by_year": ACS, "opm": OPM}
ORDERED = (
    "age fnlwgt education-num capital-gain capital-loss hours-per-week AGEP EDU PINCP_DECILE POVPIP AGE EDUC INCTOT "
    "weeks_worked wage_per_hour Grade Age EducationYears BasicPay"
)
Loaded = tuple[pl.DataFrame | None, pl.DataFrame, dict[str, int]]


def load(name: str) -> Loaded:
    """Public rows, confidential rows, both in codes, and the number of codes of each column."""
    if name == "adult":
        domain = json.loads((DATA / "adult/adult-domain.json").read_text())
        return None, pl.read_parquet(DATA / "adult/adult.parquet").select(list(domain)), domain
    if name == "nltcs":
        whole = pl.read_parquet(DATA / "nltcs/nltcs.parquet")
        return whole.gather_every(2), whole.gather_every(2, 1), dict.fromkeys(whole.columns, 2)
    sys.path.insert(0, str(DATA))
    import splits

    if name.startswith("adult"):
        domain = json.loads((DATA / "adult/adult-domain.json").read_text())
        parts = splits.adult_halves()
        public, secret = parts["public"], parts["confidential"]
        if name == "adult_shifted":  # one sex is over-sampled threefold
            public = public[(public["sex"] == 1) | (np.arange(len(public)) % 3 == 0)]
        if name != "adult_coarse":
            return pl.from_pandas(public[list(domain)]), pl.from_pandas(secret[list(domain)]), domain
        return coded(public, secret, list(domain))
    parts = getattr(splits, name)()
    return coded(parts["public"], parts["confidential"], COLUMNS[name].split())


def coded(public: Any, secret: Any, columns: list[str]) -> Loaded:
    """Numbers with many values cut at the public table's twenty quantiles; then codes of the public values."""
    out: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    domain: dict[str, int] = {}
    for c in columns:
        numbers = pd.to_numeric(public[c], errors="coerce")
        edges = np.unique(np.nanquantile(numbers, np.linspace(0, 1, 21)[1:-1])) if numbers.nunique() > 20 else None
        both = [_texts(table[c], edges) for table in (public, secret)]
        values = np.unique(both[0])
        if len(values) > 1:
            domain[c] = len(values) + 1  # the last for all others
            for made, column in zip(out, both, strict=True):
                at = np.minimum(np.searchsorted(values, column), len(values) - 1)
                made[c] = np.where(values[at] == column, at, len(values))
    return pl.DataFrame(out[0]), pl.DataFrame(out[1]), domain


def _texts(column: Any, edges: Any) -> Any:
    """Each value as text, or the number of its bin; what is no number keeps its text."""
    if edges is None:
        return np.asarray([str(v).zfill(2) for v in column])  # a missing one is a value like others
    numbers = pd.to_numeric(column, errors="coerce")
    bins = np.char.zfill(np.searchsorted(edges, numbers.fillna(0), side="right").astype(str), 2)
    return np.where(numbers.isna(), np.asarray(column, str), bins)


def schema_of(domain: dict[str, int], ordered: Collection[str] = ()) -> Schema:
    """A schema of plain codes; columns whose values have an order say so."""
    known = {*ORDERED.split(), *ordered}
    parts = (
        f'[columns."{c}"]\nkind = "{"ordered" if c in known else "categorical"}"\n'
        f"values = {json.dumps([*map(str, range(k))])}\n"
        for c, k in domain.items()
    )
    return Schema.loads("".join(parts))
