"""RDT-2018: intervals of a leaf; collapsing, trees, weights, epsilon and n_B, and what they do to sex and race."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import polars as pl

from hedgerow.api.job import Job, told_rates
from hedgerow.evaluate.compare import Comparison, Figure, FigureCard, figure_card
from hedgerow.figures import Drawing, Key, Section, percent, small
from hedgerow.public import document
from hedgerow.reproduce.intervals import figure_1, figure_2
from hedgerow.reproduce.paper import Beside, Exhibit, Listing, Paper, Task
from hedgerow.reproduce.tables import ATTRIBUTES, YEAR, tables_of_1988

Weights = tuple[int, int, int, int, int, int]
PLAIN, AGENCY = (1, 1, 1, 20, 1, 10), (1, 1, 60, 20, 1, 1)
OCCUPATION, EVEN = (1, 1, 1, 60, 1, 1), (1, 1, 1, 1, 1, 1)
PANELS = ("joint-proportions", "joint-scatter", "slopes", "correlations")
_CROSSED = ("sex", "race", "agency", "occupation")


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
            "year": str(YEAR),
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
        if self.ratio is not None:
            trees["ratio"] = {"pay": list(self.ratio) if isinstance(self.ratio, tuple) else self.ratio}
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
            options: dict[str, Any] = {"only": PANELS, "joint": ("sex", "race", "occupation"), "scatter": _CROSSED}
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
    tables_of_1988(task.folder, quick=task.quick)
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
            _strategy(shop),
            figure_1(),
            figure_2(),
            *(_pair(shop, f) for f in _FIGURES),
            *_logistic(shop),
            _rates(shop),
            _mismatch(shop),
        ),
    )


def _strategy(shop: Workshop) -> Exhibit:
    pair = ["race", "age", "occupation"]
    secret = pl.read_parquet(shop.folder / "confidential.parquet", columns=pair).unique()
    drawn = shop.made(Settings())[1].records.select(pair).unique()
    new = drawn.select(pl.all().cast(pl.String)).join(secret.select(pl.all().cast(pl.String)), pair, how="anti")
    n = [pl.scan_parquet(shop.folder / f"{t}.parquet").select(pl.len()).collect().item() for t in _THREE]
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
        numbers=[
            Beside(
                "combinations of race, age and occupation in the synthetic file that AD lacks",
                "can be produced",
                f"{new.height} of {drawn.height}",
                new.height > 0,
                "section 4: where age is not on a row's branch, race is drawn without regard to it",
            )
        ],
        tables=[Listing("", ("the report's table", "file here", "rows", "what it is for"), rows)],
        deviations=(
            "Domains come from the schema and not from AD; every label of every leaf gets noise, empty ones too: the "
            "labels seen in a leaf would tell that they were there.",
            "The noise is whole-number Laplace noise; negative counts are set to 0 before proportions are taken, on "
            "which the report is silent; trees vote by mean proportions, as (unchecked) Jagannathan (2012) has it.",
            "The report's total is epsilon for an ensemble. What its noise costs: every tree counts all rows, both "
            "columns are asked for, and a changed label moves two counts, so 4 x epsilon x trees.",
            "All BD rows come out. The report leaves out rows without a match in AD, which tells who is in the file.",
        ),
        commands=("hedgerow plan trees.toml",),
    )


_THREE = ("public", "confidential", "target")


@final
@dataclass(frozen=True)
class SlopeClaim:
    """What the report says of two settings: that the second fits better, or that there is no difference.

    Attributes:
        says: of what.
        word: in the report's words.
        gain: whether the second is to fit better; None where the report itself calls it chance.
        of: the given column whose slopes with sex are meant; all private columns with all given ones, when empty.
    """

    says: str
    word: str
    gain: bool | None = False
    of: str = ""

    def beside(self, found: Sequence[Comparison]) -> Beside:
        """The claim beside the correlation of slopes, panel (c), in two comparisons."""
        value = [_slopes(c, self.of) for c in found]
        away = [max(1 - v, 1e-9) for v in value]
        apart = max(away) > 4 / 3 * min(away)
        held = None if self.gain is None else apart and away[1] < away[0] if self.gain else not apart
        why = f"panel (c), {f'slopes between sex and {self.of}' if self.of else 'private columns with all others'}; "
        why += "a difference is one where 1 - correlation is larger by a third; simulated tables"
        ours = f"correlation of slopes {value[0]:.3f} and {value[1]:.3f}"
        return Beside(self.says, self.word, ours, held, why)


def _slopes(comparison: Comparison, given: str) -> float:
    """How the slopes of two tables correlate: of sex with a given column, or of the worst private column with all."""
    result = comparison["slopes"]
    if given:
        tied = result.table.filter((pl.col("private") == "sex") & (pl.col("with") == given))
        found = tied["correlation"].drop_nulls()
        return float(found[0]) if len(found) else 0.0
    return result.value or 0.0


@final
@dataclass(frozen=True)
class Pair:
    """A figure of two releases: what they vary, what the report says of it, and the rates that it prints.

    Attributes:
        name: as the report calls it.
        title: what it shows.
        two: the settings.
        labels: what tells them apart.
        claims: of the report.
        printed: its true-classified shares, if any, and the setting that they are read to be of.
    """

    name: str
    title: str
    two: tuple[Settings, Settings]
    labels: tuple[str, str]
    claims: tuple[SlopeClaim, ...]
    printed: tuple[str, int] | None = None


_COLLAPSED, _WIDER, _BASE, _NOISY = Settings(10, 10), Settings(25, 10), Settings(), Settings(epsilon=0.1)
_SOLE = replace(_NOISY, pay=10)
_WEIGHTS = ("weights 1, 1, 1, 20, 1, 10", "weights 1, 1, 60, 20, 1, 1")
_FIGURES = (
    Pair(
        "Figures 3 and 4",
        "effect of collapsing",
        (_COLLAPSED, _WIDER),
        ("collapse 10, 0, 0", "collapse 25, 500, 200"),
        tuple(SlopeClaim(f"slopes of {c}", "improvements are observed", True, c) for c in ("agency", "occupation")),
        ("0.6779, 0.5813", 1),
    ),
    Pair(
        "Figure 5",
        "effect of ensemble size",
        (_BASE, _WIDER),
        ("5 trees", "10 trees"),
        (SlopeClaim("difference between five and ten trees", "not significant"),),
    ),
    Pair(
        "Figure 6",
        "effect of the weight of agency, collapsed",
        (_NOISY, replace(_NOISY, weights=AGENCY)),
        _WEIGHTS,
        (SlopeClaim("fit of slopes when agency is weighted 60", "a significant difference", True, "agency"),),
        ("0.6391, 0.577", 0),
    ),
    Pair(
        "Figure 7",
        "effect of the weight of agency, pay alone collapsed",
        (_SOLE, replace(_SOLE, weights=AGENCY)),
        _WEIGHTS,
        (SlopeClaim("fit of slopes when agency is weighted 60", "no significant difference", of="agency"),),
        ("0.6365, 0.5743", 0),
    ),
    Pair(
        "Figure 8",
        "effect of epsilon",
        (_NOISY, _BASE),
        ("epsilon 0.1", "epsilon 0.4"),
        (
            SlopeClaim("difference between epsilon 0.1 and 0.4", "not significant"),
            SlopeClaim("slopes of agency", "better at 0.1, 'counterintuitive': chance", None, "agency"),
        ),
    ),
    Pair(
        "Figure 9",
        "effect of n_B",
        (_BASE, replace(_BASE, n_b=2000)),
        ("n_B 1,000", "n_B 2,000"),
        (SlopeClaim("difference between n_B 1,000 and 2,000", "not significant"),),
    ),
)


def _pair(shop: Workshop, pair: Pair) -> Exhibit:
    """Panels (a) to (d) of two releases side by side, and the table that the report has below them."""
    two, labels = pair.two, pair.labels
    found = [shop.compared(s) for s in two]
    charts = list[tuple[str, Drawing]]()
    for metric, letter in zip(PANELS, "abcd", strict=True):
        for i, comparison in enumerate(found):
            figure = _drawn(comparison[metric].figures[0])
            if figure is not None:
                charts.append((f"({letter}{i + 1}) {figure.title}; {labels[i]}", figure.panels[0].svg))
    value = [[c[m].value or 0.0 for c in found] for m in PANELS]
    numbers = [claim.beside(found) for claim in pair.claims]
    if pair.printed:
        rates = shop.rates(two[pair.printed[1]])
        true = ", ".join("-" if r is None else f"{r:.4f}" for r in rates["true_rate"].values())
        chance = ", ".join(f"{r:.3f}" for r in rates["by_chance"].values())
        why = f"two numbers, read as sex and race: the report does not say; other people: by chance {chance}"
        numbers.append(Beside("pTrueClassified", pair.printed[0], true, None, why))
        none = "rows that lack a label in either column"
        numbers.append(Beside("nUnsynthesized", "0, 0", str(rates["unlabelled"]), rates["unlabelled"] == 0, none))
    head = ("", *labels)
    rows = [(f"({x}) {w}", *map(small, v)) for x, w, v in zip("abcd", _WORDS, value, strict=True)]
    rows += [
        ("total epsilon that this noise costs", *(f"{s.total:g}" for s in two)),
        *((k, v, two[1].under[k]) for k, v in two[0].under.items()),
    ]
    return Exhibit(
        pair.name,
        pair.title,
        "Panels (a) to (d): shares of joint categories of sex, race and occupation as bars; shares of those of "
        "sex, race, agency and occupation against each other; slopes and correlations between levels of different "
        "attributes, authentic across and synthetic up. Left and right one setting each. The "
        f"{_BARS} most frequent categories and {_DOTS} dots of each panel are drawn; all count in the numbers.",
        numbers=numbers,
        sections=[Section("", charts, across=2, keys=[Key("authentic", "bar truth"), Key("synthetic", "bar")])],
        tables=[Listing("The table below the report's figure", head, rows)],
        deviations=(_PANEL_B,),
        commands=(
            f"hedgerow run {two[1].name}.toml --yes --out again",
            f"hedgerow compare confidential.parquet release-{two[0].name} --beside release-{two[1].name} "
            f"--only {','.join(PANELS)} --joint sex,race,occupation --scatter {','.join(_CROSSED)} --out panels.html",
        ),
    )


def _drawn(figure: Figure) -> FigureCard | None:
    """A figure with some of its marks, so that a page of many stays small: the first bars, every so many dots."""
    data = figure.data
    kept = data.head(_BARS) if figure.kind == "bars" else data.gather_every(max(1, -(-data.height // _DOTS)))
    return figure_card(replace(figure, data=kept), ("authentic", "synthetic"))


_BARS, _DOTS = 20, 400
_PANEL_B = (
    "Panel (b) of the report crosses sex and race with all six node attributes. In tables of this size nearly every "
    f"such category has one row: two are crossed here, `--scatter sex,race,{','.join(ATTRIBUTES)}` crosses all."
)
_WORDS = (
    "rows out of place in sex x race x occupation",
    "correlation of joint shares",
    "correlation of slopes",
    "correlation of correlations",
)


def _logistic(shop: Workshop) -> list[Exhibit]:
    heavy, light = replace(_NOISY, weights=AGENCY), _NOISY
    more, less = replace(_BASE, weights=AGENCY), _BASE
    occupation, even = replace(_BASE, weights=OCCUPATION), replace(_BASE, weights=EVEN)
    sole, both, names = "sex=F ~ agency", "sex=F ~ agency + occupation", ("Agency=60", "Agency=1")
    many = ("Agency=60, Occupation=20", "Agency=1, Occupation=20"), ("Occupation=60", "Occupation=1")
    far = [_away(shop, s, sole) for s in (heavy, light, more, less)]
    little = Beside(
        "difference between epsilon 0.1 (figure 10) and 0.4 (figure 11)",
        "little",
        f"mean difference of coefficients {small(far[0])} and {small(far[2])} with Agency=60, {small(far[1])} and "
        f"{small(far[3])} with Agency=1",
        max(abs(far[0] - far[2]), abs(far[1] - far[3])) < 0.25 * max(far),
        "little: less than a quarter of the largest of the four",
    )
    weighted = _away(shop, occupation, both), _away(shop, light, both)
    fits = Beside(
        "fit when occupation is weighted 60 (figure 13) and not 20 (figure 12)",
        "significantly better for certain occupations",
        f"mean difference of coefficients {small(weighted[0])} and {small(weighted[1])}",
        weighted[0] < weighted[1],
        "Agency=1 in both; epsilon is 0.4 and 0.1, as the report notes itself",
    )
    last = _away(shop, occupation, "sex=F ~ occupation"), _away(shop, even, "sex=F ~ occupation")
    close = Beside(
        "fit with Occupation=60, the sole predictor",
        "close for certain occupations",
        f"mean difference of coefficients {small(last[0])}, with Occupation=1 {small(last[1])}",
        last[0] < last[1],
        "log odds ratios, authentic against synthetic",
    )
    return [
        _coefficients(shop, "Figure 10", sole, (heavy, light), names, "epsilon 0.1", ()),
        _coefficients(shop, "Figure 11", sole, (more, less), names, "epsilon 0.4", (little,)),
        _coefficients(shop, "Figure 12", both, (heavy, light), many[0], "epsilon 0.1", ()),
        _coefficients(shop, "Figure 13", both, (occupation, even), many[1], "epsilon 0.4", (fits,)),
        _coefficients(shop, "Figure 14", "sex=F ~ occupation", (occupation, even), many[1], "epsilon 0.4", (close,)),
    ]


def _away(shop: Workshop, settings: Settings, formula: str) -> float:
    """The mean difference of logistic coefficients between the confidential table and a release."""
    return float(shop.compared(settings, formula)["logistic-model"].parts["mean_difference"] or 0.0)


def _coefficients(
    shop: Workshop,
    name: str,
    formula: str,
    two: Sequence[Settings],
    labels: tuple[str, str],
    epsilon: str,
    numbers: Sequence[Beside],
) -> Exhibit:
    charts, rows = list[tuple[str, Drawing]](), []
    for s, label in zip(two, labels, strict=True):
        result = shop.compared(s, formula)["logistic-model"]
        figure = _drawn(result.figures[0])
        if figure is not None:
            charts.append((f"attribute weights: {label}", figure.panels[0].svg))
        parts = result.parts
        rows.append((label, str(parts["coefficients"]), *(small(float(parts[k] or 0)) for k in _SAID)))
    return Exhibit(
        name,
        f"logistic regression of being a woman, {formula.split('~')[1].strip()}, {epsilon}",
        numbers=numbers,
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
    names = [", ".join(t["labels"]) for t in rates["leaves"]]
    leaves = [
        (f"{n}, tree {names[:i].count(n) + 1}", f"{t['leaves']:,}", f"{t['small']:,}", f"{t['target_rows']:,.0f}")
        for i, (n, t) in enumerate(zip(names, rates["leaves"], strict=True))
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
            Beside(
                "rows without a label in either column", "0, 0", str(rates["unlabelled"]), not rates["unlabelled"]
            ),
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
