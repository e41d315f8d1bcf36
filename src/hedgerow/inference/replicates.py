"""Replicates: a release made again as it could have come out, so that their spread around it is its uncertainty.

A replicate is what the recipe makes of the same answers with fresh noise of the same law on top, and of the public
table redrawn so that it drifts as far as the confidential table may lie from it; then records are drawn anew.  So the
squared distance of a figure of replicates from that of the released file estimates the squared error of the latter:
the gate's noise, what is borrowed from the public table, and drawing.  It does not hold the sampling of the
confidential rows, nor what no table and no public row could show the recipe (docs/inference.md).
"""

from dataclasses import replace

import numpy as np

from hedgerow.answers import Answers, NoisierAnswers
from hedgerow.model.base import Fitted
from hedgerow.public import CodedTable, PublicData, career_time, people_facts
from hedgerow.recipes import AbstractRecipe
from hedgerow.stand_in import DRIFT, drift_score


def replicate(recipe: AbstractRecipe, known: Answers, public: PublicData, rng: np.random.Generator) -> Fitted:
    """What the recipe makes of answers that could have been, and of a public table that could have been.

    Where people are counted the public table stays: its rows are not people.
    """
    relative = public.relative
    other = public
    coding = known.tariff.coding
    if relative is not None and not people_facts(coding) and not career_time(coding):
        other = replace(public, relative=drifted(relative, rng))
    return recipe.fit_again(NoisierAnswers(known, rng), public, other)


def drifted(table: CodedTable, rng: np.random.Generator) -> CodedTable:
    """As many rows of ``table``, drawn with odds that drift in a direction of chance, as rehearsals drift."""
    weight = np.exp(DRIFT * drift_score(table, rng))
    return table.take(np.sort(rng.choice(table.rows, table.rows, p=weight / weight.sum())))
