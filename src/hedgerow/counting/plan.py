"""What to count, decided before any row is seen.

Rows are counted by *blocks* of columns, and blocks summed down to the questions: one pass gives all three pairs of
three small columns.  The leaf of a tree is one more column, named by the tree's hash.  The counts of batches add.

    >>> from hedgerow.public.coding import CodedColumn
    >>> plan = CountPlan([Marginal(("sex",)), Marginal(())], Coding((CodedColumn("sex", "text", 2, 1, 1),)))
    >>> plan.count({"sex": np.array([1, 0, 1], np.uint8)})
    array([1, 2, 3])
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from hedgerow.counting.kernel import NARROW, TILE, count_tile, count_wide, find_leaves
from hedgerow.errors import JobError as JobError
from hedgerow.public.coding import Codes, Coding, JoinedColumn, code_type
from hedgerow.public.costs.question import Counts, Marginal, Tree

MOST = 1 << 28  # cells of all answers: 2 GB of counts
COVER = 1 << 13  # cells of a block that serves several questions: its histograms fit the first cache
WORTH_ROWS, WORTH_SETS = 1 << 16, 5000  # sharing blocks pays from so many rows, up to so many questions
UNIT = "\0unit"  # the column that says which rows are one unit's, where a plan asks for it; no file has this name
_Block = tuple[str, ...]


@final
@dataclass(frozen=True)
class CountPlan:
    """How to count ``questions`` over rows coded by ``coding``, about ``rows`` at a time.

    With a ``mapping`` rows are counted as it makes them from the codes of the columns that it ``looks`` at.
    """

    questions: Sequence[Marginal]
    coding: Coding
    rows: int = TILE
    mapping: Callable[[Mapping[str, Codes]], Mapping[str, Codes]] | None = None
    looks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(len({*q.columns, q.only}) <= len(q.columns) for q in self.questions):
            raise JobError("A question names a column twice. Name each once. No row was read, nothing spent.")
        if self.size > MOST:
            raise JobError(
                f"The questions have {self.size:,} cells; {MOST:,} can be counted at once.\nTake fewer columns than"
                f" {max(self.questions, key=lambda q: self._full.cells(axes_of(q)))}, or fewer bins. No row was read."
            )

    @cached_property
    def _trees(self) -> dict[str, Tree]:
        return {axes_of(q)[0]: checked(q.tree, self.coding) for q in self.questions if q.tree}

    @cached_property
    def _full(self) -> Coding:
        leaves = (JoinedColumn(name, t.columns, (), (), t.leaves) for name, t in self._trees.items())
        return replace(self.coding, joined=(*self.coding.joined, *leaves))

    @cached_property
    def size(self) -> int:
        """How many cells the answers have together."""
        return sum(self._full.cells(axes_of(q)) for q in self.questions)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The coded columns needed: at least one, which is all that the number of rows takes."""
        return self.looks or self._columns

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        parts = {n: t.columns for n, t in self._trees.items()}
        return tuple(dict.fromkeys(c for n in self._names for c in parts.get(n, (n,))))

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(n for b in self.homes.values() for n in b)) or tuple(self.coding.sizes)[:1]

    @cached_property
    def homes(self) -> dict[Marginal, _Block]:
        """The block that answers each question: of its columns with several values, or any for the total."""
        sizes, cells = self._full.sizes, self._full.cells
        sets = {q: tuple(sorted(n for n in (*axes_of(q), q.only) if n and sizes[n] > 1)) for q in self.questions}
        least = min(filter(None, sets.values()), key=cells, default=tuple(self.coding.sizes)[:1])
        narrow = sorted((s for s in dict.fromkeys([*sets.values(), least]) if s and cells(s) <= NARROW), key=cells)
        cover = _cover(narrow[::-1], self._full) if self.rows >= WORTH_ROWS and len(narrow) <= WORTH_SETS else {}
        return {q: cover.get(s or least, s or least) for q, s in sets.items()}

    @cached_property
    def _layout(self) -> tuple[dict[_Block, slice], list[Any]]:
        """Where each block lies in a tally, small ones first; then terms, ends and starts of the narrow."""
        blocks = sorted(set(self.homes.values()), key=(cells := self._full.cells))
        narrow = [b for b in blocks if cells(b) <= NARROW]
        terms = [(self._names.index(n), cells(b[i + 1 :])) for b in narrow for i, n in enumerate(b)]
        ends, starts = (np.cumsum([0, *x], dtype=np.int64) for x in (map(len, narrow), map(cells, blocks)))
        places = {b: slice(starts[i], starts[i + 1]) for i, b in enumerate(blocks)}
        return places, [np.array(terms, np.int64).reshape(-1, 2), ends, starts[: len(ends)]]

    def count(self, codes: Mapping[str, Codes]) -> Counts:
        """The cells of all questions one after another, each flat with its last column fastest."""
        (places, design), sizes, some = self._layout, self._full.sizes, min(TILE, MOST // len(self._names) + 1)
        codes = self.mapping(codes) if self.mapping else codes
        kind = np.uint8 if max(sizes[c] for c in self._names) <= 1 << 8 else np.uint16  # no narrow block has larger
        tally = np.zeros(sum(map(self._full.cells, places)), np.int64)
        for low in range(0, max(len(codes[c]) for c in self._columns), some):
            tile = {c: codes[c][low : low + some] for c in self._columns}
            if any(line.dtype.kind != "u" or line.max() >= sizes[c] for c, line in tile.items()):
                raise ValueError("A code must be an unsigned number below the size of its column.")
            tile |= {n: leaf_of(self._trees[n], tile) for n in self._names if n in self._trees}
            count_tile(np.stack([tile[c] for c in self._names], dtype=kind, casting="unsafe"), *design, tally)
            for block in list(places)[len(design[1]) - 1 :]:
                parts = [tile[c].astype(np.intp) for c in block]
                count_wide(np.ravel_multi_index(parts, self._full.shape(block)), tally[places[block]])
        answers = []
        for question in self.questions:
            block = self.homes[question]
            cross = tally[places[block]].reshape(self._full.shape(block))
            if question.only in block:
                cross = cross.take([0], block.index(question.only))
            kept = [block.index(c) for c in axes_of(question) if sizes[c] > 1]
            answers.append(np.einsum(cross, range(len(block)), kept).ravel())
        return answers[0] if len(answers) == 1 else np.concatenate([*answers, np.zeros(0, np.int64)])

    def split(self, vector: Counts) -> tuple[Counts, ...]:
        """The answers cut into one piece per question."""
        return tuple(np.split(vector, np.cumsum([self._full.cells(axes_of(q)) for q in self.questions])))[:-1]


def axes_of(question: Marginal) -> tuple[str, ...]:
    """What the cells of a question are numbered by, last fastest."""
    return (f"\0{question.tree.sha256}", *question.columns) if question.tree else question.columns


def checked(tree: Tree, coding: Coding) -> Tree:
    """A copy of ``tree``, unless a walk in it could fail or never end, or it is not the one that its hash names."""
    look, _, child = tree.arrays or [np.zeros(0, np.int32)] * 3
    wide = np.take([0, *coding.shape(tree.columns), 0], look + 1, mode="clip")  # a child for each code
    own = Tree.of(tree.columns, tree.leaves, look, np.cumsum(wide) - wide, child)
    above = np.repeat(np.arange(len(look)), wide)
    bad = own != tree or not tree.columns or not wide.all() or len(above) != len(child)
    if bad or np.where(child < 0, child < -tree.leaves, (child <= above) | (child >= len(look))).any():
        raise JobError("This is no tree, or not the one that its hash names. Grow it anew. No row was read.")
    return own


def leaf_of(tree: Tree, codes: Mapping[str, Codes]) -> Any:
    """The leaf of every row of codes below their sizes, by a tree that was checked."""
    lines = [codes[c] for c in tree.columns]
    at = np.full(len(lines[0]), 0 if len(tree.arrays[0]) else -1, np.int32)
    find_leaves(np.stack(lines, dtype=np.result_type(*lines), casting="unsafe"), *tree.arrays, at)
    return (-1 - at).astype(code_type(tree.leaves))


def _cover(sets: Sequence[_Block], coding: Coding) -> dict[_Block, _Block]:
    """A block for every set, in their order, grown to COVER cells by the columns that take in the most."""
    names = np.array(sorted({n for s in sets for n in s}), object)
    size, has = np.array(coding.shape(names), np.int64), np.array([[n in s for s in sets] for n in names])
    left, homes, number = np.ones(len(sets), bool), dict[_Block, _Block](), np.arange(len(names))
    width, summed = has.sum(axis=0), number @ has  # what is lacking is summed, too: of one column, which it is
    while left.any():
        block, more, short, lacks = number < 0, has[:, left.argmax()], width, summed
        while more.any():
            block, short, lacks = block | more, short - has[more].sum(axis=0), lacks - number[more] @ has[more]
            gain = np.bincount(lacks[left & (short == 1)], minlength=len(names))
            gain[size * size[block].prod() > COVER] = 0
            more = number == (np.lexsort((size, gain))[-1] if gain.any() else -1)
        homes |= {sets[i]: tuple(names[block]) for i in np.flatnonzero(left & (short == 0)).tolist()}
        left &= short > 0
    return homes
