"""Every metric by its name, in the order reports show them."""

from hedgerow.evaluate.base import AbstractMetric
from hedgerow.evaluate.joint_proportions import JointProportions
from hedgerow.evaluate.joint_scatter import JointScatter
from hedgerow.evaluate.marginals import OneWay, ThreeWay, TwoWay
from hedgerow.evaluate.slopes import Correlations, Slopes

METRICS: dict[str, type[AbstractMetric]] = {
    m.name: m for m in (JointProportions, JointScatter, Slopes, Correlations, OneWay, TwoWay, ThreeWay)
}
