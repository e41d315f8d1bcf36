"""A small job and grid on simulated personnel tables."""

from pathlib import Path

from hedgerow.simulate.personnel import personnel, personnel_schema

JOB = """
[job]
recipe = "{recipe}"
[confidential]
table = "confidential.parquet"
name = "personnel"
unit = "person"
person = "person"
rows_per_person = 4
[public]
table = "public.parquet"
[budget]
epsilon = 2.0
"""
GRID = """
[experiment]
job = "job.toml"
seeds = 2
[[factor]]
name = "epsilon"
set = "budget.epsilon"
levels = [0.05, 20.0]
[[factor]]
name = "recipe"
set = "job.recipe"
levels = ["independent", "public_blend"]
[[measure]]
name = "pay model"
model = "ln(pay) ~ sex + race + age + I(age^2) + number(education) | occupation"
reference = { sex = "M", race = "E" }
by = "year"
terms = ["sex[F]", "race[D]"]
[[measure]]
name = "sex by race"
columns = ["sex", "race"]
[[finding]]
says = "epsilon helps"
check = "helps"
factors = ["epsilon"]
of = [0.05, 20.0]
measure = "sex by race"
"""


def write(folder: Path, *, rows: int = 1500, recipe: str = "independent", confidential: bool = False) -> Path:
    """The job and the grid in ``folder``; without a confidential table unless it is asked for."""
    tables = personnel(rows=rows, seed=4)
    tables.public.write_parquet(folder / "public.parquet")
    if confidential:
        tables.confidential.write_parquet(folder / "confidential.parquet")
    (folder / "schema.toml").write_text(personnel_schema(), "utf-8")
    (folder / "job.toml").write_text(JOB.format(recipe=recipe), "utf-8")
    (folder / "grid.toml").write_text(GRID, "utf-8")
    return folder / "grid.toml"
