"""The commands that pages print for their very release, each with the tables of the run that it takes.

A reader types them inside the folder of the release.  Tables that are not in it are taken to lie beside it.
"""

import shlex
from collections.abc import Collection, Sequence
from typing import Any

import polars as pl

from hedgerow.public import PublicInput, is_address
from hedgerow.release.contents import Contents
from hedgerow.release.origin import listed
from hedgerow.release.words import public_put_aside


def verifying(contents: Contents) -> tuple[str, tuple[str, ...]]:
    """How to verify the whole release: what a reader types, and what to know of it."""
    what = "records" if contents.records else "counts"
    if contents.foreign:
        known = (
            f"It cannot draw the {what} again, because the recipe is not one of Hedgerow's: it checks all else, and "
            "ends with exit code 7, not confirmed. Whoever ran it can check them too, with the object that its run "
            "returned."
        )
        return "hedgerow verify .", (known,)
    drawing = f"It draws the {what} again from the noisy answers, with the seed of the job, and compares them."
    if contents.drawn:
        drawing = "It makes the counts again from what the gate drew, and compares them."
    needed = _named(contents) if contents.estimates else _needed(contents)
    if not needed:
        return "hedgerow verify .", (f"{drawing} It takes nothing but this folder.",)
    names = listed([_called(i) for i in needed])
    one = len(needed) == 1
    they, lie, their, them = ("it", "lies", "its", "it") if one else ("they", "lie", "their", "them")
    lacks = f"of the {what} only that they lie inside the schema, not that they are those drawn from the answers"
    figures = "does not work the figures of the intended uses out again"
    lacks = " and ".join([lacks] * bool(_needed(contents)) + [figures] * bool(contents.estimates))
    without = (
        f"Without {names} the plain command, “hedgerow verify .”, checks all else, but {lacks}: then it ends with "
        "exit code 7, not confirmed."
    )
    if _frames(needed):
        known = f"{drawing} {where_from(needed)} In Python, with the very tables of the run."
        return f"hedgerow.Release.read('.').verify({_arguments(needed)})", (known, without)
    if served := [i for i in needed if is_address(i.name)]:
        command = f"hedgerow verify .{_files(contents, needed)}"
        return command, (f"{drawing} {where_from(needed)} {_on_servers(served, needed)}", without)
    known = f"{drawing} {where_from(needed)} The command takes it that {they} {lie} beside this folder."
    seeks = f"Where {they} {lie} there under {their} own name, the plain command finds {them} by itself."
    return f"hedgerow verify .{_files(contents, needed)}", (known, f"{without} {seeks}")


def estimating(contents: Contents) -> str:
    """What a reader types for figures with intervals; nothing where no answer tells any."""
    if contents.drawn or contents.statement.careers or contents.foreign:
        return ""
    named = _named(contents)
    if _frames(named):
        return f"hedgerow.Release.read('.').estimate({_arguments(named)})"
    return f"hedgerow estimate .{_files(contents, named)}"


def where_from(needed: Sequence[PublicInput]) -> str:
    """Which tables of the run are not in the folder, and how to know them."""
    return " ".join(
        f"{'A frame' if i.name == 'frame' else i.name} is not in this folder: it is the {i.role} table of the run ("
        f"{i.provenance or 'where it comes from is not stated'}; sha256 {i.sha256})."
        for i in needed
    )


def opening(tables: Collection[str], records: object) -> list[tuple[str, str]]:
    """A line for each program that opens the first table with its labels, where a file of the release has them.

    >>> opening(["records.parquet", "records.dta"], True)[0]
    ('R', 'd <- haven::as_factor(haven::read_dta("records.dta"))')
    """
    if not records:
        return [
            ("R", 'd <- read.csv("counts.csv")'),
            ("Python", 'import polars; d = polars.read_parquet("counts.parquet")'),
        ]
    stem = "records" if "records.parquet" in tables else "records-1"
    has = {k for k in ("dta", "sav", "xpt", "csv", "xlsx") if f"{stem}.{k}" in tables}
    labelled = next((k for k in ("sav", "dta") if k in has), "")  # Stata has no labels for texts
    plain = f'd <- read.csv("{stem}.csv", stringsAsFactors = TRUE)'
    plain = plain if "csv" in has else f'd <- arrow::read_parquet("{stem}.parquet")'
    delimited = f'import delimited "{stem}.csv", clear' * ("csv" in has)
    python = f'd, meta = pyreadstat.read_{labelled}("{stem}.{labelled}", apply_value_formats=True)'
    python = f"import pyreadstat; {python}"
    lines = {
        "R": f'd <- haven::as_factor(haven::read_{labelled}("{stem}.{labelled}"))' if labelled else plain,
        "Stata": f'use "{stem}.dta", clear' if "dta" in has else delimited,
        "SPSS": f"GET FILE='{stem}.sav'." * ("sav" in has),
        "SAS": f"libname in xport '{stem}.xpt';" * ("xpt" in has),
        "Python": python if labelled else f'import polars; d = polars.read_parquet("{stem}.parquet")',
        "Excel": f"open {stem}.{'xlsx' if 'xlsx' in has else 'csv'}" * bool({"xlsx", "csv"} & has),
    }
    return [(program, line) for program, line in lines.items() if line]


def more_copies(contents: Contents) -> tuple[str, str]:
    """How to draw more copies: what a reader types inside the folder, if that can be, and what to know of it."""
    if contents.drawn:
        return "", "A draw is not repeated for free: further copies of these counts would have their own price."
    if contents.foreign:
        said = "only whoever ran it can draw more copies, with the object that its run returned."
        return "", f"{contents.statement.recipe}: {said}"
    needed, asked = _needed(contents), contents.asked.get("job")
    seed = asked.get("seed") if isinstance(asked, dict) else 0
    seed = 1 + (seed if type(seed) is int else 0)  # the job's own gives the release again
    if _frames(needed):
        known = "In Python, with the very tables of the run. " + _spread(contents)
        return f"hedgerow.Release.read('.').sample(20, seed={seed}, {_arguments(needed)})", known
    command = f"hedgerow sample . --copies 20 --seed {seed}{_files(contents, needed)}"
    return command, _same_tables(needed) + _spread(contents)


def replicates(contents: Contents) -> dict[str, Any]:
    """How a reader gets intervals by replicates: the command, a line for each program, and what the spread holds.

    Empty where there are none: the table was drawn, or its recipe is not here.
    """
    if contents.drawn or contents.foreign or _frames(_needed(contents)):
        return {}
    needed = _needed(contents)
    borrowed = ", what the recipe takes from the public table" if any(i.role == "public" for i in needed) else ""
    holds = (
        f"Their spread around the released table holds the gate's noise{borrowed}, and drawing. It leaves out the "
        "sampling of the confidential rows, and what no answer and no public row shows of them."
    )
    adds = " combine.R adds the sampling." if contents.records else ""
    return {
        "command": f"hedgerow sample . --replicates 20 --out ../replicates{_files(contents, needed)}",
        "lines": _replicate_lines(contents),
        "holds": _same_tables(needed) + holds + adds + _too_narrow(contents),
    }


def replicates_warning(contents: Contents) -> str:
    """What whoever makes replicates must know before taking an error from them; empty where that is nothing."""
    said = _too_narrow(contents)
    return said and f"The spread of these replicates is not the error of every figure.{said}"


def _too_narrow(contents: Contents) -> str:
    """Of which coefficients the spread of replicates tells far too little; of none where nothing is said."""
    recipe = contents.statement.recipe
    if recipe != "public_blend":
        return _TOO_NARROW.get(recipe, "")
    if (aside := public_put_aside(contents)) is None:
        return f" Should the public table have been put aside (too few rows for this budget, or unlike):{_TREE}"
    return f" The public table was put aside.{_TREE}" if aside else ""


_TREE = (
    " Of a coefficient in a model of three columns and more it tells far too little: records made without a "
    "public table lack what goes together in so many columns, in every replicate alike. Take no error of such a "
    "coefficient from it."
)
_NOT_MEASURED = " How much it tells of the error of a coefficient was not measured for this recipe."
_TOO_NARROW = {  # docs/inference.md, Replicates
    "independent": (
        " Of a figure that takes two columns or more, such as a coefficient, it tells next to nothing: the recipe "
        "makes columns independent of each other, in every replicate alike."
    ),
    "dpsyn": _NOT_MEASURED,
    "careers": _NOT_MEASURED,
    "random_trees": _NOT_MEASURED,
    "tree_blend": _TREE,
    "guided_tree": (
        " Of a coefficient in a model of three columns and more that was not declared as a use it tells far too "
        "little: about a fourth of the error where that was measured. Declare such a model."
    ),
}


def _replicate_lines(contents: Contents) -> tuple[tuple[str, str], ...]:
    """A line in R and one in Python that work on the columns of this very table; none where it has no number."""
    if not contents.records or "csv" not in contents.formats:
        return ()
    first, given = contents.records[0], contents.given
    plain = [
        n
        for n in first.columns
        if n.isascii() and n.isidentifier() and n in {c.name for c in contents.schema.columns}
    ]
    numbers = [n for n in plain if first.schema[n].is_numeric() and contents.schema.column(n).bin_count]
    groups = [n for n in plain if first.schema[n] == pl.String and (not given or n not in given)]
    groups = [n for n in groups if 1 < contents.schema.column(n).size <= 40]
    if not numbers or (given and not groups):
        return ()
    y, name = numbers[-1], f"{contents.record_names[0]}.csv"
    x = min(groups, key=lambda n: contents.schema.column(n).size) if groups else "1"
    r = f'source("combine.R"); combine({y} ~ {x}, replicates = "../replicates")'
    spread = "print(q[0], (sum((x - q[0]) ** 2 for x in q[1:]) / (len(q) - 1)) ** 0.5)"
    if not given:
        files = f'["{name}", *glob.glob("../replicates/*.csv")]'
        return ("R", r), (
            "Python",
            f'import glob, polars; q = [polars.read_csv(f)["{y}"].mean() for f in {files}]; {spread}',
        )
    value = next(t for t in contents.schema.column(x).cell_texts if t)
    columns = f'[d["{x}"], *polars.read_csv("../replicates/columns-seed1.csv").select("^{x}_[0-9]+$")]'
    figure = f'q = [d["{y}"].filter(s.cast(str) == {value!r}).mean() for s in {columns}]'
    return ("R", r), ("Python", f'import polars; d = polars.read_csv("{name}"); {figure}; {spread}')


def _named(contents: Contents) -> list[PublicInput]:
    """The public table and the target of the run."""
    return [i for i in contents.statement.public_inputs if i.role in ("public", "target")]


def _needed(contents: Contents) -> list[PublicInput]:
    """Those of them that drawing again takes."""
    return [i for i in _named(contents) if contents.leans_on_public or i.role == "target"]


def _frames(tables: Sequence[PublicInput]) -> bool:
    return any(i.name == "frame" for i in tables)


def _called(table: PublicInput) -> str:
    return f"the {table.role} table" if table.name == "frame" else table.name


def _arguments(tables: Sequence[PublicInput]) -> str:
    """The tables as arguments in Python."""
    return ", ".join(f"{i.role}=THE_{i.role.upper()}_TABLE" for i in tables)


def _files(contents: Contents, tables: Sequence[PublicInput]) -> str:
    """The tables as options of a command."""

    def place(table: PublicInput) -> str:
        part = contents.asked.get(table.role)
        named = str(part.get("table", "")) if isinstance(part, dict) else ""
        if is_address(table.name):  # a job that was made in Python names it without its machine
            whole = table.name.startswith("spark:") or named != table.name
            return named if whole else f"ADDRESS_OF_THE_{table.role.upper()}_TABLE"
        return f"{'duckdb:' * named.startswith('duckdb:')}../{table.name}"

    return "".join(f" --{i.role} {shlex.quote(place(i))}" for i in tables)


def _on_servers(served: Sequence[PublicInput], needed: Sequence[PublicInput]) -> str:
    """Which tables the command asks a server or Spark for, and what does as well; where others are looked for."""
    one, others = len(served) == 1, [i.name for i in needed if i not in served]
    beside = f" {listed(others)}: the command looks beside this folder." * bool(others)
    return (
        f"The command asks Spark or the server for {listed([i.name for i in served])}. A Parquet file of the same "
        f"rows, in any order, does as well: name {'it' if one else 'them'} instead.{beside}"
    )


def _same_tables(needed: Sequence[PublicInput]) -> str:
    if not needed:
        return ""
    names = listed([i.name for i in needed])
    if served := [i for i in needed if is_address(i.name)]:
        return f"{names} {'is' if len(needed) == 1 else 'are'} not in this folder. {_on_servers(served, needed)} "
    which, lie = ("is", "it lies") if len(needed) == 1 else ("are", "they lie")
    return f"{names} {which} not in this folder; the command takes it that {lie} beside this folder. "


def _spread(contents: Contents) -> str:
    free = (
        "It costs nobody any privacy: of what was measured it uses the noisy answers in measurements.parquet only. "
    )
    if contents.counts is not None:
        return free + "Copies of these counts differ only in how they were made whole."
    return free + (
        "The spread of a result over copies shows the part of its uncertainty that comes from drawing; the noise in "
        "the answers themselves comes on top."
    )
