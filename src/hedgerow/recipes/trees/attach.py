"""What the recipes that attach private columns have in common: which columns, which rows, in what codes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from hedgerow.errors import NOTHING, JobError, Refused
from hedgerow.model.constants import GUIDED_TREE
from hedgerow.model.trees.row_shares import Lines
from hedgerow.public import Budget, CodedTable, Guarantee, Marginal, PublicData, Schema, epsilon_of

Aside = Literal["", "unlinked", "few", "foreign", "refuted"]
"""Why public labels are put aside.

They go with no other column, chance in them is above the noise of answers, the given columns of their rows have other
values than the target's, or a trial refutes them.
"""


@dataclass(frozen=True)
class Columns:
    """The columns of an attach job.

    Attributes:
        private: the attributes that are drawn.
        given: the attributes that the target has and the public table shares with it.
    """

    private: tuple[str, ...]
    given: tuple[str, ...]


def columns_of(
    public: PublicData, guarantee: Guarantee, private: Sequence[str], leave: Sequence[str] = ()
) -> Columns:
    """The private attributes, as named or else those the target lacks, and the attributes they may depend on."""
    schema, target = public.schema, target_of(public)
    had = {a for a in schema.attributes if set(schema.coding.needs([a])) <= set(target.frame.columns)}
    chosen = tuple(private) or tuple(a for a in schema.attributes if a not in had)
    if not chosen or (unknown := [a for a in chosen if a not in schema.attributes]):
        raise JobError(
            f"The private columns must be attributes of the schema ({', '.join(schema.attributes)}); got "
            f"{', '.join(unknown) if chosen else 'none, and the target lacks none'}.\n"
            f"Name them in the recipe's table: columns = [...]. {NOTHING}"
        )
    if neither := [a for a in schema.attributes if a not in had and a not in chosen]:
        raise JobError(
            f"The target lacks {', '.join(neither)}, which the job does not attach either. Add it to columns,\n"
            f"give the target that column, or take it out of the schema. {NOTHING}"
        )
    if open_ones := [a for a in chosen if set(schema.coding.needs([a])) & set(guarantee.public_columns)]:
        raise Refused(
            f"{', '.join(open_ones)} cannot be drawn as private: public_columns declares it public row by row.\n"
            f"Take it out of one of the two lists. {NOTHING}"
        )
    given = tuple(a for a in schema.attributes if a in had and a not in chosen and a not in leave)
    if guarantee.relation == "label-change":
        in_target = {c.name for c in schema.columns} & set(target.frame.columns)
        if shown := sorted(in_target - set(guarantee.public_columns)):
            raise Refused(
                f"The target has {', '.join(shown)}, which label-change protects: public_columns does not name it.\n"
                f"Its rows are published. Take the column out of the target, or declare it public. {NOTHING}"
            )
        given = tuple(a for a in given if set(schema.coding.needs([a])) <= set(guarantee.public_columns))
    if not given:
        raise JobError(f"The target has no column that the private ones could depend on. {NOTHING}")
    return Columns(chosen, given)


@final
@dataclass(frozen=True, eq=False)
class AttachInputs:
    """The public side of a job, in codes.

    Attributes:
        private, given: the attributes that are attached, and those they may depend on.
        label_count: how many cells the private attributes have together.
        target: the rows that receive columns, ``lines`` what tells them apart, and ``code_rows`` the codes of these
            lines, a row for each given attribute.
        public: the codes of public rows, and ``labels`` their private cells; None when nobody knows them: then they
            are target rows, and ``places`` their lines, unless they are all lines in order.
        rows: how many rows the confidential table is taken to have.
        wanted: the tables that settings and intended uses want.
        residuals: the given attributes that are residuals already.
        aside: why public labels that are known are put aside, if they are.
        few: public rows and their labels, where these are so few that all is asked as without them.
    """

    private: tuple[str, ...]
    given: tuple[str, ...]
    label_count: int
    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]
    target: CodedTable
    code_rows: npt.NDArray[Any]
    public: npt.NDArray[Any]
    labels: npt.NDArray[np.int64] | None
    rows: int
    wanted: tuple[Marginal, ...]
    lines: Lines
    residuals: tuple[str, ...] = ()
    places: npt.NDArray[np.int32] | None = None
    aside: Aside = ""
    few: tuple[npt.NDArray[Any], npt.NDArray[np.int64]] | None = None

    @property
    def told(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]] | None:
        """Public rows and the labels that a starting point is taken from; None when there are none."""
        return self.few if self.labels is None else (self.public, self.labels)

    @property
    def least_drift(self) -> float:
        """How far shares are off at least because so many public rows tell them: 1 / m; see ``apply_drift``."""
        return 0.0 if self.told is None else 1 / max(len(self.told[1]), 1)

    def codes(self, code_rows: npt.NDArray[Any]) -> dict[str, Any]:
        """The codes of ``code_rows`` by name."""
        return dict(zip(self.given, code_rows, strict=True))


def some_places(rows: int, seed: int) -> npt.NDArray[np.int64]:
    """The places of the rows that are looked at, of so many."""
    return np.sort(np.random.Generator(np.random.PCG64(seed)).permutation(rows)[: GUIDED_TREE.public_rows])


def without_labels(inputs: AttachInputs, seed: int) -> AttachInputs:
    """The same where nobody knows labels: then the rows that a tree grows on are those to be filled."""
    rows, line = inputs.code_rows, inputs.lines.line
    places = None if line is None else line[some_places(inputs.target.rows, seed)]
    return replace(inputs, public=rows if places is None else rows[:, places], labels=None, places=places)


def open_columns(guarantee: Guarantee) -> tuple[str, ...]:
    """What is declared public row by row."""
    return guarantee.public_columns if guarantee.relation == "label-change" else ()


def target_of(public: PublicData) -> CodedTable:
    """The rows that receive columns."""
    if public.target is None:
        raise JobError(
            "This recipe writes private columns onto given rows: name them with [target] table = '...' (in Python:\n"
            "target=Target(...)). " + NOTHING
        )
    return public.target


def code_rows(table: CodedTable, names: Sequence[str]) -> npt.NDArray[Any]:
    """The codes of ``names``, a row of the array for each."""
    return stacked(table.codes(names), names)


def stacked(codes: Mapping[str, Any], names: Sequence[str]) -> npt.NDArray[Any]:
    """The same of codes by name."""
    lines = [codes[n] for n in names]
    return np.stack(lines, dtype=np.result_type(*lines), casting="unsafe")


def cells_of(table: CodedTable, names: Sequence[str]) -> npt.NDArray[np.int64]:
    """The cell of each row in the cross of ``names``, last fastest."""
    return cross(table.schema, names, table.codes(names), table.rows)


def cross(schema: Schema, names: Sequence[str], codes: Mapping[str, Any], rows: int) -> npt.NDArray[np.int64]:
    """The cell of each of so many rows in the cross of ``names``, whose codes these are; last fastest."""
    at = np.zeros(rows, np.int64)
    for n in names:
        at = at * schema.size([n]) + codes[n]
    return at


def one_hot(labels: npt.NDArray[np.int64], label_count: int) -> npt.NDArray[np.float32]:
    """Labels as shares: a 1 in each row."""
    out = np.zeros((len(labels), label_count), np.float32)
    out[np.arange(len(labels)), labels] = 1
    return out


def are_linked(
    rows: npt.NDArray[Any], sizes: Sequence[int], labels: npt.NDArray[np.int64], label_count: int, least: float
) -> bool:
    """Whether labels go with any of the columns in ``rows`` more than labels in another order do.

    By ``least`` standard deviations of chi-squared, about.  A cell that expects less than a row counts as if it
    expected one: a single row in a cell that expects a hundredth of it would be a hundred by itself.
    """
    other = np.random.Generator(np.random.PCG64(0)).permutation(labels)
    for codes, size in zip(rows, sizes, strict=True):
        here, chance = (_chi_squared(codes, size, y, label_count) for y in (labels, other))
        if here - chance > least * np.sqrt(2 * max(chance, 1.0)):
            return True
    return False


def tables_first(public: PublicData, private: Sequence[str]) -> bool:
    """Whether attribute tables are asked first because public rows with labels are few, or there are none.

    All that there are count, not only those that a model is grown on.
    """
    relative, target = public.relative, public.target
    if relative is None or not set(public.schema.coding.needs(private)) <= set(relative.frame.columns):
        return True
    return target is not None and relative.rows * GUIDED_TREE.few_rows < target.rows


def told_better(inputs: AttachInputs, noise: Sequence[float], part: float) -> bool:
    """Whether answers tell more than ``few`` rows do; ``noise`` is the standard deviation in each attribute's table.

    Then what noise moves in the tables of one attribute and the labels is less than ``part`` of what another sample
    of so few rows would move.
    """
    assert inputs.few is not None
    rows, labels = inputs.few
    moved, chance = 0.0, 0.0
    for codes, size, sd in zip(rows, inputs.sizes, noise, strict=True):
        table = np.bincount(
            codes.astype(np.int64) * inputs.label_count + labels, minlength=size * inputs.label_count
        ).astype(np.float64)
        chance += float(np.sqrt(table).sum()) / len(labels)
        moved += float(np.minimum(sd, table * (inputs.rows / len(labels))).sum()) / inputs.rows
    return moved < part * chance


def _chi_squared(codes: npt.NDArray[Any], size: int, labels: npt.NDArray[np.int64], label_count: int) -> float:
    cells = np.bincount(codes.astype(np.int64) * label_count + labels, minlength=size * label_count)
    table = cells.reshape(size, label_count).astype(np.float64)
    even = np.outer(table.sum(axis=1), table.sum(axis=0)) / max(float(table.sum()), 1.0)
    return float(((table - even) ** 2 / np.maximum(even, 1.0)).sum())


def is_ordered(schema: Schema, name: str) -> bool:
    """Whether the codes of an attribute stand in an order that means something."""
    plain = {c.name: c.kind for c in schema.columns}
    return plain.get(name, "categorical") not in ("categorical", "yes-no")


def by_person(by: str, groups: int, guarantee: Guarantee, budget: Budget) -> list[str]:
    """What one fit for each group costs somebody who is in several of them."""
    m, whole = guarantee.rows_per_person, _worth(budget, Fraction(1))
    if guarantee.unit == "person":
        return [
            f"by {by}: a person's rows count at most {m} times over all groups together, whatever the file holds;",
            f"one row in one group costs {_worth(budget, Fraction(1, m))}, all {m} of them the whole {whole}",
        ]
    told = "g times as much" if budget.measure == "pure" else "more than g times as much (rho grows with g squared)"
    return [
        f"by {by}: {whole} holds for one record in one group. Somebody with a record in each",
        f"of g groups bears {told}: {_worth(budget, Fraction(2))} in two,",
        f"{_worth(budget, Fraction(groups))} in all {groups}. To promise it for the person, set unit = 'person' and",
        "rows_per_person",
    ]


def _worth(budget: Budget, rows: Fraction) -> str:
    """What the budget comes to for somebody who moves every count by ``rows`` times what it was priced for."""
    if budget.measure == "pure":
        return f"epsilon {float(budget.epsilon * rows):.4g}"
    return f"epsilon {epsilon_of(budget.total * rows**2, budget.delta):.4g} with delta {float(budget.delta):g}"
