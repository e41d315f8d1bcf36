"""An experiment from its grid file to tables, figures and a page that says what they show."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan
from pathlib import Path
from typing import Any, final

import polars as pl

from hedgerow.errors import JobError
from hedgerow.experiment.effects import Effects, FindingResult, effects_on, errors_of_runs, judge
from hedgerow.experiment.grid import Grid, Picture
from hedgerow.experiment.runs import GridStandIn, Watch, run_all, wanted
from hedgerow.figures import (
    Bar,
    Drawing,
    Key,
    LinePoint,
    Section,
    Trace,
    bars,
    lines,
    log_lines,
    roomy,
    series,
    sheet,
    small,
    write_sheet,
)
from hedgerow.job import JobValues
from hedgerow.public import Formula, epsilon_of
from hedgerow.stand_in import worker_count

COST = (
    "The public table played the confidential one, so this experiment read no confidential row and cost nothing. "
    "What it says holds for the confidential table as far as the two are alike."
)


@final
@dataclass(frozen=True, eq=False)
class Study:
    """The results of an experiment.

    Attributes:
        grid: what was asked.
        results: a row for every cell, seed, measure, term and group.
        effects: for every measure, what matters.
        verdicts: which findings held.
    """

    grid: Grid
    results: pl.DataFrame
    effects: tuple[Effects, ...]
    verdicts: tuple[FindingResult, ...]

    @property
    def failed(self) -> int:
        """How many runs the recipe refused."""
        return self.results.filter(pl.col("note") != "").select("seed", *self._factors).unique().height

    @property
    def refusals(self) -> str:
        """How many runs were refused and why; and the levels of which no run is left. Empty when none was."""
        if not self.failed:
            return ""
        ran, all_ = self.results.filter(pl.col("note") == ""), self.results
        lost = [f"{f} = {x}" for f in self._factors for x in all_[f].unique(maintain_order=True) if x not in ran[f]]
        why = all_.filter(pl.col("note") != "")["note"][0]
        said = f"{self.failed} runs were refused, the first with: {why}"
        return said + (f"\nNo run is left with {', '.join(lost)}: do not read what is said of it." if lost else "")

    @property
    def _factors(self) -> list[str]:
        return [f.name for f in self.grid.factors]

    def best(self, measure: str) -> dict[str, Any]:
        """The levels of the cell with the smallest mean error, and that error."""
        runs = errors_of_runs(self.results, measure, self._factors)
        means = runs.group_by(*self._factors, maintain_order=True).agg(pl.col("error").mean())
        return {} if means.is_empty() else means.sort("error", maintain_order=True).row(0, named=True)

    def cheapest(self, measure: str) -> list[dict[str, Any]]:
        """The cells whose mean error keeps the tolerance, the least total epsilon of a person first."""
        grid, limit = self.grid, self.grid.file.experiment.tolerance
        runs = errors_of_runs(self.results, measure, self._factors)
        means = runs.group_by(*self._factors, maintain_order=True).agg(pl.col("error").mean())
        error = {row[:-1]: row[-1] for row in means.iter_rows()}
        found = []
        for cell in grid.design.cells:
            key = tuple(f.stored(at) for f, at in zip(grid.factors, cell, strict=True))
            if limit is not None and error.get(key, float("inf")) <= limit:
                job = grid.job_of(cell)
                labels = {f.name: f.label(at) for f, at in zip(grid.factors, cell, strict=True)}
                found.append({**labels, "epsilon_of_a_person": person_epsilon(job), "error": error[key]})
        return sorted(found, key=lambda row: (row["epsilon_of_a_person"], row["error"]))

    def to_json(self) -> dict[str, Any]:
        """The study as plain data."""
        design = self.grid.design
        return {
            "cells": len(design.cells),
            "share_of_full_design": design.share,
            "resolution": design.resolution,
            "confused": design.confused(self._factors),
            "seeds": self.grid.file.experiment.seeds,
            "runs_refused": self.failed,
            "effects": [row for e in self.effects for row in e.table().to_dicts()],
            "best": {e.measure: self.best(e.measure) for e in self.effects},
            "cheapest": {e.measure: self.cheapest(e.measure) for e in self.effects},
            "findings": [{"says": v.says, "held": v.held, "figures": v.figures} for v in self.verdicts],
            "confidential_rows_read": 0,
            "cost": 0,
            "note": COST,
            "folder": str(self.grid.out),
        }


def person_epsilon(job: JobValues) -> float:
    """What a job costs one person: its epsilon where the unit is the person; where it is a record and every group
    (year) is fitted by itself, as much for every group that a person may be in."""
    groups = getattr(job.recipe, "by", "") if job.guarantee.unit == "record" else ""
    times = job.schema.column(groups).size if groups else 1
    if job.budget.measure == "pure":
        return float(job.budget.epsilon * times)
    return epsilon_of(job.budget.total * times**2, job.budget.delta)


def experiment(path: str | Path, *, workers: int = 0, watch: Watch = lambda progress: None) -> Study:
    """Run the grid in ``path`` as far as it is not done yet, and write tables, figures and a page to its folder."""
    grid = Grid.load(path)
    tables = GridStandIn(grid)
    _check(tables)
    grid.out.mkdir(parents=True, exist_ok=True)
    results = run_all(tables, workers=worker_count(workers), watch=watch)
    if results.height and (results["note"] != "").all():
        raise JobError(
            f"Every run was refused, the first with: {results['note'][0]}\n"
            "No confidential row was read and nothing was spent."
        )
    factors = [f.name for f in grid.factors]
    effects = tuple(effects_on(results, m.name, factors) for m in grid.file.measure)
    study = Study(grid, results, effects, judge(grid, results))
    _write(study)
    return study


def _check(tables: GridStandIn) -> None:
    """Every mistake that shows without a run, shown before the first."""
    tables.halves(0)
    for cell in tables.grid.design.cells:
        tables.grid.settings(cell)
    for m in tables.grid.file.measure:
        if m.model:
            wanted(m, Formula.parse(m.model, m.reference).bound(tables.schema), tables.schema)
        tables.schema.shape([*m.columns, *filter(None, [m.by])])


def _write(study: Study) -> None:
    from hedgerow.experiment import study as figures

    out = study.grid.out
    study.results.write_parquet(out / "results.parquet")
    pl.concat([e.table() for e in study.effects if e.single], how="vertical_relaxed").write_csv(out / "effects.csv")
    folder = out / "figures"
    folder.mkdir(exist_ok=True)
    for earlier in folder.glob("*.svg"):
        earlier.unlink()  # of a grid that asked for something else
    drawn = []
    for e in study.effects:
        if e.single:
            drawn.append(folder / f"what-matters-{_slug(e.measure)}.svg")
            figures.draw_effects(drawn[-1], e)
    for i, (picture, measure) in enumerate(_pictures(study), 1):
        name = "-by-".join(_slug(x) for x in (picture.against, picture.lines, picture.panels) if x)
        drawn.append(folder / f"{i:02}-{name}.svg")
        if picture.against:
            write_sheet(drawn[-1], sheet([curve_section(study.grid, picture, measure, study.results)[0]]))
        else:
            figures.draw_lines(drawn[-1], study.grid, picture, measure, study.results)
    (out / "README.md").write_text(page(study, [p.relative_to(out) for p in drawn]), "utf-8")


def _pictures(study: Study) -> Iterator[tuple[Picture, str]]:
    """The figures that the grid names; otherwise each pair of factors once, for every model by group."""
    models = [m.name for m in study.grid.file.measure if m.model and m.by]
    if study.grid.file.figure:
        for p in study.grid.file.figure:
            if p.measure or models or p.against:
                yield p, p.measure or (models[0] if models else study.grid.file.measure[0].name)
        return
    factors = [f.name for f in study.grid.factors]
    pairs = list(combinations(factors, 2)) or [(factors[0], "")]
    for name in models:
        for a, b in pairs[:6]:
            yield Picture(lines=a, panels=b), name


def page(study: Study, drawn: list[Path]) -> str:
    """The results for people, as Markdown."""
    grid, design = study.grid, study.grid.design
    lines = [f"# {grid.file.experiment.title or grid.path.stem}", "", COST, ""]
    kind = "every combination" if not design.words else f"a fraction ({design.share:.3g}) of all combinations"
    lines.append(f"{len(design.cells)} cells ({kind}), {grid.file.experiment.seeds} seeds each.")
    if study.failed:
        lines.append(study.refusals)
    if design.words:
        lines += ["", f"Resolution {design.resolution}. What this fraction cannot tell apart:", ""]
        lines += [f"- {x}" for x in design.confused([f.name for f in grid.factors])] or ["- nothing up to pairs"]
    lines += ["", "| factor | setting | levels |", "|---|---|---|"]
    for f in grid.factors:
        times = f" (times `{f.times}`)" if f.times else ""
        lines.append(f"| {f.name} | `{f.set}`{times} | {', '.join(f.label(i) for i in range(len(f.levels)))} |")
    if study.verdicts:
        lines += ["", "## Which findings held", "", "| finding | held | figures |", "|---|---|---|"]
        word = {True: "yes", False: "**no**", None: "cannot tell"}
        lines += [f"| {v.says} | {word[v.held]} | {v.figures} |" for v in study.verdicts]
    for e in study.effects:
        lines += ["", f"## What matters for: {e.measure}", "", *_effect_lines(e)]
        best = study.best(e.measure)
        if best:
            levels = ", ".join(f"{k} = {v}" for k, v in best.items() if k != "error")
            lines += ["", f"Smallest mean error: {best['error']:.4g}, at {levels}."]
            lines += [
                "The best of many is a little lucky: run it again with other seeds before relying on the figure."
            ]
        lines += _cheapest_lines(study, e.measure)
    lines += ["", "## Figures", "", *(f"![{p.stem}]({p.as_posix()})\n" for p in drawn)]
    return "\n".join(lines) + "\n"


def _cheapest_lines(study: Study, measure: str) -> list[str]:
    """The settings that keep the tolerance, cheapest first."""
    limit = study.grid.file.experiment.tolerance
    if limit is None:
        return []
    found, names = study.cheapest(measure), [f.name for f in study.grid.factors]
    lines = ["", f"Settings with a mean error of at most {limit:g}, the least total epsilon of a person first:", ""]
    if not found:
        return [*lines[:-1], "none keeps it.", ""]
    lines += [f"| total epsilon of a person | {' | '.join(names)} | mean error |", "|---" * (len(names) + 2) + "|"]
    return lines + [
        f"| {r['epsilon_of_a_person']:.4g} | {' | '.join(r[n] for n in names)} | {r['error']:.4g} |"
        for r in found[:12]
    ]


def _effect_lines(e: Effects) -> list[str]:
    if not e.single:
        return ["No run succeeded."]
    chance = (
        "each cell has one run, so what chance does is not known: give the experiment more seeds"
        if isnan(e.by_chance)
        else f"{100 * e.by_chance:.1f} % of its variation is chance"
    )
    lines = [f"Mean error {e.mean:.4g}; {chance}.", ""]
    lines += ["| rank | effect | share of variation | by chance | largest difference |", "|---|---|---|---|---|"]
    for group in (e.single, e.pairs):
        for rank, x in enumerate(group[:10], 1):
            chance = "not known" if isnan(x.by_chance) else f"{100 * x.by_chance:.1f} %"
            lines.append(f"| {rank} | {x.name} | {100 * x.share:.1f} % | {chance} | {x.largest:.4g} |")
    return lines


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


_WIDE, _MOST_BARS = 360, 24
_Line = list[tuple[str, float]]


def draw_lines(path: Path, grid: Grid, picture: Picture, measure: str, results: pl.DataFrame) -> None:
    """A row of panels for every coefficient; a column for every level of the panel factor."""
    write_sheet(path, sheet(line_sections(grid, picture, measure, results)))


def _chosen(grid: Grid, picture: Picture, measure: str, results: pl.DataFrame) -> pl.DataFrame:
    here = results.filter(pl.col("measure") == measure)
    for name, level in picture.at.items():
        here = here.filter(pl.col(name) == grid.stored(name, level))
    return here


def line_sections(grid: Grid, picture: Picture, measure: str, results: pl.DataFrame) -> list[Section]:
    """The same as sections: what the lines are, then one for every coefficient."""
    here = _chosen(grid, picture, measure, results).filter(pl.col("synthetic").is_finite())
    panels = _levels(here, picture.panels) if picture.panels else [None]
    levels = _levels(here, picture.lines)
    looks = [series(i, dashed=True) for i in range(len(levels))]
    heading, *notes = _caption(grid, picture, measure)
    keys = [Key("authentic (stand-in)", "curve")]
    words = [f"{picture.lines} = {grid.word(picture.lines, v)}" for v in levels]
    keys += [Key(said, f"curve {look}") for said, look in zip(words, looks, strict=True)]
    sections = [Section(heading, notes=notes, keys=keys)]
    times = sorted(here["at"].unique().to_list(), key=lambda t: (_number(t) is None, _number(t), t))
    for term in here["term"].unique(maintain_order=True).to_list():
        drawn = []
        for panel in panels:
            part = here.filter(pl.col("term") == term)
            if panel is not None:
                part = part.filter(pl.col(picture.panels) == panel)
            synthetic = [_means(part.filter(pl.col(picture.lines) == v), "synthetic") for v in levels]
            drawn.append((panel, [_means(part, "authentic"), *synthetic]))
        values = [v for _, found in drawn for line in found for _, v in line]
        ends = roomy([*values, 0.0] if values else [0.0, 1.0], 0.3)
        charts = [
            (
                "" if panel is None else f"{picture.panels} = {grid.word(picture.panels, panel)}",
                _panel(term, times, found, looks, ends),
            )
            for panel, found in drawn
        ]
        sections.append(Section(term, charts, across=min(2, len(charts))))
    return sections


def curve_section(
    grid: Grid, picture: Picture, measure: str, results: pl.DataFrame
) -> tuple[Section, dict[str, tuple[float, float]]]:
    """The mean error against a number, a line for each level of another factor; and where each line is least."""
    runs = errors_of_runs(_chosen(grid, picture, measure, results), measure, [f.name for f in grid.factors])
    levels = _levels(runs, picture.lines) if picture.lines else [None]
    traces, keys, least = [], [], {}
    for i, level in enumerate(levels):
        part = runs if level is None else runs.filter(pl.col(picture.lines) == level)
        means = part.group_by(picture.against).agg(pl.col("error").mean()).sort(picture.against).rows()
        said = "mean error" if level is None else f"{picture.lines} = {grid.word(picture.lines, level)}"
        at, error = min(means, key=lambda m: m[1])
        least[said] = (float(at), float(error))
        points = tuple(
            LinePoint(float(x), e, said=f"{said}, {picture.against} {x:g}: {small(e)}", off=x != at) for x, e in means
        )
        traces.append(Trace(series(i), points))
        keys.append(Key(f"{said}: least {small(error)} at {at:g}", f"curve {series(i)}"))
    chart = log_lines(
        traces, said=f"Mean error against {picture.against}", show=small, axes=(picture.against, "mean error")
    )
    notes = [n for n in _caption(grid, picture, measure)[1:] if n]
    heading = f"{measure}: mean error against {picture.against}; filled where it is least"
    return Section(heading, [("", chart)], notes=notes, keys=keys), least


def _means(rows: pl.DataFrame, column: str) -> _Line:
    """The mean at every group where there is one, in any order: a label may be missing in one of the two tables."""
    rows = rows.filter(pl.col(column).is_finite())
    return list(rows.group_by("at", maintain_order=True).agg(pl.col(column).mean()).iter_rows())


def _panel(
    term: str, times: Sequence[str], found: Sequence[_Line], looks: Sequence[str], ends: tuple[float, float]
) -> Drawing:
    places = _places(times)
    at = dict(zip(times, places, strict=True))
    traces = [
        Trace(
            look,
            tuple(LinePoint(at[t], v, said=f"{t}: {small(v)}") for t, v in sorted(line, key=lambda x: at[x[0]])),
        )
        for look, line in zip(["true", *looks], found, strict=True)
    ]
    return lines(times, traces[1:] + traces[:1], said=f"{term} by group", wide=_WIDE, ends=ends, places=places)


def _places(times: Sequence[str]) -> list[float]:
    """Where groups stand: years at their distance; what is no number side by side."""
    numbers = [n for t in times if (n := _number(t)) is not None]
    if len(numbers) < max(2, len(times)):
        return [float(i) for i in range(len(times))]
    return [(n - numbers[0]) / (numbers[-1] - numbers[0]) * (len(times) - 1) for n in numbers]


def _number(time: Any) -> float | None:
    try:
        return float(time)
    except ValueError:
        return None


def _caption(grid: Grid, picture: Picture, measure: str) -> list[str]:
    fixed = [f"{k} = {grid.word(k, v)}" for k, v in picture.at.items()]
    shown = (picture.lines, picture.panels, picture.against, *picture.at)
    rest = [f.name for f in grid.factors if f.name not in shown]
    against = next(m.reference for m in grid.file.measure if m.name == measure)
    text = [f"{measure}: coefficients, authentic (solid) and synthetic (dashed)"]
    if against:
        text.append("against " + ", ".join(f"{k} {v}" for k, v in against.items()))
    if fixed:
        text.append(", ".join(fixed))
    if rest:
        text.append("mean over " + ", ".join(rest) + " and seeds")
    return text


def draw_effects(path: Path, effects: Effects) -> None:
    """Bars: how much of the variation of the error goes with each factor and pair of factors."""
    rows = [*effects.single, *effects.pairs][:_MOST_BARS]
    shown = [
        Bar(
            e.name,
            100 * e.share,
            f"{e.name}: {100 * e.share:.1f} %"
            + ("" if isnan(e.by_chance) else f"; chance alone gives {100 * e.by_chance:.1f} %"),
            dot=None if isnan(e.by_chance) else 100 * e.by_chance,
            kind="bar" if len(e.factors) == 1 else "bar soft",
        )
        for e in rows
    ]
    chart = bars(shown, said=f"What matters for {effects.measure}", show=lambda v: f"{v:.1f} %")
    keys = [
        Key("a factor alone", "bar"),
        Key("two factors, beyond each alone", "bar soft"),
        *([] if isnan(effects.by_chance) else [Key("what chance alone gives", "dot")]),
    ]
    notes = ["% of the variation of the error between runs"]
    write_sheet(path, sheet([Section(f"{effects.measure}: what matters", [("", chart)], notes=notes, keys=keys)]))


def _levels(results: pl.DataFrame, factor: str) -> list[Any]:
    return results[factor].unique(maintain_order=True).to_list()
