"""People with an age, a job, a sex and a race: sex leans on the job, and race on sex."""

import numpy as np
import polars as pl

SCHEMA = """
[columns.age]
kind = "ordered"
values = ["0", "1", "2", "3"]
other = "3"
[columns.job]
kind = "categorical"
values = ["x", "y", "z"]
other = "z"
[columns.sex]
kind = "categorical"
values = ["F", "M"]
other = "M"
[columns.race]
kind = "categorical"
values = ["A", "B"]
other = "B"
"""


def world(n: int, seed: int, *, lean: float = 0.2, other: float = 0.2) -> pl.DataFrame:
    """``lean``: what job says about sex; ``other``: the share of race A among men."""
    rng = np.random.default_rng(seed)
    age, job = rng.integers(0, 4, n), rng.integers(0, 3, n)
    sex = rng.random(n) < 0.4 + lean * (job - 1)
    race = rng.random(n) < np.where(sex, 0.8, other)
    return pl.DataFrame(
        {
            "age": age.astype(str),
            "job": np.array(["x", "y", "z"])[job],
            "sex": np.where(sex, "F", "M"),
            "race": np.where(race, "A", "B"),
        }
    )
