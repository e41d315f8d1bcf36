"""The share of rows that have one of some values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from hedgerow.errors import JobError
from hedgerow.public import CodedTable, Schema
from hedgerow.uses.base import NOTHING, AbstractColumnUse, Quantity, is_names, ratio


@final
@dataclass(frozen=True)
class Rate(AbstractColumnUse):
    """The share of rows whose column ``of`` has one of ``values``, as they stand in the file.

    >>> Rate("income", [">50K"], by=["sex"], tolerance=0.01).name
    'share of income = >50K by sex'
    """

    kind: ClassVar[str] = "rate"

    values: Sequence[str]

    @classmethod
    def problems(cls, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """What is wrong with the values of some keys."""
        yield from super().problems(values)
        if not is_names(given := values.get("values", ("x",))) or not given:
            yield "values", 'must be a list of texts, such as [">50K"]'

    @property
    def subject(self) -> str:
        """What is looked at."""
        return f"share of {self.of} = {' or '.join(self.values)}"

    def size_in_words(self, error: float) -> str:
        """A difference of shares is in percentage points."""
        return super().size_in_words(error) if self.as_share else f"{100 * error:.2g} percentage points"

    def figures(self, table: CodedTable) -> Quantity:
        """The share of every group."""
        group, size, weight = table.cells(self.groups), table.schema.size(self.groups), table.counts
        rows = np.bincount(group, weight, size).astype(np.float64)
        hit = table.has(self.of, self.values) * (1.0 if weight is None else weight)
        return Quantity(ratio(np.bincount(group, hit, size), rows), rows, np.empty(0))

    def check(self, schema: Schema) -> None:
        """Refuse a column that the schema lacks, or values that it does not list there."""
        super().check(schema)
        column = schema.column(self.of)
        listed = [v for v in self.values if v not in column.cell_texts]
        if column.bin_count or (listed and not (column.yes or column.kind == "yes-no")):
            wanted, known = " or ".join(listed or self.values), ", ".join(t for t in column.cell_texts[:12] if t)
            raise JobError(
                f"The use {self.name!r} wants the share of {self.of} = {wanted}, which the\n"
                f"schema does not list. Its values are: {known}.\n{NOTHING}"
            )
