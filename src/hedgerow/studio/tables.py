"""Screen 1: which files there are and what each is. Of the confidential one only the header is read."""

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from starlette.responses import Response

from hedgerow.errors import NOTHING, HedgerowError, JobError
from hedgerow.job import must_differ
from hedgerow.public import file_of, open_source
from hedgerow.studio.folder import Folder, is_served, set_key
from hedgerow.studio.page import Visit, command, page, prepared_of

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

URNS = ("dirichlet_multinomial", "beta_binomial", "gamma_poisson")
"""Recipes whose counts the gate itself draws: no answers are published, from which more could be drawn."""
COUNTS = ("integer_counts", *URNS)
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
    if visit.method == "POST":
        return {"look": _look, "decide": _decide}.get(visit.said("act"), _save)(visit)
    return _show(visit)


def _show(visit: Visit) -> Response:
    secret, public, target = (_Blank(visit.part(p)) for p in PARTS)
    kind, served, known = kind_of(visit), is_served(str(secret["table"])), own_header(visit)
    columns = {part: header(visit.folder, visit.part(part).get("table", "")) for part in PARTS}
    columns["confidential"] = known or (columns["public"] if served else ())
    look = visit.work.latest("look", visit.name)
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
        "columns": columns,
        "served": served,
        "header": known,
        "look": look,
        "looked": found_tables(visit),
        "filled": visit.memory.__dict__.get("filled", {}).get(visit.name, {}),
        "engine": visit.part("engine"),
        "engines": ENGINES,
        "problem": "" if not secret.get("table") else trouble(visit, schema_counts=False),
        "unsaid": bool(secret["table"]) and needs_columns(visit),
        "several": several_rows(visit),
        "schema_there": visit.folder.read(visit.schema_name).there,
        "out": visit.part("job").get("out") or ("release" if visit.file.there else _free_folder(visit)),
    }
    lines = [f"$EDITOR {shlex.quote(visit.name)}   # what this form writes"]
    code = ["import hedgerow as hr"]
    if not names["schema_there"] and public["table"]:
        lines.append(command("schema", "init", *drafted_from(visit), "--out", visit.schema_name))
        code.append(drafted_in_python(visit))
    code.append(f"job = hr.Job.load({visit.name!r})   # or hr.Job(confidential=hr.Confidential(...), ...)")
    python = "\n".join(code) if visit.file.there else ""
    return page(visit, "tables.html.j2", "tables", same="\n".join(lines), python=python, **names)


def drafted_from(visit: Visit) -> list[str]:
    """The public table as ``hedgerow schema init`` takes it."""
    public = visit.part("public")
    return [str(public["table"]), *(["--count", str(public["count"])] if public.get("count") else [])]


def drafted_in_python(visit: Visit) -> str:
    """The same in Python."""
    public = visit.part("public")
    count = f", count={public['count']!r}" if public.get("count") else ""
    return f"hr.Schema.draft({str(public['table'])!r}{count}).save({visit.schema_name!r})"


PARTS = ("confidential", "public", "target")


def _free_folder(visit: Visit) -> str:
    """The folder for the release of a new job: beside other jobs or a release it has a name of its own."""
    alone = not visit.folder.jobs() and not (visit.folder.root / "release").exists()
    return "release" if alone else f"{Path(visit.name).stem.replace(' ', '-')}-release"


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


def unlike_names(columns: tuple[str, ...]) -> bool:
    """Whether a first line looks like values and not like names: then it is a row, and a confidential one.

    >>> unlike_names(("person", "pay")), unlike_names(("17368787", "F", "47640"))
    (False, True)
    """
    return any(c.strip().lstrip("-").replace(".", "", 1).isdigit() for c in columns)


def several_rows(visit: Visit) -> dict[str, Any]:
    """What the draft has seen of people with several public rows, where the job protects single rows; else nothing.

    ``asked`` says that nobody has decided yet who is protected: then nothing is run before it is said.
    """
    secret, nobody = visit.part("confidential"), {"name": "", "rows": "", "said": "", "asked": False}
    if secret.get("unit") == "person" or secret.get("count") or kind_of(visit) == "careers":
        return nobody
    text = re.sub(r"\n# ?", " ", visit.folder.read(visit.schema_name).text)
    found = re.search(r"\[columns\.([^\]]+)\] left out: identifier\.[^\n]*? It has up to (\d+) rows here", text)
    if not found:
        return nobody
    name, rows, known = found[1].strip('"'), found[2], own_header(visit)
    said = (
        f"In the public table one {name} stands in up to {rows} rows. If {name} names people, the confidential table "
        f"may hold several rows of a person as well, and somebody with {rows} rows is then protected with {rows} "
        "times the epsilon only."
    )
    return {"name": name, "rows": rows, "said": said, "asked": "unit" not in secret and (not known or name in known)}


def _decide(visit: Visit) -> Response:
    """Write down who is protected: people, with as many rows as the public table shows; or single rows."""
    file, seen = visit.shown_file(), several_rows(visit)
    if not seen["said"]:
        raise JobError(f"Who is protected is said already, or there is no draft that shows people. {NOTHING}")
    by_person = visit.said("unit") == "person"

    def change(document: "TOMLDocument") -> None:
        set_key(document, "confidential", "unit", "person" if by_person else "record")
        set_key(document, "confidential", "person", seen["name"] if by_person else "")
        set_key(document, "confidential", "rows_per_person", int(seen["rows"]) if by_person else None)

    visit.folder.edit(file, change)
    back = visit.said("back")
    return visit.go(back if back in ("schema", "run") else "tables")


def found_tables(visit: Visit) -> dict[str, tuple[str, ...]]:
    """The tables that were found where a confidential one is, with their columns; none before it was asked."""
    look = visit.work.latest("look", visit.name)
    found = look.json() if look and look.state == "done" else None
    return {str(k): tuple(v) for k, v in found.items()} if isinstance(found, dict) else {}


def own_header(visit: Visit) -> tuple[str, ...]:
    """The columns of the confidential table, where they are known; no row is read."""
    table = str(visit.part("confidential").get("table", ""))
    found = found_tables(visit).get(table, ()) if is_served(table) else header(visit.folder, table)
    return () if unlike_names(found) else found


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


def _look(visit: Visit) -> Response:
    """Ask, in a process of its own, which tables there are at an address; what was filled in stays on the page."""
    address = _address(visit) or visit.said("confidential_address")
    if not address:
        raise JobError(f"Say where: postgresql://HOST/DATABASE, or spark: for Spark's catalog. {NOTHING}")
    scheme = address.partition(":")[0]
    visit.work.start(
        "look", visit.name, [], module="hedgerow.studio.catalog", does=f"asking {scheme} for its tables",
        address=address, master=visit.said("master"),
    )  # fmt: skip
    kept = {k: v for k, v in visit.form.items() if k not in ("act", "digest", "served_table")}
    visit.memory.__dict__.setdefault("filled", {})[visit.name] = kept
    return visit.go("tables#served")


def _save(visit: Visit) -> Response:
    file, folder = visit.shown_file(), visit.folder
    chosen = {part: visit.said(part) for part in PARTS}
    chosen["confidential"] = _served(visit) or chosen["confidential"]
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
    visit.memory.__dict__.get("filled", {}).pop(visit.name, None)
    after = Visit(folder, visit.root, "GET", visit.path, {}, {}, visit.memory)
    drafting = visit.work.latest("draft", visit.name)
    if not before and chosen["public"] and not (drafting and drafting.state == "running"):
        count = ["--count", visit.said("public_count")] if visit.said("public_count") else []
        visit.work.start(
            "draft", visit.name, ["schema", "init", chosen["public"], "--out", after.schema_name, *count]
        )
    return visit.go("tables#columns" if needs_columns(after) else "schema")


def _served(visit: Visit) -> str:
    """The confidential table on a server that the form says: chosen from its tables, or by its address."""
    chosen, said, before = visit.said("served_table"), _address(visit), visit.part("confidential").get("table", "")
    where = "spark:" if chosen.startswith("spark:") else chosen.partition("#")[0]
    if chosen == before and said not in ("", chosen, where):  # the list stands as it was, the address was typed anew
        chosen = ""
    if chosen and chosen not in found_tables(visit):
        raise JobError(f"{chosen!r} is not among the tables that were found. Ask for them again. {NOTHING}")
    if chosen and said not in ("", chosen, where, before):
        raise JobError(f"The address says {said}, and {chosen} is chosen. Say one of them. {NOTHING}")
    if not chosen and (said == "spark:" or (said.startswith("postgres") and "#" not in said)):
        raise JobError(f"{said} says where, but not which table. Press 'Show its tables', and choose one. {NOTHING}")
    return chosen or said


def _address(visit: Visit) -> str:
    """The address on a server, as the form says it; empty when the table is a file."""
    said = visit.said("confidential_address")
    if said and not is_served(said):
        raise JobError(
            f"{said!r} is no address of a table: write spark:TABLE, postgresql://HOST/DATABASE#TABLE or another\n"
            f"scheme://PATH. A file of this folder is chosen above. {NOTHING}"
        )
    if re.search(r"://[^/@]*:(?!\d*/)[^@]*@", said) or "password=" in unquote(said).lower():  # digits/: a port
        raise JobError(
            "The address holds a password, and it would be written into the job file. Leave it out: PostgreSQL\n"
            f"takes it from ~/.pgpass or from PGPASSWORD. {NOTHING}"
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
    before = visit.part("confidential").get("person", "")
    if not by_person and visit.said("person") not in ("", before):
        raise JobError(
            f"{visit.said('person')} is to tell people apart, but each row is to be protected by itself. Choose\n"
            f"'Each person, who may have several rows', or no column that tells people apart. {NOTHING}"
        )
    set_key(document, "confidential", "unit", "person" if by_person else visit.said("unit") and "record")
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
    """Whether a file is one that a job of the folder names as its confidential table, a part, or a copy of it."""
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
        try:
            if here:
                must_differ(file_of(Path(absolute(folder, table))), path, "public")
        except JobError:
            return True
    return False
