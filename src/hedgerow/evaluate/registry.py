"""Every metric by its name, in the order reports show them."""

from hedgerow.evaluate.audit import NearestRecords, UniqueMatches
from hedgerow.evaluate.base import AbstractMetric
from hedgerow.evaluate.classifiers import TellingApart, TrainOnSynthetic
from hedgerow.evaluate.levels import Correlations, Slopes
from hedgerow.evaluate.marginals import KMarginal, OneWayDistance, ThreeWayDistance, TwoWayDistance
from hedgerow.evaluate.numeric import NumericDistances
from hedgerow.evaluate.panels import JointProportions, JointScatter
from hedgerow.evaluate.regressions import LinearModel, LogisticModel
from hedgerow.evaluate.small_groups import RareCells, SmallGroups
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
