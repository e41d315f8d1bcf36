"""Every kind of use with its intervals, from the evidence of a release."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import hypot, inf, log, sqrt
from typing import final

import numpy as np
import polars as pl

from hedgerow.errors import HedgerowError, JobError
from hedgerow.inference.curve import bin_width, curve_of, inverse
from hedgerow.inference.direct import SPLITS, GroupFigure, exactly
from hedgerow.inference.estimate import Estimate, EstimateTable, normal, refused, with_interval
from hedgerow.inference.evidence import Evidence, NoisyTable
from hedgerow.inference.moments import LabelMoments, Moments, RatioMoments, ScoreMoments, below, inside, last_row_in
from hedgerow.inference.reference import Reference
from hedgerow.public import CodedTable, Floats, Places
from hedgerow.uses import AbstractUse, Coefficient, Mean, PersonRate, Quantile, Rate, Table, cell_names

_OWN = 0.5  # of a coefficient's variance, in bands that were cut for its model: few public rows blur it
_FEW = 2  # records for each public row: with more, public rows alone do not say how far they err
_MODEL_CAUTION = (0.85, 1.75)  # times what splits leave out of a model: as far as answers are off (docs/inference.md)
_OF_GIVEN_ROWS = 1.25  # the same of models of given rows and a label
_DEALT_CAUTION = 2.0  # times what labels dealt anew among people leave out (docs/inference.md)
_MOST_BY_PEOPLE = 400  # cells: each is played by itself
_REPLICATES = "hedgerow sample --replicates shows how far the file's own figure moves with the noise"
_STEPS = f"people were counted by first records and steps, which tell no figure of rows. {_REPLICATES}"
_DRAWN = (
    "the counts were drawn from urns, and no noise was added to them. How far one may be from the true one is said "
    "by the law of the draw, with the prior weights of the statement"
)
_NO_MODEL_OF_PEOPLE = (
    "people were counted by facts about all of their rows, and no such fact tells a coefficient of a model of rows. "
    + _REPLICATES
)
MOST_FIGURES = 20_000
"""Cells or groups of one use that are estimated."""


def estimates(evidence: Evidence, use: AbstractUse, *, level: float = 0.95, sampling: bool = True) -> EstimateTable:
    """The figures of ``use`` with intervals of ``level``; where the release cannot tell one, why.

    With ``sampling`` the interval is for the population that the confidential rows were drawn from, one by one;
    without it, for the figure of the confidential table itself.
    """
    normal(level)
    if (many := evidence.schema.size(use.groups)) > MOST_FIGURES:
        raise JobError(
            f"{use.name} has {many:,} cells or groups; at most {MOST_FIGURES:,} are estimated at once. Take fewer\n"
            "columns. Nothing confidential was read or spent."
        )
    asked = _Asked(evidence, use, level, sampling)
    if isinstance(use, Table):
        return EstimateTable(asked.shares())
    if isinstance(use, Rate):
        return EstimateTable(asked.rates(use))
    if isinstance(use, Mean):
        return EstimateTable(asked.by_moments(asked.ratio(lambda t: t.numbers(use.of))))
    if isinstance(use, Quantile):
        return EstimateTable(asked.quantiles(use))
    if isinstance(use, Coefficient):
        return EstimateTable(asked.by_moments(ScoreMoments(use)))
    if isinstance(use, PersonRate) and evidence.people is not None:
        return EstimateTable(asked.person_rates(use))
    why = _STEPS if evidence.steps else f"there is no interval for uses of kind {use.kind}. {_REPLICATES}"
    return EstimateTable((refused(use.name, "", level, why),))


@final
@dataclass(frozen=True, eq=False)
class _Asked:
    """One use, asked of the evidence."""

    evidence: Evidence
    use: AbstractUse
    level: float
    sampling: bool

    def shares(self) -> list[Estimate]:
        """The share of all rows in every cell."""
        e, columns = self.evidence, self.use.table
        if self._by_people(columns):
            return self._shares_by_people()
        found = _open(e, columns)
        if found is None:
            return [self._unmeasured("")]
        counts, variance, basis = found
        total, noise = (float(counts.sum()), 0.0) if not variance.any() else e.total
        share = counts / total
        parts = {
            "sampling": np.sqrt(_chance(share, total)) * self.sampling,
            "noise": _tails(self.level) * np.sqrt(variance + share**2 * noise) / total,
        }
        return self._each(share, parts, basis, self._in_file(shares=True))

    def rates(self, use: Rate) -> list[Estimate]:
        """The share of every group's rows that have one of the values."""
        e, columns = self.evidence, tuple(dict.fromkeys((*use.by, use.of)))
        if self._by_people(columns):
            codes = _codes(e, use)
            return self.by_moments(self.ratio(lambda t: np.isin(t.cells((use.of,)), codes).astype(np.float64)))
        found = _open(e, columns)
        if found is None or use.of in use.by:
            return [self._unmeasured("")]
        counts, variance, basis = found
        size, inner = e.schema.size(use.by), e.schema.size((use.of,))
        counts, variance = counts.reshape(size, inner), variance.reshape(size, inner)
        hit = np.isin(np.arange(inner), _codes(e, use))
        rows = counts.sum(axis=1)
        sure = rows > 4 * np.sqrt(variance.sum(axis=1))
        rate = np.divide(counts[:, hit].sum(axis=1), rows, out=np.full(size, np.nan), where=sure & (rows > 0))
        within = np.where(hit, 1 - rate[:, None], -rate[:, None])
        parts = {
            "sampling": np.sqrt(_chance(rate, np.maximum(rows, 1.0))) * self.sampling,
            "noise": np.sqrt((within**2 * variance).sum(axis=1)) / np.maximum(rows, 1.0),
        }
        return self._each(rate, parts, basis, self._in_file())

    def by_moments(self, moments: Moments) -> list[Estimate]:
        """A mean or a coefficient in every group, by the table that tells it best."""
        in_file, by = self._in_file(), self.use.groups
        return [self._moments(moments, by, g, name, _at(in_file, g)) for g, name in self._groups()]

    def person_rates(self, use: PersonRate) -> list[Estimate]:
        """The share of the people of every group. Which is a person's last row all of the rows say, given or not."""
        if not set(use.by) & set(self.evidence.given):
            return self.by_moments(self.ratio(use.of_last_rows))
        in_file = self._in_file()
        return [
            self._moments(self.ratio(last_row_in(use, g)), (), 0, name, _at(in_file, g)) for g, name in self._groups()
        ]

    def ratio(self, numbers: Callable[[CodedTable], Floats]) -> RatioMoments:
        """A mean over rows.

        Where people were counted no fact need tell much of it: what their cells leave out is played with public
        people, who have labels.
        """
        e = self.evidence
        tells = 0.0 if e.people is not None and e.relative is not None else 0.5
        return RatioMoments(numbers, tells, column=getattr(self.use, "of", ""))

    def _by_people(self, columns: tuple[str, ...]) -> bool:
        """Whether counts of people must tell a table of rows: not where all columns were public row by row."""
        return self.evidence.people is not None and not set(columns) <= set(self.evidence.given)

    def _shares_by_people(self) -> list[Estimate]:
        """The share of all rows in every cell: the mean over rows of lying there."""
        schema, columns = self.evidence.schema, self.use.table
        if (many := schema.size(columns)) > _MOST_BY_PEOPLE:
            why = f"where people were counted, at most {_MOST_BY_PEOPLE} cells are worked out, and these are {many:,}"
            return [refused(self.use.name, "", self.level, why)]
        in_file = self._in_file(shares=True)
        names = cell_names(schema, columns, np.arange(many))
        known = tuple(c for c in columns if c in self.evidence.given)
        can = _can_be(self._rows[0].rows, columns, known)
        return [
            self._moments(self.ratio(inside(columns, i)), (), 0, n, _at(in_file, i))
            if can[i]
            else self._none(known, n)
            for i, n in enumerate(names)
        ]

    def _none(self, known: tuple[str, ...], name: str) -> Estimate:
        """The share of a cell that no given row can lie in."""
        people = np.array([float(self._rows[0].units.rows)])
        parts = {"sampling": float(np.sqrt(_chance(np.zeros(1), people))[0]) * self.sampling}
        return self._with_interval(name, 0.0, parts, f"{_public(known)}, and no row has these values.", 0.0)

    def quantiles(self, use: Quantile) -> list[Estimate]:
        """Quantiles of every group (Woodruff 1952): the interval of the share below, carried over to values."""
        found, repeats = [], len(use.shares)
        in_file = self._in_file()
        for g, name in self._groups():
            for j, share in enumerate(use.shares):
                label = f"{name} at {share:g}".strip() if repeats > 1 else name
                found.append(self._quantile(use, share, g, label, _at(in_file, g * repeats + j)))
        return found

    def _quantile(self, use: Quantile, share: float, g: int, name: str, in_file: float | None) -> Estimate:
        e = self.evidence
        rows, other = self._rows
        y = rows.rows.numbers(use.of)[rows.rows.cells(use.groups) == g]
        y = y[np.isfinite(y)]
        if len(y) < 2:
            return refused(use.name, name, self.level, "the rows that it leans on have no number there", in_file)
        near = self.ratio(below(use.of, float(np.quantile(y, share)), y))
        told = GroupFigure(near, rows, use.groups, g).best(t for t in e.tables if self._holds(t))
        if told is None:
            return self._unmeasured(name, in_file)
        curve = curve_of(told.table, rows, use, g)
        value = inverse(curve, share)
        found = self._parts(self.ratio(below(use.of, value, y)), told.table, (rows, other), use.groups, g)
        if found is None:
            return self._unmeasured(name, in_file)
        _, parts = found
        spread = normal(self.level) * sqrt(sum(p * p for p in parts.values()))
        # where in a bin values lie records do not tell, and a public table does
        step = bin_width(e, use.of) / 5 if e.relative is None else 0.0
        low, high = (inverse(curve, share + s) for s in (-spread, spread))
        low, high = value - hypot(value - low, step), value + hypot(high - value, step)
        slope = (high - low) / 2 / max(spread, 1e-12)
        widths = {k: slope * normal(self.level) * v for k, v in parts.items()}
        return Estimate(use.name, name, value, low, high, self.level, widths, self._basis(told.table), in_file)

    def _moments(self, moments: Moments, by: tuple[str, ...], g: int, name: str, in_file: float | None) -> Estimate:
        e, use = self.evidence, self.use
        rows, other, tables = *self._rows, e.tables
        if e.given and self._needs <= set(e.given):
            return self._exact(moments, by, g, name, in_file)
        if isinstance(use, Coefficient) and e.people is not None:
            return refused(use.name, name, self.level, _NO_MODEL_OF_PEOPLE, in_file)
        if isinstance(use, Coefficient) and e.given:
            if not (own := self._asked_for(use)):
                return self._unmeasured(name, in_file)
            moments, tables = LabelMoments(use, own[0]), own
        elif isinstance(use, Coefficient):
            if e.relative is None:  # records of a model need not have the association of any three columns
                why = "without a public table nothing says how the other columns of the model go together"
                return refused(use.name, name, self.level, why, in_file)
            # where public rows are few, where records put the figure shows how far it may err
            few = _FEW * e.relative.rows < e.records.rows
            rows, other = e.reference(e.relative), e.reference(e.records) if few else None
            if own := self._own_bands(use):
                moments, tables = ScoreMoments(use, tells=_OWN), own
        elif e.relative is None:  # nor the link of two columns that no answer holds together
            tables = tuple(t for t in tables if self._holds(t))
        told = GroupFigure(moments, rows, by, g).best(tables)
        found = told and self._parts(moments, told.table, (rows, other), by, g)
        if told is None or not found:
            return self._unmeasured(name, in_file)
        value, parts = found
        basis = self._basis(told.table)
        return self._with_interval(name, value, parts, basis, in_file)

    def _with_interval(
        self, name: str, value: float, parts: dict[str, float], basis: str, in_file: float | None
    ) -> Estimate:
        bounds = (0.0, 1.0) if isinstance(self.use, Table | Rate | PersonRate) else (-inf, inf)
        return with_interval(
            self.use.name, name, value, parts, level=self.level, basis=basis, in_file=in_file, bounds=bounds
        )

    @cached_property
    def _needs(self) -> set[str]:
        """The columns of rows that decide the figure, besides the one that names people."""
        use, schema = self.use, self.evidence.schema
        model = use.bound(schema)[0].columns if isinstance(use, Coefficient) else ()
        people = {use.person} if isinstance(use, Coefficient | PersonRate) else set()
        return {*use.columns_named, *model} - people

    def _exact(self, moments: Moments, by: tuple[str, ...], g: int, name: str, in_file: float | None) -> Estimate:
        """A figure of columns that are all given: there is no noise in it."""
        found = exactly(moments, self._rows[0], by, g)
        if found is None:
            return refused(self.use.name, name, self.level, "the given rows do not determine it", in_file)
        parts = {"sampling": found[1] * self.sampling}
        return self._with_interval(name, found[0], parts, f"{_public(sorted(self._needs))}.", in_file)

    def _own_bands(self, use: Coefficient) -> tuple[NoisyTable, ...]:
        """The tables whose bands were cut for a model of these very columns."""
        columns = set(use.bound(self.evidence.schema)[0].columns)
        asked = ((t, t.question.tree) for t in self.evidence.tables)
        return tuple(t for t, tree in asked if tree is not None and set(tree.columns) == columns)

    def _asked_for(self, use: Coefficient) -> tuple[NoisyTable, ...]:
        """The table that was asked for a model's coefficient: the term's label in bands of the given columns."""
        (formula, name), schema = use.bound(self.evidence.schema), self.evidence.schema
        given = {c for c in formula.columns if c in self.evidence.given}
        labels = {t.column for t in formula.terms for n in t.coefficients(schema.column(t.column)) if name in n}
        asked = ((t, t.question.tree) for t in self.evidence.tables if set(t.question.columns) == labels)
        return tuple(t for t, tree in asked if tree is not None and set(tree.columns) == given)

    @cached_property
    def _rows(self) -> tuple[Reference, Reference | None]:
        """The rows that say how values lie within cells, and others that do: the better ones first.

        Given columns are the confidential table's own; else public rows have real values, drawn to the records'
        shares of the column; records have what a model made of noise.
        """
        e, of = self.evidence, getattr(self.use, "of", "")
        public = e.tilted(of) if of and e.people is None else e.relative  # people stay whole
        first, second = (e.records, public) if e.given or public is None else (public, e.records)
        return e.reference(first), None if second is None else e.reference(second)

    def _parts(
        self,
        moments: Moments,
        table: NoisyTable,
        references: tuple[Reference, Reference | None],
        by: tuple[str, ...],
        g: int,
    ) -> tuple[float, dict[str, float]] | None:
        """The figure by one table and how values of reference rows lie in its cells, and the deviation of each part.

        Other rows, if there are any, give the figure too: of two that differ by d each errs by d / sqrt(2),
        unless one has the real values of given columns.
        Public rows, or else these, are split to see what the cells leave out.
        """
        rows, other = references
        first, second = (r and GroupFigure(moments, r, by, g) for r in (rows, other))
        assert first is not None
        if self._holds(table):
            told, again = first.told_by(table), second and second.told_by(table)
        else:
            known = GroupFigure(moments, rows, (), 0).best(t for t in self.evidence.tables if self._holds(t))
            told, again = (f and known and f.beside_all(table, known) for f in (first, second))
        if told is None:
            return None
        public = second if self.evidence.given and again is not None else first
        rows_counted = self.evidence.people is None and self._holds(table)
        of = moments.column if isinstance(moments, RatioMoments) and rows_counted else ""
        played, chance = self._played(public or first, first, table, of), told.sampling
        if of:
            played, chance = (public or first).as_large(played, told, first.part)
        apart = (again.value - told.value) / sqrt(2) if again and not self.evidence.given else 0.0
        if second is not None and moments.given:  # what records leave of a label, or public rows
            apart = (first.told_beside(second, table) - told.value) / sqrt(2)
        more = 1.0
        if isinstance(self.use, Coefficient):  # how far given rows are off nobody asks: they are the table's own
            far = _OF_GIVEN_ROWS if self.evidence.given else first.further_than_played(table)
            more = float(np.clip(far, *_MODEL_CAUTION))
        recipe = sqrt((more * played) ** 2 + apart**2 + self._guessed(by, g) ** 2)
        noise = sqrt(told.noise**2 + self._placing(first, table) ** 2)
        if isinstance(moments, LabelMoments):  # bands have no part in it
            chance = (exactly(ScoreMoments(moments.use), rows, by, g) or (0.0, float("nan")))[1]
        parts = {"sampling": chance * self.sampling, "noise": noise, "recipe": recipe}
        return told.value, parts

    def _holds(self, table: NoisyTable) -> bool:
        """Whether cells tell values of the figure's own column, or rows do that are known with it."""
        e, of, tree = self.evidence, getattr(self.use, "of", ""), table.question.tree
        known = not of or of in e.given or e.people is not None
        return known or of in table.columns or (tree is not None and of in tree.columns)

    def _played(self, public: GroupFigure, known: GroupFigure, table: NoisyTable, column: str) -> float:
        """What the cells leave out, played with halves of public rows.

        Of people whose rows are known, halves play chance that these do not have.  So their labels alone are dealt
        out anew, the public people's for the truth and the records' for the release, and the smaller play counts.
        """
        halves = public.left_out(table)
        if column:  # its shares are told, with noise: neither play is true
            halves = hypot(halves, public.left_out(table, column)) / sqrt(2)
        if not known.told_apart(table, self._needs):
            return halves
        fewer = sqrt(public.reference.units.rows / max(known.reference.units.rows, 1))
        dealt = sqrt((public.relabelled(table) * max(fewer, 1.0)) ** 2 + known.relabelled(table) ** 2)
        return float(np.fmin(halves, _DEALT_CAUTION * dealt))

    def _placing(self, figure: GroupFigure, table: NoisyTable) -> float:
        """The noise in how a column's values lie within cells, where no public or given row says it."""
        e, of = self.evidence, getattr(self.use, "of", "")
        counted = e.counts((of,)) if of and e.relative is None and not e.given and e.people is None else None
        if counted is None:
            return 0.0
        inside = np.unravel_index(figure.group, e.schema.shape(figure.by)) if figure.by else ()
        group = {c: e.schema.cell_labels(c)[int(i)] for c, i in zip(figure.by, inside, strict=True)}
        labels = {of: list(e.schema.cell_labels(of)), "count": [1.0] * len(counted[0])}
        codes = pl.DataFrame(labels).with_columns(pl.lit(label).alias(c) for c, label in group.items() if c != of)
        return figure.placing(table, CodedTable.of_counts(e.schema, codes), counted[0], counted[1])

    def _guessed(self, by: tuple[str, ...], g: int) -> float:
        """How far off a mean may be because nothing says where in their bins numbers lie: anywhere, bin by bin."""
        e, of = self.evidence, getattr(self.use, "of", "")
        if not isinstance(self.use, Mean) or e.relative is not None or e.given or e.people is not None:
            return 0.0
        column = e.schema.column(of)
        cells = np.bincount(e.records.cells((*by, of)), minlength=e.schema.size((*by, of)))
        bins = cells.reshape(-1, e.schema.size((of,)))[g, : column.bin_count]
        if column.bins is None or not bins.any():
            return 0.0
        finest = float(column.unit or (column.kind == "integer"))
        widths = np.maximum(np.diff(column.cuts) - finest, 0.0)
        return float(np.linalg.norm(bins / bins.sum() * widths)) / sqrt(12)

    def _groups(self) -> list[tuple[int, str]]:
        size = self.evidence.schema.size(self.use.groups)
        if not self.use.groups:
            return [(0, "")]
        used = np.bincount(self.evidence.records.cells(self.use.groups), minlength=size) > 0
        places = np.flatnonzero(used)
        return list(zip(places.tolist(), cell_names(self.evidence.schema, self.use.groups, places), strict=True))

    def _basis(self, table: NoisyTable) -> str:
        by_public = self.evidence.relative is not None and not self.evidence.given
        rows = "the public table" if by_public else "the released records"
        split = "the public table" if self.evidence.relative is not None else rows
        what = "answers" if self.evidence.people is None else "counts of people"
        told = f"From the noisy {what} about {table.question}; within their cells from {rows}."
        if not self._holds(table):
            told = f"{told[:-1]}, held against the answers about {getattr(self.use, 'of', '')} of all rows."
        dealt = "" if self.evidence.people is None else ", and by dealing out labels anew where these were counted"
        return f"{told} What that leaves out was played with {SPLITS} splits of {split} that drift apart{dealt}."

    def _each(self, values: Floats, parts: dict[str, Floats], basis: str, in_file: Floats) -> list[Estimate]:
        names = cell_names(self.evidence.schema, self.use.groups, np.arange(len(values)))
        few = "its rows are too few to be told from the noise"
        found = []
        for i, value in enumerate(values.tolist()):
            name, own = names[i] if self.use.groups else "", _at(in_file, i)
            if not np.isfinite(value):
                found.append(refused(self.use.name, name, self.level, few, own))
                continue
            found.append(self._with_interval(name, value, {k: float(v[i]) for k, v in parts.items()}, basis, own))
        return found

    def _in_file(self, *, shares: bool = False) -> Floats:
        """The figures of the released file; empty where it has none."""
        try:
            values = self.use.figures(self.evidence.records).values
        except HedgerowError:
            return np.empty(0)
        return values / max(float(values.sum()), 1.0) if shares else values

    @property
    def _cure(self) -> str:
        """What to do to get an interval."""
        asked = _asked(self.use)
        if self.evidence.people is not None:
            return f"Where people are counted only facts about them are measured, no use by itself. {_REPLICATES}"
        if any(_asked(u) == asked or u.name == self.use.name for u in self.evidence.declared):  # but for references
            return "It was declared: the next job needs a larger epsilon for it, larger groups, or fewer uses"
        said = ", ".join(f"{k} = {_toml(v)}" for k, v in asked.items())
        return f"Declare it in the next job, [[use]] {said}, and the recipe measures it if the budget allows"

    def _unmeasured(self, name: str, in_file: float | None = None) -> Estimate:
        why = f"no answer of the gate tells it well enough. {self._cure}"
        why = _STEPS if self.evidence.steps else _DRAWN if self.evidence.drawn else why
        return refused(self.use.name, name, self.level, why, in_file)


def _asked(use: AbstractUse) -> dict[str, object]:
    """What a use asks for, without what it is called and how near it must be."""
    return {k: v for k, v in use.to_toml().items() if k not in ("name", "tolerance", "within", "over")}


def _toml(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _open(e: Evidence, columns: tuple[str, ...]) -> tuple[Floats, Floats, str] | None:
    """The counts of a table, the variance of their noise, and what they rest on: given columns are known exactly."""
    if e.given and set(columns) <= set(e.given):
        counts = np.bincount(e.records.cells(columns), e.records.counts, e.schema.size(columns)).astype(np.float64)
        return counts, np.zeros(len(counts)), f"{_public(columns)}."
    found = e.counts(columns)
    return None if found is None else (found[0], found[1], f"From the noisy answers about {', '.join(found[2])}.")


def _public(columns: Sequence[str]) -> str:
    which = f"column {columns[0]} was" if len(columns) == 1 else f"columns {', '.join(columns)} were"
    return f"The {which} public row by row"


def _can_be(rows: CodedTable, columns: tuple[str, ...], known: tuple[str, ...]) -> Places:
    """For every cell of the cross of ``columns``, whether a row has its values of those that are ``known``."""
    shape = rows.schema.shape(columns)
    there = np.ones(rows.schema.size(columns), np.bool_)
    if known:
        codes = dict(zip(columns, np.unravel_index(np.arange(len(there)), shape), strict=True))
        place = np.ravel_multi_index([codes[c] for c in known], rows.schema.shape(known))
        there = np.isin(place, rows.cells(known))
    return np.asarray(there)


def _tails(level: float) -> float:
    """How much further the tails of one Laplace number reach than those of a normal one as wide: 1.08 at 95 %."""
    return max(-log(1 - level) / sqrt(2) / normal(level), 1.0)


def _chance(share: Floats, rows: Floats | float) -> Floats:
    """The sampling variance of a share; two rows more than there are keep it above 0 (Agresti and Coull)."""
    p = (np.clip(share, 0.0, 1.0) * rows + 1) / (rows + 2)
    return np.asarray(p * (1 - p) / rows)


def _codes(e: Evidence, use: Rate) -> Floats:
    wanted = pl.DataFrame({use.of: pl.Series(use.values, dtype=pl.String)})
    return np.asarray(e.schema.coding.encode(wanted, [use.of])[use.of])


def _at(values: Floats, place: int) -> float | None:
    return float(values[place]) if place < len(values) and np.isfinite(values[place]) else None
