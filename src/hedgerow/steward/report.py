"""The steward's report: what came out, exactly, beside what was foretold. One page, marked, in its own folder."""

from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from hedgerow import __version__
from hedgerow.errors import JobError
from hedgerow.figures import LinePoint, Trace, Twin, lines, render, small, twins
from hedgerow.job import JobValues
from hedgerow.public import Floats
from hedgerow.steward.exact import ExactUse, exact_uses, release_of, use_lines, use_row
from hedgerow.steward.inside import SUFFIX, WARNING, WATERMARK, InsideOnly, inside_folder, write_inside

NAME = "uses.html"
_MOST, _DRAWN, _PANELS = 60, 24, 12


def write_report(
    job: JobValues, *, out: Path | None, rng: np.random.Generator, release: Path | None = None
) -> tuple[Path, InsideOnly[tuple[ExactUse, ...]]]:
    """Judge a release of ``job`` exactly, and write the page; never into the release itself."""
    place = release_of(job, release)
    if not (place / "schema.toml").is_file():
        raise JobError(
            f"There is no release in {place}. Run the job first: hedgerow run {job.where}\n"
            "or name the folder of another release with --release. Nothing was read or spent."
        )
    folder = inside_folder(out or place.with_name(place.name + SUFFIX), (place,))
    found = exact_uses(job, place, rng)
    write_inside(folder, {NAME: page_of(job, found.reveal())})
    return folder / NAME, found


def text_of(found: InsideOnly[tuple[ExactUse, ...]]) -> str:
    """The uses in lines for the steward's terminal."""
    return "\n".join([f"{WATERMARK}: {WARNING}", "", *use_lines(found.reveal())])


def page_of(job: JobValues, found: tuple[ExactUse, ...]) -> str:
    """The page: every use with its exact error, and the figures behind it."""
    names = {
        "version": __version__,
        "title": job.title or job.table,
        "table": job.table,
        "rows": [use_row(u) for u in found],
        "cards": [_card(u) for u in found],
        "timed": any(u.lines for u in found),
        "missed": sum(u.verdict.met is False for u in found),
    }
    return render("hedgerow.steward", "steward-report.html.j2", names)


def _card(u: ExactUse) -> dict[str, Any]:
    use, made = u.verdict.use, u.made.mean(axis=0)
    counts, show = use.figures_are_counts, _whole if use.figures_are_counts else small
    order = np.argsort(-np.abs(np.nan_to_num(made) - u.true), kind="stable") if counts else np.arange(len(u.true))
    places = order[:_MOST]
    pairs = [
        Twin(u.names[i], float(u.true[i]), _reach(u, i), float(made[i]), _copies(u, i))
        for i in places[:_DRAWN].tolist()
        if np.isfinite(made[i])
    ]
    rows = [
        (u.names[i], show(float(u.true[i])), show(float(made[i])), show(float(made[i] - u.true[i])))
        for i in places.tolist()
    ]
    figures = _over_time(u, made) if u.lines else ()
    if not figures and pairs:
        figures = (("", twins(pairs, said=f"{use.name}: authentic and synthetic", show=show)),)
    return {
        "name": use.name,
        "about": use.what + ("; counts brought to the same total, largest differences first" if counts else ""),
        "figures": figures,
        "rows": rows,
        "more": len(u.true) - len(places),
    }


def _over_time(u: ExactUse, made: Floats) -> tuple[tuple[str, Markup], ...]:
    """A figure for every line: authentic solid, synthetic dashed, and the corridor that the tolerance leaves."""
    use, show = u.verdict.use, small
    shown = sorted({t for _, t in u.lines})
    place = {t: k for k, t in enumerate(shown)}
    found = []
    for name in list(dict.fromkeys(n for n, _ in u.lines))[:_PANELS]:
        here = [i for i, (n, _) in enumerate(u.lines) if n == name and np.isfinite(made[i])]
        if not here:
            continue
        true, other, corridor = list[LinePoint](), list[LinePoint](), []
        for i in here:
            at, year, value = place[u.lines[i][1]], u.times[u.lines[i][1]], float(u.true[i])
            true.append(LinePoint(at, value, *_reach(u, i), f"{year}: authentic {show(value)}"))
            other.append(LinePoint(at, float(made[i]), *_copies(u, i), f"{year}: synthetic {show(float(made[i]))}"))
            off = use.tolerance * (abs(value) if use.within == "relative" else 1.0)
            corridor.append((at, value - off, value + off))
        traces = (Trace("true", tuple(true)), Trace("made", tuple(other)))
        said = f"{use.name}{', ' * bool(name)}{name}: authentic solid, synthetic dashed"
        figure = lines([u.times[t] for t in shown], traces, said=said, show=show, corridor=corridor)
        found.append((name, figure))
    return tuple(found)


def _reach(u: ExactUse, i: int) -> tuple[float, float]:
    """The 95 % interval of the authentic figure where it is an estimate; the figure itself otherwise."""
    reach = 1.96 * float(u.errors[i]) if len(u.errors) and np.isfinite(u.errors[i]) else 0.0
    return float(u.true[i]) - reach, float(u.true[i]) + reach


def _copies(u: ExactUse, i: int) -> tuple[float, float]:
    known = u.made[:, i][np.isfinite(u.made[:, i])]
    return float(known.min()), float(known.max())


def _whole(value: float) -> str:
    return f"{value:,.0f}" if np.isfinite(value) else "-"
