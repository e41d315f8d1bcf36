"""The job file: one TOML that says what to publish, from what, under which promise, and for which uses.

It is read into the values of a job, and written from them; what is written reads back to an equal job.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from os.path import relpath
from pathlib import Path
from typing import Annotated, Any, Literal, final

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from hedgerow.errors import NOTHING, JobError
from hedgerow.job.places import Engine, absolute, published_place, refuse, table_place
from hedgerow.job.recipe import ForeignRecipe, name_of, recipe_class
from hedgerow.job.tables import MOST_ROWS, Confidential, Person, Public, Target
from hedgerow.job.values import JobValues
from hedgerow.planning import LeafInterval
from hedgerow.public import (
    MOST_OUTSIDE,
    Budget,
    Guarantee,
    Schema,
    default_ledger,
    document,
    file_of,
    is_address,
    key_lines,
    line_of,
    nearest,
    place,
    read_toml,
    same_file,
)
from hedgerow.recipes import RECIPES, AbstractRecipe, default_recipe
from hedgerow.uses import use_from_toml, use_mistakes

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
    formats: tuple[Literal["csv", "dta", "sav", "arrow", "xpt", "xlsx"], ...] = ("csv",)
    csv: Literal["exact", "spreadsheet"] = "exact"


class _Confidential(_Part):
    table: str
    name: str = ""
    unit: Literal["record", "person"] = "record"
    person: str = ""
    rows_per_person: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 1
    order: str = ""
    relation: Literal["add-remove", "replace-one", "label-change"] | None = None
    public_columns: tuple[str, ...] = ()
    assumed_rows: Annotated[int, Field(ge=1)] | None = None
    count: str = ""


class _Public(_Part):
    table: str
    provenance: str = ""
    count: str = ""


class _Target(_Part):
    table: str
    count: str = ""
    person: str = ""
    time: str = ""
    facts: tuple[str, ...] = ()


class _Budget(_Part):
    epsilon: _Number
    delta: _Number = 0


class _Engine(_Part):
    name: Literal["", "local", "duckdb", "postgresql", "spark"] = ""
    master: str = ""
    memory_gb: Annotated[float, Field(gt=0)] | None = None


class _Plan(_Part):
    p: Annotated[float, Field(ge=0, le=1)] = 0.25
    width: Annotated[float, Field(gt=0, lt=1)] = 0.1
    level: Annotated[float, Field(gt=0, lt=1)] = 0.9


class _Ledger(_Part):
    url: str = ""


class _Schema(_Part):
    file: Annotated[str, Field(validation_alias=AliasChoices("file", "path", "table"))] = "schema.toml"
    outside: Annotated[float, Field(ge=0, le=1)] = MOST_OUTSIDE


class _File(_Part):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    job: _Job = _Job()
    schema_: Annotated[_Schema, Field(alias="schema")] = _Schema()
    confidential: _Confidential
    public: _Public | None = None
    target: _Target | None = None
    budget: _Budget
    ledger: _Ledger = _Ledger()
    engine: _Engine = _Engine()
    plan: _Plan = _Plan()


@final
class PublishedJob(JobValues):
    """The job of a bundle, whoever wrote it."""

    of_a_bundle = True


def read(path: str | Path) -> tuple[dict[str, Any], str, Path]:
    """What the job file at ``path`` says, as the arguments of a job; its text; its place. Every mistake is named."""
    path = Path(path)
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise JobError(
            f"There is no readable job file at {path}. Write one, or see one made: hedgerow demo\n{NOTHING}"
        ) from None
    return values(text, path.resolve()), text, path.resolve()


def read_published(text: str, path: Path, schema: Schema) -> JobValues:
    """The job of a bundle, with the bundle's own schema; its recipe may be somebody else's, known by name only."""
    return PublishedJob(**values(text, path, schema))


def values(text: str, path: Path, schema: Schema | None = None) -> dict[str, Any]:
    """The job written in ``text`` as the arguments of a job; relative paths start from the folder of ``path``.

    With ``schema`` it is the job of a bundle, which has its own.
    """
    return values_of(tables(text, path), path, schema, text)


def values_of(data: Mapping[str, Any], path: Path, schema: Schema | None = None, text: str = "") -> dict[str, Any]:
    """The same of the tables of a job file; ``text`` is what they were read from, to name the line of a mistake."""
    data = dict(data)
    name = name_of_recipe(data)
    settings = data.pop(name, {})
    uses = data.pop("use", ())
    mistakes = _use_mistakes(uses)
    try:
        file = _File.model_validate(data)
    except ValidationError as wrong:
        mistakes = [*_part_mistakes(wrong, name), *mistakes]
    if mistakes:
        raise JobError(_all_mistakes(path, text, mistakes))
    secret, folder = file.confidential, path.parent
    if (secret.unit == "person") != bool(secret.person) or (secret.unit == "record" and secret.rows_per_person != 1):
        Guarantee(unit=secret.unit, person=secret.person, rows_per_person=secret.rows_per_person)  # refuses
    refuse(
        bool(secret.order) and secret.unit != "person",
        f"{path}: [confidential] order = {secret.order!r} says which rows of a person count. Name the person too\n"
        "(unit = 'person', person = 'COLUMN'), or leave order out.",
    )
    return {
        "confidential": Confidential(
            table_place(secret.table, folder),
            name=secret.name,
            unit=Person(secret.person, secret.rows_per_person, secret.order) if secret.unit == "person" else "record",
            relation=secret.relation,
            public_columns=secret.public_columns,
            assumed_rows=secret.assumed_rows,
            count=secret.count,
        ),
        "public": file.public
        and Public(table_place(file.public.table, folder), **file.public.model_dump(exclude={"table"})),
        "target": file.target
        and Target(table_place(file.target.table, folder), **file.target.model_dump(exclude={"table"})),
        "schema": schema or Schema.load(absolute(file.schema_.file, folder)),
        "budget": Budget(file.budget.epsilon, file.budget.delta),
        "recipe": ForeignRecipe(name) if schema and "." in name else _recipe(path, name, settings),
        "uses": tuple(map(use_from_toml, uses)),
        "ledger": _ledger(file.ledger.url, folder),
        "seed": file.job.seed,
        "copies": file.job.copies,
        "formats": file.job.formats,
        "csv": file.job.csv,
        "title": file.job.title,
        "out": absolute(file.job.out, folder),
        "memory_gb": file.job.memory_gb or file.engine.memory_gb,
        "engine": Engine(file.engine.name, file.engine.master),
        "outside": file.schema_.outside,
        "interval": LeafInterval(**file.plan.model_dump()),
    }


def _ledger(url: str, folder: Path) -> str:
    """The ledger that the job names; else the office's; else the one beside the job."""
    named = url or default_ledger() or "ledger.db"
    return named if "://" in named else str(absolute(named, folder))


def tables(text: str, path: Path) -> dict[str, Any]:
    """The tables of a TOML text."""
    try:
        return read_toml(text)
    except tomllib.TOMLDecodeError as wrong:
        raise JobError(f"{path}: this is not TOML: {wrong}. Nothing was read or spent.") from None


def jobs_that_protect(table: str | Path) -> list[Path]:
    """The job files, in the folder of a table and in the present one, that name it as confidential."""
    found = []
    folders = (Path(),) if is_address(table) else (file_of(Path(table)).parent, Path())
    for job in dict.fromkeys(p for folder in folders for p in sorted(folder.glob("*.toml"))):
        try:
            secret = tomllib.loads(job.read_text("utf-8")).get("confidential")
            named = secret.get("table") if isinstance(secret, dict) else None
            if not isinstance(named, str):
                continue
            protected, asked = table_place(named, job.resolve().parent), table_place(table, Path.cwd())
            files = isinstance(protected, Path) and isinstance(asked, Path) and same_file(protected, asked)
            if protected == asked or files:
                found.append(job)
        except (OSError, ValueError, JobError):
            continue  # no job file, or one with mistakes: not this command's business
    return found


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
        "engine": _Engine,
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
    """The recipe with its settings; it refuses them as it does from Python, after the place of the file."""
    try:
        recipe = recipe_class(name)
        if not isinstance(settings, dict):
            raise JobError(f"[{name}] is a table of settings, not {settings!r}. {NOTHING}")
        return recipe(**settings)
    except JobError as wrong:
        raise JobError(f"{path}: {wrong}") from None


def dumps(job: JobValues, folder: Path | None = None, schema: str = "schema.toml") -> str:
    """The job as a file in ``folder``, which reads back to an equal one.

    Without a folder it is the account of a job that goes into a bundle: tables by their names, no place of a machine.
    """

    def place(path: str | Path) -> str:
        name = str(path)
        if folder is None:
            return published_place(path)
        if name.startswith("duckdb:"):
            file, _, inner = name.removeprefix("duckdb:").rpartition("#")
            return f"duckdb:{place(file)}#{inner}"
        return name if is_address(path) else Path(relpath(name, folder)).as_posix()

    def table(of: Confidential | Public | Target) -> dict[str, str]:
        if of.is_frame and folder is not None:
            raise JobError(
                f"The {type(of).__name__.lower()} table is a frame, and a job file names files. Write it to one, as\n"
                f"frame.write_parquet('table.parquet') does, and name that in the job. {NOTHING}"
            )
        return {"table": "frame" if of.is_frame else place(of.table)}

    name, secret, person = name_of(job.recipe), job.confidential, job.confidential.unit
    if "." in name and folder is not None:
        raise JobError(
            f"{name} is not one of Hedgerow's recipes, and a job file can name no other. Run it from Python, with\n"
            f"recipe={type(job.recipe).__name__}(...). {NOTHING}"
        )
    data: dict[str, Any] = {
        "job": {
            "recipe": name,
            **_unlike(job, ("title", "seed", "copies", "memory_gb")),
            **({} if folder is None else {"out": place(job.out)}),
            "formats": job.formats,
            **_unlike(job, ("csv",)),
        },
        "schema": {"file": schema} | _unlike(job, ("outside",)),
        "confidential": table(secret)
        | {"name": secret.name}
        | (
            {"unit": "person", "person": person.column, "rows_per_person": person.rows} | _unlike(person, ("order",))
            if isinstance(person, Person)
            else {}
        )
        | {"relation": job.guarantee.relation if folder is None else secret.relation}
        | _unlike(secret, ("public_columns", "assumed_rows", "count")),
        "public": job.public and table(job.public) | _unlike(job.public, ("provenance", "count")),
        "target": job.target and table(job.target) | _unlike(job.target, ("count", "person", "time", "facts")),
        "budget": {"epsilon": _number(job.budget.epsilon)}
        | ({"delta": _number(job.budget.delta)} if job.budget.delta else {}),
        "ledger": {}
        if job.ledger == default_ledger()
        else {"url": job.ledger if "://" in job.ledger else place(job.ledger)},
        "engine": {} if folder is None else _unlike(job.engine, ("name", "master")),
        "plan": _unlike(job.interval, ("p", "width", "level")),
        name: _unlike(job.recipe, [f.name for f in fields(job.recipe)]) if is_dataclass(job.recipe) else {},
        "use": [u.to_toml() for u in job.uses],
    }
    kept = {k: v for k, v in data.items() if v}
    return document({k: _without_none(v) if isinstance(v, dict) else v for k, v in kept.items()})


def published_text(job: JobValues, schema: Schema) -> str:
    """The job as a bundle will have it, read again to see that it says the same; refused otherwise."""
    text = _settled_text(job) if job.text else dumps(job)
    if text == job.text:
        return text
    try:
        again = read_published(text, Path("job.toml"), schema)
    except (JobError, ValueError, TypeError) as wrong:
        raise JobError(f"The settings of {name_of(job.recipe)} cannot be published: {wrong}") from None
    refuse(
        again.stated_recipe != job.stated_recipe or again.guarantee != job.guarantee, "The job cannot be published."
    )
    return text


def _settled_text(job: JobValues) -> str:
    """The job file as it was read; with the public columns that the target settled, where it does not name them.

    Who checks a bundle has no target to look them up in.
    """
    said = tomllib.loads(job.text)["confidential"]
    if "public_columns" in said or not job.confidential.public_columns:
        return job.text
    listed = document({"public_columns": list(job.confidential.public_columns)}).strip()
    found = re.subn(r"(?m)^\s*\[\s*confidential\s*\].*$", lambda head: f"{head[0]}\n{listed}", job.text, count=1)
    return found[0] if found[1] else dumps(job)


def save(job: JobValues, path: str | Path) -> Path:
    """Write the job file at ``path``, and its schema beside it unless one that says the same is there."""
    path = Path(path).resolve()
    schema = path.with_name("schema.toml")
    text = dumps(job, path.parent, schema.name)
    if schema.exists() and not _same_schema(schema, job.schema):
        schema = path.with_name(f"{path.stem}-schema.toml")
        text = dumps(job, path.parent, schema.name)
    try:
        if not (schema.exists() and _same_schema(schema, job.schema)):
            schema.write_text(job.schema.dumps(), "utf-8")
        path.write_text(text, "utf-8")
    except OSError as wrong:
        raise JobError(f"Cannot write {path}: {wrong.strerror or wrong}. Choose another place. {NOTHING}") from None
    return path


def _same_schema(path: Path, schema: Schema) -> bool:
    try:
        return Schema.load(path) == schema
    except JobError:
        return False


def _unlike(part: Any, names: Sequence[str]) -> dict[str, Any]:
    """Those of ``names`` whose values are not the defaults."""
    plain = {f.name: f.default for f in fields(part)}
    return {n: getattr(part, n) for n in names if getattr(part, n) != plain[n]}


def _without_none(table: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in table.items() if v is not None}


def _number(exact: Fraction) -> float | str:
    """A number of the file: as a number when that says it exactly."""
    return float(exact) if Fraction(str(float(exact))) == exact else str(exact)


_Mistake = tuple[tuple[str | int, ...], str]
"""Where in the file, and what is wrong there."""


def _part_mistakes(wrong: ValidationError, recipe: str) -> Iterator[_Mistake]:
    known = {
        "missing": "is needed and is not there",
        "tuple_type": 'must be a list, such as ["sex"]',
    }
    for e in wrong.errors():
        found = "" if e["type"] in ("missing", "value_error") else f" (got {e['input']!r})"
        if e["type"] == "extra_forbidden":
            yield e["loc"], _unknown(tuple(map(str, e["loc"])), recipe)
        else:
            yield e["loc"], known.get(e["type"], e["msg"].removeprefix("Value error, ")) + found


def _unknown(at: tuple[str, ...], recipe: str) -> str:
    """What to say of a table or a key that a job file does not have: the nearest one, or all."""
    keys, name = known_keys(), at[-1]
    if len(at) > 1:
        return f"is not a key of [{at[0]}]: {nearest(name, keys[at[0]])}"
    if name in RECIPES:
        return f"is the table of another recipe: this job takes {recipe}. Name it in [job] recipe, or leave it out."
    if homes := [f"[{table}]" for table, names in keys.items() if name in names and table not in RECIPES]:
        return f"stands outside of any table: it belongs under {' or '.join(homes)}"
    return f"is not a table of a job file: {nearest(name, (*keys, 'use'))}"


def _use_mistakes(uses: Any) -> list[_Mistake]:
    if not isinstance(uses, list | tuple):
        return [(("use",), "must be a list of tables: [[use]]")]
    found = [(i, key, wrong) for i, use in enumerate(uses) for key, wrong in use_mistakes(use)]
    return [(("use", i, key) if key else ("use", i), wrong) for i, key, wrong in found]


def _all_mistakes(path: Path, text: str, mistakes: Sequence[_Mistake]) -> str:
    lines, places = [f"{path} has {len(mistakes)} mistake{'s' * (len(mistakes) != 1)}:"], key_lines(text)
    lines += [f"  line {line_of(places, at)}: {place(at)}: {wrong}" for at, wrong in mistakes]
    return "\n".join([*lines, NOTHING])
