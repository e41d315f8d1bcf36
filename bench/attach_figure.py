"""The figure of docs/recipes/guided_tree.md, from the tables that stand there: error against epsilon, split by split.

python -m bench.attach_figure [docs/recipes/guided_tree.md] [docs/figures/guided_tree.png]
"""

import re
import sys
from pathlib import Path

from matplotlib.figure import Figure

LOOKS = {
    "random_trees": ("#b07d2b", "--"),
    "guided_tree": ("#1d3f8a", "-"),
    "guided_tree + outcome": ("#2a7a4f", "-"),
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
    """A row for each kind of error, a panel for each split."""
    tables = {kind: read(page, kind) for kind in KINDS}
    splits = list(next(iter(tables.values()))[1])
    figure = Figure(figsize=(2.6 * len(splits), 5.4), layout="constrained")
    panels = figure.subplots(len(KINDS), len(splits), sharex=True)
    for row, (kind, (epsilons, found)) in zip(panels, tables.items(), strict=True):
        for panel, split in zip(row, splits, strict=True):
            for name, errors in found[split].items():
                if name in LOOKS:
                    panel.plot(epsilons, errors, LOOKS[name][1], color=LOOKS[name][0], marker="o", ms=3, label=name)
                else:
                    panel.axhline(errors[0], color="#888888", lw=1, ls=":", label="public as it is")
            panel.set(xscale="log", yscale="log")
            panel.set_title(split if kind == "tables" else "", fontsize=10)
        row[0].set_ylabel(KINDS[kind])
    figure.supxlabel("total epsilon, label-change", fontsize=10)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(out, dpi=110)


if __name__ == "__main__":
    given = [Path(a) for a in sys.argv[1:]] or [
        Path("docs/recipes/guided_tree.md"),
        Path("docs/figures/guided_tree.png"),
    ]
    draw(given[0].read_text("utf-8"), given[1])
