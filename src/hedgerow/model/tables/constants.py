"""The tuned constants of the blends, ``dpsyn`` and ``integer_counts``; their pages list them.

Settings of a recipe are no constants: a job can change them.  The paper's numbers in dpsyn's rule are settings.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, final

from hedgerow.model.constants import Origin

_ONCE = "set by hand; no choice between values is on record"
_WORK = "bounds work or memory"
_LOOKED = "set while the estimators were chosen on adult_halves, adult_shifted and acs_by_state"
_RAKED = "chosen on adult_halves, adult_shifted, acs_ma and census at epsilon 0.25, 1 and 10, with pretended noise"
_TRIPLES = "chosen on adult, census and acs_by_state at epsilon 1 and 10, with pretended noise"
_YEARS = "chosen on the personnel cells of every third year, 1989 to 2010"
_PAIR = "chosen on acs_by_state, after a look at acs_ma"


@dataclass(frozen=True)
class BlendConstants:
    """What ``tree_blend`` and ``public_blend`` share."""

    tree_trace: Annotated[float, Origin("share", "of independence in what the tree says of a pair", _ONCE)] = 0.02
    least_share: Annotated[
        float, Origin("of an equal share", "a table that would get less of a cost is not asked for", _ONCE)
    ] = 0.05
    widest_triple: Annotated[int, Origin("cells", "the most of a triple that is chosen by itself", _WORK)] = 3000
    wider_trace: Annotated[
        float, Origin("share", "of evenness in what a model expects of a table of three or more columns", _ONCE)
    ] = 0.01
    wider_fit_sweeps: Annotated[
        int, Origin("sweeps", "of proportional fitting of such a table to its pairs", _ONCE)
    ] = 12
    wider_raking: Annotated[
        tuple[int, float], Origin("sweeps, power", "of weighing records to such tables and their pairs", _ONCE)
    ] = (4, 0.5)
    wider_last_sweeps: Annotated[int, Origin("sweeps", "of weighing them to such tables alone, at last", _ONCE)] = 10
    descent_end: Annotated[
        int, Origin("one record in", "record descent ends when fewer values move in a sweep", _ONCE)
    ] = 500


@final
@dataclass(frozen=True)
class TreeBlendConstants(BlendConstants):
    """What was chosen in ``tree_blend`` besides its settings."""

    path_noise: Annotated[
        float, Origin("of the rows", "the most that the noise of a path of three columns may move", _TRIPLES)
    ] = 0.1
    middle_path_noise: Annotated[
        float, Origin("of the rows", "the same for the middle one of all paths; above, no path is measured", _TRIPLES)
    ] = 0.06
    choice_part: Annotated[Fraction, Origin("of a path's cost", "for choosing it", _ONCE)] = Fraction(1, 5)


@final
@dataclass(frozen=True)
class PublicBlendConstants(BlendConstants):
    """What was chosen in ``public_blend`` besides its settings."""

    own_drift_sure: Annotated[
        float,
        Origin(
            "standard normal",
            "beyond it (noise makes that once in 10^5) a table has a drift of its own",
            f"{_LOOKED}; mended after a look at acs_ma",
        ),
    ] = 4.3
    pool_drift_sure: Annotated[
        float,
        Origin("standard normal", "taken off the drift of all tables: noise makes it once in a hundred", _LOOKED),
    ] = 2.3
    known_chance: Annotated[
        float, Origin("variance over mean", "the least drift: both tables are samples", _LOOKED)
    ] = 1.5
    smoothing_widths: Annotated[
        tuple[int, ...], Origin("values", "the widths of smoothing that are compared", _ONCE)
    ] = (0, 1, 2, 4, 8, 16, 32)
    smoothing_trace: Annotated[float, Origin("share", "of independence in a smoothed pair", _ONCE)] = 0.01
    public_trace: Annotated[float, Origin("share", "of independence in a public pair", _LOOKED)] = 0.003
    foreign_trust: Annotated[
        float, Origin("share of trust", "below it a column of the public table is about other people", _LOOKED)
    ] = 0.5
    tail_weight: Annotated[float, Origin("of all weight", "on the extra rows before they are raked", _LOOKED)] = 0.01
    light_raking: Annotated[
        tuple[int, float], Origin("sweeps, power", "of weighing rows when drawn records are refined", _RAKED)
    ] = (5, 0.25)
    full_raking: Annotated[
        tuple[int, float], Origin("sweeps, power", "of weighing rows when their weights must do", _RAKED)
    ] = (30, 0.5)
    bearable: Annotated[
        float, Origin("of the rows", "the most that the noise of a table for a use may move", _ONCE)
    ] = 0.5


@dataclass(frozen=True)
class IntegerCountsConstants:
    """What was chosen in ``integer_counts``: the shrinkage towards a public prior, and the margins' part."""

    margins_share: Annotated[Fraction, Origin("of the budget", "for all margins together", _ONCE)] = Fraction(3, 10)
    spread_doubt: Annotated[
        float, Origin("squared standard errors", "that a part of the spread must stand above zero", _YEARS)
    ] = 15.0
    cells_per_doubt: Annotated[float, Origin("cells", "for each of them, in a table of few cells", _YEARS)] = 20.0
    hidden_noise: Annotated[
        float, Origin("variance", "of noise that rounding hides: such counts are left alone", _YEARS)
    ] = 0.25
    scale_rounds: Annotated[int, Origin("rounds", "of finding the scale of the prior", _ONCE)] = 3
    spread_rounds: Annotated[int, Origin("rounds", "of finding the spread around it", _ONCE)] = 6


@final
@dataclass(frozen=True)
class DPSynConstants:
    """What was chosen in ``dpsyn``, repaired, besides its settings; its shrinkage is that of ``integer_counts``."""

    raking: Annotated[
        tuple[int, float],
        Origin(
            "sweeps, power",
            "of weighing the public records",
            "chosen among seven on adult_halves and acs_by_state; acs_ma and census had been seen",
        ),
    ] = (10, 0.25)
    offers: Annotated[int, Origin("pool records", "that a record is offered at once: the best is taken", _ONCE)] = 6
    exchange_end: Annotated[
        int, Origin("one record in", "exchange ends when fewer move; in groups smaller than the pool", _PAIR)
    ] = 200
    large_exchange_end: Annotated[int, Origin("one record in", "the same in larger groups", _PAIR)] = 50


BLEND = BlendConstants()
TREE_BLEND = TreeBlendConstants()
PUBLIC_BLEND = PublicBlendConstants()
INTEGER_COUNTS = IntegerCountsConstants()
DPSYN = DPSynConstants()
