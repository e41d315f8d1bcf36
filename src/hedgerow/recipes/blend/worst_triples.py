"""What a tree misses: paths of three columns, chosen through the gate and measured where their noise is small."""

from fractions import Fraction
from math import prod, sqrt

import numpy as np

from hedgerow.answers.protocol import Answers
from hedgerow.model.blend import BlendModel
from hedgerow.model.junction import Triple, paths
from hedgerow.recipes.blend.noisy_tables import Evidence, Floats
from hedgerow.recipes.blend.pairs import Price, moved
from hedgerow.recipes.blend.required_tables import independent
from hedgerow.recipes.blend.triples import MOST_OF_TRIPLE, estimated

_STILL = 0.1  # of the rows may be moved by the noise of a path: three columns show less than two
_CALM = 0.06  # and this is the most for the middle one of all paths: pairs need the budget more where it is above
_CHOICE = Fraction(1, 5)  # of what a path costs is for choosing it


def quiet_paths(evidence: Evidence, price: Price, cost: Fraction) -> list[Triple]:
    """The paths of the tree, not too wide, whose noise is small when each has ``cost``; none if most are noisy."""
    if cost <= 0:
        return []
    sd = sqrt(price.variance(float(cost * (1 - _CHOICE))))
    narrow = [k for k in paths(evidence.tree()) if prod(evidence.shape[i] for i in k) <= MOST_OF_TRIPLE]
    loss = {k: moved(independent(evidence, k), sd) for k in narrow}
    if not narrow or float(np.median(list(loss.values()))) > _CALM:
        return []
    return [k for k in narrow if k not in evidence.tables and loss[k] <= _STILL]


def with_missed(gate: Answers, evidence: Evidence, count: int, cost: Fraction) -> BlendModel:
    """``count`` times: choose the path that the model misses most, measure it, draw records with it as a clique.

    Records begin with what the cliques say and are moved as little as the pairs ask for, so they keep most of it;
    weighing them until the cliques are met would cost the pairs more than the triples gain.
    """
    cliques: dict[Triple, Floats] = {}
    model = evidence.model()
    for _ in range(count):
        open_ = {evidence.question(k): k for k in quiet_paths(evidence, Price(gate.tariff), cost)}
        if not open_:
            break
        guesses = {q: np.rint(model.expected(q)).astype(np.int64) for q in open_}
        worst = gate.select(guesses, cost * _CHOICE)
        key = open_[worst]
        (answer,) = gate.measure([worst], cost * (1 - _CHOICE))
        evidence = evidence.plus({key: answer})
        cliques[key] = estimated(model, evidence, key)
        model = evidence.model(cliques)
    return model
