"""Every metric by its name, in the order reports show them."""

from hedgerow.evaluate.base import AbstractMetric
from hedgerow.evaluate.joint_proportions import JointProportions
from hedgerow.evaluate.joint_scatter import JointScatter
from hedgerow.evaluate.k_marginal import KMarginal
from hedgerow.evaluate.linear_model import LinearModel
from hedgerow.evaluate.logistic_model import LogisticModel
from hedgerow.evaluate.marginals import OneWayDistance, ThreeWayDistance, TwoWayDistance
from hedgerow.evaluate.nearest_records import NearestRecords
from hedgerow.evaluate.numeric import NumericDistances
from hedgerow.evaluate.rare_cells import RareCells
from hedgerow.evaluate.slopes import Correlations, Slopes
from hedgerow.evaluate.small_groups import SmallGroups
from hedgerow.evaluate.telling_apart import TellingApart
from hedgerow.evaluate.train_on_synthetic import TrainOnSynthetic
from hedgerow.evaluate.unique_matches import UniqueMatches
from hedgerow.evaluate.validity import Validity

METRICS: dict[str, type[AbstractMetric]] = {
    m.name: m
    for m in (
        LinearModel,
        LogisticModel,
        JointProportions,
        JointScatter,
        Slopes,
        Correlations,
        OneWayDistance,
        TwoWayDistance,
        ThreeWayDistance,
        KMarginal,
        SmallGroups,
        RareCells,
        NumericDistances,
        TellingApart,
        TrainOnSynthetic,
        Validity,
        UniqueMatches,
        NearestRecords,
    )
}
