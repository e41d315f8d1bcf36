"""The steward's report: what came out, exactly, beside what was foretold. One page, marked, in its own folder."""

from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from hedgerow import __version__
from hedgerow.errors import JobError
from hedgerow.figures import charts, page
from hedgerow.figures.words import percent, small
from hedgerow.job import Job
from hedgerow.planning.uses import Verdict
from hedgerow.steward.exact_uses import ExactUse, exact_uses
from hedgerow.steward.inside import WARNING, WATERMARK, InsideOnly
from hedgerow.steward.writing import SUFFIX, inside_folder

NAME = "uses.html"
_MOST, _DRAWN = 60, 24


def write_report(
    path: str | Path, *, out: Path | None, rng: np.random.Generator
) -> tuple[Path, InsideOnly[tuple[ExactUse, ...]]]:
    """Judge the release of the job in ``path`` exactly, and write the page; never into the release itself."""
    job = Job.load(path)
    release = job.beside(job.file.job.out)
    if not release.is_dir():
        raise JobError(
            f"There is no release in {release}. Run the job first: hedgerow run {path}\nNothing was spent."
        )
    folder = inside_folder(out or release.with_name(release.name + SUFFIX), (release,))
    found = exact_uses(job, release, rng)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    place = folder / NAME
    place.touch(mode=0o600, exist_ok=True)
    place.write_text(page_of(job, found.reveal()), "utf-8", newline="\n")
    return place, found


def text_of(found: InsideOnly[tuple[ExactUse, ...]]) -> str:
    """The uses in lines for the steward's terminal."""
    head = f"{'intended use':<40} {'tolerance':>10} {'foretold':>20} {'exact':>10} {'like a':>18}"
    rows = [_row(u) for u in found.reveal()]
    lines = [
        f"{r['name'][:40]:<40} {r['tolerance']:>10} {r['foretold']:>20} {r['error']:>10} {r['like'] + ' sample':>18}"
        f"  {r['word'].upper() if r['kind'] == 'missed' else r['word']}"
        for r in rows
    ]
    return "\n".join([f"{WATERMARK}: {WARNING}", "", head, *lines])


def page_of(job: Job, found: tuple[ExactUse, ...]) -> str:
    """The page: every use with its exact error, and the figures behind it."""
    names = {
        "version": __version__,
        "title": job.file.job.title or job.table,
        "table": job.table,
        "rows": [_row(u) for u in found],
        "cards": [_card(u) for u in found],
        "missed": sum(u.verdict.met is False for u in found),
    }
    return page.render("hedgerow.steward", "steward-report.html.j2", names)


def _row(u: ExactUse) -> dict[str, str]:
    v, show = u.verdict, percent if u.verdict.use.as_share else small
    word, kind = {True: ("met", "met"), False: ("missed", "missed"), None: ("not judged", "open")}[v.met]
    return {
        "name": v.use.name,
        "what": v.use.what,
        "tolerance": show(v.use.tolerance),
        "foretold": "-" if u.foretold is None else _band(u.foretold),
        "error": show(v.error),
        "like": percent(v.like_sample),
        "word": "sign lost" if v.sign_kept is False else word,
        "kind": kind,
    }


def _band(v: Verdict) -> str:
    show = percent if v.use.as_share else small
    return show(v.error) if v.low is None else f"{show(v.low)} to {show(v.high)}"


def _card(u: ExactUse) -> dict[str, Any]:
    use, made = u.verdict.use, u.made.mean(axis=0)
    show = small if use.kind != "table" else _whole
    order = np.argsort(-np.abs(np.nan_to_num(made) - u.true), kind="stable")[:_MOST] if use.kind == "table" else None
    places = np.arange(min(len(u.true), _MOST)) if order is None else order
    pairs = [
        charts.Twin(u.names[i], float(u.true[i]), _reach(u, i), float(made[i]), _copies(u, i))
        for i in places[:_DRAWN].tolist()
        if np.isfinite(made[i])
    ]
    rows = [
        (u.names[i], show(float(u.true[i])), show(float(made[i])), show(float(made[i] - u.true[i])))
        for i in places.tolist()
    ]
    figure = charts.twins(pairs, said=f"{use.name}: authentic and synthetic", show=show) if pairs else Markup()
    return {
        "name": use.name,
        "about": use.what
        + ("; counts brought to the same total, largest differences first" if order is not None else ""),
        "figure": figure,
        "rows": rows,
        "more": len(u.true) - len(places),
    }


def _reach(u: ExactUse, i: int) -> tuple[float, float]:
    """The 95 % interval of the authentic figure where it is an estimate; the figure itself otherwise."""
    reach = 1.96 * float(u.errors[i]) if len(u.errors) and np.isfinite(u.errors[i]) else 0.0
    return float(u.true[i]) - reach, float(u.true[i]) + reach


def _copies(u: ExactUse, i: int) -> tuple[float, float]:
    known = u.made[:, i][np.isfinite(u.made[:, i])]
    return float(known.min()), float(known.max())


def _whole(value: float) -> str:
    return f"{value:,.0f}" if np.isfinite(value) else "-"
