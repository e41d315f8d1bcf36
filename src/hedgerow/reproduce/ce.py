"""The Dirichlet-multinomial lecture: its table, its alpha, its equations, its draw, and the two models it names."""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, lgamma

import numpy as np
import polars as pl

from hedgerow.api.job import Job
from hedgerow.figures import Bar, Key, Section, Twin, bars, many, percent, small, twins
from hedgerow.model import urns as dm
from hedgerow.planning import error_section
from hedgerow.reproduce.paper import Beside, Exhibit, Listing, Paper, Task

EPSILON, SIZE = 5, 994
PRINTED = (816, 109, 7, 39, 6, 17)
DRAWN = (776, 118, 6, 53, 22, 19)
THETA = (0.7804585, 0.1242675, 0.007558385, 0.04464151, 0.01837218, 0.02470187)
RACES = ("White", "Black", "Native American", "Asian", "Pacific Islander", "Multi-race")
EPSILONS = (0.1, 0.25, 0.5, 1, 2, 3, 4, 5, 6, 8, 10)
VARIABLES = (
    ("UrbanRural", "Binary; the urban / rural status of the consumer unit", "not used by the lecture's example"),
    ("Income", "Continuous; income before taxes, past 12 months", "not used"),
    ("Race", "Categorical; race of the reference person, 1 to 6", "the one column of ce.csv"),
    ("Expenditure", "Continuous; total expenditures in the last quarter", "not used"),
)


def paper(task: Task) -> Paper:
    """All slides that hold a number, an equation or a claim."""
    task.watch("reading the lecture's table")
    table = pl.read_csv(task.folder / "ce.csv")
    counts = [int((table["Race"] == k).sum()) for k in range(1, 7)]
    job = Job.load(task.folder / "dirichlet.toml")
    task.watch("planning, drawing and verifying the lecture's job")
    plan = job.plan()
    made = {name: _counts(task, name) for name in ("dirichlet", "integer", "beta-binomial", "gamma-poisson")}
    alpha = [float(dm.alpha_for(EPSILON, SIZE))] * len(counts)
    task.watch("error against epsilon, on the table itself")
    assert plan.imagined is not None
    actual = replace(plan.imagined, counts=np.array(counts, np.float64), actual=True)
    rng = np.random.Generator(np.random.PCG64(0))
    curve, curves = error_section(actual, job.budget, rng)
    return Paper(
        "Jingchen (Monika) Hu, Differentially Private Synthetic Tabular Data. Lecture slides, Vassar College, Data "
        "Confidentiality. After Abowd and Vilhuber (2008) and Machanavajjhala and others (2008).",
        "The lecture publishes one table of 994 households by race with a Dirichlet-multinomial synthesizer at "
        "epsilon 5. Its data are public, so everything is worked out on the lecture's own table. Its bound is right "
        "and tight; one equation on the way has two indices exchanged; and at smaller epsilons the method publishes "
        "mostly its prior.",
        (
            _variables(),
            _table(counts),
            _alpha(plan.remarks),
            _equations(),
            _theta(counts, alpha),
            _draw(counts, made, alpha),
            _slider(counts),
            Exhibit(
                "Summary",
                "the higher the epsilon, the higher the utility",
                "Expected distance between the published and the true shares, on the lecture's own table. It falls, "
                "as the lecture says. Noise on whole counts falls much faster.",
                numbers=[
                    Beside(
                        "utility rises with epsilon",
                        "yes",
                        "yes" if _falls(curves["dirichlet_multinomial"]) else "no",
                        _falls(curves["dirichlet_multinomial"]),
                        ", ".join(f"{e:g}: {small(d)}" for e, d in curves["dirichlet_multinomial"][::2]),
                    )
                ],
                sections=[curve],
                deviations=(
                    "A plan may not read the confidential table, so `hedgerow plan --figure` draws this for a table "
                    "that it names as made up, or like the public one. The steward's own figure, on the table "
                    "itself, comes with `hedgerow steward table`; here the table is public.",
                ),
                commands=(
                    "hedgerow plan dirichlet.toml --figure errors.svg",
                    "hedgerow steward table dirichlet.toml",
                ),
            ),
            _relatives(counts, made),
        ),
    )


def _counts(task: Task, name: str) -> list[int]:
    """The released counts of a job, cell by cell; the release must hold."""
    release = Job.load(task.folder / f"{name}.toml").run(confirm=lambda prepared, plan: True)
    assert release.verify().holds
    return [int(n) for n in pl.read_parquet(release.folder / "counts.parquet")["count"]]


def _falls(curve: Sequence[tuple[float, float]]) -> bool:
    return all(b < a * 1.1 for (_, a), (_, b) in zip(curve, curve[1:], strict=False)) and curve[-1][1] < curve[0][1]


def _variables() -> Exhibit:
    head = ("variable", "the lecture says", "here")
    return Exhibit("Table 1", "the variables of the database", tables=[Listing("", head, VARIABLES)])


def _table(counts: list[int]) -> Exhibit:
    return Exhibit(
        "Slide: the contingency table of Race",
        "994 consumer units by race",
        "`ce.csv` has a line for each of the 994 units of the lecture's table.",
        numbers=[
            Beside(f"count of {r}", str(p), str(c), p == c) for r, p, c in zip(RACES, PRINTED, counts, strict=True)
        ],
    )


def _alpha(remarks: tuple[str, ...]) -> Exhibit:
    found = dm.alpha_min(EPSILON, SIZE)
    back = dm.epsilon_of([float(dm.alpha_for(EPSILON, SIZE))] * 6, SIZE)
    return Exhibit(
        "Step 1: calculate alpha",
        "equations (6), (12) and (13)",
        f"The plan says: {remarks[0]}.",
        numbers=[
            Beside("min alpha = 994 / (exp(5) - 1)", "6.742953", f"{found:.6f}", f"{found:.6f}" == "6.742953"),
            Beside("alpha, as it is drawn with", "6.742953", str(float(dm.alpha_for(EPSILON, SIZE)))),
            Beside("epsilon of that alpha, equation (12)", "5", f"{back:.6f}", round(back, 5) == 5),
        ],
        deviations=(
            "Alpha is rounded up to a millionth, never to the nearest: to the nearest could cost a hair more than 5.",
            "The lecture takes S, the number of counts drawn, from the rows. Here it is a public setting (size = "
            "994), because under add-or-remove the number of rows is a secret; with S public the same epsilon "
            "covers an added or removed row as well.",
        ),
        commands=("hedgerow plan dirichlet.toml",),
    )


def log_predictive(drawn: Sequence[int], counts: Sequence[float], alpha: Sequence[float]) -> float:
    """The logarithm of equation (8): the chance of synthetic counts, but for a part that no neighbour changes."""
    weights = [y + a for y, a in zip(counts, alpha, strict=True)]
    return sum(lgamma(z + w) - lgamma(w) for z, w in zip(drawn, weights, strict=True))


def _ratios() -> Sequence[tuple[tuple[int, ...], float, float, float]]:
    """For some synthetic tables: the true ratio of equation (8), (10) as printed, and (10) set right."""
    alpha, y = (2.0, 3.0, 2.5), (4, 3, 5)
    x = (y[0] - 1, y[1] + 1, y[2])
    found = []
    for drawn in ((6, 0, 0), (0, 6, 0), (2, 2, 2), (1, 4, 1)):
        true = exp(log_predictive(drawn, y, alpha) - log_predictive(drawn, x, alpha))
        (a, b), (p, q), (s, t) = alpha[:2], y[:2], drawn[:2]
        printed = (a + p) / (b + q - 1) * (t + b + q - 1) / (s + a + p)
        right = (b + q) / (a + p - 1) * (s + a + p - 1) / (t + b + q)
        found.append((drawn, true, printed, right))
    return found


def _equations() -> Exhibit:
    rows = [(str(z), f"{true:.6f}", f"{wrong:.6f}", f"{right:.6f}") for z, true, wrong, right in _ratios()]
    wrong = any(abs(true - printed) > 1e-9 for _, true, printed, _ in _ratios())
    right = all(abs(true - mended) < 1e-9 for _, true, _, mended in _ratios())
    tight = float(dm.largest_ratio([2.0, 2.0], 6))
    reached = exp(log_predictive((6, 0), (1, 0), (2, 2)) - log_predictive((6, 0), (0, 1), (2, 2)))
    return Exhibit(
        "Equations (8) to (13)",
        "why it works, and an erratum",
        "Equation (10) for y = (4, 3, 5), alpha = (2, 3, 2.5), i the first cell and i' the second. With the "
        "lecture's choice x_i = y_i - 1 and x_i' = y_i' + 1 the ratio is (alpha_i' + y_i') / (alpha_i + y_i - 1) "
        "x (y*_i + alpha_i + y_i - 1) / (y*_i' + alpha_i' + y_i'): the printed formula has i and i' exchanged. "
        "The bound (11) takes both signs, so (12) and (13) stand.",
        numbers=[
            Beside(
                "equation (10) equals the ratio of (8)", "yes", "no" if wrong else "yes", not wrong, "the erratum"
            ),
            Beside("equation (10) with i and i' exchanged", "-", "equal" if right else "not equal", right),
            Beside(
                "the bound (11) is reached",
                "1 + S / alpha",
                f"{reached:.6f} of {tight:g}",
                abs(reached - tight) < 1e-9,
            ),
        ],
        tables=[
            Listing("p(y* | y) / p(y* | x)", ("y*", "from equation (8)", "(10) as printed", "(10) exchanged"), rows)
        ],
    )


def _theta(counts: list[int], alpha: list[float]) -> Exhibit:
    total = sum(counts) + sum(alpha)
    rows = []
    for race, y, a, printed in zip(RACES, counts, alpha, THETA, strict=True):
        mean = (y + a) / total
        sd = (mean * (1 - mean) / (total + 1)) ** 0.5
        rows.append((race, f"{printed:.6f}", f"{mean:.6f}", f"{sd:.6f}", f"{(printed - mean) / sd:+.1f}"))
    return Exhibit(
        "Step 2: sample theta",
        "the lecture's draw of the shares",
        "The lecture prints one draw of theta from Dirichlet(y + alpha). It lies where it should: beside it the mean "
        "and the standard deviation of that law.",
        tables=[Listing("", ("race", "lecture", "mean", "standard deviation", "deviations away"), rows)],
        deviations=(
            "No theta is drawn or shown here. A draw of theta itself has no finite epsilon (the ratio of two "
            "Dirichlet densities has no bound), so printing it, as the slide does, is outside the promise. "
            "Hedgerow draws the counts directly from a Polya urn in whole numbers: the same law of y*, without "
            "theta and without floats.",
        ),
    )


def _draw(counts: list[int], made: dict[str, list[int]], alpha: list[float]) -> Exhibit:
    mean, sd = dm.predictive(counts, alpha, SIZE)
    pairs = [
        Bar(r, z, f"{r}: original {y}, synthetic {z}", beside=y)
        for r, y, z in zip(RACES, counts, made["dirichlet"], strict=True)
    ]
    far = [abs(z - m) / s for z, m, s in zip(DRAWN, mean, sd, strict=True)]
    rows = [
        (r, f"{y:,}", f"{p:,}", f"{z:,}", f"{m:.1f} +/- {s:.1f}", f"{i:,}")
        for r, y, p, z, m, s, i in zip(
            RACES, counts, DRAWN, made["dirichlet"], mean, sd, made["integer"], strict=True
        )
    ]
    return Exhibit(
        "Step 3: sample y*",
        "original and synthetic side by side",
        "One draw of the lecture, one of ours. Two draws differ: each must lie near the mean of its law.",
        numbers=[
            Beside("sum of the synthetic counts", "994", str(sum(made["dirichlet"])), sum(made["dirichlet"]) == SIZE),
            Beside(
                "the lecture's draw, furthest from its mean",
                "-",
                f"{max(far):.1f} standard deviations",
                max(far) < 4,
                "so the printed table is a plausible draw of this law",
            ),
        ],
        sections=[
            Section(
                "",
                [("", bars(pairs, said="Original above synthetic", counts=True))],
                keys=[Key("original", "bar truth"), Key("synthetic, this run", "bar")],
            )
        ],
        tables=[
            Listing(
                "",
                ("race", "original", "lecture's draw", "our draw", "mean and sd of the law", "integer_counts"),
                rows,
            )
        ],
        deviations=(
            "There is no seed of the draw (the lecture sets 123): a seed would be a key to take it off again.",
        ),
        commands=(
            "hedgerow run dirichlet.toml --yes --out another",
            "hedgerow verify release-dirichlet",
            "hedgerow steward table dirichlet.toml",
        ),
    )


def _slider(counts: list[int]) -> Exhibit:
    charts, rows = [], []
    for e in EPSILONS:
        alpha = dm.alpha_min(e, SIZE)
        mean, sd = dm.predictive(counts, [alpha] * 6, SIZE)
        pairs = [
            Twin(r, float(y), (float(y), float(y)), m, (max(0.0, m - 2 * s), m + 2 * s))
            for r, y, m, s in zip(RACES, counts, mean, sd, strict=True)
        ]
        prior = dm.prior_weight([alpha] * 6, SIZE)
        charts.append(
            (
                f"epsilon {e:g}: alpha {alpha:,.4g}, prior {percent(prior)} of the weight",
                twins(pairs, said=f"Synthetic counts at epsilon {e:g}", show=lambda v: f"{v:,.0f}"),
            )
        )
        rows.append((f"{e:g}", f"{alpha:,.6g}", percent(prior), *(f"{m:,.0f}" for m in mean)))
    return Exhibit(
        "Summary: the choice of epsilon",
        "what epsilon does to this table",
        "The original counts, and where synthetic ones lie (mean, two standard deviations), by epsilon.",
        sections=[
            Section(
                "",
                charts,
                keys=[Key("original", "dot"), Key("synthetic: mean and two standard deviations", "dot made")],
            )
        ],
        tables=[Listing("Mean synthetic counts", ("epsilon", "alpha", "prior weight", *RACES), rows)],
        slide="Epsilon:",
        first=EPSILONS.index(EPSILON),
    )


def _relatives(counts: list[int], made: dict[str, list[int]]) -> Exhibit:
    white, two = [counts[0], SIZE - counts[0]], made["beta-binomial"]
    alpha = dm.alpha_min(EPSILON, SIZE)
    law = [dm.predictive(c, [alpha] * len(c), SIZE) for c in (white, counts)]
    rows = [
        ("beta-binomial (McClure and Reiter 2012)", name, f"{y:,}", f"{z:,}", f"{m:.1f} +/- {s:.1f}")
        for name, y, z, m, s in zip(("White", "other"), white, two, *law[0], strict=True)
    ]
    rows += [
        ("gamma-Poisson (Quick 2019), given its sum", name, f"{y:,}", f"{z:,}", f"{m:.1f} +/- {s:.1f}")
        for name, y, z, m, s in zip(RACES, counts, made["gamma-poisson"], *law[1], strict=True)
    ]
    unequal = dm.bound([1, 1, 1], ["2/5", "4/9", "8/17"], size=4, rows=4)
    plain = dm.epsilon_of([1, 1, 1], 4)
    return Exhibit(
        "Other models",
        "beta-binomial and gamma-Poisson beside it",
        "The lecture names them and shows no numbers. Both are drawn here at the same epsilon 5 from the same "
        "table. With two cells the beta-binomial is the Dirichlet-multinomial; given its sum and with rates in "
        "proportion to the exposures so is the gamma-Poisson.",
        numbers=[
            Beside(
                "gamma-Poisson with unequal rates, three areas",
                f"{plain:.4f} by equation (12)",
                f"{unequal:.4f}",
                False,
                "no number of the lecture's: its formula log(1 + S / alpha) is too small where pi differ. Our bound, "
                "which is safe, is above the exact 1.7005 "
                f"(a = 1, pi = 2/5, 4/9, 8/17, four rows, {many(4, 'count')} drawn)",
            )
        ],
        tables=[Listing("", ("model", "cell", "original", "synthetic", "mean and sd of the law"), rows)],
        deviations=(
            "Quick's gamma-Poisson without a fixed sum has no finite epsilon: the log-ratio of one count grows "
            "without bound. Hedgerow draws it given a public sum, and refuses rates that are not in proportion.",
        ),
        commands=("hedgerow run beta-binomial.toml --yes", "hedgerow run gamma-poisson.toml --yes"),
    )
