"""RDT-2018: intervals of a leaf; collapsing, trees, weights, epsilon and n_B, and what they do to sex and race."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import polars as pl

from hedgerow.api.job import Job, told_rates
from hedgerow.evaluate.compare import Comparison, Figure, FigureCard, figure_card
from hedgerow.figures import Drawing, Key, Section, percent, small
from hedgerow.planning import (
    DRAWS,
    SHARES,
    empirical,
    interval,
    interval_section,
    least_n,
    simulated,
    simulation_section,
)
from hedgerow.public import document
from hedgerow.reproduce.paper import Beside, Exhibit, Listing, Paper, Task
from hedgerow.simulate.personnel import personnel, personnel_schema

ATTRIBUTES = ("age", "education", "agency", "occupation", "supervisory", "pay")
Weights = tuple[int, int, int, int, int, int]
PLAIN, AGENCY = (1, 1, 1, 20, 1, 10), (1, 1, 60, 20, 1, 1)
OCCUPATION, EVEN = (1, 1, 1, 60, 1, 1), (1, 1, 1, 1, 1, 1)
PANELS = ("joint-proportions", "joint-scatter", "slopes", "correlations")
_AGENCIES, _OCCUPATIONS, _YEAR = 72, 138, 1988
_PAY = "bins = { low = 0, high = 200000, width = 2000 }"


@final
@dataclass(frozen=True)
class Settings:
    """What the table under a figure says: pay in thousands, trees, weights, epsilon of a leaf, n_B, a pay ratio."""

    pay: int = 25
    trees: int = 5
    weights: Weights = PLAIN
    epsilon: float = 0.4
    n_b: int = 1000
    ratio: Any = None

    @property
    def name(self) -> str:
        """Of its job file and release."""
        known = dict(zip((PLAIN, AGENCY, OCCUPATION, EVEN), ("plain", "agency", "occupation", "even"), strict=True))
        matched = "" if self.ratio is None else "-ratio" if isinstance(self.ratio, float) else "-ratio-by-agency"
        return f"pay{self.pay}-trees{self.trees}-{known[self.weights]}-eps{self.epsilon:g}-nb{self.n_b}{matched}"

    @property
    def total(self) -> float:
        """What the paper's noise costs: two counts move, in every tree of both columns."""
        return round(4 * self.epsilon * self.trees, 6)

    @property
    def under(self) -> dict[str, str]:
        """The table below the report's figure."""
        return {
            "year": str(_YEAR),
            "collapse: pay, agency, occupation": "10, 0, 0" if self.pay == 10 else "25, 500, 200",
            "ensemble size": str(self.trees),
            "sampling weights": ", ".join(map(str, self.weights)),
            "tree height": "variable (max 6)",
            "global sensitivity": "1 (paper), 2 (true)",
            "epsilon of a leaf": f"{self.epsilon:g}",
            "leaf min n (n_B)": f"{self.n_b:,}",
        }

    def written(self, base: Mapping[str, Any]) -> str:
        """The job file."""
        trees = {**base["random_trees"], "trees": self.trees, "n_b": self.n_b}
        trees["weights"] = dict(zip(ATTRIBUTES, self.weights, strict=True))
        trees |= (
            {}
            if self.ratio is None
            else {"ratio": {"pay": list(self.ratio) if isinstance(self.ratio, tuple) else self.ratio}}
        )
        schema, job = {"file": f"schema-{self.pay}.toml"}, {**base["job"], "out": f"release-{self.name}"}
        told = {**base, "job": job, "schema": schema, "budget": {"epsilon": self.total}, "random_trees": trees}
        return document(told)


@final
class Workshop:
    """Releases by their settings, each made once; and how each compares with the confidential table."""

    def __init__(self, task: Task) -> None:
        self.task, self.folder = task, task.folder
        self.base = tomllib.loads((task.folder / "trees.toml").read_text("utf-8"))
        self._made: dict[Settings, tuple[Job, Any]] = {}
        self._found: dict[tuple[Settings, str], Comparison] = {}

    def made(self, settings: Settings) -> tuple[Job, Any]:
        """The job of these settings, and its release."""
        if settings not in self._made:
            self.task.watch(f"release {len(self._made) + 1}: {settings.name}")
            place = self.folder / f"{settings.name}.toml"
            place.write_text(settings.written(self.base), "utf-8")
            job = Job.load(place)
            self._made[settings] = job, job.run(confirm=lambda prepared, plan: True, forecast=False)
        return self._made[settings]

    def compared(self, settings: Settings, logistic: str = "") -> Comparison:
        """Its release against the confidential table: the four panels, or a logistic model."""
        key = (settings, logistic)
        if key not in self._found:
            release = self.made(settings)[1]
            options: dict[str, Any] = {"only": PANELS, "joint": ("sex", "race", "occupation")}
            if logistic:
                options = {"only": ("logistic-model",), "logistic": logistic}
            self._found[key] = release.compare(self.folder / "confidential.parquet", **options)
        return self._found[key]

    def rates(self, settings: Settings) -> dict[str, Any]:
        """True-classified, match rates and rows without a label, as ``hedgerow steward rates`` says them."""
        found: dict[str, Any] = json.loads(told_rates(self.made(settings)[0], leaf_min=1))
        return found


def paper(task: Task) -> Paper:
    """Sections 2 to 6 and all figures."""
    task.watch("simulating the three tables of 1988")
    make_tables(task.folder, quick=task.quick)
    shop = Workshop(task)
    return Paper(
        "Duke University Synthetic Data Project, Differentially Private Synthetic Attribute Generation Using "
        "Variable Depth Random Decision Trees. Report, November 8, 2018.",
        "The report attaches synthetic sex and race to public personnel rows with random trees whose splits follow a "
        "public table (SD) and whose leaves are filled from the authentic one (AD) with noise. Its data cannot be "
        "had: the tables here are simulated, with effects of about the size it reports, so directions can be "
        "compared and numbers cannot, except for the intervals, which are mathematics. Its noise is used as it is; "
        "what that noise truly costs stands under each figure.",
        (
            _strategy(task),
            _first(),
            _second(),
            *(_pair(shop, f) for f in _FIGURES),
            *_logistic(shop),
            _rates(shop),
            _mismatch(shop),
        ),
    )


def make_tables(folder: Path, *, quick: bool = False) -> None:
    """Write the three tables and the two schemas into ``folder``."""
    rows = 12_000 if quick else 80_000
    made = personnel(rows, _YEAR, years=(_YEAR,), public_years=(_YEAR,), agencies=_AGENCIES, occupations=_OCCUPATIONS)
    kept = [*ATTRIBUTES, "sex", "race"]
    agency = sorted(made.confidential["agency"].unique())
    rng = np.random.Generator(np.random.PCG64(_YEAR))
    factor = pl.DataFrame({"agency": agency, "up": 1.12 + 0.05 * rng.standard_normal(len(agency))})

    def adjusted(frame: pl.DataFrame) -> pl.DataFrame:
        joined = frame.join(factor, "agency", how="left", maintain_order="left")
        return joined.with_columns((pl.col("pay") * pl.col("up").fill_null(1.12)).round().cast(pl.Int64)).drop("up")

    confidential, others = adjusted(made.confidential), adjusted(made.target)
    own = confidential.head(round(0.8 * rows)).select(ATTRIBUTES)
    target = pl.concat([own, others.head(rows - own.height).select(ATTRIBUTES)])
    for name, frame in (
        ("public", made.public.select(kept)),
        ("confidential", confidential.select(kept)),
        ("target", target),
    ):
        frame.write_parquet(folder / f"{name}.parquet")
    text = personnel_schema(_AGENCIES, _OCCUPATIONS, (_YEAR,))
    left = ("[columns.grade]", "[columns.year]")
    text = "\n\n".join(part for part in text.split("\n\n") if not part.startswith(left))
    ten = text.replace(_PAY, "bins = { low = 0, high = 200000, width = 10000 }")
    (folder / "schema-10.toml").write_text(ten, "utf-8")
    merged = text.replace(_PAY, "bins = { low = 0, high = 200000, width = 25000 }")
    for name, least in (("agency", 500), ("occupation", 200)):
        merged = _collapse(merged, name, least // 4 if quick else least)
    (folder / "schema-25.toml").write_text(merged, "utf-8")


def _collapse(text: str, name: str, least: int) -> str:
    """The schema with small labels of a column combined, as counted in the public table."""
    head, _, tail = text.partition(f"[columns.{name}]")
    part, blank, rest = tail.partition("\n\n")
    lines = [line for line in part.splitlines() if not line.startswith(("other =", "#"))]
    lines += [f'collapse = {{ below = {least}, into = "other" }}']
    return head + f"[columns.{name}]" + "\n".join(lines) + blank + rest


def _strategy(task: Task) -> Exhibit:
    n = [pl.scan_parquet(task.folder / f"{t}.parquet").select(pl.len()).collect().item() for t in _THREE]
    rows = [
        ("AD, authentic", "confidential.parquet", f"{n[1]:,}", "sex and race, adjusted pay"),
        ("SD, DIBBS synthetic", "public.parquet", f"{n[0]:,}", "decides splits; basic pay"),
        ("BD, Buzzfeed", "target.parquet", f"{n[2]:,}", "80 % of AD's rows and others, no sex or race; adjusted pay"),
    ]
    return Exhibit(
        "Sections 1 to 4",
        "three tables, trees, weights, n_B",
        "Every node draws an attribute by weight among those not yet used on its path and splits while the public "
        "table has at least n_B rows there; leaves hold noisy counts of the label; the second column's trees are "
        "trained on synthetic labels of the first (sequence = 'papers-2018').",
        tables=[Listing("", ("the report's table", "file here", "rows", "what it is for"), rows)],
        deviations=(
            "Domains come from the schema and not from AD; every label of every leaf gets noise, empty ones too: the "
            "labels seen in a leaf would tell that they were there.",
            "The noise is whole-number Laplace noise; negative counts are set to 0 before proportions are taken, on "
            "which the report is silent; trees vote by the mean of proportions, as Jagannathan and others (2012).",
            "The report's total is epsilon for an ensemble. What its noise costs: every tree counts all rows, both "
            "columns are asked for, and a changed label moves two counts, so 4 x epsilon x trees.",
            "All BD rows come out. The report leaves out rows without a match in AD, which tells who is in the file.",
        ),
        commands=("hedgerow plan trees.toml",),
    )


_THREE = ("public", "confidential", "target")


def _first() -> Exhibit:
    at = interval(0.25, 0.4, 1000)
    tailed = interval(0.25, 0.4, 1000, kind="equal-tailed")
    ratio = [interval(p, 0.1, 1000).width / interval(p, 1.0, 1000).width for p in (0.5, 0.25, 0.05, 0.01)]
    return Exhibit(
        "Figure 1",
        "intervals of a synthetic share by leaf size and epsilon",
        "Exact, by integration, for the report's shares, leaf sizes and epsilons.",
        numbers=[
            Beside(
                "0.90 interval at p = 0.25, lambda = 0.4, n = 1,000",
                "[0.22, 0.27]",
                f"[{at.low:.4f}, {at.high:.4f}]",
                False,
                f"read off a plot in the report; equal-tailed it is [{tailed.low:.4f}, {tailed.high:.4f}]",
            ),
            Beside(
                "least n for a width of 0.05 there",
                "1,000",
                f"{least_n(0.25, 0.4, width=0.05):,}",
                False,
                "every leaf of so many rows or more; the same number as in `hedgerow interval` and in a plan",
            ),
            Beside(
                "effect of lambda at n = 1,000: width at 0.1 over width at 1",
                "negligible",
                ", ".join(f"{r:.2f}" for r in ratio),
                False,
                "for p = 0.5, 0.25, 0.05, 0.01: not negligible, least so for rare labels",
            ),
        ],
        sections=[interval_section(SHARES, 0.9, "symmetric")],
        deviations=(
            "No bar for lambda = 0: that is infinite noise, whose interval is [0, 1].",
            "An n_B is not a leaf size: a branch becomes a leaf when it falls below n_B, as section 5 itself warns.",
        ),
        commands=(
            "hedgerow interval --p 0.25 --epsilon 0.4 --n 1000",
            "hedgerow interval --p 0.25 --epsilon 0.4 --width 0.05",
            "hedgerow interval --p 0.25 --n 1000 --width 0.05 --epsilon-for",
            "hedgerow interval --figure intervals.svg",
        ),
    )


def _second() -> Exhibit:
    found = [interval(p, 0.3, 1000, kind="equal-tailed") for p in SHARES]
    rows, far = [], 0.0
    for one in found:
        rng = np.random.Generator(np.random.PCG64([2018, int(100 * one.p)]))
        seen = empirical(np.rint(simulated(one.p, one.epsilon, one.n, rng) * one.n), one.n, one.level)
        far = max(far, abs(seen[0] - one.low), abs(seen[1] - one.high))
        ends = [f"{low:.4f} to {high:.4f}" for low, high in ((one.low, one.high), seen)]
        rows.append((f"{one.p:g}", *ends, f"{one.width:.4f}"))
    return Exhibit(
        "Figure 2",
        "simulated shares with the empirical interval",
        f"{DRAWS:,} simulated leaves for each share, lambda = 0.3, n = 1,000, as in the report. Shaded: the exact "
        "interval. Dotted lines: the empirical one, from the simulated leaves alone.",
        numbers=[
            Beside(
                "empirical and exact ends correspond",
                "closely",
                f"within {far:.4f}",
                far < 0.003,
                "equal-tailed, the largest difference of an end over six shares",
            )
        ],
        sections=[simulation_section(found, np.random.Generator(np.random.PCG64(2018)))],
        tables=[Listing("0.90 intervals, equal-tailed", ("p", "exact", "empirical", "width, exact"), rows)],
        commands=("hedgerow interval --figure intervals.svg --epsilon 0.3 --n 1000",),
    )


_COLLAPSED, _WIDER, _BASE, _NOISY = Settings(10, 10), Settings(25, 10), Settings(), Settings(epsilon=0.1)
_WEIGHTS = ("weights 1, 1, 1, 20, 1, 10", "weights 1, 1, 60, 20, 1, 1")
_AGENCY_FITS = "fit of slopes and correlations of agency"
# name, title, two settings, their labels, what the report says of what, whether that is a gain or no change, and the
# true-classified shares that it prints, with the setting that they are of
_FIGURES: tuple[tuple[Any, ...], ...] = (
    ("Figures 3 and 4", "effect of collapsing", (_COLLAPSED, _WIDER), ("collapse 10, 0, 0", "collapse 25, 500, 200"))
    + ("slopes of agency and occupation improve", "improve", "gain", ("0.6779, 0.5813", 1)),
    ("Figure 5", "effect of ensemble size", (_BASE, _WIDER), ("5 trees", "10 trees"))
    + ("difference between five and ten trees", "not significant", "none", None),
    ("Figure 6", "effect of the weight of agency, collapsed", (_NOISY, replace(_NOISY, weights=AGENCY)), _WEIGHTS)
    + (_AGENCY_FITS, "significant difference", "gain", ("0.6391, 0.577", 0)),
    ("Figure 7", "effect of the weight of agency, pay alone collapsed")
    + ((replace(_NOISY, pay=10), replace(_NOISY, pay=10, weights=AGENCY)), _WEIGHTS)
    + (_AGENCY_FITS, "no significant difference", "none", ("0.6365, 0.5743", 0)),
    ("Figure 8", "effect of epsilon", (_NOISY, _BASE), ("epsilon 0.1", "epsilon 0.4"))
    + ("difference between epsilon 0.1 and 0.4", "not significant", "none", None),
    ("Figure 9", "effect of n_B", (_BASE, replace(_BASE, n_b=2000)), ("n_B 1,000", "n_B 2,000"))
    + ("difference between n_B 1,000 and 2,000", "not significant", "none", None),
)


def _pair(shop: Workshop, figure_of: tuple[Any, ...]) -> Exhibit:
    """Panels (a) to (d) of two releases side by side, and the table that the report has below them."""
    name, title, two, labels, claim, word, kind, printed = figure_of
    found = [shop.compared(s) for s in two]
    charts = list[tuple[str, Drawing]]()
    for metric, letter in zip(PANELS, "abcd", strict=True):
        for i, comparison in enumerate(found):
            figure = _drawn(comparison[metric].figures[0])
            if figure is not None:
                charts.append((f"({letter}{i + 1}) {figure.title}; {labels[i]}", figure.panels[0].svg))
    value = [[c[m].value or 0.0 for c in found] for m in PANELS]
    gain = value[2][1] - value[2][0]
    numbers = [
        Beside(
            claim,
            word,
            f"correlation of slopes {value[2][0]:.3f} and {value[2][1]:.3f}",
            gain > 0.02 if kind == "gain" else abs(gain) < 0.05,
            "panel (c), private columns against all others; simulated tables, so the direction counts",
        )
    ]
    if printed:
        rates = shop.rates(two[printed[1]])
        true = ", ".join("-" if r is None else f"{r:.4f}" for r in rates["true_rate"].values())
        chance = ", ".join(f"{r:.3f}" for r in rates["by_chance"].values())
        why = f"other people: by chance alone {chance}; for the steward's eyes only in a real job"
        numbers.append(Beside("pTrueClassified of sex, race", printed[0], true, None, why))
        numbers.append(Beside("nUnsynthesized", "0, 0", f"{rates['unlabelled']}, 0", rates["unlabelled"] == 0))
    head = ("", *labels)
    rows = [(f"({x}) {w}", *map(small, v)) for x, w, v in zip("abcd", _WORDS, value, strict=True)]
    rows += [
        ("total epsilon that this noise costs", *(f"{s.total:g}" for s in two)),
        *((k, v, two[1].under[k]) for k, v in two[0].under.items()),
    ]
    return Exhibit(
        name,
        title,
        "Panels (a) to (d): shares of joint categories as bars, against each other, slopes and correlations between "
        "levels of different attributes, authentic across and synthetic up; left and right one setting each. The "
        f"{_BARS} most frequent categories and {_DOTS} dots of each panel are drawn; all count in the numbers.",
        numbers=numbers,
        sections=[Section("", charts, across=2, keys=[Key("authentic", "bar truth"), Key("synthetic", "bar")])],
        tables=[Listing("The table below the report's figure", head, rows)],
        commands=(
            f"hedgerow run {two[1].name}.toml --yes --out again",
            f"hedgerow compare confidential.parquet release-{two[0].name} --beside release-{two[1].name} "
            f"--only {','.join(PANELS)} --joint sex,race,occupation --out panels.html",
        ),
    )


def _drawn(figure: Figure) -> FigureCard | None:
    """A figure with some of its marks, so that a page of many stays small: the first bars, every so many dots."""
    data = figure.data
    kept = data.head(_BARS) if figure.kind == "bars" else data.gather_every(max(1, -(-data.height // _DOTS)))
    return figure_card(replace(figure, data=kept), ("authentic", "synthetic"))


_BARS, _DOTS = 20, 400
_WORDS = (
    "rows out of place in sex x race x occupation",
    "correlation of joint shares",
    "correlation of slopes",
    "correlation of correlations",
)


def _logistic(shop: Workshop) -> list[Exhibit]:
    heavy, light = Settings(weights=AGENCY, epsilon=0.1), Settings(epsilon=0.1)
    more, less = Settings(weights=AGENCY), Settings()
    occupation, even = Settings(weights=OCCUPATION), Settings(weights=EVEN)
    both, names = "sex=F ~ agency + occupation", ("Agency=60", "Agency=1")
    many = ("Agency=60, Occupation=20", "Agency=1, Occupation=20"), ("Occupation=60", "Occupation=1")
    return [
        _coefficients(shop, "Figure 10", "sex=F ~ agency", (heavy, light), names, "epsilon 0.1"),
        _coefficients(shop, "Figure 11", "sex=F ~ agency", (more, less), names, "epsilon 0.4"),
        _coefficients(shop, "Figure 12", both, (heavy, light), many[0], "epsilon 0.1"),
        _coefficients(shop, "Figure 13", both, (occupation, even), many[1], "epsilon 0.4"),
        _coefficients(shop, "Figure 14", "sex=F ~ occupation", (occupation, even), many[1], "epsilon 0.4"),
    ]


def _coefficients(
    shop: Workshop, name: str, formula: str, two: Sequence[Settings], labels: tuple[str, str], epsilon: str
) -> Exhibit:
    charts, rows = list[tuple[str, Drawing]](), []
    for s, label in zip(two, labels, strict=True):
        result = shop.compared(s, formula)["logistic-model"]
        figure = _drawn(result.figures[0])
        if figure is not None:
            charts.append((f"attribute weights: {label}", figure.panels[0].svg))
        parts = result.parts
        rows.append((label, str(parts["coefficients"]), *(small(float(parts[k] or 0)) for k in _SAID)))
    away = [float(r[-1]) for r in rows]
    return Exhibit(
        name,
        f"logistic regression of being a woman, {formula.split('~')[1].strip()}, {epsilon}",
        numbers=[
            Beside(
                f"fit with {labels[0]} against {labels[1]}",
                "the heavier weight fits better",
                f"mean difference {rows[0][-1]} and {rows[1][-1]}",
                away[0] <= away[1] * 1.05,
                "log odds ratios, authentic against synthetic",
            )
        ],
        sections=[Section("", charts, across=2)],
        tables=[Listing("", ("weights", "coefficients", "overlap", "sign kept", "mean difference"), rows)],
        commands=(
            f"hedgerow compare confidential.parquet release-{two[0].name} --beside release-{two[1].name} "
            f"--only logistic-model --logistic '{formula}' --out logistic.html",
        ),
    )


_SAID = ("overlap", "sign_kept", "mean_difference")


def _rates(shop: Workshop) -> Exhibit:
    chosen = Settings()
    rates = shop.rates(chosen)
    leaves = [
        (", ".join(t["labels"]), f"{t['leaves']:,}", f"{t['small']:,}", f"{t['target_rows']:,.0f}")
        for t in rates["leaves"]
    ]
    return Exhibit(
        "True-classified and match rates",
        "what the report prints under its figures",
        "The report prints these beside an epsilon that does not cover them: they are exact answers about "
        "confidential rows. Here they are a command for the steward, and no release can hold them.",
        numbers=[
            Beside(
                "rows that match one authentic row alone",
                "80 %",
                percent(rates["match_rate"]),
                None,
                "BD was simulated with 80 % of AD's rows; matched here by all public columns, there by an identifier",
            ),
            Beside("rows left without a label", "0, 0", str(rates["unlabelled"]), rates["unlabelled"] == 0),
        ],
        tables=[
            Listing(
                "Leaves without a public row, which a leaf minimum of 1 would leave without a label",
                ("leaf table of", "leaves", "small", "target rows in them"),
                leaves,
            )
        ],
        deviations=(
            "A small leaf is never without a label here: it takes the counts of the split above it (leaf_min).",
        ),
        commands=(f"hedgerow steward rates {chosen.name}.toml --leaf-min 1",),
    )


def _mismatch(shop: Workshop) -> Exhibit:
    ways = (
        ("as they are (what the report did)", Settings()),
        ("one published ratio", Settings(ratio=1.12)),
        ("ratio by agency, from the public table and the target", Settings(ratio=("agency",))),
    )
    rows = []
    for label, s in ways:
        found = shop.compared(s)
        rows.append((label, *(small(found[m].value) for m in PANELS)))
    return Exhibit(
        "Section 3: the pay mismatch",
        "basic pay in one table, adjusted pay in the others",
        "The report names three possible solutions. (1) A ratio on SD's basic pay, by year, agency and so on, "
        "from AD: offered, with the ratio from public tables instead (ratio = ...). Its question, 'does this "
        "violate or reduce DP?': yes, if pay is protected, for a mean ratio is an answer without noise; no, if "
        "pay is declared public row by row. (2) Separate nodes and leaves for adjusted pay: answered; not built, "
        "as it asks AD for a second set of leaves at the full price, for what changes only where branches end. "
        "(3) The ratio applied to BD: offered by the same setting, which moves SD to BD's scale instead, so that "
        "no published value is changed and nobody needs to know an authentic ratio.",
        tables=[Listing("", ("pay", *_WORDS), rows)],
        commands=tuple(f"hedgerow plan {s.name}.toml" for _, s in ways[1:]),
    )
