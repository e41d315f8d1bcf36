"""One coefficient of a linear model, fitted in every group on its own."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, ClassVar, final

import numpy as np

from hedgerow.errors import JobError
from hedgerow.evaluate.base import DoesNotApply
from hedgerow.evaluate.least_squares import Estimates, designs, least_squares
from hedgerow.public import CodedTable, Floats, Formula, Schema, Statistic
from hedgerow.uses.base import NOTHING, AbstractGroupUse, Over, Quantity

_DRAWS = 1000
_SURE = 2.0
"""A true coefficient has a sign worth keeping when it is this many standard errors away from 0."""


@final
@dataclass(frozen=True)
class Coefficient(AbstractGroupUse):
    """The coefficient ``term`` of the least-squares fit of ``formula``; what is after its bar is absorbed.

    Standard errors are robust to unequal variance.  Levels are compared with one that follows from formula and
    schema, so the coefficient means the same whichever table it is fitted to.

    Attributes:
        formula: the model.
        term: its coefficient.
        reference: the value that the term's is compared with, where the formula does not say; settled by the job.
        person: the column that names people, which the formula may absorb (``| person``) though the schema lacks it.

    >>> Coefficient("ln(pay) ~ sex + age | agency", "sex[F]", reference="M", tolerance=0.02).what
    'coefficient of sex[F] in ln(pay) ~ sex + age | agency, compared with sex = M: difference, sign kept'
    """

    kind: ClassVar[str] = "coefficient"
    default_over: ClassVar[Over] = "worst"

    formula: str
    term: str
    reference: str = ""
    person: str = ""

    @property
    def subject(self) -> str:
        """What is looked at."""
        return f"coefficient of {self.term} in {self.formula}"

    @classmethod
    def problems(cls, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """What is wrong with the values of some keys."""
        yield from super().problems(values)
        for key in ("reference", "person"):
            if not isinstance(values.get(key, ""), str):
                yield key, "must be a text"

    @property
    def _column(self) -> str:
        """The column of the term, where it names a level."""
        return re.split(r"[\[=]", self.term, maxsplit=1)[0].strip()

    @property
    def _by(self) -> str:
        return f", {self.compared}" * bool(self.compared) + super()._by

    @property
    def compared(self) -> str:
        """The level that the term's is compared with, where the formula does not say it."""
        return f"compared with {self._column} = {self.reference}" if self.reference else ""

    @property
    def _aside(self) -> str:
        return ", sign kept"

    @property
    def table(self) -> tuple[str, ...]:
        """No one table gives a coefficient."""
        return ()

    @property
    def statistic(self) -> Statistic:
        """Bands of what the model leaves of its term and of its response."""
        return Statistic(self.groups, formula=self._model, term=self.term)

    def check(self, schema: Schema) -> None:
        """Refuse a column that the schema lacks, or a term that the formula does not have."""
        super().check(schema)
        try:
            self.bound(schema)
        except JobError as wrong:
            said = str(wrong)
            raise JobError(said if "spent" in said else f"{said}\n{NOTHING}") from None

    def bound(self, schema: Schema) -> tuple[Formula, str]:
        """The formula with every term settled by the schema, and the full name of the coefficient."""
        try:
            formula = self._model.bound(schema, self.person)
            return formula, formula.names(schema)[formula.place(self.term, schema)]
        except JobError as wrong:
            raise JobError(f"The use {self.name!r} cannot be judged. {wrong}") from None

    @property
    def _model(self) -> Formula:
        return Formula.parse(self.formula, {self._column: self.reference} if self.reference else None)

    def unsettled(self, schema: Schema) -> tuple[str, ...]:
        """The columns of the formula whose values are compared with one that nobody has named yet."""
        return self._model.unsettled(schema)

    def on(self, schema: Schema) -> "Coefficient":
        """The same use, saying what its term is compared with where the formula leaves that to the schema."""
        formula, name = self.bound(schema)
        for said, term in zip(self._model.terms, formula.terms, strict=True):
            if not said.reference and term.reference and term.column == self._column:
                return replace(self, reference=term.reference)
        return self

    def works_on(self, table: CodedTable) -> bool:
        """A model is fitted to records."""
        return table.counts is None

    def figures(self, table: CodedTable) -> Quantity:
        """The coefficient in every group and its standard error; NaN where rows do not tell.

        Uses of one model share its fits, which the table keeps.
        """
        if table.counts is not None:
            raise JobError(
                "A coefficient cannot be judged on a table of counts: it needs records. Nothing was spent."
            )
        formula, name = self.bound(table.schema)
        key = "least squares", str(formula), self.groups
        try:
            if key not in table.memo:
                table.memo[key] = _fits(formula, table, self.groups)
        except DoesNotApply as why:
            raise JobError(
                f"The use {self.name!r} cannot be judged: {why}. Nothing confidential was read or spent."
            ) from None
        found = np.full((3, table.schema.size(self.groups)), np.nan)
        found[2] = 0
        for g, fit in table.memo[key].items():
            place = fit.names.index(name)
            found[:, g] = fit.values[place], fit.errors[place], fit.rows
        return Quantity(found[0], found[2], found[1])

    def sign_kept(self, found: Floats, true: Quantity, large: Any) -> bool | None:
        """Whether every coefficient whose sign is beyond doubt has kept it."""
        sure = large & (np.abs(true.values) > _SURE * true.errors)
        return bool((np.sign(found) == np.sign(true.values))[sure].all())

    def half_sample_error(
        self, table: CodedTable, true: Quantity, rng: np.random.Generator, *, scale: float = 1.0
    ) -> float:
        """From standard errors: a random half of the rows is as far from the whole as that from its population."""
        if table.counts is not None:
            return float("nan")
        judged = np.isfinite(self.error(true, true, scale=scale).parts) & np.isfinite(true.errors)
        if not judged.any():
            return float("nan")
        off = np.abs(rng.normal(size=(_DRAWS, int(judged.sum()))) * true.errors[judged])
        if self.within == "relative":
            off /= np.maximum(np.abs(true.values[judged]), 1e-12)
        return float((off.max(axis=1) if self.over == "worst" else off.mean(axis=1)).mean()) / sqrt(scale)


def _fits(formula: Formula, table: CodedTable, groups: tuple[str, ...]) -> dict[int, Estimates]:
    (design,) = designs(formula, [table], table.schema)
    here = table.cells(groups)[design.origin]
    return {int(g): least_squares(design.where(here == g)) for g in np.unique(here)}
