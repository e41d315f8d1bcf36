"""The interval figures of both RDT reports: how far a synthetic share may come out."""

import numpy as np

from hedgerow.planning import (
    DRAWS,
    SHARES,
    empirical,
    interval,
    interval_section,
    least_epsilon,
    least_n,
    simulated,
    simulation_section,
)
from hedgerow.reproduce.paper import Beside, Exhibit, Listing

_SIZES, _EPSILONS = (25, 100, 500), (0.1, 0.4, 1.0)


def figure_1() -> Exhibit:
    """Figure 1 of 2018, with every claim of its section 5."""
    at = interval(0.25, 0.4, 1000)
    tailed = interval(0.25, 0.4, 1000, kind="equal-tailed")
    ratio = [interval(p, 0.1, 1000).width / interval(p, 1.0, 1000).width for p in (0.5, 0.25, 0.05, 0.01)]
    widths = [{p: interval(p, e, n).width for p in SHARES} for n in _SIZES for e in _EPSILONS]
    ends = [" or ".join(f"{p:g}" for p in sorted({end(w, key=w.__getitem__) for w in widths})) for end in (min, max)]
    below = {n: [interval(0.25, e, n).width for e in _EPSILONS] for n in _SIZES}
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
                "a leaf of so many rows, or of any more, keeps it; so in `hedgerow interval` and in a plan",
            ),
            Beside(
                "least epsilon for a width of 0.05 at n = 1,000",
                "read off the plot",
                f"{least_epsilon(0.25, 1000, width=0.05):.3f}",
                None,
                "the privacy cost of a given n_B, which the report reads off its plot, is a command here",
            ),
            Beside(
                "share with the narrowest interval, and with the widest",
                "0 and 0.5",
                " and ".join(ends),
                ends == ["0", "0.5"],
                f"of the six shares, at n = {', '.join(map(str, _SIZES))} and lambda = "
                f"{', '.join(f'{e:g}' for e in _EPSILONS)}",
            ),
            Beside(
                "below n = 1,000 widths fall rapidly with lambda",
                "yes",
                "; ".join(f"n = {n}: {', '.join(f'{w:.3f}' for w in ws)}" for n, ws in below.items()),
                all(ws[0] > 1.3 * ws[-1] for ws in below.values()),
                "p = 0.25, lambda = 0.1, 0.4, 1",
            ),
            Beside(
                "effect of lambda at n = 1,000: width at 0.1 over width at 1",
                "negligible",
                ", ".join(f"{r:.2f}" for r in ratio),
                False,
                "for p = 0.5, 0.25, 0.05, 0.01: not negligible, above all not for rare labels",
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


def figure_2() -> Exhibit:
    """Figure 2 of 2018: simulated leaves, the exact and the empirical interval."""
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


def figure_8() -> Exhibit:
    """Figure 8 of 2019."""
    widths = {n: [interval(0.25, e, n).width for e in (0.25, 0.75)] for n in (25, 500)}
    fall = {n: 1 - w[1] / w[0] for n, w in widths.items()}
    return Exhibit(
        "Figure 8",
        "0.90 intervals of label proportions",
        "The same as figure 1 of the 2018 report.",
        numbers=[
            Beside(
                "width from epsilon 0.25 to 0.75 at n = 25",
                "significant reduction",
                f"{widths[25][0]:.3f} to {widths[25][1]:.3f}",
                fall[25] > 0.2,
            ),
            Beside(
                "the same at n = 500",
                "not significant",
                f"{widths[500][0]:.3f} to {widths[500][1]:.3f}",
                fall[500] < 0.2,
                f"p = 0.25; it falls by {100 * fall[500]:.0f} %",
            ),
        ],
        sections=[interval_section(SHARES, 0.9, "symmetric")],
        commands=("hedgerow interval --figure intervals.svg",),
    )
