"""Trees, random and grown; label shares corrected by noisy label counts; labels drawn for given rows."""

from hedgerow.model.trees.label_counts import LabelCounts as LabelCounts
from hedgerow.model.trees.label_counts import LeafRows as LeafRows
from hedgerow.model.trees.label_counts import apply_drift as apply_drift
from hedgerow.model.trees.label_counts import expected_error as expected_error
from hedgerow.model.trees.label_counts import label_totals as label_totals
from hedgerow.model.trees.label_counts import merge_groups as merge_groups
from hedgerow.model.trees.label_counts import posterior_mode as posterior_mode
from hedgerow.model.trees.label_counts import to_target as to_target
from hedgerow.model.trees.random_tree import Combine as Combine
from hedgerow.model.trees.random_tree import clip_to_shares as clip_to_shares
from hedgerow.model.trees.random_tree import combine as combine
from hedgerow.model.trees.random_tree import join_trees as join_trees
from hedgerow.model.trees.random_tree import leaf_counts as leaf_counts
from hedgerow.model.trees.random_tree import number_reached as number_reached
from hedgerow.model.trees.random_tree import sketch_tree as sketch_tree
from hedgerow.model.trees.regression_tree import BinaryTree as BinaryTree
from hedgerow.model.trees.regression_tree import Shares as Shares
from hedgerow.model.trees.regression_tree import above as above
from hedgerow.model.trees.regression_tree import as_tree as as_tree
from hedgerow.model.trees.regression_tree import fit_boosted_trees as fit_boosted_trees
from hedgerow.model.trees.regression_tree import grow as grow
from hedgerow.model.trees.regression_tree import prune as prune
from hedgerow.model.trees.row_shares import RowShares as RowShares
from hedgerow.model.trees.row_shares import draw_each as draw_each
from hedgerow.model.trees.row_shares import with_columns as with_columns
