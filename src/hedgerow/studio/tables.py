"""Screen 1: which files there are and what each is. Of the confidential one only the header is read."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from hedgerow.errors import NOTHING, HedgerowError, JobError
from hedgerow.pipeline import must_differ
from hedgerow.public import file_of, open_source, same_file
from hedgerow.studio.folder import Folder, is_served, set_key
from hedgerow.studio.page import Visit, page, prepared_of

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

COUNTS = ("integer_counts", "dirichlet_multinomial", "beta_binomial", "gamma_poisson")
ATTACH = ("guided_tree", "random_trees")
RECORDS = ("public_blend", "tree_blend", "dpsyn", "independent")
CAREERS = ("careers",)
ENGINES = {
    "local": "this process",
    "duckdb": "DuckDB, which has the rows",
    "postgresql": "PostgreSQL, which has the rows",
    "spark": "Spark",
}
_RECIPES = {"records": RECORDS, "careers": CAREERS, "attach": ATTACH, "counts": COUNTS}
_CAREER = 5  # rows of a person that count where nothing is said: four steps
_NEW = """\
# What to publish, from what, under which promise, and for which uses: docs/job.md has all keys.
# The studio changes this file key by key and keeps your comments; so may you, in any editor.

[budget]
epsilon = 1.0
"""


class _Blank(dict[str, Any]):
    """A table of a file for a form: what is not there is blank."""

    def __missing__(self, key: str) -> str:
        return ""


def screen(visit: Visit) -> Response:
    """The tables of a job."""
    return _save(visit) if visit.method == "POST" else _show(visit)


def _show(visit: Visit) -> Response:
    secret, public, target = (_Blank(visit.part(p)) for p in PARTS)
    kind, served = kind_of(visit), is_served(str(secret["table"]))
    columns = {part: header(visit.folder, visit.part(part).get("table", "")) for part in PARTS}
    names = {
        "files": visit.folder.tables(),
        "kind": kind,
        "secret": secret,
        "public": public,
        "target": target,
        "about": _Blank(visit.part("job")),
        "chosen": visit.part(recipe_of(visit)).get("columns", []),
        "outcomes": visit.part(recipe_of(visit)).get("outcomes", []),
        "career_time": visit.part("careers").get("time", ""),
        "recipes": _RECIPES,
        "columns": columns | ({"confidential": columns["public"]} if served else {}),
        "served": served,
        "engine": visit.part("engine"),
        "engines": ENGINES,
        "problem": "" if not secret.get("table") else trouble(visit, schema_counts=False),
        "unsaid": bool(secret["table"]) and needs_columns(visit),
        "schema_there": visit.folder.read(visit.schema_name).there,
    }
    python = "\n".join(
        [
            "import hedgerow as hr",
            f"job = hr.Job.load({visit.name!r})   # or hr.Job(confidential=hr.Confidential(...), ...)",
        ]
    )
    return page(visit, "tables.html.j2", "tables", same=f"$EDITOR {visit.name}", python=python, **names)


PARTS = ("confidential", "public", "target")


def kind_of(visit: Visit) -> str:
    """What the job gives: records, people's careers, columns attached to given rows, or a table of counts."""
    recipe = str(visit.part("job").get("recipe", ""))
    named = next((kind for kind in ("counts", "careers") if recipe in _RECIPES[kind]), "")
    return named or ("attach" if recipe in ATTACH or visit.part("target") else "records")


def recipe_of(visit: Visit) -> str:
    """The recipe that the job takes, by name."""
    from hedgerow.job import name_of_recipe

    return name_of_recipe(visit.tables) if visit.tables else ""


def header(folder: Folder, table: str) -> tuple[str, ...]:
    """The columns of a table in the folder; no row is read. None when it cannot be opened."""
    if not isinstance(table, str) or not table or is_served(table):
        return ()
    try:
        folder.place(table)
        return open_source(absolute(folder, table)).columns
    except HedgerowError:
        return ()


def absolute(folder: Folder, table: str) -> str:
    """A table of the folder by its whole path, in a DuckDB file or not."""
    if table.startswith("duckdb:"):
        file, _, inner = table.removeprefix("duckdb:").rpartition("#")
        return f"duckdb:{folder.place(file)}#{inner}"
    return str(folder.place(table))


def trouble(visit: Visit, *, schema_counts: bool = True) -> str:
    """What is wrong with the job as it stands, in the words of the command line; empty when nothing is."""
    if not schema_counts and not visit.folder.read(visit.schema_name).there:
        return ""
    try:
        prepared_of(visit)
    except HedgerowError as refusal:
        return str(refusal)
    return ""


def _save(visit: Visit) -> Response:
    file, folder = visit.shown_file(), visit.folder
    chosen = {part: visit.said(part) for part in PARTS}
    chosen["confidential"] = _address(visit) or chosen["confidential"]
    kind = visit.said("kind", "records")
    kind = kind if kind in _RECIPES else "records"
    if kind != "attach":
        chosen["target"] = ""
    if not chosen["confidential"]:
        raise JobError(f"Say which file is confidential: the one to protect. {NOTHING}")
    known = folder.tables()
    for part, table in chosen.items():
        if table and table not in known and not (part == "confidential" and is_served(table)):
            raise JobError(f"There is no table {table} in this folder, for [{part}]. {NOTHING}")
    for part in ("public", "target"):
        if chosen[part] and not is_served(chosen["confidential"]):
            secret, other = (Path(absolute(folder, chosen[p])) for p in ("confidential", part))
            must_differ(secret, other, part)
    if kind == "attach" and not chosen["target"]:
        raise JobError(
            "Columns are attached to given rows: say which public table has these rows, the target. " + NOTHING
        )

    def change(document: "TOMLDocument") -> None:
        _settle(document, visit, chosen, kind)

    text = file if file.there else folder.write(file, _NEW)
    before = visit.folder.read(visit.schema_name).there
    folder.edit(text, change)
    after = Visit(folder, visit.root, "GET", visit.path, {}, {}, visit.memory)
    drafting = visit.work.latest("draft", visit.name)
    if not before and chosen["public"] and not (drafting and drafting.state == "running"):
        count = ["--count", visit.said("public_count")] if visit.said("public_count") else []
        visit.work.start(
            "draft", visit.name, ["schema", "init", chosen["public"], "--out", after.schema_name, *count]
        )
    return visit.go("tables#columns" if needs_columns(after) else "schema")


def _address(visit: Visit) -> str:
    """The address of a confidential table on a server, as the form says it; empty when it is a file."""
    said = visit.said("confidential_address")
    if said and not is_served(said):
        raise JobError(
            f"{said!r} is no address of a table: write spark:TABLE, postgresql://HOST/DATABASE#TABLE or another\n"
            f"scheme://PATH. A file of this folder is chosen above. {NOTHING}"
        )
    return said


def needs_columns(visit: Visit) -> bool:
    """Whether the job does not say yet which columns it is about, which one tells people apart, or what time is."""
    unnamed = visit.part("confidential").get("unit") == "person" and not visit.part("confidential").get("person")
    kind, settings = kind_of(visit), visit.part(recipe_of(visit))
    return (
        unnamed
        or (kind == "careers" and not settings.get("time"))
        or (kind in ("attach", "counts") and not settings.get("columns"))
    )


def _settle(document: "TOMLDocument", visit: Visit, chosen: dict[str, str], kind: str) -> None:
    """Write what was chosen into the job file; what a key has by default is left out."""
    recipe = visit.said("recipe")
    usual = {"counts": "integer_counts", "careers": "careers"}.get(kind, "")
    recipe = recipe if recipe in _RECIPES[kind] else usual
    set_key(document, "job", "recipe", recipe)
    for key in ("title", "out"):
        if key in visit.form:
            set_key(document, "job", key, visit.said(key) if visit.said(key) != "release" else "")
    if visit.said("out"):
        visit.folder.place(visit.said("out"))
    for part in PARTS:
        _settle_part(document, visit, part, chosen[part])
    _settle_unit(document, visit, kind)
    _settle_engine(document, visit, served=is_served(chosen["confidential"]))
    table = recipe or ("guided_tree" if kind == "attach" else "")
    for name in (*COUNTS, *ATTACH, *CAREERS):
        if name != table:
            document.pop(name, None)
    if kind == "careers" and "career_time" in visit.form:
        set_key(document, "careers", "time", visit.said("career_time"))
    elif table and "columns_shown" in visit.form:
        set_key(document, table, "columns", visit.listed("columns"))
        if kind == "attach":
            set_key(document, table, "outcomes", visit.listed("outcomes"))


_KEYS = {"confidential": ("name", "count"), "public": ("provenance", "count"), "target": ("count", "person", "time")}


def _settle_part(document: "TOMLDocument", visit: Visit, part: str, table: str) -> None:
    """One of the tables: its file, and what the form says of it."""
    if not table:
        document.pop(part, None)
        return
    set_key(document, part, "table", table)
    for key in _KEYS[part]:
        if f"{part}_{key}" in visit.form:
            set_key(document, part, key, visit.said(f"{part}_{key}"))


def _settle_engine(document: "TOMLDocument", visit: Visit, *, served: bool) -> None:
    """Who counts the rows, where it is said; and where Spark is."""
    name = visit.said("engine") if visit.said("engine") in ENGINES else ""
    for key, value in (("name", name), ("master", visit.said("master") if served or name == "spark" else "")):
        if key in visit.form or (key == "name" and "engine" in visit.form):
            set_key(document, "engine", key, value)
    if not document.get("engine", True):
        document.pop("engine")


def _settle_unit(document: "TOMLDocument", visit: Visit, kind: str) -> None:
    """Who is protected, and about how many rows there are. Careers are those of people, with several rows each."""
    by_person = visit.said("unit") == "person" or kind == "careers"
    set_key(document, "confidential", "unit", "person" if by_person else "")
    set_key(document, "confidential", "person", visit.said("person") if by_person else "")
    if "order" in visit.form or kind == "careers":
        set_key(document, "confidential", "order", visit.said("order") if by_person and kind != "careers" else "")
    rows = _whole(visit.said("rows_per_person"), "rows of one person", default=_CAREER if kind == "careers" else 1)
    set_key(document, "confidential", "rows_per_person", rows if by_person and rows > 1 else None)
    if "assumed_rows" in visit.form:
        about = visit.said("assumed_rows")
        set_key(document, "confidential", "assumed_rows", _whole(about, "assumed rows", default=0) or None)


def _whole(text: str, what: str, *, default: int) -> int:
    clean = text.replace(",", "").replace(" ", "")
    if not clean:
        return default
    if not clean.isdigit() or int(clean) < 1:
        raise JobError(f"{what}: {text!r} is no whole number of 1 or more. {NOTHING}")
    return int(clean)


def protects(folder: Folder, path: Path) -> bool:
    """Whether a job of the folder names a file as its confidential table."""
    for name in folder.jobs():
        file = folder.read(name)
        try:
            named: Any = file.tables.get("confidential", {})
        except JobError:  # a job file with a mistake protects whatever it mentions
            if path.name in file.text:
                return True
            continue
        table = named.get("table", "") if isinstance(named, dict) else ""
        here = isinstance(table, str) and bool(table) and folder.holds(Path(table))
        if here and same_file(file_of(Path(absolute(folder, table))), path):
            return True
    return False
