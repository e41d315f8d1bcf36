"""DPSyn on a temporal map: the encoding, three regimes with the paper's noise, a map of scores, sizes and errors.

The survey is made up.  Records of an area and year are drawn from a mixture of classes whose weights differ between
areas and drift over the years; within a class attributes are independent.  Codes follow each other as in the survey
of the challenge: any insurance from the four kinds of it, employment and labour force from the detailed status.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.api.job import Job
from hedgerow.figures import Bar, Drawing, Key, Section, Shade, abreast, bars, small, tiles
from hedgerow.public import law_of
from hedgerow.recipes.dpsyn.budget import PAIRS, PaperRule, split_budget
from hedgerow.recipes.dpsyn.dpsyn import DPSyn
from hedgerow.reproduce.paper import Beside, Exhibit, Listing, Paper, Task
from hedgerow.reproduce.shapes import Shapes

THETA, DELTA, FLOOR = 7, 2.5e-5, 300
REGIMES = ("public_only", "one_way", "two_way")
_NAMES = {
    "public_only": "Public marginals only",
    "one_way": "Using one-way marginals",
    "two_way": "Using two-way marginals",
}
_LEVELS = (950, 900, 850, 800, 700)
_ERRORS = (0.05, 0.1, 0.25, 0.5, 1.0)
YEARS = (2012, 2013, 2014, 2015, 2016, 2017, 2018)
PERSON = "sim_individual_id"
_CLASSES = 6
_AREAS, _ROWS = 24, 2_500
_QUICK_AREAS, _QUICK_ROWS = 4, 1_250
"""Areas of the survey, where no map names others, and records of each."""
_SIZES = {
    "SEX": 2, "MARST": 6, "AGE": 12, "RACE": 7, "HISPAN": 3, "CITIZEN": 4, "SPEAKENG": 5, "EDUC": 9, "GQ": 3,
    "HHWT": 6, "PERWT": 6, "POVERTY": 6, "INCTOT": 10, "INCWAGE": 8, "INCWELFR": 3, "INCINVST": 4, "INCEARN": 8,
    "DEPARTS": 6, "ARRIVES": 6, "WORKEDYR": 3, "WRKLSTWK": 3, "ABSENT": 3, "LOOKING": 3, "AVAILBLE": 4, "WRKRECAL": 3,
    "EMPSTATD": 8,
}  # fmt: skip
_INSURANCE = ("HCOVPRIV", "HINSEMP", "HINSCAID", "HINSCARE")
_STATUS = {"EMPSTAT": (1, 1, 1, 2, 2, 3, 3, 3), "LABFORCE": (2, 2, 2, 2, 2, 1, 1, 1)}
JOINED = {
    "SEX_MARST": ("SEX", "MARST"),
    "INSURANCE": ("HCOVANY", *_INSURANCE),
    "WORKED": ("WORKEDYR", "WRKLSTWK"),
    "ABSENT_LOOKING": ("ABSENT", "LOOKING"),
    "AVAILBLE_WRKRECAL": ("AVAILBLE", "WRKRECAL"),
}
"""What the paper encodes as one attribute each."""
_JOINS = (
    ("SEX_MARST", "12", "domains as in the challenge; a cell more where merged codes occur"),
    ("INSURANCE", "13 of 32", "simulated: any insurance follows from the four kinds, and an employer's is private"),
    ("WORKED", "28", "simulated, three values each; two columns of three values cannot have 28"),
    ("ABSENT_LOOKING", "9", "three values of each, as in the challenge"),
    ("AVAILBLE_WRKRECAL", "12", "four and three values, as in the challenge"),
)
"""What the paper counts of joined columns, and what to note of ours."""
DETERMINED = {"EMPSTAT": "EMPSTATD", "LABFORCE": "EMPSTATD"}


@final
@dataclass(frozen=True, eq=False)
class TemporalMap:
    """A public survey, and a confidential one with a column that says whose a record is; the areas of both."""

    public: pl.DataFrame
    confidential: pl.DataFrame
    areas: tuple[str, ...]


def temporal_map(
    rows: int = 60_000, seed: int = 0, *, areas: int | Sequence[str] = 24, most_rows: int = 7
) -> TemporalMap:
    """About ``rows`` confidential records of ``areas``, and as many of a public survey with another mix."""
    seeds = np.random.SeedSequence(seed).spawn(4)
    world, ours, theirs, who = (np.random.Generator(np.random.PCG64(s)) for s in seeds)
    weights = {n: world.dirichlet(np.full(k, 0.6), _CLASSES) for n, k in _SIZES.items()}
    covered = world.beta(1.2, 1.6, (_CLASSES, len(_INSURANCE)))
    names = tuple(f"17-{100 + i}" for i in range(areas)) if isinstance(areas, int) else tuple(areas)
    confidential, public = (_records(rows, names, weights, covered, rng) for rng in (ours, theirs))
    return TemporalMap(public, with_persons(confidential, "YEAR", most_rows, who), names)


def make_tables(folder: Path, rows: int, areas: int | Sequence[str]) -> TemporalMap:
    """Write both tables and the schema into ``folder``."""
    made = temporal_map(rows, 2020, areas=areas, most_rows=THETA)
    made.public.write_parquet(folder / "public.parquet")
    made.confidential.write_parquet(folder / "confidential.parquet")
    (folder / "schema.toml").write_text(temporal_schema(made.areas), "utf-8")
    return made


_Weights = dict[str, npt.NDArray[np.float64]]


def _records(
    rows: int, areas: Sequence[str], weights: _Weights, covered: npt.NDArray[np.float64], rng: np.random.Generator
) -> pl.DataFrame:
    size = rng.lognormal(0, 0.45, len(areas))
    share = np.repeat(size / size.sum() / len(YEARS), len(YEARS))
    group = np.sort(rng.choice(len(share), rows, p=share / share.sum()))
    mix = rng.dirichlet(np.full(_CLASSES, 3.0), len(areas))
    drift = rng.normal(0, 0.06, (len(areas), _CLASSES))
    area, year = group // len(YEARS), group % len(YEARS)
    chance = mix[area] * np.exp(drift[area] * year[:, None])
    up_to = np.cumsum(chance / chance.sum(axis=1, keepdims=True), axis=1)
    kind = np.minimum((rng.random(rows)[:, None] > up_to).sum(axis=1), _CLASSES - 1)
    columns = {"PUMA": np.array(areas)[area], "YEAR": np.array(YEARS)[year]}
    for name, table in weights.items():
        steps = np.cumsum(table, axis=1)[kind]
        columns[name] = 1 + np.minimum((rng.random(rows)[:, None] > steps).sum(axis=1), table.shape[1] - 1)
    has = rng.random((rows, len(_INSURANCE))) < covered[kind]
    has[:, 0] |= has[:, 1]  # insurance through an employer is private insurance
    columns["HCOVANY"] = 1 + has.any(axis=1).astype(np.int64)
    columns |= {n: 1 + has[:, i].astype(np.int64) for i, n in enumerate(_INSURANCE)}
    columns |= {n: np.array(codes)[columns["EMPSTATD"] - 1] for n, codes in _STATUS.items()}
    return pl.DataFrame(columns)


def with_persons(frame: pl.DataFrame, year: str, most_rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """The table with a made-up column that says whose each record is, for a file that has none.

    A person has at most one record a year and at most ``most_rows`` in all, in years that follow each other.
    """
    order = np.lexsort((rng.random(frame.height), frame[year].to_numpy()))
    years = frame[year].to_numpy()[order]
    person, held, latest, known = np.zeros(frame.height, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), 0
    for now in np.unique(years):
        here = np.flatnonzero(years == now)
        stay = rng.permutation(latest[held[latest] < most_rows])[: round(0.8 * len(here))]
        new = np.arange(known, known + len(here) - len(stay))
        known += len(new)
        held = np.concatenate([held, np.zeros(len(new), np.int64)])
        latest = np.concatenate([stay, new])
        held[latest] += 1
        person[order[here]] = latest
    return frame.with_columns(pl.Series(PERSON, person))


def temporal_schema(areas: Sequence[str]) -> str:
    """The ``schema.toml`` of the challenge's code book, with the paper's encoding: joins and determined columns.

    >>> print(temporal_schema(["17-100"]).split(chr(10))[4])
    kind = "categorical"
    """
    sizes = _SIZES | dict.fromkeys(("HCOVANY", *_INSURANCE), 2) | {n: max(c) for n, c in _STATUS.items()}
    lines = ['title = "Simulated temporal map"', 'source = "code book of a simulated survey"', ""]
    for name, values in {"PUMA": areas, "YEAR": YEARS, **{n: range(1, k + 2) for n, k in sizes.items()}}.items():
        whole = [] if name == "PUMA" else ['type = "integer"']
        listed = ", ".join(json.dumps(str(v), ensure_ascii=False) for v in values)
        lines += [f"[columns.{name}]", 'kind = "categorical"', *whole, f"values = [{listed}]"]
        if name in ("PUMA", "YEAR"):
            lines.append(f"other = {json.dumps(str(list(values)[-1]), ensure_ascii=False)}")
        else:  # the code book has codes that nobody has: what the public table lacks goes to one cell
            lines.append(f'collapse = {{ below = 1, into = "{values[-1]}" }}')
        lines += [f'determined_by = ["{DETERMINED[name]}"]'] if name in DETERMINED else []
        lines.append("")
    for name, parts in JOINED.items():
        lines += [
            "[[joined]]",
            f'name = "{name}"',
            f"columns = {list(parts)}".replace("'", '"'),
            'keep = "public"',
            "",
        ]
    return "\n".join(lines)


def paper(task: Task) -> Paper:
    """The encoding, the rule, each regime, and the map."""
    named = task.shapes.names if task.shapes else range(_AREAS)
    areas = min(len(named), _QUICK_AREAS) if task.quick else len(named)
    rows = areas * (_QUICK_ROWS if task.quick else _ROWS)
    task.watch("simulating a survey by area and year, with persons")
    made = make_tables(task.folder, rows, task.shapes.names[:areas] if task.shapes else areas)
    truth = made.confidential.drop(PERSON)
    runs = {}
    for regime, epsilon in _epsilons(rows).items():
        for variant in ("paper", "repaired"):
            task.watch(f"{regime}, {variant} variant, epsilon {epsilon:g}")
            runs[regime, variant] = Run(task, regime, variant, epsilon, truth)
    return Paper(
        "Ninghui Li, Zitao Li and Tianhao Wang (Team DPSyn, Purdue University), DPSyn: Differentially Private "
        "Synthetic Data Publication. Final submission to the NIST temporal map challenge, 2020 to 2021.",
        "The submission publishes records by area and year (PUMA-year) from a noisy table of group sizes and, as the "
        "budget bears, no, one-way or two-way noisy tables, with the help of a public dataset. The challenge's file "
        f"cannot be shipped: the survey here is simulated ({areas} areas, {len(YEARS)} years, {rows:,} records of "
        f"people with up to {THETA} of them), so rules and noise can be compared, and scores only with each other.",
        (
            _encoding(task),
            _thresholds(),
            *(_regime(runs, regime) for regime in REGIMES),
            _map(runs, made.areas, task.shapes),
            _sizes(runs),
        ),
    )


def _epsilons(rows: int) -> dict[str, float]:
    """An epsilon inside each regime for so many rows."""
    first, least, middle, _ = PaperRule().thresholds(THETA)
    tau = 1500 * THETA / rows
    return {
        "public_only": round(middle / 2, 3),
        "one_way": round(first + least + 3 * tau, 3),
        "two_way": round(first + least + 9 * tau, 3),
    }


class Run:
    """One release: its plan, the score of every area and year, and group sizes."""

    def __init__(self, task: Task, regime: str, variant: str, epsilon: float, truth: pl.DataFrame) -> None:
        text = (task.folder / "job.toml").read_text("utf-8")
        text = text.replace('variant = "paper"', f'variant = "{variant}"').replace(
            "epsilon = 1.0", f"epsilon = {epsilon}"
        )
        self.name, self.epsilon = f"{regime.replace('_', '-')}-{variant}", epsilon
        text = text.replace('out = "release"', f'out = "release-{self.name}"')
        (task.folder / f"{self.name}.toml").write_text(text, "utf-8")
        job = Job.load(task.folder / f"{self.name}.toml")
        plan = job.plan()
        self.remarks = plan.remarks
        of_groups = next(a for a in plan.asked if set(a.question.columns) == {"PUMA", "YEAR"})
        self.noise = law_of(of_groups.noise).variance ** 0.5
        """The standard deviation of the noise on the size of a group."""
        self.split = split_budget(epsilon, delta=DELTA, theta=THETA, rows=truth.height)
        release = job.run(confirm=lambda prepared, plan: True, forecast=False)
        found = release.compare(truth, only=("k-marginal",), group=("PUMA", "YEAR"))["k-marginal"]
        self.score, self.chance = found.value or 0.0, found.null or 0.0
        heat = found.figures[0].data
        score = heat.select(PUMA="row", YEAR=pl.col("column").cast(pl.Int64), score="value")
        sizes = [t.group_by("PUMA", pl.col("YEAR").cast(pl.Int64)).len() for t in (truth, release.records)]
        table = score.join(sizes[0], ["PUMA", "YEAR"], how="left").join(
            sizes[1], ["PUMA", "YEAR"], how="left", suffix="_made"
        )
        table = table.rename({"len": "rows", "len_made": "synthetic_rows"}).fill_null(0)
        table = table.with_columns(pl.col("rows", "synthetic_rows").cast(pl.Int64))  # differences have signs
        off = (pl.col("synthetic_rows") - pl.col("rows")).abs() / pl.max_horizontal(pl.col("rows"), 1)
        self.table = table.with_columns(size_error=off).sort("PUMA", "YEAR")
        self.size_error = float(self.table["size_error"].mean() or 0)  # type: ignore[arg-type]
        self.csv = f"scores-{self.name}.csv"
        self.table.write_csv(task.folder / self.csv)


def _encoding(task: Task) -> Exhibit:
    schema = Job.load(task.folder / "job.toml").prepare().schema
    rows = [
        (name, ", ".join(parts), f"{schema.size([name])}", str(_product(parts))) for name, parts in JOINED.items()
    ]
    rows += [(name, f"determined by {of}", "-", "-") for name, of in DETERMINED.items()]
    attributes = [a for a in schema.attributes if a not in ("PUMA", "YEAR")]
    pairs = len(attributes) * (len(attributes) - 1) // 2
    return Exhibit(
        "Extracting information from the public dataset",
        "columns encoded as one, values that never appear left out",
        "Joined columns keep the combinations that the public table has; determined columns are not measured; "
        "codes of the code book that the public table lacks are merged into one cell (collapse).",
        numbers=[
            *(
                Beside(
                    f"values of {' x '.join(JOINED[name])}",
                    paper,
                    (ours := str(schema.size([name]))),
                    ours == paper or None,
                    why,
                )
                for name, paper, why in _JOINS
            ),
            Beside("attributes after the encoding", "25", str(len(attributes) + 2), len(attributes) + 2 == 25),
            Beside("one-way tables, without PUMA and year", "23", str(len(attributes)), len(attributes) == 23),
            Beside("two-way tables", str(PAIRS), str(pairs), pairs == PAIRS),
        ],
        tables=[Listing("", ("attribute", "columns", "cells", "combinations"), rows)],
        deviations=(
            "Nothing is encoded from confidential rows: a combination that the public table lacks is counted in a "
            "fixed cell, and never an error.",
            f"The file of the challenge names the person of each record; where a file does not, a column is made up "
            f"(`{PERSON}`, hedgerow.reproduce.dpsyn.with_persons).",
        ),
        commands=("hedgerow plan job.toml",),
    )


def _product(parts: tuple[str, ...]) -> int:
    return prod(_SIZES.get(p, 2) for p in parts)


def _thresholds() -> Exhibit:
    e0, e1, e2, e3 = PaperRule().thresholds(THETA)
    rows = []
    for epsilon, n in ((0.1, 1e6), (0.15, 1e6), (0.21, 1e5), (1.0, 1e5), (1.0, 1e6), (10.0, 1e6)):
        s = split_budget(epsilon, delta=DELTA, theta=THETA, rows=n)
        scales = ", ".join(f"{k} {v:,.4g}" for k, v in s.scales(THETA, DELTA).items())
        rows.append(
            (f"{epsilon:g}", f"{n:,.0f}", s.regime, *(f"{x:.4g}" for x in (s.total, s.group, s.tables)), scales)
        )
    of_a_million = split_budget(1.0, delta=DELTA, theta=THETA, rows=1_000_000)
    two = split_budget(1.0, delta=DELTA, theta=1, rows=1_000_000)
    noise = two.scales(1, DELTA)["two_way_gaussian"]
    return Exhibit(
        "Choosing among the three methods",
        "the rule, as a function of epsilon, theta and the number of rows",
        f"theta = {THETA} records of a person, delta = {DELTA:g}.",
        numbers=[
            Beside("epsilon 0 = theta / 1400", f"{THETA / 1400:g}", f"{e0:g}", e0 == THETA / 1400),
            Beside("epsilon 1 = theta / 50", f"{THETA / 50:g}", f"{e1:g}", e1 == THETA / 50),
            Beside("epsilon 2 = theta / 35", f"{THETA / 35:g}", f"{e2:g}", e2 == THETA / 35),
            Beside("epsilon 3 = theta / 25", f"{THETA / 25:g}", f"{e3:g}", e3 == THETA / 25),
            Beside(
                "tau 1 = 1500 theta / N, tau 2 = 6 tau 1, for a million rows",
                f"{1500 * THETA / 1e6:g}, {9000 * THETA / 1e6:g}",
                f"{of_a_million.tau1:g}, {of_a_million.tau2:g}",
                (of_a_million.tau1, of_a_million.tau2) == (1500 * THETA / 1e6, 6 * 1500 * THETA / 1e6),
            ),
            Beside("records that groups are sampled from", "10,000", f"{DPSyn().pool:,}", DPSyn().pool == 10_000),
            Beside(
                "sigma of 253 two-way tables by the footnote, epsilon 1, theta 1, a million rows",
                "formula",
                f"{noise:.2f}",
                True,
                "sqrt(rho) = sqrt(epsilon + log(1 / delta)) - sqrt(log(1 / delta)), sigma = theta sqrt(253 / (2 "
                "rho))",
            ),
        ],
        tables=[
            Listing(
                "", ("epsilon", "rows", "regime", "for rows", "for groups", "for tables", "the paper's scales"), rows
            )
        ],
        deviations=(
            "A noisy number of rows at or below zero would make tau negative and choose the richest method for the "
            "emptiest table: it is taken as at least 1.",
        ),
    )


def _regime(runs: dict[tuple[str, str], Run], regime: str) -> Exhibit:
    two = [runs[regime, v] for v in ("paper", "repaired")]
    rows = [
        (v, f"{r.epsilon:g}", f"{r.score:.0f}", f"{r.chance:.0f}", f"{r.size_error:.2f}", f"{r.noise:.0f}")
        for v, r in zip(("the paper's method", "repaired (our default)"), two, strict=True)
    ]
    return Exhibit(
        _NAMES[regime],
        f"the {regime} regime at epsilon {two[0].epsilon:g}",
        " ".join([*_behind(*two), "The plan of the paper's method says: " + "; ".join(two[0].remarks) + "."]),
        numbers=[
            Beside(
                f"regime chosen for epsilon {two[0].epsilon:g}",
                regime,
                two[0].split.regime,
                two[0].split.regime == regime,
            ),
            Beside(
                "group sizes are multiples of K",
                "10" if regime == "public_only" else "100",
                str(two[0].split.round_to),
                two[0].split.round_to == (10 if regime == "public_only" else 100),
            ),
        ],
        tables=[
            Listing(
                "Mean score of the groups",
                ("variant", "epsilon", "score", "another sample", "size error", "noise on a size, sd"),
                rows,
            )
        ],
        commands=(
            f"hedgerow run {two[0].name}.toml --yes --out again",
            f"hedgerow compare confidential.parquet release-{two[0].name} --only k-marginal --group PUMA,YEAR "
            "--csv scores",
        ),
    )


def _behind(paper: Run, ours: Run) -> tuple[str, ...]:
    """Where the repaired variant is behind the paper's on this page, and why."""
    said = []
    if round(ours.score) < round(paper.score):
        said.append(
            f"The repaired variant scores lower here, {ours.score:.0f} against {paper.score:.0f}. It draws each "
            "group near to the public rows of the same area and year, which helps where areas are alike in both "
            "tables. In this simulated survey they are not: each table has a mix of people of its own in every area. "
            "It also has no floor, so its small groups have fewer records."
        )
    if round(ours.size_error, 2) > round(paper.size_error, 2):
        noise = f"(standard deviation {ours.noise:.0f} against {paper.noise:.0f})"
        why = (
            f"their noise is larger {noise}: with a delta it books rho, in which so small a share of epsilon buys "
            "little. With delta = 0 it has the paper's noise"
            if ours.noise > 1.01 * paper.noise
            else f"not by their noise {noise}, but by chance or by being drawn towards the public sizes"
        )
        said.append(
            f"Groups of the repaired variant are further off in size, by {ours.size_error:.2f} of a group on average "
            f"against {paper.size_error:.2f}; {why}."
        )
    return tuple(said)


def _map(runs: dict[tuple[str, str], Run], areas: tuple[str, ...], shapes: Shapes | None) -> Exhibit:
    run = runs["two_way", "repaired"]
    charts = []
    for year in YEARS:
        at = {r["PUMA"]: r for r in run.table.filter(pl.col("YEAR") == year).iter_rows(named=True)}
        charts.append((str(year), map_of_a_year(at, areas, year, shapes)))
    keys = [Key(f"{a} and more", f"bar q{i}") for i, a in enumerate(_LEVELS)] + [Key("less", "bar q5")]
    rows = [
        (f"{v}, {r}", *(f"{float(run.table.filter(pl.col('YEAR') == y)['score'].mean() or 0):.0f}" for y in YEARS))  # type: ignore[arg-type]
        for (r, v), run in runs.items()
    ]
    return Exhibit(
        "The temporal map",
        "scores and sizes by area and year",
        f"{'Areas in their borders' if shapes else 'One tile for each area'}; left its score, right by how much its "
        "number of records is off (a colour each up to "
        f"{', '.join(f'{100 * e:g}' for e in _ERRORS)} %, and beyond). Variant repaired, "
        f"epsilon {run.epsilon:g}. All numbers: " + ", ".join(r.csv for r in runs.values()) + ".",
        sections=[Section("", charts, keys=keys)],
        tables=[Listing("Mean score by year", ("variant, regime", *map(str, YEARS)), rows)],
        slide="Year:",
        deviations=(_BORDERS if shapes else _TILES, _MORE),
    )


_MORE = (
    "A group with more records scores higher, all else equal: the floor of 300 helps the paper's scores of small "
    "groups, and harms their sizes."
)
_TILES = (
    "Areas stand in tiles, in the order of their codes: no map is shipped, and none is fetched. With a GeoJSON file "
    "of your own (`--map FILE.geojson`) the survey is simulated for its areas, and drawn in their borders."
)
_BORDERS = (
    "Borders and names are those of the GeoJSON file; the records are simulated and say nothing of these places. An "
    "area without colour is not in the survey (the quick form has four areas)."
)


def map_of_a_year(at: dict[str, Any], areas: tuple[str, ...], year: int, shapes: Shapes | None) -> Drawing:
    """Scores and size errors of one year side by side: in their borders, or as tiles."""
    score, size = dict[str, Shade](), dict[str, Shade]()
    for a in areas:
        row = at.get(a)
        if row is None:
            score[a] = size[a] = Shade(5, "-", f"{a}, {year}: no record")
            continue
        value, off, code = row["score"], row["size_error"], "" if shapes else f"{a[-3:]} "
        score[a] = Shade(sum(value < x for x in _LEVELS), f"{code}{value:.0f}", f"{a}, {year}: score {value:.0f}")
        told = f"{a}, {year}: {row['rows']:,} records, {row['synthetic_rows']:,} synthetic"
        size[a] = Shade(sum(off > x for x in _ERRORS), f"{code}{100 * off:.0f} %", told)
    two = ((score, f"Scores in {year}", "score of 1000"), (size, f"Sizes in {year}", "size, off by"))
    if shapes:
        return abreast([shapes.drawn(fields, said=said, title=title) for fields, said, title in two])
    across = ceil(len(areas) ** 0.5)
    return abreast([tiles(list(fields.values()), across, said=said, title=title) for fields, said, title in two])


def _sizes(runs: dict[tuple[str, str], Run]) -> Exhibit:
    rows, shown, small_ones = [], [], list[str]()
    for (regime, variant), run in runs.items():
        off = (run.table["synthetic_rows"] - run.table["rows"]).abs()
        total = float(off.sum()) / max(float(run.table["rows"].sum()), 1.0)
        rows.append((f"{regime}, {variant}", f"{float(off.mean() or 0):.1f}", f"{total:.3f}", f"{run.epsilon:g}"))  # type: ignore[arg-type]
        if variant == "paper":
            below = float(off.filter(run.table["rows"] < FLOOR).sum()) / max(float(off.sum()), 1.0)
            small_ones.append(f"{100 * below:.0f} % at epsilon {run.epsilon:g}")
        shown.append(Bar(f"{regime}, {variant}", total, f"{regime}, {variant}: {small(total)}"))
    return Exhibit(
        "Group sizes",
        "sizes of areas and years, and their errors",
        "Sum of absolute errors of all sizes over the number of records. The paper's floor of "
        f"{FLOOR} records makes small groups larger. Here {int((run.table['rows'] < FLOOR).sum())} of "
        f"{run.table.height} groups have fewer rows than that, and they have this part of its error: "
        f"{', '.join(small_ones)}. The paper's own groups have a few hundreds to around 3000. The repaired variant "
        f"has no floor of {FLOOR} and no multiples of K unless a job asks for them.",
        sections=[Section("", [("", bars(shown, said="Error of group sizes", show=small))])],
        tables=[Listing("", ("regime, variant", "mean error, records", "L1 error", "epsilon"), rows)],
    )
