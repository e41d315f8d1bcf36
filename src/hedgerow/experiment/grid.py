"""The grid file: which settings of a job are varied, what is measured, and which findings are put to the test."""

import json
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hedgerow.errors import NOTHING, JobError
from hedgerow.experiment.design import Cell, Design, fraction, full
from hedgerow.job import JobValues, known_keys, name_of_recipe, values_of
from hedgerow.public import nearest, place, read_toml
from hedgerow.recipes import RECIPES
from hedgerow.uses import Table

_FIXED = ("confidential", "ledger")
_TAKEN = ("seed", "measure", "term", "at", "authentic", "synthetic", "error", "seconds", "note")


class _GridPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Factor(_GridPart):
    """One setting of the job and its levels."""

    name: str
    set: str
    levels: Annotated[tuple[Any, ...], Field(min_length=2)]
    labels: tuple[str, ...] = ()
    times: str = ""

    @model_validator(mode="after")
    def _check(self) -> "Factor":
        if self.labels and len(self.labels) != len(self.levels):
            raise ValueError(f"{len(self.labels)} labels for {len(self.levels)} levels")
        if self.set.split(".")[0] in _FIXED:
            raise ValueError(f"the promise is not varied: {', '.join(_FIXED)} stay as the job says")
        if self.times and not all(isinstance(x, int | float) for x in self.levels):
            raise ValueError("'times' needs levels that are numbers")
        return self

    def stored(self, level: int) -> Any:
        """A level as results hold it: a table or a list by its label."""
        value = self.levels[level]
        return value if isinstance(value, int | float | str) else self.label(level)

    def place(self, value: Any) -> int | None:
        """Which level is meant by its value, by its label, or by what results hold; None when none is."""
        known = (self.levels, self.labels, tuple(map(self.stored, range(len(self.levels)))))
        return next((list(names).index(value) for names in known if value in names), None)

    def label(self, level: int) -> str:
        """A level for people."""
        if self.labels:
            return self.labels[level]
        value = self.levels[level]
        return value if isinstance(value, str) else json.dumps(value)


class Measure(_GridPart):
    """What is measured of every synthetic table: a model's coefficients, or a table of joint proportions."""

    name: str
    model: str = ""
    reference: dict[str, str] = {}
    by: str = ""
    terms: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> "Measure":
        if bool(self.model) == bool(self.columns):
            raise ValueError("say either model = '...' or columns = [...]")
        return self

    @property
    def use(self) -> Table:
        """A table of joint proportions is measured as the use of that kind is."""
        return Table(self.columns, tolerance=1.0, name=self.name)


class Picture(_GridPart):
    """A figure in the papers' form: a line for each level of one factor, panels by another, the rest averaged.

    With ``against``, a factor whose levels are numbers, the mean error is drawn against it, and where it is least.
    """

    measure: str = ""
    lines: str = ""
    panels: str = ""
    against: str = ""
    at: dict[str, Any] = {}

    @model_validator(mode="after")
    def _check(self) -> "Picture":
        if not self.lines and not self.against:
            raise ValueError("say lines = FACTOR, or against = FACTOR for a curve of the error")
        return self


class Finding(_GridPart):
    """A statement about the factors that the results bear out or not."""

    says: str
    check: Literal["first", "second", "interact", "helps", "does not help"]
    factors: Annotated[tuple[str, ...], Field(min_length=1, max_length=2)]
    of: Annotated[tuple[Any, ...], Field(max_length=2)] = ()
    at: dict[str, Any] = {}
    measure: str = ""

    @model_validator(mode="after")
    def _check(self) -> "Finding":
        if len(self.factors) != (2 if self.check == "interact" else 1):
            raise ValueError("'interact' is about two factors, every other check about one")
        if (len(self.of) == 2) != (self.check in ("helps", "does not help")):
            raise ValueError("'helps' and 'does not help' compare two levels: of = [FROM, TO]; others none")
        return self


class _Experiment(_GridPart):
    job: str = "job.toml"
    out: str = "study"
    title: str = ""
    seeds: Annotated[int, Field(ge=1, le=1000)] = 3
    design: Literal["full", "fractional"] = "full"
    runs_at_most: Annotated[int, Field(ge=2)] | None = None
    stand_in: str = ""
    tolerance: Annotated[float, Field(gt=0)] | None = None
    split_seed: Annotated[int, Field(ge=0)] = 0


class GridFile(_GridPart):
    """What a grid file says."""

    experiment: _Experiment = _Experiment()
    factor: Annotated[tuple[Factor, ...], Field(min_length=1)]
    measure: Annotated[tuple[Measure, ...], Field(min_length=1)]
    figure: tuple[Picture, ...] = ()
    finding: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Grid:
    """A grid file, checked, with the job it varies.

    Attributes:
        path: the grid file.
        file: what it says.
        job: the text of the job.
        job_path: where the job is; its paths start there.
    """

    path: Path
    file: GridFile
    job: str
    job_path: Path

    @classmethod
    def load(cls, path: str | Path) -> "Grid":
        """The grid in ``path``; every mistake is named at once."""
        path = Path(path).resolve()
        data = _toml(path, "grid")
        try:
            file = GridFile.model_validate(data)
        except ValidationError as wrong:
            lines = [f"{path} has {wrong.error_count()} mistake{'s' * (wrong.error_count() != 1)}:"]
            lines += [f"  {place(e['loc'])}: {_said(e)}" for e in wrong.errors()]
            raise JobError("\n".join([*lines, NOTHING])) from None
        job_path = (path.parent / file.experiment.job).resolve()
        _toml(job_path, "job")
        grid = cls(path, file, job_path.read_text("utf-8"), job_path)
        grid._check_names()
        return grid

    @property
    def factors(self) -> tuple[Factor, ...]:
        """What is varied."""
        return self.file.factor

    @property
    def out(self) -> Path:
        """The folder of the results."""
        return (self.path.parent / self.file.experiment.out).resolve()

    @cached_property
    def design(self) -> Design:
        """Which cells are run."""
        levels = [len(f.levels) for f in self.factors]
        if self.file.experiment.design == "full":
            return full(levels)
        return fraction(levels, at_most=self.file.experiment.runs_at_most or len(full(levels).cells) // 2)

    def settings(self, cell: Cell) -> dict[str, Any]:
        """The value of every varied setting in a cell."""
        chosen = {f.set: f.levels[at] for f, at in zip(self.factors, cell, strict=True)}
        for f in self.factors:
            if f.times:
                base = chosen.get(f.times, _look_up(self.tables, f.times))
                chosen[f.set] = _product(f, chosen[f.set], base)
        return chosen

    @cached_property
    def tables(self) -> dict[str, Any]:
        """The tables of the job file as it stands."""
        return tomllib.loads(self.job)

    def job_tables(self, cell: Cell) -> dict[str, Any]:
        """The tables of the job of a cell, which would run by itself: of recipes' settings only those it uses."""
        data = deepcopy(self.tables)
        for key, value in self.settings(cell).items():
            *tables, last = key.split(".")
            place = data
            for t in tables:
                place = place.setdefault(t, {})
            place[last] = value
        return _of_its_recipe(data)

    def job_of(self, cell: Cell | None = None) -> JobValues:
        """The job of a cell; without one the job as it stands, less settings of recipes that only some cells use."""
        data = _of_its_recipe(self.tables) if cell is None else self.job_tables(cell)
        return JobValues(**values_of(data, self.job_path, text=self.job))

    def factor(self, name: str) -> Factor:
        """The factor of that name."""
        return next(f for f in self.factors if f.name == name)

    def stored(self, name: str, level: Any) -> Any:
        """What results hold for a level of a factor, however it is said."""
        factor = self.factor(name)
        at = factor.place(level)
        return level if at is None else factor.stored(at)

    def word(self, name: str, level: Any) -> str:
        """A level of a factor for people."""
        factor = self.factor(name)
        at = factor.place(level)
        return str(level) if at is None else factor.label(at)

    def _check_names(self) -> None:
        names, measures = [f.name for f in self.factors], [m.name for m in self.file.measure]
        wrong = [f"two factors are called {n!r}" for n in {n for n in names if names.count(n) > 1}]
        wrong += [
            f"a factor cannot be called {n!r}: results have a column of that name" for n in names if n in _TAKEN
        ]
        wrong += [f"two measures are called {n!r}" for n in {n for n in measures if measures.count(n) > 1}]
        used = [(n, "figure") for p in self.file.figure for n in (p.lines, p.panels, p.against, *p.at) if n]
        used += [(n, "finding") for f in self.file.finding for n in (*f.factors, *f.at)]
        wrong += [f"a {where} names the factor {n!r}, which is not there" for n, where in used if n not in names]
        asked: list[Picture | Finding] = [*self.file.figure, *self.file.finding]
        for x in asked:
            if x.measure and x.measure not in measures:
                wrong.append(f"there is no measure {x.measure!r}")
        told = [(f, x.at[f.name]) for f in self.factors for x in asked if f.name in x.at]
        wrong += [f"{f.name} has no level {level!r}" for f, level in told if f.place(level) is None]
        for f in self.factors:
            if len({isinstance(level, str) for level in f.levels}) > 1:
                wrong.append(f"the levels of {f.name} must be all text or all not")
            of = [level for x in self.file.finding if x.factors[0] == f.name for level in x.of]
            wrong += [f"{f.name} has no level {level!r}" for level in of if f.place(level) is None]
        numbers = {f.name for f in self.factors if all(isinstance(x, int | float) for x in f.levels)}
        against = {p.against for p in self.file.figure if p.against in names} - numbers
        wrong += [f"a figure is drawn against {n}, whose levels are not numbers" for n in sorted(against)]
        wrong += self._unknown_settings()
        if wrong:
            said = "; ".join(wrong)
            raise JobError(f"{self.path}: {said}{'' if said.endswith('?') else '.'} {NOTHING}")

    def _unknown_settings(self) -> Iterator[str]:
        """What is wrong with the keys that factors set: no such key, no such recipe, a recipe that no cell uses."""
        known = known_keys()
        varied = next((f.levels for f in self.factors if f.set == "job.recipe"), ())
        used = {*map(str, varied)} or {name_of_recipe(self.tables)}
        for name in sorted(used - set(RECIPES)):
            yield f"there is no recipe {name!r}; {nearest(name, RECIPES).rstrip('.')}"
        for f in self.factors:
            table, _, key = f.set.partition(".")
            if table not in known:
                yield f"{f.name} sets {f.set!r}, but a job has no [{table}]; {nearest(table, known).rstrip('.')}"
            elif key.split(".")[0] not in known[table]:
                yield f"{f.name} sets {f.set!r}; of [{table}], {nearest(key, known[table]).rstrip('.')}"
            elif table in RECIPES and table not in used:
                yield f"{f.name} sets {f.set!r}, but no cell uses the recipe {table}"


def _said(wrong: Any) -> str:
    """A mistake of a grid file in words; of an unknown key with the nearest known one."""
    if wrong["type"] != "extra_forbidden":
        return str(wrong["msg"]).removeprefix("Value error, ")
    parts: dict[str, type[_GridPart]] = {
        "experiment": _Experiment,
        "factor": Factor,
        "measure": Measure,
        "figure": Picture,
        "finding": Finding,
    }
    table, *inner = map(str, wrong["loc"])
    if not inner:
        return f"is not a table of a grid file: {nearest(table, parts)}"
    return f"is not a key of [{table}]: {nearest(inner[-1], parts[table].model_fields)}"


def _of_its_recipe(data: dict[str, Any]) -> dict[str, Any]:
    """A job without the settings of recipes that it does not use."""
    used = name_of_recipe(data)
    return {k: v for k, v in data.items() if k == used or k not in RECIPES}


def _look_up(data: Any, key: str) -> Any:
    for part in key.split("."):
        data = data.get(part) if isinstance(data, dict) else None
    return data


def _product(factor: Factor, level: Any, base: Any) -> float:
    if isinstance(base, bool) or not isinstance(base, int | float):
        raise JobError(f"{factor.name}: times = {factor.times!r} is not a number of the job. {NOTHING}")
    return float(f"{level * base:.12g}")


def _toml(path: Path, what: str) -> dict[str, Any]:
    try:
        return read_toml(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        raise JobError(f"There is no readable {what} file at {path}. {NOTHING}") from None
    except tomllib.TOMLDecodeError as wrong:
        raise JobError(f"{path}: this is not TOML: {wrong}. {NOTHING}") from None
