"""Tables of counts: noisy ones shrunk, smoothed, made possible and made to agree; and those that are published."""

from hedgerow.model.tables.count_posterior import METHODS, Method, Noised, likely_counts
from hedgerow.model.tables.count_table import (
    ALL,
    NORMAL,
    CountTable,
    Margin,
    Reconciled,
    check_columns,
    left_variance,
    reconcile,
    reconciled_parts,
)
from hedgerow.model.tables.directions import shrink_pair
from hedgerow.model.tables.fitting import (
    Floats,
    Key,
    Pair,
    Tables,
    cell_weights,
    common_margins,
    consistent,
    fit_margins,
    fit_pair,
    inner,
    pooled_total,
    project,
    project_pair,
    rake_rows,
    systematic_counts,
    systematic_shards,
)
from hedgerow.model.tables.lines import quiet_tails, smoothed_noise
from hedgerow.model.tables.shrinkage import (
    Drift,
    Moments,
    Widths,
    drift_of,
    moments,
    pooled_drifts,
    posterior,
    shrink,
    shrink_by_gaps,
    smoothed,
    smoothed_line,
    smoothing_widths,
)
from hedgerow.model.tables.together import NoisyPair, posteriors_together
