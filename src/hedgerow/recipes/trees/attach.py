"""What the recipes that attach private columns have in common: which columns, which rows, in what codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import JobError, Refused
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.schema import Schema
from hedgerow.public.table import PublicData, PublicTable

_NOTHING = "No confidential row was read and nothing was spent."


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
            f"Name them in the recipe's table: columns = [...]. {_NOTHING}"
        )
    if neither := [a for a in schema.attributes if a not in had and a not in chosen]:
        raise JobError(
            f"The target lacks {', '.join(neither)}, which the job does not attach either. Add it to columns,\n"
            f"give the target that column, or take it out of the schema. {_NOTHING}"
        )
    if open_ones := [a for a in chosen if set(schema.coding.needs([a])) & set(guarantee.public_columns)]:
        raise Refused(
            f"{', '.join(open_ones)} cannot be drawn as private: public_columns declares it public row by row.\n"
            f"Take it out of one of the two lists. {_NOTHING}"
        )
    given = tuple(a for a in schema.attributes if a in had and a not in chosen and a not in leave)
    if guarantee.relation == "label-change":
        held = {c.name for c in schema.columns} & set(target.frame.columns)
        if shown := sorted(held - set(guarantee.public_columns)):
            raise Refused(
                f"The target has {', '.join(shown)}, which label-change protects: public_columns does not name it.\n"
                f"Its rows are published. Take the column out of the target, or declare it public. {_NOTHING}"
            )
        given = tuple(a for a in given if set(schema.coding.needs([a])) <= set(guarantee.public_columns))
    if not given:
        raise JobError(f"The target has no column that the private ones could depend on. {_NOTHING}")
    return Columns(chosen, given)


def target_of(public: PublicData) -> PublicTable:
    """The rows that receive columns."""
    if public.target is None:
        raise JobError(
            "This recipe writes private columns onto given rows: name them with [target] table = '...'.\n" + _NOTHING
        )
    return public.target


def lines_of(table: PublicTable, names: Sequence[str]) -> npt.NDArray[Any]:
    """The codes of ``names``, a line for each."""
    codes = table.codes(names)
    return np.stack([codes[n] for n in names], dtype=np.result_type(*codes.values()), casting="unsafe")


def cells_of(table: PublicTable, names: Sequence[str]) -> npt.NDArray[np.int64]:
    """The cell of each row in the cross of ``names``, last fastest."""
    codes = table.codes(names)
    at = np.zeros(table.rows, np.int64)
    for n in names:
        at = at * table.schema.size([n]) + codes[n]
    return at


def is_ordered(schema: Schema, name: str) -> bool:
    """Whether the codes of an attribute stand in an order that means something."""
    plain = {c.name: c.kind for c in schema.columns}
    return plain.get(name, "categorical") not in ("categorical", "yes-no")
