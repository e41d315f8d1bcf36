"""What to count, decided before any row is seen.

Rows are counted by *blocks* of columns, and blocks summed down to the questions: one pass over the rows
gives all three pairs of three small columns.  The counts of batches add.

    >>> from hedgerow.public.coding import CodedColumn
    >>> plan = CountPlan([Marginal(("sex",)), Marginal(())], Coding((CodedColumn("sex", "text", 2, 1, 1),)))
    >>> plan.count({"sex": np.array([1, 0, 1], np.uint8)})
    array([1, 2, 3])
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from hedgerow.counting.kernel import NARROW, TILE, count_tile, count_wide, find_leaves
from hedgerow.errors import JobError
from hedgerow.public.coding import Codes, Coding
from hedgerow.public.question import Counts, Leaves, Marginal, Question, Tree

MOST = 1 << 28  # cells of all answers: 2 GB of counts
COVER = 1 << 13  # cells of a block that serves several questions: its histograms fit the first cache
WORTH_ROWS, WORTH_SETS = 1 << 16, 5000  # sharing blocks pays from so many rows, up to so many questions
_Block = tuple[str, ...]


@final
@dataclass(frozen=True)
class CountPlan:
    """How to count ``questions`` over rows coded by ``coding``, about ``rows`` at a time."""

    questions: Sequence[Question]
    coding: Coding
    rows: int = TILE

    def __post_init__(self) -> None:
        if any(len(set(q.columns)) < len(q.columns) for q in self.questions):
            raise JobError("A question names a column twice. Name each once. No row was read, nothing spent.")
        if self.size > MOST:
            raise JobError(
                f"The questions have {self.size:,} cells; {MOST:,} can be counted at once.\nAsk for fewer columns"
                f" than {max(self.questions, key=self._cells)}, or give them fewer bins or"
                " values in the schema. No row was read and nothing was spent."
            )
        for q in self.questions:
            if isinstance(q, Leaves):
                check_tree(q.tree, self.coding)

    @cached_property
    def size(self) -> int:
        """How many cells the answers have together."""
        return sum(map(self._cells, self.questions))

    def _cells(self, question: Question) -> int:
        return question.leaves * self.coding.cells(question.columns)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The coded columns needed: at least one, which is all that the number of rows takes."""
        in_trees = [(*q.tree.columns, *q.columns) for q in self.questions if isinstance(q, Leaves)]
        named = dict.fromkeys(n for b in [*self._homes.values(), *in_trees] for n in b)
        return tuple(named) or tuple(self.coding.sizes)[:1]

    @cached_property
    def _homes(self) -> dict[Marginal, _Block]:
        """The block that answers each question: of its columns with several values, or any for the total."""
        crossed = [q for q in self.questions if isinstance(q, Marginal)]
        sets = {q: tuple(sorted(n for n in q.columns if self.coding.sizes[n] > 1)) for q in crossed}
        least = min(filter(None, sets.values()), key=self.coding.cells, default=tuple(self.coding.sizes)[:1])
        narrow = [s for s in dict.fromkeys([*sets.values(), least]) if s and self.coding.cells(s) <= NARROW]
        cover = _cover(narrow, self.coding) if self.rows >= WORTH_ROWS and len(narrow) <= WORTH_SETS else {}
        return {q: cover.get(s or least, s or least) for q, s in sets.items()}

    @cached_property
    def _layout(self) -> tuple[dict[_Block, slice], list[Any]]:
        """Where each block lies in a tally, small ones first; then terms, ends and starts of the narrow."""
        blocks = sorted(set(self._homes.values()), key=(cells := self.coding.cells))
        narrow = [b for b in blocks if cells(b) <= NARROW]
        terms = [(self.columns.index(n), cells(b[i + 1 :])) for b in narrow for i, n in enumerate(b)]
        ends, starts = (np.cumsum([0, *x], dtype=np.int64) for x in (map(len, narrow), map(cells, blocks)))
        places = {b: slice(starts[i], starts[i + 1]) for i, b in enumerate(blocks)}
        return places, [np.array(terms, np.int64).reshape(-1, 2), ends, starts[: len(ends)]]

    def count(self, codes: Mapping[str, Codes]) -> Counts:
        """The cells of all questions one after another, each flat with its last column fastest."""
        places, design = self._layout
        sizes = self.coding.shape(self.columns)
        kind = np.uint8 if max(sizes) <= 1 << 8 else np.uint16  # no narrow block has a larger column
        tally = np.zeros(sum(map(self.coding.cells, places)), np.int64)
        vector = np.zeros(self.size, np.int64)
        for low in range(0, max(len(codes[c]) for c in self.columns), TILE):
            tile = [codes[c][low : low + TILE] for c in self.columns]
            if any(c.dtype.kind != "u" or c.max() >= size for c, size in zip(tile, sizes, strict=True)):
                raise ValueError("A code must be an unsigned number below the size of its column.")
            count_tile(np.stack(tile, dtype=kind, casting="unsafe"), *design, tally)
            for block in list(places)[len(design[1]) - 1 :]:
                parts = [tile[self.columns.index(c)].astype(np.intp) for c in block]
                count_wide(np.ravel_multi_index(parts, self.coding.shape(block)), tally[places[block]])
            for question, cells in zip(self.questions, self.split(vector), strict=True):
                if isinstance(question, Leaves):
                    self._count_leaves(question, dict(zip(self.columns, tile, strict=True)), cells)
        for question, cells in zip(self.questions, self.split(vector), strict=True):
            if isinstance(question, Leaves):
                continue
            block = self._homes[question]
            cross = tally[places[block]].reshape(self.coding.shape(block))
            kept = [block.index(c) for c in question.columns if self.coding.sizes[c] > 1]
            cells[:] = np.einsum(cross, range(len(block)), kept).ravel()
        return vector

    def _count_leaves(self, question: Leaves, codes: Mapping[str, Codes], cells: Counts) -> None:
        """Add the rows to ``cells``: leaf by leaf, each with the cross of the labels, last column fastest."""
        leaf = leaf_of(question.tree, codes)
        at = np.ravel_multi_index(
            [leaf, *(codes[c] for c in question.columns)],
            (question.leaves + 1, *self.coding.shape(question.columns)),
        )
        count_wide(at[leaf < question.leaves], cells)

    def split(self, vector: Counts) -> tuple[Counts, ...]:
        """The answers cut into one piece per question."""
        return tuple(np.split(vector, np.cumsum(list(map(self._cells, self.questions)))))[:-1]


def check_tree(tree: Tree, coding: Coding) -> None:
    """Refuse a tree in which a walk could fail or never end, or that is not the one its hash names."""
    if tree.arrays is None or tree != Tree.of(tree.columns, tree.leaves, *tree.arrays):
        raise JobError("A tree is not the one that its hash names. Grow it anew. No row was read, nothing spent.")
    look, first, child = tree.arrays
    sizes = np.array([0, *coding.shape(tree.columns)])
    sound = len(look) == len(first) and bool(((look >= 0) & (look < len(tree.columns))).all()) and tree.leaves > 0
    wide = sizes[look + 1] if sound else sizes[:0]  # every split has one child for each code of its column
    if sound and wide.sum() == len(child) and (first == np.cumsum(wide) - wide).all():
        later = (child > np.repeat(np.arange(len(look)), wide)) & (child < len(look))
        if (later | ((child < 0) & (child >= -1 - tree.leaves))).all():
            return
    raise JobError("This is no tree: not every walk ends in a leaf. Grow it anew. No row was read, nothing spent.")


def leaf_of(tree: Tree, codes: Mapping[str, Codes]) -> Any:
    """The leaf of every row of codes, by a tree that was checked; without a split all rows are in leaf 0."""
    first = next(iter(codes.values()))
    leaf = np.zeros(len(first), np.int32)
    if tree.arrays is not None and len(tree.arrays[0]):
        lines = [codes[c] for c in tree.columns]
        find_leaves(np.stack(lines, dtype=np.result_type(*lines), casting="unsafe"), *tree.arrays, leaf)
    return leaf


def _cover(sets: Sequence[_Block], coding: Coding) -> dict[_Block, _Block]:
    """A block for every set: the largest first, grown to COVER cells by the columns that take in the most."""
    sets = sorted(sets, key=coding.cells, reverse=True)
    names = np.array(sorted({n for s in sets for n in s}), object)
    size, has = np.array(coding.shape(names), np.int64), np.array([[n in s for s in sets] for n in names])
    width, left, homes = has.sum(axis=0), np.ones(len(sets), bool), dict[_Block, _Block]()
    while left.any():
        block, gain = has[:, left.argmax()].copy(), size
        while gain.any():
            short = width - has[block].sum(axis=0)
            gain = has[:, left & (short == 1)].sum(axis=1)
            gain[block | (size * size[block].prod() > COVER)] = 0
            block[np.lexsort((size, gain))[-1]] |= gain.any()
        homes |= {sets[i]: tuple(names[block]) for i in np.flatnonzero(left & (short == 0)).tolist()}
        left &= short > 0
    return homes
