"""The tuned constants of ``guided_tree`` and ``random_trees``; their pages list them."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, final

from hedgerow.model.constants import Origin

_FOUR = "chosen on adult_halves, adult_shifted, acs_ma and census together, with pretended noise"
_BANDS = "written down once after a prototype on opm, adult_halves and acs_ma"
_ONCE = "set by hand; no choice between values is on record"
_WORK = "bounds work or memory"


@final
@dataclass(frozen=True)
class GuidedTreeConstants:
    """What was chosen in ``guided_tree``. ``acs_state`` was kept apart: nothing was chosen on it.

    Drift and chance are told apart in ``label_counts.py``, the public model is in ``regression_tree.py``, draws are
    in ``row_shares.py``; trees, tables and bands in ``recipes/trees``.
    """

    drift_caution: Annotated[
        float,
        Origin(
            "standard errors",
            "taken off the drift of all labels together: noise must not pass for drift",
            f"{_FOUR}; results change by less than 3 % between 2 and 4",
        ),
    ] = 3.0
    own_drift_doubt: Annotated[
        float,
        Origin(
            "squared standard errors",
            "beyond it (5.5 standard errors; noise makes that once in 10^5) a label has a drift of its own",
            _FOUR,
        ),
    ] = 30.0
    widest_square: Annotated[
        float,
        Origin("variances", "a squared difference counts at most so much: Laplace noise has long tails", _FOUR),
    ] = 9.0
    drift_passes: Annotated[
        int, Origin("passes", "drift is estimated anew and applied, unless none is left", _ONCE)
    ] = 3
    drift_rounds: Annotated[int, Origin("rounds over all tables", "of the posterior mean in one pass", _ONCE)] = 4
    mode_sweeps: Annotated[int, Origin("sweeps over all tables", "of the posterior mode", _ONCE)] = 8
    largest_step: Annotated[float, Origin("log share", "the most that one step moves a label", _ONCE)] = 2.0
    drift_levels: Annotated[
        tuple[int, ...], Origin("depth", "of the nodes that are corrected for drift before the leaves", _ONCE)
    ] = (1, 2, 4, 8, 16)
    public_rows: Annotated[
        int, Origin("rows", "the most public rows that a tree or a boosted model is grown on", _WORK)
    ] = 400_000
    smallest_leaf: Annotated[int, Origin("public rows", "the fewest in a half of a split", _ONCE)] = 8
    deepest_leaf: Annotated[int, Origin("splits", "the most above a leaf", _ONCE)] = 24
    leaf_charges: Annotated[
        tuple[float, ...],
        Origin(
            "times its noise", "what a leaf is charged in pruning when a model tells rows apart: two trees", _FOUR
        ),
    ] = (8.0, 64.0)
    table_parts: Annotated[
        tuple[Fraction, ...],
        Origin("of the budget", "for attribute x private tables: the parts whose expected error is compared", _ONCE),
    ] = (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    first_part: Annotated[
        Fraction,
        Origin("of the budget", "for the tables that are asked first when there are no public labels", _ONCE),
    ] = Fraction(1, 2)
    leaf_smoothing: Annotated[
        float, Origin("rows", "of the whole table's mix that the public labels of a leaf are given", _ONCE)
    ] = 5.0
    code_smoothing: Annotated[
        float, Origin("rows", "of the node's mix that a code is given before codes are put in order", _ONCE)
    ] = 5.0
    boosting_rate: Annotated[float, Origin("of a Newton step", "the learning rate of the public model", _ONCE)] = 0.15
    boosting_rounds: Annotated[int, Origin("trees", "the most in the public model", _ONCE)] = 120
    boosting_depth: Annotated[int, Origin("splits", "the most above a leaf of one of them", _ONCE)] = 4
    boosting_leaf: Annotated[int, Origin("public rows", "the fewest in a half of a split of one of them", _ONCE)] = 20
    boosting_patience: Annotated[
        int, Origin("rounds", "without gain on held-out rows, after which boosting stops", _ONCE)
    ] = 8
    boosting_held_out: Annotated[int, Origin("one public row in", "is held out to choose the rounds", _ONCE)] = 5
    boosting_ridge: Annotated[float, Origin("curvature", "added to the denominator of a Newton step", _ONCE)] = 5.0
    boosting_clip: Annotated[float, Origin("log share", "the most of a Newton step before the rate", _ONCE)] = 4.0
    least_share: Annotated[float, Origin("share", "the least the public model gives to a label of a row", _ONCE)] = (
        1e-5
    )
    band_counts: Annotated[
        tuple[int, ...], Origin("bands", "of an outcome's residual: the numbers that are compared", _BANDS)
    ] = (2, 3, 4, 6, 8, 12, 16)
    outcome_shares: Annotated[
        tuple[Fraction, ...],
        Origin("of the budget", "for outcomes and analyses, the least that tells enough", _BANDS),
    ] = (Fraction(1, 6), Fraction(1, 3), Fraction(1, 2))
    analyses_share: Annotated[Fraction, Origin("of the budget", "for analyses alone", _ONCE)] = Fraction(1, 3)
    told_enough: Annotated[
        float, Origin("of the variance that chance gives", "beyond it a larger share is not considered", _BANDS)
    ] = 0.5
    residual_sweeps: Annotated[
        int, Origin("sweeps over all columns", "of the least squares of an outcome", _ONCE)
    ] = 30
    residual_steps: Annotated[
        int, Origin("steps per standard deviation", "to which residuals are rounded", _ONCE)
    ] = 16
    residual_rows: Annotated[
        int,
        Origin("rows", "the most for least squares: more would not move an effect by 1 % of what is left", _WORK),
    ] = 400_000
    band_tree_numbers: Annotated[int, Origin("numbers", "the most in the tree of bands: 16 MB", _WORK)] = 4_000_000
    lloyd_rounds: Annotated[int, Origin("rounds", "of Lloyd's algorithm for the cuts of bands", _ONCE)] = 40
    balance_sweeps: Annotated[int, Origin("sweeps over all rows", "in which labels are exchanged", _ONCE)] = 2
    rule_redraws: Annotated[
        int, Origin("times", "a row that breaks a rule is drawn again, at most; in random_trees too", _ONCE)
    ] = 20


@final
@dataclass(frozen=True)
class RandomTreesConstants:
    """What was chosen in ``random_trees`` besides its settings, whose defaults stand on its page."""

    spread_floor: Annotated[
        float, Origin("squared share", "the least spread between trees, for combine = 'precision'", _ONCE)
    ] = 1e-4
    most_slots: Annotated[int, Origin("children of splits", "the most of one tree: 0.5 GB", _WORK)] = 1 << 27


GUIDED_TREE = GuidedTreeConstants()
RANDOM_TREES = RandomTreesConstants()
