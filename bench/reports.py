"""The whole report for both attach recipes on real and on simulated data, through the command line alone.

    python -m bench.reports [FOLDER] [--only census] [--recipe guided_tree]
    python -m bench.reports --only personnel --rows 2000000 --agencies 800 --occupations 500

``census`` (the split of ../shared/data: 1994 public, two thirds of 1995 confidential, the rest the target) and
the simulated personnel file of four years.  For each recipe: run, verify, the steward's report of the intended uses
and every exact metric.  Prints the table of uses, and CPU seconds and peak memory of every command.  The tables and
everything made of them stay in FOLDER.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.attach_splits import SHARED
from hedgerow.simulate.personnel import personnel, personnel_schema

RECIPES = {
    "random_trees": 'columns = ["sex", "race"]\ntrees = 3\nn_b = 500\nweights = {{ {pay} = 40 }}',
    "guided_tree": 'columns = ["sex", "race"]\noutcomes = ["{pay}"]',
}
_CENSUS = (
    "age class_of_worker industry_code occupation_code education wage_per_hour marital_status union_member "
    "weeks_worked income sex race"
)
_JOB = """\
[job]
recipe = "{recipe}"
title = "{title}, by {recipe}"
out = "{recipe}"
seed = 7
copies = 3

[schema]
file = "schema.toml"

[confidential]
table = "confidential.parquet"
name = "{table}"
relation = "label-change"
public_columns = {public}
{unit}

[public]
table = "public.parquet"
provenance = "{provenance}"

[target]
table = "target.parquet"

[budget]
epsilon = {epsilon}

[{recipe}]
{settings}

{uses}"""
_USES = {
    "census": """\
[[use]]
name = "pay gap of women, all else equal"
kind = "coefficient"
formula = "ln(wage_per_hour) ~ sex + race + age + I(age^2) + education | industry_code + occupation_code"
term = "sex[Female]"
tolerance = 0.05

[[use]]
name = "sex by occupation"
columns = ["occupation_code", "sex"]
tolerance = 0.05

[[use]]
name = "race by industry, cells of 500 or more"
columns = ["industry_code", "race"]
within = "relative"
cell_size = 500
tolerance = 0.10

[[use]]
name = "earning over 50,000, by sex"
kind = "rate"
of = "income"
values = ["50000+."]
by = ["sex"]
tolerance = 0.02

[[use]]
name = "weeks worked by sex and race"
kind = "mean"
of = "weeks_worked"
by = ["sex", "race"]
group_size = 500
tolerance = 1.0
""",
    "personnel": """\
[[use]]
name = "pay gap of women by year, all else equal"
kind = "coefficient"
formula = "ln(pay) ~ sex + race + age + I(age^2) + education | agency + occupation"
term = "sex[F]"
by = ["year"]
tolerance = 0.02

[[use]]
name = "pay gap of Black people by year, all else equal"
kind = "coefficient"
formula = "ln(pay) ~ sex + race + age + I(age^2) + education | agency + occupation"
term = "race[D]"
by = ["year"]
tolerance = 0.03

[[use]]
name = "sex by occupation"
columns = ["occupation", "sex"]
tolerance = 0.05

[[use]]
name = "sex and race by agency, cells of 500 or more"
columns = ["agency", "sex", "race"]
within = "relative"
cell_size = 500
tolerance = 0.15

[[use]]
name = "median and top pay by sex"
kind = "quantile"
of = "pay"
at = [0.5, 0.9]
by = ["sex"]
within = "relative"
tolerance = 0.03

[[use]]
name = "supervisors by race"
kind = "rate"
of = "supervisory"
values = ["2", "4"]
by = ["race"]
tolerance = 0.02
""",
}


def census(folder: Path) -> dict[str, str]:
    """The three census tables and a schema drafted from the public one."""
    sys.path.insert(0, str(SHARED))
    import splits

    columns = _CENSUS.split()
    for name, table in splits.census().items():
        kept = columns if name != "target" else columns[:-2]
        table[kept].to_parquet(folder / f"{name}.parquet", index=False)
    command("schema", "init", folder / "public.parquet", "--out", folder / "schema.toml", "--force")
    return {
        "title": "Workers of the 1995 census survey",
        "table": "census",
        "public": repr(columns[:-2]).replace("'", '"'),
        "provenance": "the survey of 1994, published",
        "unit": 'unit = "record"',
        "epsilon": "1.0",
        "pay": "wage_per_hour",
    }


def simulated(folder: Path, rows: int, agencies: int, occupations: int) -> dict[str, str]:
    """Three personnel tables; a person has a row for each of up to four years."""
    made = personnel(rows, 0, agencies=agencies, occupations=occupations)
    for name in ("public", "confidential", "target"):
        getattr(made, name).write_parquet(folder / f"{name}.parquet")
    (folder / "schema.toml").write_text(personnel_schema(agencies, occupations), "utf-8")
    given = [c for c in made.target.columns if c != "person"]
    return {
        "title": "Simulated federal personnel",
        "table": "personnel",
        "public": repr(given).replace("'", '"'),
        "provenance": "an earlier period, already released",
        "unit": 'unit = "person"\nperson = "person"\nrows_per_person = 4',
        "epsilon": "2.0",
        "pay": "pay",
    }


def command(*words: object, codes: Sequence[int] = (0,)) -> tuple[float, float, str]:
    """Run ``hedgerow WORDS`` in a process of its own: CPU seconds, peak megabytes, and what it said."""
    with tempfile.TemporaryFile("w+") as out:
        pid = os.fork()
        if pid == 0:
            os.dup2(out.fileno(), 1)
            start = "from hedgerow.cli.main import main; main()"
            os.execv(sys.executable, [sys.executable, "-c", start, *map(str, words)])
        _, status, used = os.wait4(pid, 0)
        out.seek(0)
        said = out.read()
    if os.waitstatus_to_exitcode(status) not in codes:
        raise SystemExit(f"hedgerow {' '.join(map(str, words))} failed\n{said}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, said


def report(folder: Path, recipe: str) -> None:
    """Everything a steward does with one job, and what it took."""
    job, release = folder / f"{recipe}.toml", folder / recipe
    steps = {
        "run": ("run", job, "--yes"),
        "verify": ("verify", release),
        "steward report": ("steward", "report", job),
        "steward compare": ("steward", "compare", job),
    }
    said = {name: command(*words) for name, words in steps.items()}
    print(f"\n{folder.name}, {recipe}")
    print("\n".join(said["steward report"][2].splitlines()[2:-2]))
    for name, (cpu, memory, _) in said.items():
        print(f"  {name:<16} {cpu:7.1f} CPU-s {memory:8,.0f} MB")
    size = (release / "report.html").stat().st_size / 1e3
    print(f"  report.html {size:,.0f} kB; inside: {release}-INSIDE-ONLY/uses.html and report.html")


def main() -> None:
    """Both tables, both recipes."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folder", nargs="?", type=Path)
    for name, value in (("rows", 60_000), ("agencies", 24), ("occupations", 46)):
        asked.add_argument(f"--{name}", type=int, default=value)
    asked.add_argument("--only", choices=tuple(_USES))
    asked.add_argument("--recipe", choices=tuple(RECIPES))
    said = asked.parse_args()
    place = said.folder or Path(tempfile.mkdtemp(prefix="hedgerow-reports-"))
    for name in [said.only] if said.only else _USES:
        folder = place / name
        folder.mkdir(parents=True, exist_ok=True)
        sizes = said.rows, said.agencies, said.occupations
        words = census(folder) if name == "census" else simulated(folder, *sizes)
        for recipe, settings in RECIPES.items():
            if said.recipe not in (None, recipe):
                continue
            filled = {**words, "recipe": recipe, "settings": settings.format(**words), "uses": _USES[name]}
            (folder / f"{recipe}.toml").write_text(_JOB.format(**filled), "utf-8")
            report(folder, recipe)
    print(f"\nEverything is in {place}")


if __name__ == "__main__":
    main()
