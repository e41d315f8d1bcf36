"""Whole records: models they are drawn from, and ways to fit them to tables."""

from hedgerow.model.records.descent import MOST, GroupTargets, PairTargets, Records, pair_shares
from hedgerow.model.records.fitters import AbstractFitter, Exchange, GradualUpdate
from hedgerow.model.records.groups import GroupedModel, PublicGroups
from hedgerow.model.records.models import (
    BlendModel,
    CrossedModel,
    ProductModel,
    SupportModel,
    WiderTables,
    counts_of,
    fit_product,
    fixed_stream,
)
from hedgerow.model.records.tree import JunctionModel, TreeModel, Triple, paths, spanning_forest, stratified
