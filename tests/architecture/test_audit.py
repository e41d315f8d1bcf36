"""The auditor's list is complete, and short: computed from imports, and from the way that rows really take."""

import gzip
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, cast

import duckdb
import grimp
import pyreadstat

import hedgerow
import hedgerow.private
from hedgerow.api.job import Job
from hedgerow.ledger.book import Ledger, RunAccount
from hedgerow.private import Gate
from hedgerow.private.local import LocalCounter
from hedgerow.public.costs.accounting import Budget
from hedgerow.public.costs.question import TOTAL, Marginal
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.files import open_source
from hedgerow.public.schema import Schema
from tests.privacy.world import PERSON, SCHEMA, frame, write_job

ROOT = Path(hedgerow.__file__).parent
HEADINGS = ("The core", "The local counter", "The fingerprint", "Readers", "Further mechanisms", "Engines")
PROJECT = ROOT.parent.parent
ROWS = frame((("F", 'a "quoted" one', "5", "n", "me"), ("M", "B", "12", "s", "you"), ("F", "A", "x", None, None)) * 3)


def _database(path: Path) -> str:
    with duckdb.connect(str(path)) as db:
        db.register("rows", ROWS.to_arrow())
        db.execute("CREATE TABLE kept AS SELECT * FROM rows")
    return f"duckdb:{path}#kept"


WAYS: dict[str, Callable[[Path], Any]] = {
    "frame.csv": ROWS.write_csv,
    "frame.csv.gz": lambda path: path.write_bytes(gzip.compress(ROWS.write_csv().encode())),
    "frame.parquet": ROWS.write_parquet,
    "frame.xlsx": ROWS.write_excel,
    "frame.arrow": ROWS.write_ipc,
    "frame.dta": lambda path: pyreadstat.write_dta(ROWS.fill_null("").to_pandas(), str(path)),
    "database": _database,
    "polars": lambda path: ROWS,
    "lazy": lambda path: ROWS.lazy(),
    "arrow": lambda path: ROWS.to_arrow(),
    "pandas": lambda path: ROWS.to_pandas().convert_dtypes(),
}


def core_and_further() -> tuple[set[str], dict[str, set[str]]]:
    """The gate and all of ours that it imports but its local counter; and by further mechanism what it adds."""
    graph = grimp.build_graph("hedgerow", cache_dir=None)
    core = {"hedgerow.private", "hedgerow.private.gate"} | graph.find_upstream_modules("hedgerow.private.gate")
    counter = listed("The local counter") | listed("The fingerprint")
    assert counter <= core, "what the gate does not import is no part of it"
    graph.remove_module("hedgerow.private.local")  # read by itself: other counters stand in its place
    graph.remove_module("hedgerow.counting.fingerprint")
    without = graph.find_upstream_modules("hedgerow.private.gate")
    assert core - without - {"hedgerow.private", "hedgerow.private.gate"} == counter
    core -= counter
    others = graph.find_descendants("hedgerow.private") - core
    return core, {m: ({m} | graph.find_upstream_modules(m)) - core for m in others}


def lines_of(module: str) -> int:
    path = ROOT.parent / module.replace(".", "/")
    file = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
    return sum(1 for line in file.read_text("utf-8").splitlines() if line.strip())  # blank lines are not read


def listed(heading: str) -> set[str]:
    """The modules that ``private/__init__.py`` names below a heading."""
    parts = re.split(rf"({'|'.join(HEADINGS)}), at most", hedgerow.private.__doc__ or "")
    text = dict(zip(parts[1::2], parts[2::2], strict=True))[heading]
    paths = [n.removeprefix("hedgerow/") for n in re.findall(r"[\w/]+\.py", text)]
    there = [n if (ROOT / n).exists() else f"private/{n}" for n in paths]
    return {"hedgerow." + n.removesuffix(".py").replace("/", ".") for n in there}


@contextmanager
def followed(seen: set[str]) -> Iterator[None]:
    """Note every module of ours that has a function called with rows in hand: below private/rows.py or local.py."""

    def look(at: FrameType, event: str, _: object) -> None:
        name = at.f_globals.get("__name__", "")
        if event != "call" or name in seen or not name.startswith("hedgerow."):
            return
        above: FrameType | None = at
        while above is not None:
            if above.f_globals.get("__name__") in ("hedgerow.private.rows", "hedgerow.private.local"):
                seen.add(name)
                return
            above = above.f_back

    before = sys.getprofile()
    sys.setprofile(look)
    threading.setprofile(look)  # batches are coded in threads
    try:
        yield
    finally:
        threading.setprofile(cast(Any, None))
        sys.setprofile(before)


def test_an_auditor_can_read_everything_that_matters_in_one_sitting() -> None:
    core, further = core_and_further()
    surface = {m: lines_of(m) for m in core}
    assert sum(surface.values()) <= 1000, dict(sorted(surface.items()))
    long = {m: n for m, own in further.items() if (n := sum(map(lines_of, own))) > 160}
    assert not long, "a further mechanism is at most 160 lines, with what it alone imports"
    for heading, most in (("The local counter", 430), ("The fingerprint", 140), ("Readers", 265)):
        assert sum(map(lines_of, listed(heading))) <= most, f"{heading}: what rows of files and frames go through"
    assert max(map(lines_of, listed("Engines"))) <= 300, "what counts where the rows are"


def test_the_reading_list_names_the_whole_audit_surface_and_nothing_else() -> None:
    core, further = core_and_further()
    assert listed("The core") == core - {"hedgerow.private"}
    assert listed("Further mechanisms") == set().union(*further.values())
    engines = grimp.build_graph("hedgerow", cache_dir=None).find_descendants("hedgerow.engines")
    assert listed("Engines") == engines | {"hedgerow.public.servers"}, (
        "which begins Spark, and reads PostgreSQL's rows"
    )
    page = (PROJECT / "docs" / "audit.md").read_text("utf-8")
    for module in set().union(*map(listed, HEADINGS)) - {"hedgerow.errors"}:
        assert module.removeprefix("hedgerow.").replace(".", "/") + ".py" in page


def test_every_module_that_a_row_passes_through_is_on_the_list(tmp_path: Path) -> None:
    """Formats, frames and a whole run, with a cap on the rows of a person: the list is what was met on the way."""
    met, coding = set[str](), Schema.loads(SCHEMA).coding
    for name, make in WAYS.items():
        made = make(tmp_path / name)
        table = tmp_path / name if "." in name else made
        account = RunAccount(Ledger.open(str(tmp_path / "ledger.db")), table=name, run=name)
        gate = Gate(open_source(table), Tariff(coding, PERSON, "pure"), Budget(1), account)
        with followed(met):
            gate.measure([TOTAL, Marginal(("sex", "race"))], Fraction(1, 2))
    account = RunAccount(Ledger.open(str(tmp_path / "ledger.db")), table="ordered", run="ordered")
    ordered = partial(LocalCounter, order="pay")
    gate = Gate(open_source(ROWS), Tariff(coding, PERSON, "pure"), Budget(1), account, ordered)
    with followed(met):
        gate.measure([TOTAL], Fraction(1, 2))
    job = write_job(tmp_path, PERSON)
    ROWS.write_csv(tmp_path / "secret.csv")
    with followed(met):
        Job.load(job).run()
    of_rows = [listed(heading) for heading in HEADINGS[1:4]]
    unlisted = met - listed("The core").union(*of_rows)
    assert not unlisted, "rows pass through these, which private/__init__.py does not list"
    assert set().union(*of_rows) <= met, "no row passes through these"
    assert {"hedgerow.private.rows", "hedgerow.public.coding", "hedgerow.counting.plan"} <= met


def test_a_module_on_the_way_of_a_row_that_is_not_listed_is_seen(tmp_path: Path) -> None:
    """The test above is not blind: a source that another module of ours wraps is met."""
    met = set[str]()
    source = open_source(ROWS)
    code = "class Wrapped:\n    columns = source.columns\n    def batches(self, *a): return source.batches(*a)\n"
    space: dict[str, Any] = {"__name__": "hedgerow.elsewhere", "source": source}
    exec(code, space)  # noqa: S102
    account = RunAccount(Ledger.open(str(tmp_path / "ledger.db")), table="t", run="r")
    gate = Gate(space["Wrapped"](), Tariff(Schema.loads(SCHEMA).coding, PERSON, "pure"), Budget(1), account)
    with followed(met):
        gate.measure([TOTAL], Fraction(1, 2))
    assert "hedgerow.elsewhere" in met
