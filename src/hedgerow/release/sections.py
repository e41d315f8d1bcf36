"""The parts of the report beyond single columns: rehearsal, joint tables, groups, copies, validity."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from markupsafe import Markup

from hedgerow.figures import charts
from hedgerow.figures.lines import Point, Trace, lines
from hedgerow.figures.scatter import Dot, scatter
from hedgerow.public.schema import Schema, violations
from hedgerow.release import figures
from hedgerow.release.contents import Contents
from hedgerow.release.joint_tables import JointTable, LevelPair, copies_of, joint_tables, level_pairs
from hedgerow.release.words import decimal, percent, small
from hedgerow.stand_in.curve import Rehearsal
from hedgerow.uses.quantities import Judged, Places, labels, over_time, quantity, time_labels
from hedgerow.uses.uses import Use, Verdict

_MOST_JOINTS, _MOST_ROWS, _MOST_DOTS, _MOST_FIELDS, _MOST_GROUPS = 12, 60, 400, 600, 40
_MOST_LISTED = 200
_STEPS = (0.02, 0.05, 0.1, 0.25, 0.5)
"""From which share on the noise of a cell makes its field darker."""


@final
@dataclass(frozen=True)
class Panel:
    """A figure, what it is of, a remark, and the table behind it."""

    name: str
    about: str
    figure: Markup
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: str = ""
    extra: tuple[Markup, ...] = ()


def sections(contents: Contents) -> dict[str, Any]:
    """The names that the template uses for these parts."""
    copies = copies_of(contents)
    found = joint_tables(contents, copies)
    related = level_pairs(contents.schema, found)
    return {
        "curves": () if contents.rehearsal is None else curves(contents.rehearsal),
        "rehearsed": None if contents.rehearsal is None else rehearsal_words(contents.rehearsal),
        "joints": tuple(_joint(contents, j) for j in found[:_MOST_JOINTS]),
        "joint_rows": tuple(_joint_row(j) for j in found[:_MOST_LISTED]),
        "joints_more": f"{len(found) - _MOST_JOINTS:,}" if len(found) > _MOST_JOINTS else "",
        "relations": _relations(related),
        "groups": groups(contents.verdicts),
        "use_figures": tuple(s for v in contents.verdicts if (s := _says(v.use, copies)) is not None),
        "validity": _validity(contents),
    }


def shower(use: Use) -> Callable[[float | None], str]:
    """How the errors of a use are shown."""
    return percent if use.as_share else small


def rehearsal_words(found: Rehearsal) -> dict[str, str]:
    """A rehearsal in words."""
    least, last = found.smallest, found.points[-1].epsilon
    worst = ", ".join(u.name for i, u in enumerate(found.uses) if found.smallest_for(i) is None)
    return {
        "runs": str(found.runs),
        "epsilon": decimal(found.epsilon),
        "rows": f"{found.rows:,}",
        "truth": f"{found.parts[0]:,}",
        "relative": f"{found.parts[1]:,}",
        "least": f"The smallest epsilon tried that meets every tolerance in nine runs of ten is {decimal(least)}."
        if least is not None
        else f"No epsilon up to {decimal(last)} meets every tolerance; missed at the largest: {worst}.",
    }


def curves(found: Rehearsal) -> tuple[Panel, ...]:
    """Error against epsilon, one figure a use."""
    return tuple(_curve(found, i, use) for i, use in enumerate(found.uses))


def _curve(found: Rehearsal, i: int, use: Use) -> Panel:
    show = shower(use)
    here = [(float(p.epsilon), p.verdicts[i]) for p in found.points]
    judged = [(e, v) for e, v in here if v.error is not None and v.low is not None and v.high is not None]
    steps = [
        charts.Step(e, v.error, v.low, v.high, f"epsilon {e:g}: {show(v.error)}, {show(v.low)} to {show(v.high)}")
        for e, v in judged
        if v.error and v.low is not None and v.high is not None
    ]
    said = f"Error of {use.name} against epsilon"
    figure = (
        charts.curve(steps, use.tolerance, float(found.epsilon), said=said, show=show) if len(steps) > 1 else Markup()
    )
    least = found.smallest_for(i)
    about = f"{use.what}. " + (
        f"Within {show(use.tolerance)} from epsilon {decimal(least)} on." if least is not None else "Not met."
    )
    rows = tuple(
        (f"{e:g}", show(v.error), show(v.low), show(v.high), percent(v.like_sample), _word(v)) for e, v in here
    )
    head = ("epsilon", "mean error", "one run in ten below", "nine in ten below", "like a sample of", "verdict")
    return Panel(use.name, about, figure, head, rows)


def _word(v: Verdict) -> str:
    return {True: "met", False: "missed" if v.sign_kept is not False else "sign lost", None: "not judged"}[v.met]


def _joint_row(j: JointTable) -> tuple[str, ...]:
    inside = "all" if j.within == 1 else "over 99 %" if j.within >= 0.995 else percent(j.within)
    return (j.name, f"{len(j.noisy):,}", f"{j.band:,.0f}", f"{j.distance:.4f}", inside)


def _joint(contents: Contents, j: JointTable) -> Panel:
    one = j.largest(contents.schema, _MOST_ROWS)
    rows = tuple(
        (label, f"{n:,}", f"{s:,.0f}", f"{s - n:+,.0f}")
        for label, n, s in zip(one.labels, one.noisy.tolist(), one.synthetic.tolist(), strict=True)
    )
    places = _spread(np.argsort(-j.noisy, kind="stable"), _MOST_DOTS)
    dots = [
        Dot(float(n), float(s), f"{label}: noisy {n:,}, synthetic {s:,.0f}")
        for label, n, s in zip(
            j.named(contents.schema, places), j.noisy[places].tolist(), j.synthetic[places].tolist(), strict=True
        )
    ]
    axes = ("noisy count", "synthetic count")
    extra = [charts.log_scatter(dots, j.band, said=f"Noisy against synthetic counts of {j.name}", axes=axes)]
    if len(j.shape) == 2 and len(j.noisy) <= _MOST_FIELDS and j.shape[1] <= 40:
        extra.append(_noise_map(contents, j))
    return Panel(
        name=j.name,
        about=f"{len(j.noisy):,} cells; a noisy count is within {j.band:,.0f} of the true one 95 times in 100.",
        figure=figures.noise_bars(one),
        head=("cell", "noisy count", "synthetic count", "difference"),
        rows=rows,
        more=f"{len(j.noisy) - len(rows):,}" if len(j.noisy) > len(rows) else "",
        extra=tuple(extra),
    )


def _noise_map(contents: Contents, j: JointTable) -> Markup:
    """How large the noise is against each cell of a table of two columns."""
    down, across = (contents.schema.cell_labels(c) for c in j.columns)
    noisy = j.noisy.reshape(j.shape)

    def field(a: int, b: int) -> charts.Shade:
        share = j.band / max(float(noisy[a, b]), 1e-9) if noisy[a, b] > 0 else float("inf")
        words = f"{100 * share:.0f}" if share < 1 else "-"
        said = f"{down[a]}, {across[b]}: noisy {noisy[a, b]:,} ± {j.band:,.0f}"
        return charts.Shade(int(np.searchsorted(_STEPS, share, side="right")), words, said)

    fields = [[field(a, b) for b in range(j.shape[1])] for a in range(j.shape[0])]
    return charts.heat(down, across, fields, said=f"Noise in percent of each cell of {j.name}")


def _spread(order: Any, most: int) -> Any:
    """So many of the places, evenly from first to last."""
    return order if len(order) <= most else order[np.linspace(0, len(order) - 1, most).astype(int)]


def _relations(found: Sequence[LevelPair]) -> tuple[Panel, ...]:
    """The scatters of correlations and slopes between levels, noisy against synthetic."""
    if len(found) < 3:
        return ()
    worst = sorted(found, key=lambda v: -abs(v.correlation - v.noisy_correlation))
    shown = [worst[i] for i in _spread(np.arange(len(worst)), _MOST_DOTS).tolist()]

    def panel(name: str, there: Callable[[LevelPair], float], here: Callable[[LevelPair], float]) -> Panel:
        both = np.array([[there(v), here(v)] for v in found])
        r = float(np.corrcoef(both.T)[0, 1]) if both.std(axis=0).min() > 0 else float("nan")
        dots = [Dot(there(v), here(v), f"{v.name}: {there(v):+.4f}, {here(v):+.4f}") for v in shown]
        ranked = sorted(found, key=lambda v: -abs(here(v) - there(v)))[:30]
        rows = tuple((v.name, f"{there(v):+.4f}", f"{here(v):+.4f}", f"{here(v) - there(v):+.4f}") for v in ranked)
        about = f"{len(found):,} pairs of levels; the two sides correlate at {r:.3f}."
        axes = ("from noisy counts", "synthetic")
        figure = scatter(dots, said=f"{name} between levels, noisy against synthetic", axes=axes)
        more = f"{len(found) - len(rows):,}" if len(found) > len(rows) else ""
        return Panel(name, about, figure, ("levels", "from noisy counts", "synthetic", "difference"), rows, more)

    return (
        panel("Correlations", lambda v: v.noisy_correlation, lambda v: v.correlation),
        panel("Slopes", lambda v: v.noisy_slope, lambda v: v.slope),
    )


def groups(verdicts: Sequence[Verdict]) -> tuple[Panel, ...]:
    """The worst cells or groups of every use that has several."""
    return tuple(_groups(v) for v in verdicts if len(v.groups) > 1)


def _groups(v: Verdict) -> Panel:
    show = shower(v.use)
    if v.use.within == "total-variation":
        show = percent
    rows = tuple((label, show(error)) for label, error in v.groups)
    error = "difference of shares" if v.use.within == "total-variation" else "error"
    return Panel(v.use.name, v.use.what, Markup(), ("cell" if v.use.kind == "table" else "group", error), rows)


def _says(use: Use, copies: tuple[Judged, ...]) -> Panel | None:
    """What the synthetic copies say of a use that asks for a figure in each group, and how much copies differ."""
    lacking = [c for c in (use.of,) if c and c not in copies[0].frame.columns]
    if use.kind == "table" or lacking or (use.kind == "coefficient" and copies[0].counts is not None):
        return None
    found = np.array([quantity(use, c).values for c in copies])
    places = np.flatnonzero(np.isfinite(found).all(axis=0))[:_MOST_GROUPS]
    if not len(places):
        return None
    named, show = labels(use, copies[0].schema, places), small
    ranges = [
        charts.Range(n, float(x.mean()), float(x.min()), float(x.max()))
        for n, x in zip(named, found[:, places].T, strict=True)
    ]
    head = ("group", "mean over copies", "lowest copy", "highest copy") if len(copies) > 1 else ("group", "estimate")
    rows = tuple((r.label, show(r.value), show(r.low), show(r.high))[: len(head)] for r in ranges)
    figure = _over_time(use, copies[0].schema, places, ranges)
    if not figure:
        figure = charts.estimates(ranges, said=f"What the synthetic data say of {use.name}", show=show)
    return Panel(use.name, use.what, figure, head, rows)


def _over_time(use: Use, schema: Schema, places: Places, ranges: Sequence[charts.Range]) -> Markup:
    """The figure of a use that follows one thing over time; nothing for others."""
    found = over_time(use, schema, places)
    if len({name for name, _ in found}) != 1:
        return Markup()
    times, shown = time_labels(use, schema), sorted(t for _, t in found)
    points = [
        Point(shown.index(t), r.value, r.low, r.high, f"{times[t]}: {small(r.value)}")
        for (_, t), r in zip(found, ranges, strict=True)
    ]
    trace = Trace("made", tuple(sorted(points, key=lambda p: p.at)))
    return lines([times[t] for t in shown], [trace], said=f"{use.name} in the synthetic data", show=small)


def _validity(contents: Contents) -> tuple[tuple[str, str], ...]:
    """What holds of every synthetic record, looked up in the records."""
    said = [("schema", f"{len(contents.schema.columns)} columns, every value one that the schema allows")]
    if not contents.records:
        return tuple(said)
    if kinds := [w for w, x in (("zeros", contents.schema.zeros), ("rules", contents.schema.rules)) if x]:
        broken = sum(int(violations(contents.schema, r).sum()) for r in contents.records)
        rows = sum(len(r) for r in contents.records)
        said.append((f"structural {' and '.join(kinds)}", f"{broken:,} of {rows:,} records break one"))
    sizes = [len(r) for r in contents.records]
    same = f"{sizes[0]:,} in each copy" if len(set(sizes)) == 1 else f"{min(sizes):,} to {max(sizes):,}"
    said.append(("records", same if len(sizes) > 1 else f"{sizes[0]:,}"))
    return tuple(said)
