"""A paper on one page: its exhibits in their own form, our numbers beside its own, and what is behind them."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, final

from markupsafe import Markup

from hedgerow import __version__
from hedgerow.errors import NOTHING, JobError
from hedgerow.figures import Section, legend, render
from hedgerow.reproduce.shapes import Shapes

PAPERS = {
    "rdt-2018": "Random decision trees: intervals, panels, logistic coefficients (Duke, November 2018)",
    "rdt-2019": "Random decision trees: the factorial study of their settings (Duke, March 2019)",
    "ce": "The Dirichlet-multinomial lecture and its table of the Consumer Expenditure Survey (Hu)",
    "dpsyn": "DPSyn on the temporal map: areas x years, three regimes (Li, Li and Wang)",
}
_MAPPED = "dpsyn"
PAGE, MARK = "index.html", "reproduced-by-hedgerow.txt"
Watch = Callable[[str], None]


@final
@dataclass(frozen=True)
class Beside:
    """A number that the paper prints, ours, and why they differ where they do.

    Attributes:
        what: what the number is of.
        paper: as the paper prints it.
        ours: as it came out here.
        same: whether the two agree as far as the paper's digits go; None where only the direction can be compared.
        why: the reason for a difference, or what to note.
    """

    what: str
    paper: str
    ours: str
    same: bool | None = True
    why: str = ""

    @property
    def word(self) -> str:
        """The verdict."""
        return {True: "agrees", False: "differs", None: "see the note"}[self.same]


@final
@dataclass(frozen=True)
class Listing:
    """A table with its caption."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def looks(self) -> list[str]:
        """For each column the class of its cells: numbers stand at the right, words at the left.

        >>> Listing("", ("race", "count", "what"), [("White", "816", "a word"), ("Black", "-", "and more")]).looks
        ['', 'n', '']
        """
        return ["n" if all(map(_is_number, column)) else "" for column in zip(*self.rows, strict=True)]


@final
@dataclass(frozen=True)
class Exhibit:
    """One figure, table or claim of the paper.

    Attributes:
        name: as the paper calls it.
        title: what it shows.
        about: in plain words, what stands here.
        numbers: ours beside the paper's.
        sections: charts in the paper's form.
        tables: numbers behind them.
        slide: with a name one chart of a section is seen at a time, and a slider of that name moves on to the next.
        first: the chart that is seen first.
        deviations: where this is not what the paper did, and why.
        commands: what to type in the folder of the page for the same.
    """

    name: str
    title: str
    about: str = ""
    numbers: Sequence[Beside] = ()
    sections: Sequence[Section] = ()
    tables: Sequence[Listing] = ()
    slide: str = ""
    first: int = 0
    deviations: Sequence[str] = ()
    commands: Sequence[str] = ()


@final
@dataclass(frozen=True)
class Paper:
    """All of one paper.

    Attributes:
        citation: whose it is.
        lead: what stands on the page, in a few sentences.
        exhibits: in the paper's order.
    """

    citation: str
    lead: str
    exhibits: Sequence[Exhibit]


@final
@dataclass(frozen=True)
class Task:
    """What a paper's module is given.

    Attributes:
        folder: where its tables, job files and results go.
        quick: small tables and few runs.
        watch: told each phase, and with ``step`` how far it is, where it can show that.
        shapes: borders of areas, for the paper that has a map.
    """

    folder: Path
    quick: bool
    watch: Watch = field(default=lambda phase: None)
    shapes: Shapes | None = None

    def step(self, text: str) -> None:
        """Say how far the present phase is."""
        getattr(self.watch, "step", lambda said: None)(text)


@final
@dataclass(frozen=True)
class Reproduction:
    """A page that was written, and the numbers on it."""

    page: Path
    paper: Paper
    seconds: float

    @property
    def numbers(self) -> list[tuple[str, Beside]]:
        """Every number with the exhibit it is in."""
        return [(e.name, n) for e in self.paper.exhibits for n in e.numbers]

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "page": str(self.page),
            "citation": self.paper.citation,
            "exhibits": [e.name for e in self.paper.exhibits],
            "numbers": [{"exhibit": name, **vars(n)} for name, n in self.numbers],
            "cpu_seconds": round(self.seconds, 1),
        }


def _is_number(cell: str) -> bool:
    return cell == "-" or cell.removeprefix("below ").lstrip("+-")[:1].isdigit()


def marked(text: str) -> Markup:
    """A sentence with what stands between backticks as code.

    >>> print(marked("a `plan` < 3"))
    a <code>plan</code> &lt; 3
    """
    parts = text.split("`")
    return Markup("").join(Markup("<code>{}</code>").format(p) if i % 2 else p for i, p in enumerate(parts))


def reproduce(
    name: str,
    folder: str | Path,
    *,
    quick: bool = False,
    watch: Watch = lambda phase: None,
    map_file: str | Path | None = None,
) -> Reproduction:
    """Write the page of a paper, with all that is behind it, into ``folder``; an earlier one there is replaced.

    With ``map_file``, GeoJSON, the survey of DPSyn is simulated for its areas and drawn in their borders.
    """
    if name not in PAPERS:
        raise JobError(f"There is no paper {name!r}. Choose among: {', '.join(PAPERS)}. {NOTHING}")
    if map_file is not None and name != _MAPPED:
        raise JobError(f"The page of {name} has no map. Leave --map out, or reproduce {_MAPPED}. {NOTHING}")
    shapes = None if map_file is None else Shapes.read(Path(map_file))
    folder, start = Path(folder).resolve(), _cpu()
    _make_room(folder, name)
    module = import_module(f"hedgerow.reproduce.{name.replace('-', '_')}")
    paper: Paper = module.paper(Task(folder, quick, watch, shapes))
    done = Reproduction(folder / PAGE, paper, _cpu() - start)
    done.page.write_text(_page(name, done, quick), "utf-8")
    return done


def _cpu() -> float:
    """Seconds of CPU so far, of this process and of those that worked for it."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _make_room(folder: Path, name: str) -> None:
    """An empty folder with the job files; an earlier reproduction is cleared, anything else never."""
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / MARK).is_file())):
        raise JobError(f"{folder} is not empty. Choose another place with --out. {NOTHING}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with as_file(files("hedgerow.reproduce").joinpath("jobs", name)) as jobs:
        for file in sorted(jobs.iterdir()):
            shutil.copyfile(file, folder / file.name)
    (folder / MARK).write_text(f"hedgerow reproduce {name}, version {__version__}; may be written over\n", "utf-8")


def _page(name: str, done: Reproduction, quick: bool) -> str:
    jobs = [p for p in sorted(done.page.parent.glob("*.toml")) if not p.name.startswith("schema")]
    names = {
        "version": __version__,
        "name": name,
        "title": PAPERS[name],
        "paper": done.paper,
        "numbers": done.numbers,
        "quick": quick,
        "seconds": f"{done.seconds:,.0f}",
        "legend": legend,
        "marked": marked,
        "files": [(p.name, p.read_text("utf-8")) for p in jobs],
    }
    return render("hedgerow.reproduce", "paper.html.j2", names)
