"""One case: a small world with canaries in its confidential table, a mutation, a command or two, the oracle.

The oracle: exit codes as documented and never 1, no traceback, no panic, and no canary in what is said or written.
"""

import os
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from hedgerow.cli.main import main
from tests.fuzz import mutate

CANARIES = ("CANARYQX7Z", "canaryperson", "81726354", "canary")
"""What stands in the confidential table alone: a label, persons, a number; none is known to the schema."""
CODES = {0, 2, 3, 4, 5, 6, 7}
"""The documented exit codes but 1, which is a fault of ours."""
SIGNS = ("Traceback (most recent call last)", "panicked at", "RUST_BACKTRACE", "PanicException", "a fault of ours")
SCHEMA = """
title = "Fuzz"
[columns.sex]
kind = "categorical"
values = ["F", "M"]
other = "other"
[columns.race]
kind = "categorical"
values = ["A", "B", "C"]
other = "other"
missing = true
[columns.pay]
kind = "integer"
bins = { low = 0, high = 40, width = 10 }
missing = true
[columns.area]
kind = "categorical"
values = ["n", "s", "w"]
other = "other"
"""
SETTINGS = {
    "independent": "",
    "tree_blend": "",
    "public_blend": "",
    "dpsyn": "",
    "integer_counts": '[integer_counts]\ncolumns = ["sex", "race"]\ngroups = ["area"]\nmargins = [["sex"], []]\n',
    "dirichlet_multinomial": '[dirichlet_multinomial]\ncolumns = ["sex", "race"]\nsize = 12\ncopies = 2\n',
    "gamma_poisson": '[gamma_poisson]\ncolumns = ["sex"]\nsize = 8\nexposures = [2, 3, 1]\nb = [4, 6, 2]\n',
    "guided_tree": '[guided_tree]\ncolumns = ["sex"]\n',
    "random_trees": '[random_trees]\ncolumns = ["sex"]\ntrees = 2\nn_b = 5\n',
}
GRID = """
[experiment]
job = "job.toml"
out = "study"
seeds = 1
[[factor]]
name = "epsilon"
set = "budget.epsilon"
levels = [0.5, 5.0]
[[measure]]
name = "sex by race"
columns = ["sex", "race"]
[[finding]]
says = "epsilon helps"
check = "helps"
factors = ["epsilon"]
of = [0.5, 5.0]
measure = "sex by race"
"""


@dataclass
class Found:
    """What a case did, and what was wrong with it."""

    seed: int
    kind: str = ""
    commands: list[str] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    said: str = ""


def make_world(folder: Path, recipe: str, rng: random.Random) -> None:
    """A job that works, its schema, and its tables, in ``folder``."""
    attaches = recipe in ("guided_tree", "random_trees")
    with_public = attaches or recipe in ("public_blend", "dpsyn") or rng.random() < 0.4
    counted = not attaches and rng.random() < 0.2
    person = not counted and rng.random() < 0.5
    lines = [
        f'[job]\nrecipe = "{recipe}"\nformats = ["csv"]\nout = "release"',
        SETTINGS[recipe],
        '[schema]\nfile = "schema.toml"\n[confidential]\ntable = "secret.csv"\nname = "toy"',
        'unit = "person"\nperson = "id"\nrows_per_person = 2' if person else "",
        'count = "n"' if counted else "",
        f'relation = "{rng.choice(("add-remove", "replace-one"))}"\nassumed_rows = 60',
        '[public]\ntable = "public.csv"\nprovenance = "made up"' if with_public else "",
        '[target]\ntable = "target.csv"' if attaches else "",
        f"[budget]\nepsilon = 2.5\ndelta = {rng.choice((0, 1e-6))}",
        '[[use]]\nname = "sex"\ncolumns = ["sex"]\ntolerance = 0.05\n' if rng.random() < 0.3 else "",
    ]
    (folder / "job.toml").write_text("\n".join(filter(None, lines)) + "\n", "utf-8")
    (folder / "schema.toml").write_text(SCHEMA, "utf-8")
    (folder / "grid.toml").write_text(GRID, "utf-8")
    plain = [_row(rng) for _ in range(60)]
    _write(folder / "public.csv", "sex,race,pay,area", plain)
    _write(folder / "target.csv", "race,pay,area", [r.split(",", 1)[1] for r in plain[:30]])
    secret = [f"{_row(rng)},canaryperson{i % 30},{rng.randrange(4)}" for i in range(60)]
    secret += ["CANARYQX7Z,CANARYQX7Z,81726354,CANARYQX7Z,canaryperson99,81726354.5"] * 2
    _write(folder / "secret.csv", "sex,race,pay,area,id,n", secret)


def _row(rng: random.Random) -> str:
    return ",".join((rng.choice("FM"), rng.choice(("A", "B", "C", "")), str(rng.randrange(40)), rng.choice("nsw")))


def _write(path: Path, header: str, rows: list[str]) -> None:
    path.write_text("\n".join([header, *rows]) + "\n", "utf-8")


def mutated(folder: Path, kind: str, rng: random.Random) -> None:
    """Mutate one file of the world."""
    if kind in ("job", "schema", "grid"):
        file = folder / f"{kind}.toml"
        file.write_bytes(mutate.text(file.read_text("utf-8"), rng).encode("utf-8", "surrogatepass"))
        if rng.random() < 0.05:
            file.write_bytes(mutate.data(file.read_bytes(), rng))
    elif kind in ("secret", "public", "target"):
        file = folder / f"{kind}.csv"
        if rng.random() < 0.25:
            other = file.with_suffix(rng.choice((".parquet", ".arrow")))
            held = pl.read_csv(file, infer_schema=rng.random() < 0.5)
            (held.write_parquet if other.suffix == ".parquet" else held.write_ipc)(other)
            other.write_bytes(mutate.data(other.read_bytes(), rng) if rng.random() < 0.7 else other.read_bytes())
            job = folder / "job.toml"
            job.write_text(job.read_text("utf-8").replace(file.name, other.name), "utf-8")
        else:
            file.write_bytes(mutate.table(file.read_text("utf-8"), rng))
    else:
        files = sorted(p for p in (folder / "release").rglob("*") if p.is_file())
        file = rng.choice(files)
        raw = file.read_bytes()
        choice = rng.random()
        if choice < 0.1:
            file.unlink()
        elif choice < 0.15:
            (folder / "release" / "more.txt").write_text("x", "utf-8")
        elif choice < 0.6 and file.suffix in (".json", ".toml", ".csv", ".md", ".html"):
            file.write_bytes(mutate.text(raw.decode("utf-8"), rng).encode("utf-8", "surrogatepass"))
        else:
            file.write_bytes(mutate.data(raw, rng))


KINDS = (
    "job",
    "job",
    "schema",
    "schema",
    "secret",
    "secret",
    "public",
    "public",
    "target",
    "grid",
    "bundle",
    "bundle",
)


def run_case(seed: int, home: Path) -> Found:
    """The case of one seed. ``home`` keeps finished releases between cases."""
    rng, found = random.Random(seed), Found(seed)
    found.kind = rng.choice(KINDS)
    recipe = rng.choice(list(SETTINGS))
    if found.kind == "target":
        recipe = rng.choice(("guided_tree", "random_trees"))
    if found.kind == "grid":
        recipe = rng.choice(("independent", "public_blend"))
    found.kind += f" ({recipe})"
    with tempfile.TemporaryDirectory(dir=home) as made, _in(Path(made)):
        folder = Path(made)
        if found.kind.startswith("bundle"):
            shutil.copytree(_released(home, recipe), folder, dirs_exist_ok=True)
        else:
            make_world(folder, recipe, rng)
        mutated(folder, found.kind.split()[0], rng)
        for words in _commands(folder, found.kind.split()[0], rng):
            found.commands.append(" ".join(words))
            code, said = call(*words)
            found.codes.append(code)
            found.said += said
            found.wrong += _wrong(code, said, words)
        found.wrong += _leaks(folder)
    return found


@contextmanager
def _in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _released(home: Path, recipe: str) -> Path:
    """A world with a finished release of ``recipe``, made once."""
    place = home / f"released-{recipe}"
    if not place.exists():
        place.mkdir()
        make_world(place, recipe, random.Random(1))
        with _in(place):
            code, said = call("run", "job.toml", "--yes", "--no-forecast")
            assert code == 0, said
    return place


def _commands(folder: Path, kind: str, rng: random.Random) -> list[list[str]]:
    run = ["run", "job.toml", "--yes", "--no-forecast"]
    public = "public.parquet" if (folder / "public.parquet").exists() else "public.csv"
    ways: dict[str, list[list[list[str]]]] = {
        "job": [[["plan", "job.toml"], run], [run, ["verify", "release"]], [["plan", "job.toml", "--json"]]],
        "schema": [[["schema", "check", "schema.toml", "public.csv"], run], [["plan", "job.toml"]], [run]],
        "secret": [[run, ["verify", "release"]], [run, ["steward", "compare", "job.toml"]], [run]],
        "public": [
            [["schema", "init", public, "--out", "drafted.toml"], ["schema", "check", "schema.toml", public]],
            [["plan", "job.toml"], run],
            [["compare", public, "target.csv", "--schema", "schema.toml"]],
        ],
        "target": [[run, ["verify", "release"]], [["plan", "job.toml"]]],
        "grid": [[["experiment", "grid.toml", "--workers", "1"]]],
        "bundle": [
            [["verify", "release"]],
            [["verify", "release", "--ledger", "ledger.db"], ["sample", "release", "--copies", "1", "--out", "more"]],
            [["compare", public, "release"]],
        ],
    }
    return rng.choice(ways[kind])


def call(*words: str) -> tuple[int, str]:
    """``hedgerow WORDS`` in this process: the exit code, and all that was said, also by libraries past Python."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    argv = sys.argv
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        code, more = 0, ""
        try:
            sys.argv = ["hedgerow", *words]
            main()
        except SystemExit as done:
            code = done.code if isinstance(done.code, int) else 0 if done.code is None else 1
        except BaseException as error:  # noqa: BLE001  whatever comes out of the command line is a finding
            code, more = 1, f"Traceback (most recent call last): {type(error).__name__}: {error}"
        finally:
            sys.argv = argv
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
            os.close(kept[0])
            os.close(kept[1])
        said.seek(0)
        return code, said.read().decode("utf-8", "replace") + more


def _wrong(code: int, said: str, words: list[str]) -> list[str]:
    wrong = [f"exit {code} of {' '.join(words)}"] if code not in CODES else []
    wrong += [f"{sign!r} was said" for sign in SIGNS if sign in said]
    wrong += [f"the canary {c!r} was said" for c in CANARIES if c in said and words[0] != "steward"]
    wrong += ["an escape sequence was said"] if "\x1b[31m" in said else []
    return wrong + (["refused without a word"] if code and not said.strip() else [])


def _leaks(folder: Path) -> list[str]:
    """Canaries in any file but the confidential table and what is marked as inside only."""
    wrong = []
    for file in folder.rglob("*"):
        inside = file.name.startswith("secret.") or any(
            "inside" in part.lower() for part in file.relative_to(folder).parts
        )
        if not file.is_file() or inside:
            continue
        held = file.read_bytes()
        if file.suffix == ".parquet" and "release" in file.parts:
            try:
                held += pl.read_parquet(file).write_csv().encode()
            except (Exception, pl.exceptions.PanicException):  # noqa: BLE001, S112  damaged on purpose
                continue
        wrong += [f"the canary {c!r} is in {file.name}" for c in CANARIES if c.encode() in held]
    return wrong
