"""Private columns for given public rows: a share of each label for each row, and draws from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.counting.kernel import compiled
from hedgerow.errors import JobError
from hedgerow.model.base import AbstractAttachment, Expected, row_ranges
from hedgerow.model.constants import GUIDED_TREE
from hedgerow.model.trees.given_rows import DrawLabels, sent_rows, with_columns
from hedgerow.model.trees.label_counts import count_cells
from hedgerow.public import CodedTable, Marginal, Schema

_GOLDEN = 0.6180339887498949


@final
@dataclass(frozen=True, eq=False)
class Lines:
    """Rows by their codes: those with equal codes are one line, and what is worked out of the codes is so once.

    Attributes:
        codes: of each line, by attribute.
        line: of each row; None where every row is a line.
        many: how many rows each line stands for; None: one.
    """

    codes: Mapping[str, Any]
    line: npt.NDArray[np.int32] | None = None
    many: npt.NDArray[np.float64] | None = None

    @classmethod
    def of(cls, table: CodedTable, names: Sequence[str]) -> "Lines":
        """The lines of ``names``, where the table is large and they are a few of its rows; or else its rows."""
        codes, few, rows = table.codes(names), GUIDED_TREE.shared_rows, table.rows
        if rows < few[0]:
            return cls(codes)
        some = _distinct(table.schema, {n: c[:: few[1]] for n, c in codes.items()})[0]
        if len(some) * few[1] > 0.9 * rows:  # of an eighth of the rows nine tenths differ: of all more than a half
            return cls(codes)
        first, line = _distinct(table.schema, codes)
        return cls({n: c[first] for n, c in codes.items()}, line, np.bincount(line).astype(np.float64))


def _distinct(schema: Schema, codes: Mapping[str, Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """A row of each combination of codes that occurs, in the order of the codes, and the combination of each row."""
    at, size = np.zeros(len(next(iter(codes.values()))), np.int64), 1
    for name, code in codes.items():
        if size * schema.size([name]) > 1 << 62:
            known, at = np.unique(at, return_inverse=True)
            size = len(known)
        at, size = at * schema.size([name]) + code, size * schema.size([name])
    cells = count_cells(at, size)[0]
    if size <= len(at):
        number = np.zeros(size, np.int32)
        number[cells] = np.arange(len(cells), dtype=np.int32)
        line = number[at]
    else:
        line = np.searchsorted(cells, at).astype(np.int32)
    first = np.empty(len(cells), np.int64)
    first[line] = np.arange(len(line))
    return first, line


def most_lines(target: CodedTable, private: Sequence[str]) -> int:
    """At most how many rows of the target differ in the attributes that it has, besides ``private`` ones."""
    schema, had = target.schema, set(target.frame.columns)
    given = [a for a in schema.attributes if a not in private and set(schema.coding.needs([a])) <= had]
    return min(target.rows, schema.size(given)) if target.rows >= GUIDED_TREE.shared_rows[0] else target.rows


@final
@dataclass(frozen=True, eq=False)
class RowShares(AbstractAttachment):
    """The labels of every target row, jointly.

    Attributes:
        schema: what the columns mean.
        private: the attributes that are model.
        shares: for each row of the target the share of each cell of their cross, last fastest.
        groups: numbers per row, the first those of its stratum: the labels in every group of rows come out close to
            the sum of their shares.
        target: the rows that were planned for.
        group_counts: how many groups of each kind there are, in all rows.
        watched: which of ``groups`` are watched, one after another: kinds that are given twice are kept once, and
            weigh twice.
        line: where rows share, the line of ``shares`` and ``groups`` that is each row's; None: its own.
    """

    schema: Schema
    private: tuple[str, ...]
    shares: npt.NDArray[np.float32]
    groups: tuple[npt.NDArray[Any], ...]
    target: CodedTable
    group_counts: tuple[int, ...] = ()
    line: npt.NDArray[np.int32] | None = None
    watched: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.group_counts:
            groups, watched = _apart(self.groups)
            object.__setattr__(self, "groups", groups)
            object.__setattr__(self, "watched", watched)
            object.__setattr__(self, "group_counts", count_groups(groups))

    def __getstate__(self) -> dict[str, Any]:
        """What another machine is sent: of lines that rows share, those of its own rows; groups in few bytes."""
        state, groups = dict(self.__dict__), self.groups
        if self.line is not None:
            used, line = np.unique(self.line, return_inverse=True)
            groups = tuple(g[used] for g in groups)
            state |= {"shares": self.shares[used], "line": line.astype(np.int32)}
        least = (np.min_scalar_type(max(n - 1, 0)) for n in self.group_counts)
        return state | {"groups": tuple((g.dtype, g.astype(k)) for g, k in zip(groups, least, strict=True))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        groups = tuple(numbers.astype(kind) for kind, numbers in state["groups"])
        self.__dict__.update(state | {"groups": groups})

    def expected(self, question: Marginal) -> Expected:
        """The counts expected of the target's rows, flat, last column fastest."""
        schema, private = self.schema, self.private
        attached = {p: a for a in private for p in (a, *schema.coding.needs([a]))}
        given = [c for c in question.columns if c not in attached]
        codes = self.target.codes(given)
        at = np.zeros(self.target.rows, np.int64)
        for c in given:
            at = at * schema.size([c]) + codes[c]
        size = schema.size(given)
        many = None
        if self.line is not None:
            pair, many = count_cells(at * len(self.shares) + self.line, size * len(self.shares))
            at, line = pair // len(self.shares), pair % len(self.shares)
        each = (s if many is None else many * s[line] for s in self.shares.T)
        rows = np.stack([np.bincount(at, weights=s, minlength=size) for s in each], axis=1)
        wanted = [c for c in question.columns if c in attached]
        cube = rows @ _cells_of(schema, private, wanted)
        shaped = cube.reshape(*schema.shape(given), *schema.shape(wanted))
        order = [[*given, *wanted].index(c) for c in question.columns]
        return np.asarray(shaped.transpose(order).ravel())

    def attach(self, target: CodedTable, rng: np.random.Generator) -> pl.DataFrame:
        """The rows of the target, in order, with synthetic private columns: every column of the schema."""
        return self.attach_shard(target, rng)[0]

    def shards(self, target: CodedTable, most: int) -> Sequence[tuple["RowShares", CodedTable]]:
        """Parts of the target, each with the shares and groups of its own rows."""
        found = []
        for low, high in row_ranges(target.rows, most):
            part = target.part(low, high)
            if self.line is not None:
                found.append((replace(self, line=self.line[low:high], target=part), part))
                continue
            groups = tuple(g[low:high] for g in self.groups)
            found.append((replace(self, shares=self.shares[low:high], groups=groups, target=part), part))
        return found

    def sent(self, target: CodedTable) -> tuple["RowShares", CodedTable]:
        """Labels are drawn by shares and groups: nothing of the rows is looked at for them."""
        part = sent_rows(target, self.schema, self.private)
        return replace(self, target=part), part

    def attach_shard(
        self, target: CodedTable, rng: np.random.Generator, over: Any = None
    ) -> tuple[pl.DataFrame, Any]:
        """The same; the labels make up for those that were drawn for rows of other parts of the same groups."""
        if target.rows != (known := len(self.shares if self.line is None else self.line)):
            raise JobError(
                f"The shares are for {known:,} rows, the target has {target.rows:,}. Use the same one.\n"
                "No confidential row was read and nothing was spent."
            )
        tally = GroupTally.of(self.group_counts, self.shares.shape[1]) + over
        return with_columns(target, self.schema, self._labels(tally, rng), rng), tally

    def _labels(self, tally: "GroupTally", rng: np.random.Generator) -> DrawLabels:
        """Draws labels, the first time on top of what was drawn before; what is drawn again stands by itself."""
        tallies = [tally]

        def draw_labels(rows: npt.NDArray[Any]) -> dict[str, npt.NDArray[np.int64]]:
            line = None if self.line is None else self.line[rows]
            shares = self.shares[rows] if line is None else self.shares
            groups = [g[rows if line is None else line] for g in self.groups]
            drawn = draw_stratified(shares, groups[0], rng, line)
            cells = balance(drawn, shares, groups, rng, tallies.pop() if tallies else None, line, self.watched)
            shape = self.schema.shape(self.private)
            return dict(zip(self.private, np.unravel_index(cells, shape), strict=True))

        return draw_labels


def _apart(groups: Sequence[npt.NDArray[Any]]) -> tuple[tuple[npt.NDArray[Any], ...], tuple[int, ...]]:
    """Kinds of groups that differ, and which of them each one is."""
    found, which = list[npt.NDArray[Any]](), []
    for g in groups:
        same = (i for i, f in enumerate(found) if np.array_equal(f[:1000], g[:1000]) and np.array_equal(f, g))
        which.append(next(same, len(found)))
        found += [g] if which[-1] == len(found) else []
    return tuple(found), tuple(which)


def _cells_of(schema: Schema, private: Sequence[str], wanted: Sequence[str]) -> npt.NDArray[np.float64]:
    """From cells of the private cross to cells of ``wanted``: a matrix of ones and zeros."""
    codes = np.unravel_index(np.arange(schema.size(private)), schema.shape(private))
    plain = dict(zip(private, codes, strict=True))
    for j in schema.coding.joined:
        if j.name in plain:
            back = np.zeros((j.size, len(j.parts)), np.int64)
            back[list(j.codes)] = np.stack(np.unravel_index(np.arange(len(j.codes)), j.shape), axis=1)
            plain |= {p: back[plain[j.name], i] for i, p in enumerate(j.parts)}
    at = np.zeros(schema.size(private), np.int64)
    for c in wanted:
        at = at * schema.size([c]) + plain[c]
    out = np.zeros((len(at), schema.size(wanted)))
    out[np.arange(len(at)), at] = 1
    return out


def draw_stratified(shares: Any, strata: Any, rng: np.random.Generator, line: Any = None) -> npt.NDArray[np.int64]:
    """A cell for every row: each with its own shares, and rows of a stratum together close to the sum of theirs.

    Systematic sampling (Madow and Madow 1944), its equal steps replaced by those of the golden ratio: rows are put
    in order of stratum and share, ties at random, and given the numbers u, u + g, u + 2g, ... modulo 1, where g is
    the golden ratio and u uniform.  Each number alone is uniform, and those of any run of neighbours are spread so
    evenly that a count is off by far less than independent draws would put it.  ``line`` has for each row where its
    shares stand, unless each has its own.
    """
    n = len(strata)
    most = shares.max(axis=1) if n else np.zeros(0)
    order = _in_order(strata, most if line is None else most[line], rng.random(n))
    u = np.empty(n)
    u[order] = (rng.random() + _GOLDEN * np.arange(n)) % 1.0
    return _at(shares, u, line)


def _in_order(strata: Any, most: Any, ties: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Rows by stratum, then by ``most``, then by ``ties``, then as they stand: ``np.lexsort``, several times as fast.

    A stratum and the bits of a positive number of four bytes, which are in the numbers' order, are one whole number.
    """
    if most.dtype != np.float32 or not len(most) or np.signbit(most).any() or strata.max() >= 1 << 31:
        return np.lexsort((ties, most, strata))
    key = strata.astype(np.uint64)
    key <<= np.uint64(32)
    key |= most.view(np.uint32)
    order = np.argsort(key)
    _break_ties(order, key[order], ties)
    return order


@compiled
def _break_ties(order: Any, key: Any, ties: Any) -> None:
    """Put the places of equal keys, which stand one after another in any order, in that of ties."""
    low = 0
    while low < len(key):
        high = low + 1
        while high < len(key) and key[high] == key[low]:
            high += 1
        if high - low > 1:
            here = np.sort(order[low:high])
            for i, at in enumerate(
                np.argsort(ties[here], kind="mergesort")
            ):  # a slice of `here` would compile for long
                order[low + i] = here[at]
        low = high


def _at(shares: Any, u: npt.NDArray[np.float64], line: Any) -> npt.NDArray[np.int64]:
    """The label at each of ``u``, between 0 and 1, along the cumulated shares of its row or line."""
    cells = np.empty(len(u), np.int64)
    if line is None:
        _pick(shares, u, cells)
    else:
        _pick_of_lines(np.cumsum(shares, axis=1, dtype=np.float64), line, u, cells)
    return cells


def draw_each(shares: Any, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """A cell for every row, each drawn by itself from its own shares: the papers' way."""
    return _at(shares, rng.random(len(shares)), None)


@compiled
def _pick(shares: Any, u: Any, cells: Any) -> None:
    last = shares.shape[1] - 1
    for r in range(len(u)):
        total, k = 0.0, 0
        for label in range(last + 1):
            total += shares[r, label]
        left = u[r] * total
        while k < last and left >= shares[r, k]:
            left -= shares[r, k]
            k += 1
        cells[r] = k


@compiled
def _pick_of_lines(up_to: Any, line: Any, u: Any, cells: Any) -> None:
    """The same by halving, of shares cumulated once for all rows of a line."""
    last = up_to.shape[1] - 1
    for r in range(len(u)):
        sums = up_to[line[r]]
        left, low, high = u[r] * sums[last], 0, last
        while low < high:
            middle = (low + high) // 2
            if left >= sums[middle]:
                low = middle + 1
            else:
                high = middle
        cells[r] = low


@final
@dataclass(frozen=True, eq=False)
class GroupTally:
    """By how much the labels drawn so far exceed the shares of their rows, in each group, and how far chance may.

    Attributes:
        start: where the labels of each kind of group begin.
        off, spread: excess and expected variance of each label of each group.
    """

    start: tuple[int, ...]
    off: npt.NDArray[np.float64]
    spread: npt.NDArray[np.float64]

    @classmethod
    def of(cls, group_counts: Sequence[int], label_count: int) -> "GroupTally":
        """Before anything is drawn for rows of so many groups of each kind."""
        many = [n * label_count for n in group_counts]
        return cls(tuple(np.cumsum([0, *many[:-1]]).tolist()), np.zeros(sum(many)), np.zeros(sum(many)))

    def __add__(self, other: "GroupTally | None") -> "GroupTally":
        """What was drawn for two sets of rows together."""
        if other is None:
            return self
        return GroupTally(self.start, self.off + other.off, self.spread + other.spread)

    def __truediv__(self, parts: int) -> "GroupTally":
        """What each of several sets of rows is to make up for."""
        return GroupTally(self.start, self.off / parts, self.spread / parts)


def count_groups(groups: Sequence[npt.NDArray[Any]]) -> tuple[int, ...]:
    """How many groups of each kind there are."""
    return tuple(int(g.max()) + 1 if len(g) else 0 for g in groups)


def balance(
    cells: npt.NDArray[np.int64],
    shares: npt.NDArray[np.float32],
    groups: Sequence[npt.NDArray[Any]],
    rng: np.random.Generator,
    tally: GroupTally | None = None,
    line: npt.NDArray[np.int32] | None = None,
    watched: Sequence[int] = (),
) -> npt.NDArray[np.int64]:
    """``cells``, a draw from ``shares``, exchanged so that the labels in all ``groups`` are close to their sums.

    Balanced sampling (Deville and Tille 2004), here by local search.  Independent draws would add to every table an
    error as large as that of a survey of these rows.  So every row in turn, in random order, is offered a label drawn
    from its own shares, and takes it if the tables that are watched come nearer to what the shares sum to.  A row is
    never offered a label at any other rate than its own share.  A ``tally`` has what was drawn before for other rows
    of these groups, is balanced together with these, and has these afterwards too.  ``line`` has for each row where
    its shares stand, unless each has its own; rows of a line are in the same groups.  ``watched`` has the order in
    which ``groups`` are weighed, where some are so more than once.
    """
    n, label_count = len(cells), shares.shape[1]
    cells = cells.copy()
    tally = GroupTally.of(count_groups(groups), label_count) if tally is None else tally
    kind = np.uint32 if len(tally.off) <= np.iinfo(np.uint32).max else np.uint64
    cell_at = np.empty((n, len(groups)), kind)
    for t, (start, group) in enumerate(zip(tally.start, groups, strict=True)):
        np.multiply(group, kind(label_count), out=cell_at[:, t], casting="unsafe")
        cell_at[:, t] += kind(start)
    weighed = np.array(watched or range(len(groups)), np.int64)
    if line is None:
        _distance(shares, cell_at, cells, tally.off, tally.spread)
    else:
        _distance_of_lines(shares, line, cell_at, cells, tally.off, tally.spread)
    worth = 1 / np.sqrt(tally.spread + 1)
    for _ in range(GUIDED_TREE.balance_sweeps):
        order, offered = rng.permutation(n), _at(shares, rng.random(n), line)
        _offer(offered, cell_at, cells, tally.off, worth, weighed, order)
    return cells


@compiled
def _distance(shares: Any, cell_at: Any, cells: Any, off: Any, spread: Any) -> None:
    for r in range(len(cells)):
        total = 0.0
        for k in range(shares.shape[1]):
            total += shares[r, k]
        for t in range(cell_at.shape[1]):
            at = np.int64(cell_at[r, t])
            off[at + cells[r]] += 1
            for k in range(shares.shape[1]):
                s = shares[r, k] / total
                off[at + k] -= s
                spread[at + k] += s * (1 - s)


@compiled
def _distance_of_lines(shares: Any, line: Any, cell_at: Any, cells: Any, off: Any, spread: Any) -> None:
    held, one = np.zeros(len(shares)), np.zeros(len(shares), np.int64)
    for r in range(len(cells)):
        held[line[r]] += 1
        one[line[r]] = r
        for t in range(cell_at.shape[1]):
            off[np.int64(cell_at[r, t]) + cells[r]] += 1
    for i in range(len(shares)):
        total = 0.0
        for k in range(shares.shape[1]):
            total += shares[i, k]
        for t in range(cell_at.shape[1] if held[i] else 0):
            at = np.int64(cell_at[one[i], t])
            for k in range(shares.shape[1]):
                s = shares[i, k] / total
                off[at + k] -= held[i] * s
                spread[at + k] += held[i] * (s * (1 - s))


@compiled
def _offer(offered: Any, cell_at: Any, cells: Any, off: Any, worth: Any, weighed: Any, order: Any) -> None:
    nearer = np.empty(cell_at.shape[1])
    for r in order:
        old, new = np.uint64(cells[r]), np.uint64(offered[r])
        if new == old:
            continue
        for t in range(cell_at.shape[1]):  # by how much the worth x squared distance changes
            a, b = np.uint64(cell_at[r, t]) + old, np.uint64(cell_at[r, t]) + new
            nearer[t] = worth[a] * (1 - 2 * off[a]) + worth[b] * (1 + 2 * off[b])
        change = 0.0
        for t in weighed:
            change += nearer[t]
        if change < 0:
            for t in range(cell_at.shape[1]):
                off[np.uint64(cell_at[r, t]) + old] -= 1
                off[np.uint64(cell_at[r, t]) + new] += 1
            cells[r] = new
