"""Does a nominal 95 % interval hold the truth 95 times in 100? Over simulated worlds, and on real pairs of tables.

    python -m bench.inference --worlds 5000-5099 --recipes public_blend,tree_blend --epsilons 0.3,1,3  # resumes
    python -m bench.inference --recipes "copies of mst,copies of public_blend" --out FILE  # ten copies, usual rule
    python -m bench.inference --page --newer bench/inference_coefficients.jsonl  # the table of docs/inference.md

A world is a large table, the population, from which the confidential rows are drawn one by one with replacement; so
the true figures are known and rows are independent.  Simulated: five times ``--rows`` personnel rows, with a public
table of other people in the same years (``good``) or of seven years before (``drifted``).  Real: the confidential
table of a pair of ``bench/real_tables.py`` is the population, its public one the relative.  Questions are answered by
a stand-in gate, whose noise has the gate's law and scale.  A line of JSON for every world, recipe, epsilon and
relative, with an entry for every use: how many figures were asked and told, how many intervals hold the population's
figure, how many of those without the sampling part hold the confidential table's, and the summed widths beside those
that the confidential table itself gives.
"""

import argparse
import json
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from bench import real_tables
from bench.forecast import REAL
from bench.mst import mst_copies
from hedgerow.answers import RecordedAnswers, StandInGate
from hedgerow.inference import Estimate, Evidence, estimates, replicate
from hedgerow.model.base import Fitted
from hedgerow.public import (
    Budget,
    CodedTable,
    Counts,
    Guarantee,
    Measurement,
    PublicData,
    Schema,
    Spend,
    Tariff,
    decode,
    law_of,
)
from hedgerow.recipes import RECIPES, AbstractRecipe
from hedgerow.records import draw_one
from hedgerow.release.evidence import rows_of_counts
from hedgerow.simulate.personnel import PUBLIC_YEARS, YEARS, personnel, personnel_schema
from hedgerow.uses import AbstractUse, Coefficient, Mean, Quantile, Rate, Table

OUT = Path(__file__).with_name("inference.jsonl")
MODEL = "ln(pay) ~ sex + race + age + I(age^2) + number(education) | agency + occupation"
Z = 1.959964
COPIES, PEER = 10, "copies of "
DECLARED: tuple[AbstractUse, ...] = (
    Table(["race"], tolerance=1, name="one-way, declared"),
    Table(["race", "sex"], tolerance=1, name="two-way, declared"),
    Mean("pay", by=["sex"], tolerance=1, name="mean by group, declared"),
    Rate("supervisory", ["2", "4"], by=["sex"], tolerance=1, name="rate by group, declared"),
    Quantile("pay", [0.5, 0.9], by=["sex"], tolerance=1, name="quantiles by group, declared"),
    Coefficient(MODEL, "sex[F]", tolerance=1, name="coefficient, declared"),
)
OTHER: tuple[AbstractUse, ...] = (
    Table(["agency"], tolerance=1, name="one-way"),
    Table(["agency", "sex"], tolerance=1, name="two-way"),
    Mean("pay", by=["race"], tolerance=1, name="mean by group"),
    Coefficient(MODEL, "race[D]", tolerance=1, name="coefficient"),
)
COUNTS: tuple[AbstractUse, ...] = (
    Table(["race"], tolerance=1, name="one-way, declared"),
    Table(["race", "sex"], tolerance=1, name="two-way, declared"),
    Mean("education", by=["sex"], tolerance=1, name="mean by group, declared"),
    Rate("sex", ["F"], by=["race"], tolerance=1, name="rate by group, declared"),
    Quantile("education", [0.5], by=["sex"], tolerance=1, name="quantiles by group, declared"),
)


@dataclass(frozen=True)
class World:
    """A population, the confidential rows drawn from it, and a public relative."""

    population: CodedTable
    secret: CodedTable
    relative: CodedTable
    declared: tuple[AbstractUse, ...]
    other: tuple[AbstractUse, ...]
    private: tuple[str, ...]
    counts: tuple[AbstractUse, ...] = COUNTS
    known: dict[str, PublicData] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        """What the columns mean."""
        return self.relative.schema


def world_of(name: str, relative: str, rows: int) -> World:
    """A simulated world by its seed, a real pair by its name."""
    if not name.isdigit():
        return _real(name, rows)
    made = personnel(5 * rows, int(name), public_years=YEARS if relative == "good" else PUBLIC_YEARS)
    public = CodedTable.read(made.public[:rows].drop("person"), Schema.loads(personnel_schema()))
    whole = CodedTable.read(made.confidential.drop("person"), public.schema, role="target")
    rng = np.random.default_rng([int(name), 1])
    secret = whole.take(rng.integers(0, whole.rows, rows))
    return World(whole, secret, public, DECLARED, OTHER, ("sex", "race"))


def _real(name: str, rows: int) -> World:
    pair, _, seed = name.partition(":")
    kept, (figure, group, other, control) = (part.split() for part in REAL[pair])
    public, secret, domain = real_tables.load(pair)
    assert public is not None
    text = real_tables.schema_of({c: domain[c] for c in kept}).dumps()
    schema = Schema.loads(text.replace('kind = "ordered"', 'kind = "ordered"\ntype = "integer"'))
    relative = CodedTable.read(public.select(kept).sample(min(rows, len(public)), seed=1), schema)
    whole = CodedTable.read(secret.select(kept), relative.schema, role="target")
    model = f"number({figure}) ~ C({group}, ref=0) + number({control})"
    declared: tuple[AbstractUse, ...] = (
        Table([other], tolerance=1, name="one-way, declared"),
        Table([group, other], tolerance=1, name="two-way, declared"),
        Mean(figure, by=[group], tolerance=1, name="mean by group, declared"),
        Coefficient(model, f"{group}[1]", tolerance=1, name="coefficient, declared"),
    )
    others: tuple[AbstractUse, ...] = (
        Table([kept[0]], tolerance=1, name="one-way"),
        Table([kept[0], group], tolerance=1, name="two-way"),
        Mean(figure, by=[other], tolerance=1, name="mean by group"),
    )
    counts = (*declared[:3], Quantile(figure, [0.5], by=[group], tolerance=1, name="quantiles by group, declared"))
    rows = min(rows, whole.rows)
    secret_rows = whole.take(np.random.default_rng([int(seed or 0), 2]).integers(0, whole.rows, rows))
    return World(whole, secret_rows, relative, declared, others, (group, other), counts)


@dataclass(frozen=True)
class Released:
    """One release of a world: what its recipe was told and may know, and which uses its job declares."""

    recipe: AbstractRecipe
    public: PublicData
    answers: RecordedAnswers
    evidence: Evidence
    declared: tuple[AbstractUse, ...]
    fitted: Fitted

    def replicates(self, count: int, seed: int) -> list[CodedTable]:
        """So many replicates of its records."""
        made = []
        for i in range(count):
            rng = np.random.default_rng([seed, 4, i])
            known = RecordedAnswers(self.answers.tariff, self.answers.budget, list(self.answers.record))
            made.append(_drawn(replicate(self.recipe, known, self.public, rng), self.public, rng))
        return made


def _drawn(fitted: Fitted, public: PublicData, rng: np.random.Generator) -> CodedTable:
    copy = draw_one(fitted, public, rng)
    made = CodedTable.of_counts(public.schema, copy.frame) if copy.counted else CodedTable(public.schema, copy.frame)
    return rows_of_counts(made) if copy.counted else made


class WholeNoise(StandInGate):  # type: ignore[misc]
    """A stand-in gate whose noise is the gate's own law; the plain one rounds, which is wider at scales below 1."""

    def _noisy(self, spend: Spend, counts: Sequence[Counts]) -> tuple[Measurement, ...]:
        self._spent += spend.cost
        return tuple(
            Measurement(a.question, true + law_of(a.noise).sample_whole(self.rng, a.cells), a.noise)
            for a, true in zip(spend.asked, counts, strict=True)
        )


def release_in(world: World, name: str, epsilon: str, seed: int) -> Released:
    """One release of the world's confidential rows."""
    schema, kind = world.schema, RECIPES[name]
    counted = name == "integer_counts"
    declared = tuple(u.on(schema) for u in (world.counts if counted else world.declared))
    columns = tuple(dict.fromkeys(c for u in declared for c in u.columns_named))
    recipe = kind(columns=columns) if counted else kind()
    given = tuple(c.name for c in schema.columns if c.name not in world.private) if kind.attaches else ()
    if name not in world.known:  # what a recipe works out of public rows is the same at every epsilon
        world.known[name] = _public(world, name, declared, given)
    public = world.known[name]
    budget, rng = Budget(Fraction(epsilon)), np.random.default_rng([seed, 3, *f"{name} {epsilon}".encode()])
    guarantee = Guarantee(relation=recipe.relation, public_columns=given)
    tariff = Tariff(schema.coding, guarantee, budget.measure)
    gate = WholeNoise(tariff, budget, world.secret, world.secret.rows, rng)
    answers = RecordedAnswers(tariff, budget, [], gate, relabel=gate.measure_relabelled)
    fitted = recipe.fit(answers, public)
    evidence = Evidence(schema, tuple(answers.heard), _drawn(fitted, public, rng), public.relative, given)
    return Released(recipe, public, answers, evidence, declared, fitted)


def _public(world: World, name: str, declared: tuple[AbstractUse, ...], given: tuple[str, ...]) -> PublicData:
    """What the recipe may know."""
    schema = world.schema
    target = CodedTable.read(world.secret.frame.select(given), schema, role="target") if given else None
    return PublicData(
        schema,
        world.relative if name in ("public_blend", "guided_tree") else None,
        target,
        None,
        tuple(dict.fromkeys(u.table for u in declared if u.table and u.statistic is None)),
        tuple(dict.fromkeys(u.statistic for u in declared if u.statistic is not None)),
    )


def entry(evidence: Evidence, use: AbstractUse, world: World) -> dict[str, Any]:
    """How the intervals of one use fared."""
    found = estimates(evidence, use)
    truth, own = use.figures(world.population), use.figures(world.secret)
    half = own_halves(use, world.secret)
    scale = (truth.values.sum(), own.values.sum()) if isinstance(use, Table) else (1.0, 1.0)
    line: dict[str, Any] = {
        "use": use.name,
        "asked": 0,
        "told": 0,
        "population": 0,
        "table": 0,
        "width": 0.0,
        "own": 0.0,
        "scores": 0.0,
    }
    for e, i in zip(found, _places(found, use, world.schema), strict=True):
        true, mine = truth.values[i] / scale[0], own.values[i] / scale[1]
        if not np.isfinite(true) or truth.sizes[i] <= 0:
            continue
        line["asked"] += 1
        if e.estimate is None or e.low is None or e.high is None:
            continue
        line["told"] += 1
        line["population"] += int(e.low - 1e-9 <= true <= e.high + 1e-9)
        inner = sqrt(e.parts["noise"] ** 2 + e.parts["recipe"] ** 2)
        line["table"] += int(abs(e.estimate - mine) <= inner + 1e-9)
        line["scores"] += (Z * (e.estimate - true) / max((e.high - e.low) / 2, 1e-12)) ** 2
        if np.isfinite(half[i]):
            line["width"] += (e.high - e.low) / 2
            line["own"] += float(half[i])
    return line


def _places(found: tuple[Estimate, ...], use: AbstractUse, schema: Schema) -> Iterator[int]:
    """Which figure of the use each estimate is about."""
    labels = use.labels(schema, np.arange(schema.size(use.groups) * max(len(use.repeats), 1)))
    at = {label: i for i, label in enumerate(labels)}
    return (at[e.group] if e.group else 0 for e in found)


def own_halves(use: AbstractUse, table: CodedTable) -> np.ndarray:
    """Half the width of the 95 % intervals that the confidential table itself gives."""
    found = use.figures(table)
    if isinstance(use, Table):
        share = found.values / found.values.sum()
        return np.asarray(Z * np.sqrt(share * (1 - share) / found.values.sum()))
    if isinstance(use, Coefficient):
        return np.asarray(Z * found.errors)
    if isinstance(use, Rate):
        return np.asarray(Z * np.sqrt(found.values * (1 - found.values) / np.maximum(found.sizes, 1)))
    group, halves = table.cells(use.groups), []
    for g in range(table.schema.size(use.groups)):
        y = np.sort(table.numbers(use.of)[group == g])  # type: ignore[attr-defined]
        y = y[np.isfinite(y)]
        if isinstance(use, Quantile):
            for share in use.shares:
                far = Z * sqrt(share * (1 - share) / max(len(y), 1))
                ends = np.quantile(y, np.clip([share - far, share + far], 0, 1)) if len(y) else np.full(2, np.nan)
                halves.append(float(ends[1] - ends[0]) / 2)
        else:
            halves.append(Z * float(y.std()) / sqrt(len(y)) if len(y) > 1 else np.nan)
    return np.array(halves)


def entry_of_replicates(
    records: CodedTable, replicates: list[CodedTable], use: AbstractUse, world: World
) -> dict[str, Any]:
    """How the intervals of one use fared that the released file and its replicates give.

    They are what combine.R makes: the file's own variance, and the mean squared distance of the replicates.
    """
    truth, own, half = use.figures(world.population), use.figures(world.secret), own_halves(use, world.secret)
    scaled = [_scaled(use, t) for t in (world.population, world.secret, records, *replicates)]
    within = (own_halves(use, records) / Z) ** 2
    spread = np.nanmean((np.stack(scaled[3:]) - scaled[2]) ** 2, axis=0)
    line = dict.fromkeys(("asked", "told", "population", "table"), 0) | {"width": 0.0, "own": 0.0}
    for i in np.flatnonzero(np.isfinite(scaled[0]) & (truth.sizes > 0)):
        line["asked"] += 1
        if not np.isfinite(within[i]) or not np.isfinite(spread[i]) or not np.isfinite(scaled[2][i]):
            continue
        line["told"] += 1
        total, m = float(within[i] + spread[i]), len(replicates)
        wide = student(0.975, m / max(float(spread[i]) / max(total, 1e-300), 1e-3) ** 2) * sqrt(total)
        line["population"] += int(abs(scaled[2][i] - scaled[0][i]) <= wide + 1e-9)
        line["table"] += int(abs(scaled[2][i] - scaled[1][i]) <= student(0.975, m) * sqrt(spread[i]) + 1e-9)
        if np.isfinite(half[i]):
            line["width"] += wide
            line["own"] += float(half[i])
    assert len(own.values) == len(truth.values)
    return {"use": use.name, **line}


def entry_of_copies(copies: list[CodedTable], use: AbstractUse, world: World) -> dict[str, Any]:
    """How the intervals of one use fared that copies give which were drawn from one fitted model.

    The usual rule for them (Raab, Nowok and Dibben 2016): the mean of the copies, with the variance (1 + 1/m) u; here
    u is what the analyst's program says of one copy; for the table's own figure u / m.
    """
    truth, half = use.figures(world.population), own_halves(use, world.secret)
    true, mine = _scaled(use, world.population), _scaled(use, world.secret)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # groups that no copy has
        value = np.nanmean([_scaled(use, c) for c in copies], axis=0)
        within = np.nanmean([(own_halves(use, c) / Z) ** 2 for c in copies], axis=0)
    line = dict.fromkeys(("asked", "told", "population", "table"), 0) | {"width": 0.0, "own": 0.0, "scores": 0.0}
    for i in np.flatnonzero(np.isfinite(true) & (truth.sizes > 0)):
        line["asked"] += 1
        if not np.isfinite(value[i]) or not np.isfinite(within[i]):
            continue
        line["told"] += 1
        wide = Z * sqrt(within[i] * (1 + 1 / len(copies)))
        line["population"] += int(abs(value[i] - true[i]) <= wide + 1e-9)
        line["table"] += int(abs(value[i] - mine[i]) <= Z * sqrt(within[i] / len(copies)) + 1e-9)
        line["scores"] += float(Z * (value[i] - true[i]) / max(wide, 1e-12)) ** 2
        if np.isfinite(half[i]):
            line["width"] += wide
            line["own"] += float(half[i])
    return {"use": use.name, **line}


def copies_in(world: World, name: str, epsilon: str, seed: int) -> list[CodedTable]:
    """Ten copies as one gets them without intervals: by a recipe, or by MST at (epsilon, 1e-6)."""
    rng = np.random.default_rng([seed, 5])
    if name == "public_blend":
        release = release_in(world, name, epsilon, seed)
        return [_drawn(release.fitted, release.public, rng) for _ in range(COPIES)]
    schema, names = world.schema, [c.name for c in world.schema.columns]
    codes = {n: np.asarray(c, np.int64) for n, c in world.secret.codes(names).items()}
    domain = {n: schema.size((n,)) for n in names}
    made = mst_copies(codes, domain, (float(epsilon), 1e-6), rng, COPIES)
    return [CodedTable(schema, decode(schema, c, rng, columns=names)) for c in made]


def _scaled(use: AbstractUse, table: CodedTable) -> np.ndarray:
    values = use.figures(table).values
    return np.asarray(values / values.sum() if isinstance(use, Table) else values)


def student(share: float, freedom: float) -> float:
    """A quantile of Student's t (Hill 1970, to three digits from 3 degrees of freedom on)."""
    z = NormalDist().inv_cdf(share)
    n = max(freedom, 3.0)
    a, b = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + a / n + b / n**2 + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384 / n**3


def measured(
    world: World, recipe: str, epsilon: str, seed: int, replicates: int, some: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """An entry for every use, or for those of these names."""
    if recipe.startswith(PEER):
        made = copies_in(world, recipe.removeprefix(PEER), epsilon, seed)
        return [entry_of_copies(made, u.on(world.schema), world) for u in (*world.declared, *world.other)]
    release = release_in(world, recipe, epsilon, seed)
    other = () if recipe == "integer_counts" else tuple(u.on(world.schema) for u in world.other)
    uses = tuple(u for u in (*release.declared, *other) if not some or u.name in some)
    if replicates:
        made = release.replicates(replicates, seed)
        return [entry_of_replicates(release.evidence.records, made, u, world) for u in uses]
    return [entry(release.evidence, u, world) for u in uses]


Cell = tuple[str, str, str, str]


def _sums(file: Path) -> dict[Cell, dict[str, float]]:
    """All worlds together, for every recipe, relative, epsilon and kind of use."""
    sums: dict[Cell, dict[str, float]] = {}
    for line in map(json.loads, file.read_text("utf-8").splitlines()):
        real = not line["world"].isdigit()
        where = line["world"].partition(":")[0] if real else line["relative"]
        for e in line["uses"]:
            total = sums.setdefault((line["recipe"], where, line["epsilon"], e["use"]), {"worlds": 0})
            total["worlds"] += 1
            for k in ("asked", "told", "population", "table", "width", "own", "scores"):
                total[k] = total.get(k, 0) + e.get(k, 0)
    return sums


def summary(file: Path) -> str:
    """Coverage and width, over all worlds, for every recipe, relative, epsilon and kind of use."""
    lines = [
        "| recipe | relative | epsilon | figure | worlds | told | holds the population's | the table's | width |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for key, t in sorted(_sums(file).items()):
        told = max(t["told"], 1)
        shown = [f"{t['told'] / max(t['asked'], 1):.2f}", f"{t['population'] / told:.2f}", f"{t['table'] / told:.2f}"]
        shown.append(f"{t['width'] / t['own']:.1f}" if t["own"] else "")
        shown = shown if t["told"] else [shown[0], "", "", ""]
        lines.append(f"| {' | '.join(key)} | {t['worlds']:.0f} | {' | '.join(shown)} |")
    return "\n".join(lines)


def page(*files: Path) -> str:
    """The same as docs/inference.md shows it: the epsilons side by side, each cell by the last file that has it."""
    sums: dict[Cell, dict[str, float]] = {}
    for file in files:
        sums |= _sums(file)
    epsilons = sorted({e for _, _, e, _ in sums}, key=float)
    lines = ["| recipe, relative | figure | " + " | ".join(f"epsilon {e}" for e in epsilons) + " | worlds |"]
    lines.append("|---|---|" + "---|" * len(epsilons) + "---|")
    places, uses = list(dict.fromkeys((r, w) for r, w, _, _ in sums)), [u.name for u in (*DECLARED, *OTHER)]
    lined_up = sorted({(r, w, u) for r, w, _, u in sums}, key=lambda k: (places.index(k[:2]), uses.index(k[2])))
    for recipe, where, use in lined_up:
        name = (recipe if recipe.startswith(PEER) else f"`{recipe}`") + (
            f", {where}" if recipe.endswith(("public_blend", "guided_tree")) else ""
        )
        what = use if "declared" in use else f"{use}, not declared"
        shown = []
        for e in epsilons:
            t = sums.get((recipe, where, e, use))
            if t is None or not t["told"]:
                shown.append("refused" if t else "")
                continue
            held = f"{100 * t['population'] / t['told']:.0f}, {100 * t['table'] / t['told']:.0f} %"
            part = f"{t['told']:.0f} of {t['asked']:.0f}" if t["told"] < 10 else f"of {t['told'] / t['asked']:.0%}"
            some = f" ({part} told)" if t["told"] < 0.995 * t["asked"] else ""
            width = f"; {t['width'] / t['own']:.1f}" if t["own"] else ""
            shown.append(f"{held}{width}{some}")
        worlds = min(int(t["worlds"]) for e in epsilons if (t := sums.get((recipe, where, e, use))))
        lines.append(f"| {name} | {what} | {' | '.join(shown)} | {worlds} |")
    return "\n".join(lines)


def main() -> None:
    """Measure what is not in the file yet and append it, or sum it up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--worlds", default="5000-5099", help="5000-5099, or names of real pairs with a seed: census:0,census:1"
    )
    parser.add_argument("--recipes", default="tree_blend,integer_counts,public_blend,guided_tree")
    parser.add_argument("--epsilons", default="1,0.3,3")
    parser.add_argument("--relatives", default="good,drifted")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument(
        "--replicates", type=int, default=0, help="so many, and the intervals that they give, not those of answers"
    )
    parser.add_argument(
        "--uses", default="", help='names of the uses to measure, parted by ";"; all, if none is named'
    )
    parser.add_argument("--commit", default="", help="written to every line")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--page", action="store_true", help="the summary as docs/inference.md shows it")
    parser.add_argument("--newer", type=Path, nargs="*", default=[], help="files whose cells replace those of --out")
    options = parser.parse_args()
    if options.summary or options.page:
        print(page(options.out, *options.newer) if options.page else summary(options.out))
        return
    first, _, last = options.worlds.partition("-")
    worlds = [*map(str, range(int(first), int(last) + 1))] if last.isdigit() else options.worlds.split(",")
    done = set()
    if options.out.exists():
        known = map(json.loads, options.out.read_text("utf-8").splitlines())
        done = {(k["world"], k["recipe"], k["epsilon"], k["relative"], k["rows"]) for k in known}
    for name in worlds:
        for relative in options.relatives.split(",") if name.isdigit() else ["real"]:
            world = None
            for recipe in options.recipes.split(","):
                if relative == "drifted" and recipe in ("tree_blend", "integer_counts", f"{PEER}mst"):
                    continue  # they have no relative
                for epsilon in options.epsilons.split(","):
                    key = (name, recipe, epsilon, relative, options.rows)
                    if key in done:
                        continue
                    world = world or world_of(name, relative, options.rows)
                    began = time.process_time()
                    number = int(name) if name.isdigit() else int(name.partition(":")[2] or 0)
                    some = options.uses.split(";") if options.uses else ()
                    uses = measured(world, recipe, epsilon, number, options.replicates, some)
                    line = dict(zip(("world", "recipe", "epsilon", "relative", "rows"), key, strict=True))
                    with options.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(line | {"commit": options.commit, "uses": uses}) + "\n")
                    print(f"{key}: {time.process_time() - began:.0f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
