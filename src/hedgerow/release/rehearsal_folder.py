"""A rehearsal: on disk for machines and for the release, as a page for people, and as panels of the report."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from markupsafe import Markup

from hedgerow import __version__
from hedgerow.errors import HedgerowError, JobError
from hedgerow.figures import LinePoint, Trace, log_lines, percent, render, small
from hedgerow.public import decimal
from hedgerow.release.figures import ReportPanel
from hedgerow.release.words import use_rows
from hedgerow.stand_in import RUNS, Rehearsal
from hedgerow.uses import AbstractUse, Verdict

NAME, PAGE, FORECAST = "rehearsal.json", "rehearsal.html", "forecast.json"
_NONE = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, HedgerowError)
"""What reading a file can end in that is not what was written there."""


def rehearsal_folder(release: Path) -> Path:
    """Where the rehearsal of a job is kept: beside the folder of its release."""
    return release.with_name(release.name + "-rehearsal")


def write(found: Rehearsal, folder: Path) -> None:
    """The rehearsal in ``folder``, in place of an earlier one."""
    try:
        _put(folder, {PAGE: page_of(found), NAME: json.dumps(found.to_json(), indent=2) + "\n"})
    except OSError as wrong:
        raise JobError(
            f"Cannot write in {folder}: {wrong.strerror or wrong}. Nothing confidential was read or spent."
        ) from None


def _put(folder: Path, texts: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        whole = folder / f".{name}.new"  # who reads it meanwhile reads the earlier one
        whole.write_text(text, "utf-8")
        os.replace(whole, folder / name)


def write_forecast(verdicts: Sequence[Verdict], key: str, folder: Path) -> None:
    """What a plan foretold, for a run of the same job: in ``folder``, if that can be written."""
    with suppress(OSError):
        _put(folder, {FORECAST: json.dumps({"key": key, "uses": [v.to_json() for v in verdicts]}, indent=2) + "\n"})


def saved_forecast(folder: Path, key: str) -> tuple[Verdict, ...]:
    """What a plan with this key foretold; nothing when there was none, or it cannot be read."""
    try:
        found = json.loads((folder / FORECAST).read_text("utf-8"))
        return tuple(map(Verdict.from_json, found["uses"])) if found["key"] == key else ()
    except _NONE:
        return ()


def write_meanwhile(found: Rehearsal, folder: Path) -> None:
    """What is known so far, unless a fuller rehearsal of the same job is there."""
    known = saved_rehearsal(folder)
    if known is None or known.key != found.key or known.runs <= found.runs:
        write(found, folder)


def page_of(found: Rehearsal) -> str:
    """The page that shows a rehearsal."""
    names = {
        "version": __version__,
        "recipe": found.recipe,
        "rehearsed": rehearsal_words(found),
        "few_runs": found.runs < RUNS,
        "uses": use_rows(found.here.verdicts),
        "curves": curves(found),
        "groups": groups(found.here.verdicts),
    }
    return render("hedgerow.release", "rehearsal.html.j2", names)


def saved_rehearsal(folder: Path) -> Rehearsal | None:
    """The rehearsal in ``folder``, if there is one that can be read."""
    try:
        return Rehearsal.from_json(json.loads((folder / NAME).read_text("utf-8")))
    except _NONE:
        return None


def rehearsal_words(found: Rehearsal) -> dict[str, str]:
    """A rehearsal in words."""
    least, last = found.smallest, found.points[-1].epsilon
    worst = ", ".join(u.name for i, u in enumerate(found.uses) if found.smallest_for(i) is None)
    sure = found.runs >= RUNS
    meets = "that is expected to meet" if sure else f"at which all {found.runs} runs were within"
    said = f"The smallest epsilon tried {meets} every tolerance is {'' if least is None else decimal(least)}."
    lacks = "is expected to meet" if sure else f"had all {found.runs} runs within"
    missed = "expected to be missed" if sure else "missed in a run"
    return {
        "runs": str(found.runs),
        "epsilon": decimal(found.epsilon),
        "least": said
        if least is not None
        else f"No epsilon up to {decimal(last)} {lacks} every tolerance; {missed}: {worst}.",
        "band": "the band holds eight runs in ten"
        if sure
        else f"no band is drawn, since that takes {RUNS} runs or more",
        "played": played_words(found),
        "drift": drift_words(found),
        "rests": "".join(f"{n[:1].upper()}{n[1:]}. " for n in _basis(found)).rstrip(),
    }


def _basis(found: Rehearsal) -> list[str]:
    """What the forecasts rest on and leave out, each reason once."""
    return list(dict.fromkeys(v.note.rstrip(".") for v in found.here.verdicts if v.error is not None))


def played_words(found: Rehearsal) -> str:
    """Which tables were in the place of the real ones."""
    ours, theirs = found.parts
    if found.imagined:
        return (
            f"There is no public table with every column, so tables of {ours:,} rows, made up from the schema, stood "
            f"for the confidential one of {found.rows:,} assumed rows."
        )
    return (
        f"{ours:,} rows of the public table, standing for {found.rows:,}, played the confidential table, {theirs:,}"
        " others its public relative. Errors are carried on from these parts to tables of the real sizes, by more "
        "runs on half of them."
    )


def drift_words(found: Rehearsal) -> str:
    """What a rehearsal takes for granted of the distance between the confidential table and its relative."""
    if found.imagined:
        return "Made-up tables show what noise does to one of this size; the real one may differ in all else."
    if found.drift:
        return (
            "The two parts were not drawn evenly: they differ from each other about as much as past tables did from "
            "their relatives. A confidential table that has moved further away errs more than is foretold here, one "
            "of the same people and the same time less."
        )
    return "The two parts were drawn at random: how far the confidential table has drifted away is left out."


def curves(found: Rehearsal) -> tuple[ReportPanel, ...]:
    """Error against epsilon, one figure a use."""
    return tuple(_curve(found, i, use) for i, use in enumerate(found.uses))


def _curve(found: Rehearsal, i: int, use: AbstractUse) -> ReportPanel:
    show = shower(use)
    here = [(float(p.epsilon), p.verdicts[i]) for p in found.points]
    steps = [_step(e, v, show) for e, v in here if v.error]
    said = f"Error of {use.name} against epsilon"
    figure = (
        log_lines([Trace("true", tuple(steps))], limit=use.tolerance, here=float(found.epsilon), said=said, show=show)
        if len(steps) > 1
        else Markup()
    )
    rows = tuple(
        (f"{e:g}", show(v.error), show(v.low), show(v.high), percent(v.like_sample), v.word) for e, v in here
    )
    high = "nine in ten below" if found.runs >= RUNS else "the worst run"
    head = ("epsilon", "mean error", "one run in ten below", high, "like a sample of", "verdict")
    return ReportPanel(use.name, f"{use.what}. {_from_where(found, i, show(use.tolerance))}", figure, head, rows)


def _from_where(found: Rehearsal, i: int, tolerance: str) -> str:
    """From which epsilon on a use keeps its tolerance, in words."""
    least, sure = found.smallest_for(i), found.runs >= RUNS
    if least is None:
        return "Expected to be missed." if sure else f"Not within {tolerance} in all {found.runs} runs."
    runs = "Expected to be" if sure else f"In all {found.runs} runs"
    return f"{runs} within {tolerance} from epsilon {decimal(least)} on."


def _step(epsilon: float, v: Verdict, show: Callable[[float | None], str]) -> LinePoint:
    """One epsilon of a curve: the mean error, and its band where there were runs enough for one."""
    assert v.error is not None, "what is not judged is not drawn"
    said, off = f"epsilon {epsilon:g}: {show(v.error)}", v.expected_met is False
    if v.low is None or v.high is None:
        return LinePoint(epsilon, v.error, said=said, off=off)
    return LinePoint(epsilon, v.error, v.low, v.high, f"{said}, {show(v.low)} to {show(v.high)}", off=off)


def groups(verdicts: Sequence[Verdict]) -> tuple[ReportPanel, ...]:
    """The worst cells or groups of every use that has several."""
    return tuple(_groups(v) for v in verdicts if len(v.groups) > 1)


def _groups(v: Verdict) -> ReportPanel:
    show = shower(v.use)
    if v.use.within == "total-variation":
        show = percent
    rows = tuple((label, show(error)) for label, error in v.groups)
    error = "difference of shares" if v.use.within == "total-variation" else "error"
    return ReportPanel(v.use.name, v.use.what, Markup(), (v.use.unit, error), rows)


def shower(use: AbstractUse) -> Callable[[float | None], str]:
    """How the errors of a use are shown."""
    return percent if use.as_share else small
