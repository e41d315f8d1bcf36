"""The figure of docs/lab/guided_tree.md, from the tables that stand there: error against epsilon, split by split.

python -m bench.attach_figure [docs/lab/guided_tree.md] [docs/figures/guided_tree.svg]
"""

import re
import sys
from pathlib import Path

from hedgerow.figures import Drawing, Key, LinePoint, Section, Trace, log_lines, number, sheet, write_sheet

LOOKS = {
    "random_trees": "s0 dashed",
    "guided_tree": "true",
    "guided_tree + outcome": "s1",
    "public as it is": "s4 dotted",
}
KINDS = {"tables": "error of tables", "coefficients": "error of coefficients"}
Lines = dict[str, list[float]]


def read(page: str, kind: str) -> tuple[list[float], dict[str, Lines]]:
    """The epsilons, and for each split the errors of every method; one number where epsilon plays no part."""
    table = page[page.index(f"| {kind} |") :].split("\n\n")[0].splitlines()
    epsilons = [float(x) for x in re.findall(r"[\d.]+", table[0])]
    found: dict[str, Lines] = {}
    split = ""
    for row in table[2:]:
        cells = [c.strip().strip("*") for c in row.strip("|").split("|")]
        split = cells[0] or split
        found.setdefault(split, {})[cells[1]] = [float(x) for c in cells[2:] for x in re.findall(r"[\d.]+", c)]
    return epsilons, found


def draw(page: str, out: Path) -> None:
    """A section for each kind of error, a panel for each split."""
    keys = [Key(name, "curve" if look == "true" else f"curve {look}") for name, look in LOOKS.items()]
    sections = [Section("Error against epsilon, split by split", notes=["total epsilon, label-change"], keys=keys)]
    for kind, words in KINDS.items():
        epsilons, found = read(page, kind)
        charts = [(split, _panel(split, epsilons, methods)) for split, methods in found.items()]
        sections.append(Section(words, charts, across=2))
    write_sheet(out, sheet(sections))


def _panel(split: str, epsilons: list[float], methods: Lines) -> Drawing:
    traces = []
    for name, errors in methods.items():
        known = name if name in LOOKS else "public as it is"
        along = errors if name in LOOKS else [errors[0]] * len(epsilons)
        points = [
            LinePoint(e, v, said=f"{known}, epsilon {e:g}: {v:g}") for e, v in zip(epsilons, along, strict=True)
        ]
        traces.append(Trace(LOOKS[known], tuple(points)))
    return log_lines(traces, said=f"Error against epsilon, {split}", show=number, wide=360)


if __name__ == "__main__":
    given = [Path(a) for a in sys.argv[1:]] or [
        Path("docs/lab/guided_tree.md"),
        Path("docs/figures/guided_tree.svg"),
    ]
    draw(given[0].read_text("utf-8"), given[1])
