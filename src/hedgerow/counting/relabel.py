"""Labels given by lot to rows before they are counted, by public shares: how the RDT paper of 2018 trains its trees.

The law of the lot follows from earlier noisy answers, so it is public.  A row goes down one of some trees, each with
the same chance, and gets a code with the weights of its leaf.  The lot looks at that row's codes and at nothing else.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.plan import checked, leaf_of
from hedgerow.errors import JobError
from hedgerow.public.coding import Codes, Coding, code_type
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Marginal, Tree
from hedgerow.public.costs.spend import Spend, Tariff

TICKETS = 1 << 31  # the weights of a leaf add up to this, so that 31 fair bits draw a code


@final
@dataclass(frozen=True, eq=False)
class LabelLaw:
    """By which law the code of ``column`` is drawn: ``weights`` has, for each of ``trees``, a line for every leaf."""

    column: str
    trees: tuple[Tree, ...]
    weights: tuple[npt.NDArray[np.int64], ...]

    def checked(self, coding: Coding, later: Sequence[str]) -> "LabelLaw":
        """A copy; refused if a tree looks at a label that has not been drawn yet, or weights do not add up."""
        trees = tuple(checked(t, coding) for t in self.trees)
        weights = tuple(np.array(w, np.int64) for w in self.weights)
        size, seen = coding.cells([self.column]), coding.needs([c for t in trees for c in t.columns])
        fits = 0 < len(trees) == len(weights) and not set(seen) & {self.column, *later}
        for tree, w in zip(trees, weights, strict=False):
            fits &= w.shape == (tree.leaves, size) and bool(((w >= 0) & (w <= TICKETS)).all())
            fits = fits and bool((w.sum(axis=1) == TICKETS).all())
        if not fits:
            raise _no_law(self.column)
        return LabelLaw(self.column, trees, weights)

    def told(self) -> dict[str, Any]:
        """The law as the detail of a request: names and hashes."""
        held = hashlib.sha256(b"".join(w.tobytes() for w in self.weights)).hexdigest()
        return {"column": self.column, "trees": [t.sha256 for t in self.trees], "weights": held}

    def draw(self, codes: Mapping[str, Codes], words: npt.NDArray[np.uint32]) -> Codes:
        """A code for every row, from two words of 32 fair bits each: a tree, and a ticket of the row's leaf."""
        rows, size = len(words) // 2, self.weights[0].shape[1]
        which = words[:rows].astype(np.uint64) * np.uint64(len(self.trees)) >> np.uint64(32)
        ticket, drawn = (words[rows:] >> np.uint32(1)).astype(np.int64), np.zeros(rows, code_type(size))
        for t, (tree, weights) in enumerate(zip(self.trees, self.weights, strict=True)):
            here = np.flatnonzero(which == t)
            leaf = leaf_of(tree, {c: codes[c][here] for c in tree.columns})
            for end in np.cumsum(weights, axis=1).T[:-1]:
                drawn[here] += ticket[here] >= end[leaf]
        return drawn


def taken(laws: Sequence[LabelLaw], questions: Sequence[Marginal], coding: Coding) -> tuple[LabelLaw, ...]:
    """The laws as plain data, copied: each draws one column, and nothing asked looks at what that was before."""
    laws = tuple(laws)
    if not laws or any(type(law) is not LabelLaw or type(law.column) is not str for law in laws):
        raise _no_law("any column")
    names = [law.column for law in laws]
    looked = {c for q in questions for c in (*q.columns, *(q.tree.columns if q.tree else ()))} - set(names)
    if (
        len(set(names)) < len(names)
        or set(coding.needs(names)) != set(names)
        or set(coding.needs(looked)) & set(names)
    ):
        raise _no_law(", ".join(names))
    if any(q.only for q in questions):  # its price supposes that a row's cell is public, and a drawn label is not
        raise JobError("Relabelled rows are counted whole: no question may have `only`. Nothing was read or spent.")
    return tuple(law.checked(coding, names[i:]) for i, law in enumerate(laws))


def _no_law(column: str) -> JobError:
    return JobError(f"This is no law for labels of {column}. No confidential row was read, and nothing was spent.")


def relabelled(
    laws: Sequence[LabelLaw], codes: Mapping[str, Codes], words: Sequence[npt.NDArray[np.uint32]]
) -> dict[str, Codes]:
    """The codes with every column that has a law drawn anew, in turn: a law may look at what was drawn before."""
    out = dict(codes)
    for law, mine in zip(laws, words, strict=True):
        out[law.column] = law.draw(out, mine)
    return out


def columns_of(laws: Sequence[LabelLaw], columns: Sequence[str]) -> tuple[str, ...]:
    """The coded columns that counting ``columns`` takes when some are drawn by ``laws``."""
    return tuple(dict.fromkeys((*columns, *(c for law in laws for t in law.trees for c in t.columns))))


def check_lines(guarantee: Guarantee) -> None:
    """Refuse a table of counts."""
    if guarantee.count:
        raise JobError(
            "Here every record draws a label of its own, and a line that stands for several (count) cannot.\n"
            "Write one line per record and leave count out, or take another sequence. Nothing was read or spent."
        )


def price(
    tariff: Tariff, questions: Sequence[Marginal], laws: Sequence[LabelLaw], cost: Fraction
) -> tuple[tuple[LabelLaw, ...], Spend]:
    """The laws, ``taken``, and the request to count ``questions`` after labels were drawn: the price of counting."""
    check_lines(tariff.guarantee)
    laws = taken(laws, questions, tariff.coding)
    spend = tariff.measure_all(questions, cost, law="laplace")
    detail = json.dumps({"relabel": [law.told() for law in laws]}, sort_keys=True)
    return laws, replace(spend, verb="relabel", detail=detail)
