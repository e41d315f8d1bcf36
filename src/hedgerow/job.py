"""The job file: one TOML that says what to publish, from what, under which promise, and for which uses."""

import hashlib
import tomllib
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, model_validator

from hedgerow.errors import JobError
from hedgerow.planning.tree_report import Wanted
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.schema import Schema
from hedgerow.public.toml import key_lines, line_of
from hedgerow.recipes import RECIPES, AbstractRecipe, default_recipe
from hedgerow.uses.uses import Use

_Number = int | float | str


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Job(_Part):
    recipe: str = ""
    seed: Annotated[int, Field(ge=0)] = 0
    out: str = "release"
    title: str = ""
    copies: Annotated[int, Field(ge=1, le=1000)] = 1
    memory_gb: Annotated[float, Field(gt=0)] | None = None
    formats: tuple[Literal["csv", "dta", "sav", "arrow", "xpt"], ...] = ("csv",)


class _Confidential(_Part):
    table: str
    name: str = ""
    unit: Literal["record", "person"] = "record"
    person: str = ""
    rows_per_person: Annotated[int, Field(ge=1)] = 1
    relation: Literal["add-remove", "replace-one", "label-change"] | None = None
    public_columns: tuple[str, ...] = ()
    assumed_rows: Annotated[int, Field(ge=1)] | None = None


class _Public(_Part):
    table: str
    provenance: str = ""


class _Target(_Part):
    table: str


class _Budget(_Part):
    epsilon: _Number
    delta: _Number = 0


class _Plan(_Part):
    p: Annotated[float, Field(ge=0, le=1)] = 0.25
    width: Annotated[float, Field(gt=0, lt=1)] = 0.1
    level: Annotated[float, Field(gt=0, lt=1)] = 0.9


class _Ledger(_Part):
    url: str = "ledger.db"


class _Use(_Part):
    name: str
    kind: Literal["table", "mean", "rate", "quantile", "coefficient"] = "table"
    columns: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    tolerance: Annotated[float, Field(gt=0)]
    within: Literal["total-variation", "relative", "absolute"] | None = None
    cell_size: Annotated[int, Field(ge=0)] = 0
    group_size: Annotated[int, Field(ge=0)] = 0
    of: str = ""
    values: tuple[str, ...] = ()
    at: Annotated[float, Field(gt=0, lt=1)] | tuple[Annotated[float, Field(gt=0, lt=1)], ...] = ()
    formula: str = ""
    term: str = ""
    over: Literal["typical", "worst"] | None = None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "_Use":
        needed, allowed = _KEYS[self.kind]
        given = self.model_fields_set - {"name", "kind", "tolerance", "within", "over"}
        if absent := sorted(needed - given):
            raise ValueError(f"kind = {self.kind!r} needs {', '.join(absent)}")
        if extra := sorted(given - needed - allowed):
            raise ValueError(f"kind = {self.kind!r} does not know {', '.join(extra)}")
        if (
            (self.within == "total-variation")
            and self.kind != "table"
            or self.within == "absolute"
            and self.kind == "table"
        ):
            raise ValueError(f"kind = {self.kind!r} cannot be judged within = {self.within!r}")
        return self

    @property
    def use(self) -> Use:
        """The use as the rest of the house knows it."""
        return Use(
            self.name,
            self.columns or self.by,
            self.tolerance,
            self.within or ("total-variation" if self.kind == "table" else "absolute"),
            self.cell_size or self.group_size,
            self.kind,
            self.of,
            self.values,
            self.at if isinstance(self.at, tuple) else (self.at,),
            self.formula,
            self.term,
            self.over or ("worst" if self.kind == "coefficient" else "typical"),
        )


_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "table": ({"columns"}, {"cell_size"}),
    "mean": ({"of"}, {"by", "group_size"}),
    "rate": ({"of", "values"}, {"by", "group_size"}),
    "quantile": ({"of", "at"}, {"by", "group_size"}),
    "coefficient": ({"formula", "term"}, {"by", "group_size"}),
}
"""The keys that each kind of use needs, and those it may have."""


class _Schema(_Part):
    file: Annotated[str, Field(validation_alias=AliasChoices("file", "path", "table"))] = "schema.toml"


class _File(_Part):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    job: _Job = _Job()
    schema_: Annotated[_Schema, Field(alias="schema")] = _Schema()
    confidential: _Confidential
    public: _Public | None = None
    target: _Target | None = None
    budget: _Budget
    ledger: _Ledger = _Ledger()
    plan: _Plan = _Plan()
    use: tuple[_Use, ...] = ()


@dataclass(frozen=True)
class Job:
    """A job, checked. Paths are absolute; everything else is as the file says.

    Attributes:
        path: the job file.
        text: its text.
        recipe: the recipe with its settings.
        guarantee: who is protected against which change.
        budget: what is promised.
        uses: what the release must get right.
        table: the steward's name of the confidential table, under which the ledger books.
    """

    path: Path
    text: str
    file: _File
    recipe: AbstractRecipe
    guarantee: Guarantee
    budget: Budget
    uses: tuple[Use, ...]
    table: str

    @classmethod
    def load(cls, path: str | Path) -> "Job":
        """The job in ``path``; every mistake is named at once, with its line."""
        path = Path(path)
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            raise JobError(
                f"There is no readable job file at {path}. Write one, or see one made: hedgerow demo\n"
                "No confidential row was read and nothing was spent."
            ) from None
        return cls.loads(text, path)

    @classmethod
    def loads(cls, text: str, path: Path) -> "Job":
        """The job written in ``text``; relative paths start from the folder of ``path``."""
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as wrong:
            raise JobError(f"{path}: this is not TOML: {wrong}. Nothing was read or spent.") from None
        name = name_of_recipe(data)
        settings = data.pop(name, {})
        try:
            file = _File.model_validate(data)
        except ValidationError as wrong:
            raise JobError(_all_mistakes(path, text, wrong)) from None
        secret = file.confidential
        recipe = _recipe(path, name, settings)
        if recipe.attaches and file.target is None:
            raise JobError(
                f"{path}: {recipe.name} writes private columns onto given rows, and the job names none. Add\n"
                "[target] table = '...': those rows, without the private columns. For whole records take another\n"
                "recipe. No confidential row was read and nothing was spent."
            )
        if file.job.copies not in (1, recipe.paid_copies or file.job.copies):
            raise JobError(
                f"{path}: each copy of a drawn table has its price, so [job] copies = {file.job.copies} is no use.\n"
                f"Write copies = {file.job.copies} in [{recipe.name}] instead. Nothing was read or spent."
            )
        return cls(
            path=path.resolve(),
            text=text,
            file=file,
            recipe=recipe,
            guarantee=Guarantee(
                unit=secret.unit,
                rows_per_person=secret.rows_per_person,
                relation=secret.relation or recipe.relation,
                public_columns=secret.public_columns,
                person=secret.person,
            ),
            budget=Budget(file.budget.epsilon, file.budget.delta),
            uses=tuple(u.use for u in file.use),
            table=secret.name or _name_of(secret.table),
        )

    def beside(self, name: str) -> Path:
        """A path or ``duckdb:FILE#TABLE`` written in the job, which starts from the job's own folder."""
        if not name.startswith("duckdb:"):
            return (self.path.parent / name).resolve()
        file, _, table = name.removeprefix("duckdb:").rpartition("#")
        if not (file and table):
            raise JobError(
                f"{self.path}: {name!r} names no table: write duckdb:FILE#TABLE. Nothing was read or spent."
            )
        return Path(f"duckdb:{(self.path.parent / file).resolve()}#{table}")

    def schema(self) -> Schema:
        """The schema the job names; ``schema.toml`` beside the job by default."""
        return Schema.load(self.beside(self.file.schema_.file))

    @property
    def wanted_tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table that an intended use is read from."""
        return tuple(dict.fromkeys(u.table for u in self.uses if u.table))

    @property
    def wanted(self) -> Wanted:
        """The interval that ``hedgerow plan`` holds the leaves of trees against."""
        return Wanted(**self.file.plan.model_dump())

    @property
    def ledger_url(self) -> str:
        """The ledger that the job names: a path, or the address of a database."""
        url = self.file.ledger.url
        return url if "://" in url else str(self.beside(url))

    @property
    def digest(self) -> str:
        """A hash of what the job says, to recognise it when a run is resumed."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def known_keys() -> dict[str, tuple[str, ...]]:
    """The keys of every table of a job file, but for lists of tables; those of recipes are their settings."""
    parts: dict[str, type[_Part]] = {
        "job": _Job,
        "schema": _Schema,
        "confidential": _Confidential,
        "public": _Public,
        "target": _Target,
        "budget": _Budget,
        "ledger": _Ledger,
        "plan": _Plan,
    }
    settings = {name: tuple(f.name for f in fields(r)) for name, r in RECIPES.items()}  # type: ignore[arg-type]
    return {name: tuple(part.model_fields) for name, part in parts.items()} | settings


def name_of_recipe(data: dict[str, Any]) -> str:
    """The recipe that the job names, or the default for what it has."""
    job = data.get("job", {})
    named = job.get("recipe") if isinstance(job, dict) else None
    return str(named) if named else default_recipe(target="target" in data, public="public" in data)


def _recipe(path: Path, name: str, settings: Any) -> AbstractRecipe:
    if name not in RECIPES:
        close = get_close_matches(name, RECIPES, 1)
        raise JobError(
            f"{path}: there is no recipe {name!r}.{f' Did you mean {close[0]}?' if close else ''}\n"
            f"Choose one of: {', '.join(RECIPES)}; or name none, and the best for this job is taken.\n"
            "No confidential row was read and nothing was spent."
        )
    recipe = RECIPES[name]
    known = {f.name for f in fields(recipe)}  # type: ignore[arg-type]
    unknown = sorted(set(settings) - known) if isinstance(settings, dict) else [str(settings)]
    if unknown:
        raise JobError(
            f"{path}: [{name}] does not know: {', '.join(unknown)}. It knows: {', '.join(sorted(known)) or 'none'}.\n"
            "No confidential row was read and nothing was spent."
        )
    try:
        return recipe(**{key: _as_tuples(value) for key, value in settings.items()})
    except TypeError as wrong:
        raise JobError(f"{path}: [{name}]: {wrong}. Nothing was read or spent.") from None


def _name_of(table: str) -> str:
    """The ledger's name for a table that the job gives none: the file's, or the TABLE of ``duckdb:FILE#TABLE``."""
    return table.rpartition("#")[2] if table.startswith("duckdb:") else Path(table).stem


def _as_tuples(value: Any) -> Any:
    """Lists of the file as tuples, which cannot change."""
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def _all_mistakes(path: Path, text: str, wrong: ValidationError) -> str:
    lines = [f"{path} has {wrong.error_count()} mistake{'s' * (wrong.error_count() != 1)}:"]
    places = key_lines(text)
    for e in wrong.errors():
        where = [str(p) for p in e["loc"]]
        found = "" if e["type"] in ("missing", "extra_forbidden") else f" (got {e['input']!r})"
        said = {
            "missing": "is needed and is not there",
            "extra_forbidden": "is not a key of this table: see docs/job.md",
            "tuple_type": 'must be a list, such as ["sex"]',
        }
        if e["type"] == "value_error":
            found = ""
        lines.append(
            f"  line {line_of(places, e['loc'])}: {'.'.join(where)}: "
            f"{said.get(e['type'], e['msg'].removeprefix('Value error, '))}{found}"
        )
    return "\n".join([*lines, "No confidential row was read and nothing was spent."])
