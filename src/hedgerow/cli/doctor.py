"""``hedgerow doctor``: whether this machine has all that Hedgerow can use, and the line to type for what it lacks."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal, final

import typer

from hedgerow import __version__
from hedgerow.cli import show
from hedgerow.errors import HedgerowError

LEAST_MEMORY = 2 * 10**9  # a job of a million rows and fifteen columns takes about half of it
JAVA = 17  # the least that Spark 4 starts with
EXTRAS = (  # what it is for, the module, the distribution, the extra
    ("tables in DuckDB", "duckdb", "duckdb", "sql"),
    ("a ledger or tables on PostgreSQL", "psycopg", "psycopg", "postgres"),
    ("tables in Spark", "pyspark", "pyspark", "spark"),
    ("Excel files", "fastexcel", "fastexcel", "excel"),
    ("signed releases", "cryptography", "cryptography", "sign"),
)


@final
@dataclass(frozen=True)
class Diagnosis:
    """One thing that was looked at.

    Attributes:
        what: its name.
        state: ``ok``; ``absent``: optional, and not there; ``wrong``: it must be mended.
        said: what was found.
        cure: the line to type, or what to do; empty when there is nothing to do.
    """

    what: str
    state: Literal["ok", "absent", "wrong"]
    said: str
    cure: str = ""


def doctor(
    ledger: Annotated[
        str, typer.Option("--ledger", help="Also try this ledger; else the office's, if one is set.")
    ] = "",
    kernels: Annotated[bool, typer.Option("--kernels/--no-kernels", help="Compile the kernels ahead.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")] = False,
) -> None:
    """Compile the kernels ahead and check engines, ledger, folders and memory. Reads no table of yours.

    Exit code 0: ready, even if something optional is absent. 2: something is wrong, and the cure is printed.
    """
    found = [Diagnosis("hedgerow", "ok", f"{__version__} on Python {sys.version.split()[0]}")]
    with show.progress() as watch:
        found += [*_folders(), _memory(), *_engines(), _ledger(ledger)]
        if kernels:
            found.append(_kernels(watch))
    well = all(f.state != "wrong" for f in found)
    if as_json:
        show.echo(json.dumps({"ready": well, "findings": [asdict(f) for f in found]}, indent=2))
    else:
        for f in found:
            show.echo(f"{f.state:7}{f.what:13}{f.said}" + (f"\n{'':20}{f.cure}" if f.cure else ""))
        show.echo("Ready." if well else "Not ready: what is marked wrong must be mended.")
    if not well:
        raise typer.Exit(2)


def _folders() -> Iterator[Diagnosis]:
    """Where compiled kernels are kept, and where runs put what they need for a while."""
    place = _cache()
    if place is None:
        cure = "export NUMBA_CACHE_DIR=FOLDER   (a folder that only you can write)"
        yield Diagnosis("cache", "absent", "no folder can be written: kernels are compiled in every process", cure)
    else:
        yield Diagnosis("cache", "ok", f"compiled kernels are kept in {place}")
    try:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "probe").write_bytes(b"1")
        yield Diagnosis("scratch", "ok", f"{tempfile.gettempdir()} can be written")
    except OSError as wrong:
        cure = "export TMPDIR=FOLDER   (a folder that you can write)"
        yield Diagnosis("scratch", "wrong", f"no temporary file can be written ({wrong.strerror})", cure)


def _cache() -> Path | None:
    """The folder of compiled kernels; None where none can be written."""
    from hedgerow.counting import kernel

    found = getattr(getattr(kernel.count_tile, "stats", None), "cache_path", None)
    return Path(found) if found else None


def _memory() -> Diagnosis:
    from hedgerow.planning import machine_memory

    there = machine_memory()
    said = f"{there / 1e9:,.1f} GB, {os.cpu_count() or 1} cores"
    few = there < LEAST_MEMORY
    cure = "Plans refuse what does not fit; take fewer columns or bins, or a larger machine."
    return Diagnosis("memory", "absent", f"only {said}", cure) if few else Diagnosis("memory", "ok", said)


def _engines() -> Iterator[Diagnosis]:
    for use, module, name, extra in EXTRAS:
        cure = f"pip install 'hedgerow[{extra}]'"
        try:
            import_module(module)
            said = f"{name} {version(name)}"
        except (ImportError, PackageNotFoundError):
            yield Diagnosis(extra, "absent", f"{name} is not installed: needed for {use}", cure)
            continue
        except Exception as fault:  # a broken library may raise anything
            yield Diagnosis(extra, "wrong", f"{name} is installed and does not load ({type(fault).__name__})", cure)
            continue
        if module == "pyspark" and (lacking := _java()):
            yield Diagnosis(extra, "wrong", f"{said}, but {lacking}", "apt install openjdk-17-jre-headless")
        else:
            yield Diagnosis(extra, "ok", said)


def _java() -> str:
    """What keeps Spark 4 from starting with the Java that it will take; nothing if all is well."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if not found:
        return f"JAVA_HOME is {home}, and there is no Java in it" if home else "no Java was found"
    try:
        said = subprocess.run([found, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return f"{found} does not run"
    told = re.search(r'version "(?:1\.)?(\d+)', said)
    return f"it needs Java {JAVA}, and {found} is {told[1]}" if told and int(told[1]) < JAVA else ""


def _ledger(url: str) -> Diagnosis:
    """The ledger that is named, or the office's: it must be there and hold; none is made here."""
    from hedgerow.public import default_ledger
    from hedgerow.steward import ledger_book

    if not (place := url or default_ledger()):
        said = "no ledger of the office is set: a job that names none keeps its own, ledger.db beside it"
        return Diagnosis("ledger", "absent", said, f"{show.program()} ledger use URL")
    shown = "the database" if "://" in place else place
    try:
        entries, _ = ledger_book.verify(place)
    except HedgerowError as wrong:
        return Diagnosis("ledger", "wrong", f"{shown}: {' '.join(str(wrong).split())}")
    return Diagnosis("ledger", "ok", f"{shown} holds, {entries:,} entries")


def _kernels(watch: Callable[[str], None]) -> Diagnosis:
    """Publish a made-up table by every recipe that has loops of its own: they are machine code then, and kept."""
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a plan warns of is not about this machine
        for name, job in _jobs(Path(folder)):
            watch(f"compiling what {name} needs")
            try:
                job.run(Path(folder) / "release" / name)
            except HedgerowError as wrong:
                return Diagnosis("kernels", "wrong", f"{name} does not run here: {str(wrong).splitlines()[0]}")
            except OSError as wrong:  # as from a full disk; the made-up table has nothing to hide
                said = f"{name} cannot write its files to {folder} ({wrong.strerror or wrong})"
                cure = "export TMPDIR=FOLDER   (a folder that only you can write, with room for 10 MB)"
                return Diagnosis("kernels", "wrong", said, cure)
    spent = time.process_time() - began
    there = _cache()
    kept = "kept for all later commands" if there and any(there.glob("*.nbi")) else "not kept: nothing can be written"
    said = f"every recipe with loops ran on a made-up table ({spent:.0f} s of CPU); what was compiled is {kept}"
    return Diagnosis("kernels", "ok", said)


def _jobs(folder: Path) -> Iterator[tuple[str, Any]]:
    """A job of each recipe that compiles loops, on 300 rows of nobody."""
    import polars as pl

    import hedgerow as hr

    frame = pl.DataFrame(
        {
            "sex": ["F", "M"] * 150,
            "race": ["A", "B", "C"] * 100,
            "area": [f"a{i % 5}" for i in range(300)],
            "pay": [1000 + 37 * i % 900 for i in range(300)],
        }
    )
    schema = hr.Schema.draft(frame)
    public = hr.Public(frame, provenance="made up")
    target = hr.Target(frame.drop("sex"))
    recipes = {
        "public_blend": (hr.recipes.PublicBlend(), None),
        "tree_blend": (hr.recipes.TreeBlend(), None),
        "dpsyn": (hr.recipes.DPSyn(groups=["area"], floor=0, pool=50), None),
        "dpsyn of the paper": (hr.recipes.DPSyn(groups=["area"], variant="paper", floor=0, pool=50, rounds=1), None),
        "guided_tree": (hr.recipes.GuidedTree(), target),
        "random_trees": (hr.recipes.RandomTrees(n_b=20, combine="precision"), target),
    }
    for name, (recipe, onto) in recipes.items():
        yield (
            name,
            hr.Job(
                confidential=hr.Confidential(frame.head(280), name="made up"),
                public=public,
                target=onto,
                schema=schema,
                budget=hr.Budget(10, 0 if onto else 1e-6),
                recipe=recipe,
                ledger=str(folder / "ledger.db"),
                seed=1,
            ),
        )
