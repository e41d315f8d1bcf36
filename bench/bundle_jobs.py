"""Small jobs for every recipe and every setting that takes a road of its own.

    python bench/bundle_jobs.py FOLDER

Nothing of hedgerow is imported: two checkouts are given the same bytes.  FOLDER gets, for each job, a folder with
``job.toml`` and ``commands.json``, the commands that carry it out.  Jobs read what ``bench/bundle_tables.py`` has put
into ``FOLDER/tables``.  ``bench/same_bundles.py`` calls both.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

RUN = ("run", "job.toml", "--yes")
OLD = "public.csv"
SAMPLE = ("sample", "release", "--copies", "2", "--seed", "3")
FROM_OLD = (*SAMPLE, "--public", f"../tables/{OLD}")
ONTO = (*FROM_OLD, "--target", "../tables/target.csv")

RACE_USE = """
[[use]]
name = "race by area"
columns = ["area", "race"]
tolerance = 0.05
"""
USES = f"""{RACE_USE}
[[use]]
name = "sex by area, cells of 100 or more"
columns = ["area", "sex"]
within = "relative"
cell_size = 100
over = "worst"
tolerance = 0.2
[[use]]
name = "mean pay by sex"
kind = "mean"
of = "pay"
by = ["sex"]
within = "relative"
group_size = 50
tolerance = 0.05
[[use]]
name = "degrees by race"
kind = "rate"
of = "education"
values = ["18", "20"]
by = ["race"]
tolerance = 0.05
[[use]]
name = "median and top pay"
kind = "quantile"
of = "pay"
at = [0.5, 0.9]
by = ["education"]
within = "relative"
tolerance = 0.1
[[use]]
name = "pay gap"
kind = "coefficient"
formula = "ln(pay) ~ sex + age + I(age^2) + number(education) | area"
term = "sex[F]"
tolerance = 0.05
"""


@dataclass(frozen=True)
class Job:
    """One job: where it differs from the plainest.

    Attributes:
        name: of its folder: the recipe, and what is special after a hyphen.
        settings: lines of the recipe's own table.
        secret: more lines on the confidential table.
        job: more lines of the part ``[job]``.
        schema: which of the schemas.
        table: the confidential table.
        public: the public table, if any.
        target: the rows that receive columns, if any.
        epsilon: the budget.
        delta: above 0 for Gaussian noise.
        more: further parts, such as intended uses.
        recipe: if it is not as the name says; blank for the default.
        files: further files beside the job.
        commands: what is carried out.
    """

    name: str
    settings: str = ""
    secret: str = ""
    job: str = ""
    schema: str = "plain"
    table: str = "../tables/secret.parquet"
    public: str = ""
    target: str = ""
    epsilon: str = "1"
    delta: str = "0"
    more: str = ""
    recipe: str | None = None
    files: tuple[tuple[str, str], ...] = ()
    commands: tuple[tuple[str, ...], ...] = (RUN,)

    def text(self) -> str:
        """The job file."""
        recipe = self.name.split("-")[0] if self.recipe is None else self.recipe
        parts = [
            f"[job]\nseed = 7\nmemory_gb = 4\ntitle = {json.dumps(self.name)}",
            f'recipe = "{recipe}"' if recipe else "",
            self.job,
            f'[schema]\nfile = "../tables/{self.schema}.toml"\noutside = 0.6',  # some leave values out on purpose
            f'[confidential]\ntable = "{self.table}"\nname = "staff"',
            self.secret,
            f'[public]\ntable = "../tables/{self.public}"\nprovenance = "an earlier year"' if self.public else "",
            f'[target]\ntable = "../tables/{self.target}"' if self.target else "",
            f"[budget]\nepsilon = {self.epsilon}\ndelta = {self.delta}",
            f"[{recipe}]\n{self.settings}" if self.settings else "",
            self.more,
        ]
        return "\n".join(p.strip("\n") for p in parts if p) + "\n"


CSV, DUCKDB = "../tables/secret.csv", "duckdb:../tables/secret.duckdb#staff"
PERSON = 'unit = "person"\nperson = "id"\nrows_per_person = 2'
ADDED, REPLACE = 'relation = "add-remove"', 'relation = "replace-one"'
FORMATS = 'formats = ["csv", "dta", "sav"]'
MANY = f"{FORMATS}\ncopies = 2"
GROUPS = 'groups = ["area", "year"]'
GIVEN = ["year", "area", "age", "education", "pay"]


def labels(*also: str) -> str:
    """One row's private columns change, the others are public."""
    return f'relation = "label-change"\npublic_columns = {json.dumps([*GIVEN, *also])}'


def records() -> list[Job]:
    """Recipes that publish whole records, without a public table or with one."""
    tables = f'{GROUPS}\ntables = [["sex", "race"]]'
    old = partial(Job, public=OLD)
    return [
        Job("independent", schema="strict", job=MANY),
        Job("independent-replace", "rows = 3000", REPLACE, 'formats = ["arrow", "xpt"]'),
        Job("independent-labels", secret=labels(), table=CSV),
        Job("independent-duckdb", secret=PERSON, table=DUCKDB),
        old("independent-person", secret=PERSON, delta="1e-6", schema="rich", more=USES),
        Job("tree_blend-default", "", recipe="", schema="strict", job=MANY, more=USES, commands=(RUN, SAMPLE)),
        Job("tree_blend-person", tables, PERSON, delta="1e-6"),
        Job("tree_blend-replace", "rows = 3000\nuses = false\ntriples = 0\nrare = 0", REPLACE, epsilon="4"),
        Job("tree_blend-much", "triples = 2", epsilon="50", more=USES),
        Job("tree_blend-labels", secret=labels(), delta="1e-6", epsilon="2"),
        old("public_blend-default", recipe="", schema="rich", job=MANY, more=USES, commands=(RUN, FROM_OLD)),
        old("public_blend-person", f"{tables}\ntriples = 1", PERSON, delta="1e-6"),
        old("public_blend-plain", "refine = false\nuses = false\nrows = 3000", REPLACE, epsilon="4"),
        old("public_blend-much", epsilon="50", more=USES, table="../tables/secret.arrow"),
        old("public_blend-labels", secret=labels(), schema="strict"),
    ]


def dpsyn() -> list[Job]:
    """All three regimes in both variants, and what else is a road of its own."""
    old = partial(Job, public=OLD, delta="1e-6")
    low = "one_way = 0.001"
    small = f"{GROUPS}\nfloor = 20\npool = 1500\nrounds = 4\nsweeps = 10\nround_public = 5\nround_measured = 10"
    regimes = {"public_only": "one_way = 1e9", "one_way": f"{low}\ntwo_way = 1e9", "two_way": low}
    return [
        *(
            old(f"dpsyn-{regime}-{variant}", f'{small}\nvariant = "{variant}"\n{rule}', commands=(RUN, FROM_OLD))
            for variant in ("repaired", "paper")
            for regime, rule in regimes.items()
        ),
        old("dpsyn-pure", f"{small}\n{low}", job=FORMATS, schema="rich", epsilon="3", delta="0"),
        old("dpsyn-paper-pure", f'{small}\n{low}\nvariant = "paper"', schema="strict", epsilon="3", delta="0"),
        old("dpsyn-person-reuse", f"{small}\n{low}\nreuse = true", PERSON, more=USES),
        old("dpsyn-one-group", "pool = 1500\nrows = 3000\nfloor = 0", REPLACE, epsilon="5"),
    ]


def columns() -> list[Job]:
    """Recipes that attach private columns to given rows."""
    onto = partial(Job, secret=labels(), public=OLD, target="target.csv")
    others, again = partial(onto, target="others.parquet"), (RUN, ONTO)
    both = 'columns = ["sex", "race"]'
    few = f"trees = 2\nn_b = 200\n{both}"
    person = f"{PERSON}\n{labels()}"
    other_names = 'ratio = { pay = ["area"] }\nmapping = { area = { x = "c" } }'
    pay = f'{both}\noutcomes = ["pay"]'
    return [
        onto("random_trees-joint", f"{both}\nweights = {{ pay = 10 }}", job=MANY, more=USES, commands=again),
        onto("random_trees-chain", f'{few}\nsequence = "chain"\nleaf_min = 5', commands=again),
        onto("random_trees-2018", f'{few}\nsequence = "papers-2018"', commands=again),
        onto(
            "random_trees-2018-person", f'{few}\nsequence = "papers-2018"\nby = "year"', secret=person, delta="1e-6"
        ),
        onto(
            "random_trees-2019",
            f'{few}\nsequence = "papers-2019"',
            secret=labels("race"),
            target="with_race.csv",
        ),
        onto("random_trees-alone", few, public=""),
        onto("random_trees-by-person", f'{few}\nby = "year"\ncombine = "pooled"', secret=person, delta="1e-6"),
        onto("random_trees-precision", f'{few}\npartition = "area"\ncombine = "precision"\nseed = 4'),
        onto("random_trees-leaves", f'{few}\nsequence = "chain"\nleaf_sizes = "public"'),
        onto("random_trees-ratio", f"{few}\n{other_names}"),
        others("random_trees-added", few, secret=ADDED),
        onto("random_trees-zero", 'columns = ["sex"]', secret=labels("race"), target="with_race.csv", schema="zero"),
        onto("guided_tree-default", recipe="", job=MANY, more=USES, commands=again),
        onto("guided_tree-outcomes", f'{pay}\nanalyses = [["area"]]', more=USES, epsilon="2"),
        onto("guided_tree-person", pay, secret=person, epsilon="3"),
        onto("guided_tree-delta", f'{both}\nshare = 0.4\nanalyses = [["area", "year"]]', delta="1e-6", epsilon="3"),
        onto("guided_tree-leaves", f'{both}\nprior = "leaves"\ntables = 0.5\npriorities = {{ pay = 2.0, age = 0 }}'),
        onto("guided_tree-none", f'{both}\nprior = "none"\noutcomes = ["education"]'),
        onto("guided_tree-alone", pay, public="", more=USES),
        others("guided_tree-unlabelled", both, public="unlabelled.csv", epsilon="2"),
        others("guided_tree-added", f"{both}\nrows = 3000", secret=ADDED, epsilon="4"),
        onto("guided_tree-zero", 'columns = ["sex"]', secret=labels("race"), target="with_race.csv", schema="zero"),
    ]


def tables() -> list[Job]:
    """Recipes that publish a table of counts."""
    pair = 'columns = ["race", "sex"]'
    race = 'columns = ["race"]'
    shrunk = f'{pair}\n{GROUPS}\nprior = "public"'
    by_area = 'column = "sex"\ngroups = ["area"]'
    rates = 'columns = ["sex"]\nsize = 80\nexposures = [2, 3]\nb = [4, 6]\ncopies = 2'
    return [
        Job("integer_counts", pair, job=FORMATS, commands=(RUN, SAMPLE)),
        Job("integer_counts-margins", f'{pair}\n{GROUPS}\nmargins = [["race"], ["area", "year"], []]', epsilon="2"),
        Job("integer_counts-public", shrunk, public=OLD, more=RACE_USE, commands=(RUN, FROM_OLD)),
        Job("integer_counts-both", f'{shrunk}\nmargins = [["race"]]', PERSON, public=OLD, delta="1e-6"),
        Job("integer_counts-zero", 'columns = ["education", "age", "race"]', PERSON, schema="strict", delta="1e-6"),
        Job("integer_counts-zero-margins", 'columns = ["education", "age"]\nmargins = [["age"]]', schema="zero"),
        Job("integer_counts-total", f"{pair}\ntotal = 3000", REPLACE, epsilon="5"),
        Job("integer_counts-labels", f'{pair}\ngroups = ["area"]', labels(), table=CSV),
        Job("integer_counts-duckdb", f"{pair}\n{GROUPS}", table=DUCKDB),
        Job("dirichlet_multinomial", f"{pair}\nsize = 3000", REPLACE, epsilon="5"),
        Job("dirichlet_multinomial-groups", f'{race}\ngroups = ["area"]\nsize = 200\ncopies = 2', epsilon="3"),
        Job(
            "dirichlet_multinomial-public",
            f'{race}\nsize = "public"\nalpha = "public"',
            PERSON,
            public=OLD,
            epsilon="5",
        ),
        Job("dirichlet_multinomial-given", 'columns = ["sex"]\nsize = 100\nalpha = [60, 75.5]'),
        Job("beta_binomial", f"{by_area}\nsize = [500, 400, 300, 200, 100, 50]", epsilon="3"),
        Job("beta_binomial-labels", f'{by_area}\nsize = "public"\ncopies = 2', labels(), public=OLD, epsilon="2"),
        Job("beta_binomial-person", f"{by_area}\nsize = 50", f"{PERSON}\n{REPLACE}", epsilon="6"),
        Job("gamma_poisson", 'columns = ["area"]\nsize = 3000\nexposures = [8, 4, 3, 2, 1, 1]', epsilon="4"),
        Job("gamma_poisson-person", rates, PERSON, epsilon="3"),
    ]


GRID = """\
[experiment]
job = "job.toml"
[[factor]]
name = "recipe"
set = "job.recipe"
levels = ["tree_blend", "independent"]
[[measure]]
name = "race by sex"
columns = ["sex", "race"]
"""


def other_roads() -> list[Job]:
    """What else leads to a bundle or to a noisy answer, through other commands than ``run``."""
    told = ("rehearse", "job.toml", "--runs", "2", "--epsilons", "1,2", "--workers", "1")
    choose = ("experiment", "grid.toml", "--choose", "--epsilon", "4", "--runs", "3", "--yes")
    model = ("--model", "ln(pay) ~ sex + age | area", "--reference", "sex=M", "--claim", "sex[F] < 0")
    check = ("verify-model", "job.toml", *model, "--epsilon", "2", "--synthetic", "release", "--yes")
    return [
        Job("rehearsed", recipe="public_blend", public=OLD, more=RACE_USE, commands=(told, RUN)),
        Job("chosen", recipe="tree_blend", epsilon="2", files=(("grid.toml", GRID),), commands=(choose,)),
        Job("model-checked", recipe="tree_blend", secret=PERSON, commands=(RUN, check)),
    ]


def write(jobs: Sequence[Job], folder: Path) -> None:
    """A folder for each job."""
    for job in jobs:
        place = folder / job.name
        place.mkdir(parents=True)
        texts = {"job.toml": job.text(), "commands.json": json.dumps(job.commands) + "\n", **dict(job.files)}
        for name, text in texts.items():
            (place / name).write_text(text, "utf-8")


if __name__ == "__main__":
    write([*records(), *dpsyn(), *columns(), *tables(), *other_roads()], Path(sys.argv[1]))
