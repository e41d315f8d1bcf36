"""Screen 4: what each epsilon buys, from the rehearsal on the PUBLIC table; its promise; what the ledger leaves."""

import json
from contextlib import suppress
from fractions import Fraction
from math import exp
from threading import Thread
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.responses import Response

from hedgerow.errors import NOTHING, HedgerowError, JobError
from hedgerow.public import Budget, Statement, decimal
from hedgerow.release.rehearsal_folder import curves, rehearsal_folder, rehearsal_words, saved_rehearsal
from hedgerow.release.words import of_100, promise_of
from hedgerow.stand_in import RUNS
from hedgerow.studio.folder import set_key
from hedgerow.studio.page import Visit, command, is_booked, outline_of, page, prepared_of

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

    from hedgerow.pipeline import PreparedJob
    from hedgerow.stand_in import Rehearsal

_REHEARSED = """\
found = job.rehearse()   # costs nothing
found.smallest           # the least epsilon expected to meet every tolerance
"""
_EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)


def screen(visit: Visit) -> Response:
    """The budget of a job."""
    return _save(visit) if visit.method == "POST" else _show(visit)


def _show(visit: Visit) -> Response:
    names: dict[str, Any] = {"problem": "", "ready": False, "interval": _interval(visit)}
    try:
        prepared = prepared_of(visit)
        names |= _facts(prepared, rehearsed(prepared)) | {"ready": True}
        Thread(target=_ahead, args=(prepared,), daemon=True).start()
    except HedgerowError as refusal:
        names["problem"] = str(refusal)
    said = visit.part("budget")
    return page(
        visit,
        "budget.html.j2",
        "budget",
        same=(f"{command('rehearse', visit.name)}\n" if visit.tables.get("use") else "")
        + f"{command('plan', visit.name)}\nhedgerow interval --p 0.25 --epsilon 0.4 --n 1000",
        python=f"import hedgerow as hr\njob = hr.Job.load({visit.name!r})\n"
        f"{_REHEARSED if visit.tables.get('use') else ''}job.plan()",
        has_public=bool(visit.part("public").get("table")),
        epsilon=said.get("epsilon", 1.0),
        delta=said.get("delta", 0),
        task=visit.work.latest("rehearse", visit.name),
        **names,
    )


def _ahead(prepared: "PreparedJob") -> None:
    """Work out what the next screen shows while this one is read; a refusal is told there."""
    with suppress(Exception):
        outline_of(prepared)


def rehearsed(prepared: "PreparedJob") -> "Rehearsal | None":
    """The rehearsal of this job that lies beside its release, at whatever epsilons; None when the job was changed."""
    found = saved_rehearsal(rehearsal_folder(prepared.job.out))
    return found if found is not None and prepared.job.uses and found.key == prepared.rehearsal_key else None


def _facts(prepared: "PreparedJob", found: "Rehearsal | None") -> dict[str, Any]:
    promise, guarantee = prepared.promise, prepared.guarantee
    stale = found is None and saved_rehearsal(rehearsal_folder(prepared.job.out)) is not None
    return {
        "promise": promise,
        "unprotected": [(n, w.replace("inputs listed here", "tables of this job")) for n, w in promise.unprotected],
        "steps": 2 if guarantee.relation == "add-remove" else 1,
        "odds": odds_rows(float(prepared.job.budget.epsilon), two_steps=guarantee.relation == "add-remove"),
        "books": prepared.books,
        "left": left_of(prepared, booked=is_booked(prepared)),
        "uses": prepared.uses,
        "rehearsal": found,
        "enough": RUNS,
        "stale": stale,
        "words": rehearsal_words(found) if found else {},
        "curve": Markup(json.dumps(_curve(found)).replace("<", "\\u003c")) if found else Markup("null"),
        "panels": list(zip(curves(found), _ends(found), strict=True)) if found else [],
        "span": _span(found, float(prepared.job.budget.epsilon)),
        "smallest": decimal(found.smallest) if found and found.smallest is not None else "",
        "recipe": prepared.job.stated_recipe,
    }


def odds_rows(epsilon: float, *, two_steps: bool) -> list[dict[str, Any]]:
    """The odds picture: what a guess of so many in 100 becomes at most."""
    rows = []
    for prior in (0.5, 0.1):
        after = prior / (prior + (1 - prior) * exp(-epsilon))
        rows.append({"prior": prior, "before": of_100(prior), "after": of_100(after), "share": after, "times": 1})
    if two_steps:
        after = 0.5 / (0.5 + 0.5 * exp(-2 * epsilon))
        rows.append({"prior": 0.5, "before": "50", "after": of_100(after), "share": after, "times": 2})
    return rows


def left_of(prepared: "PreparedJob", *, booked: bool) -> dict[str, str]:
    """What the cap leaves before and after this run, in words; of one that is booked, what it leaves now."""
    try:
        left = prepared.left()
    except HedgerowError as wrong:
        return {"now": "", "after": "", "said": str(wrong), "share": "0"}
    if left is None:
        return {"now": "", "after": "", "said": f"No cap is set on {prepared.job.table!r}.", "share": "0"}
    now, after = left
    enough = after >= 0
    if booked:
        return {"now": f"{float(now):g}", "after": "", "said": _left_now(now), "share": ""}
    said = (
        f"Left under the cap: epsilon {float(now):g}; after this run {float(after):g}."
        if enough
        else f"Left under the cap: epsilon {float(now):g}. This run needs more and would be refused."
    )
    lacking = "" if enough else "yes"
    return {"now": f"{float(now):g}", "after": f"{float(after):g}", "said": said, "share": "", "lacking": lacking}


def made(prepared: "PreparedJob") -> dict[str, Any]:
    """What the run that has ended promised and asked, by the statement of its release: the job may be another now."""
    try:
        said = json.loads((prepared.job.out / "statement.json").read_text("utf-8"))
        statement = Statement.from_json(said)
        promise = promise_of(statement)
    except (OSError, ValueError, KeyError, TypeError):
        raise JobError(f"The statement of the release in {prepared.job.out.name} cannot be read. {NOTHING}") from None
    tables = [a for spend in statement.spends for a in spend.asked]
    return {
        "epsilon": promise.epsilon,
        "delta": promise.delta,
        "unit": promise.unit,
        "neighbours": promise.neighbours,
        "table": statement.table,
        "recipe": statement.recipe,
        "tables": len(tables),
        "cells": sum(a.cells for a in tables),
        "books": prepared.books,
        "left": left_of(prepared, booked=True),
        "warnings": [],
        "outside": [],
    }


def _left_now(now: Fraction) -> str:
    if now < 0:
        return f"The cap is passed by epsilon {-float(now):g}."
    return f"Left under the cap: epsilon {float(now):g}, this run counted."


def _curve(found: "Rehearsal") -> list[dict[str, Any]]:
    """The curve for the script: of every use the errors at the epsilons that were tried."""
    return [
        {
            "name": use.name,
            "tolerance": use.tolerance,
            "share": use.as_share,
            "points": [
                {"e": float(p.epsilon), "error": v.error, "low": v.low, "high": v.high, "met": v.expected_met}
                for p in found.points
                for v in (p.verdicts[i],)
            ],
        }
        for i, use in enumerate(found.uses)
    ]


def _ends(found: "Rehearsal") -> list[tuple[float, float]]:
    """Where the axis of each curve begins and ends, so that the script can move the line of the present epsilon."""
    places = sorted({float(p.epsilon) for p in found.points} | {float(found.epsilon)})
    return [(places[0] / 1.06, places[-1] * 1.06)] * len(found.uses)


def _span(found: "Rehearsal | None", epsilon: float) -> tuple[float, float]:
    """From where to where the slider goes: what was tried, or around what the job says."""
    tried = [float(p.epsilon) for p in found.points] if found else list(_EPSILONS)
    return min(*tried, epsilon), max(*tried, epsilon)


def _save(visit: Visit) -> Response:
    act = visit.said("act")
    if act == "rehearse":
        outline_of(prepared_of(visit))  # a mistake shows before a process is started, if it is found at once
        if not visit.job.uses:
            raise JobError(
                f"A rehearsal judges intended uses, and the job names none: say first what it is for. {NOTHING}"
            )
        words = ["rehearse", visit.name, "--json"]
        if visit.said("epsilons"):
            words += ["--epsilons", visit.said("epsilons")]
        runs = visit.said("runs", "9")
        words += ["--runs", runs] if runs.isdigit() and 2 <= int(runs) <= 99 else []
        visit.work.start("rehearse", visit.name, words)
        return visit.go("budget")
    file, epsilon, delta = visit.shown_file(), visit.said("epsilon"), visit.said("delta", "0") or "0"
    budget = Budget(_tidy(epsilon, "epsilon"), _tidy(delta, "delta"))

    def change(document: "TOMLDocument") -> None:
        set_key(document, "budget", "epsilon", _plain(budget.epsilon))
        set_key(document, "budget", "delta", _plain(budget.delta) if budget.delta else "")

    visit.folder.edit(file, change)
    return visit.go("run" if visit.said("on") == "run" else "budget")


def _tidy(said: str, what: str) -> str:
    try:
        Fraction(said.strip())
    except (ValueError, ZeroDivisionError):
        raise JobError(f"{what} is {said!r}: write a number, such as 0.5. {NOTHING}") from None
    return said.strip()


def _plain(exact: Fraction) -> float | str:
    return float(exact) if Fraction(str(float(exact))) == exact else str(exact)


def _interval(visit: Visit) -> dict[str, Any]:
    """The interval calculator of the tree papers: how far a synthetic share may come out from the true one."""
    asked = {name: visit.said(name) for name in ("p", "per_count", "n", "width", "level")}
    shown: dict[str, Any] = {"asked": asked, "found": None, "least": "", "refusal": ""}
    if not asked["p"]:
        return shown
    from hedgerow.planning.interval import interval, least_epsilon, least_n

    try:
        p, level = float(asked["p"]), float(asked["level"] or 0.9)
        width = float(asked["width"]) if asked["width"] else None
        epsilon = float(asked["per_count"]) if asked["per_count"] else None
        n = int(asked["n"].replace(",", "")) if asked["n"] else None
        if width is not None and epsilon is not None and n is None:
            n = least_n(p, epsilon, width=width, level=level, kind="equal-tailed")
            shown["least"] = f"At least {n:,} records are needed in the leaf."
        elif width is not None and n is not None and epsilon is None:
            epsilon = least_epsilon(p, n, width=width, level=level, kind="equal-tailed")
            shown["least"] = f"At least epsilon {epsilon:.6g} is needed on the count."
        if epsilon is None or n is None:
            raise JobError("Give two of: epsilon on the count, records, width; or epsilon and records.")
        kind = "equal-tailed" if shown["least"] else "symmetric"
        shown["found"] = interval(p, epsilon, n, level=level, kind=kind)  # type: ignore[arg-type]
        words = [f"--p {p:g}", f"--epsilon {epsilon:g}", f"--n {n}", f"--level {level:g}"]
        shown["same"] = "hedgerow interval " + " ".join(words)
    except HedgerowError as refusal:
        shown["refusal"] = str(refusal)
    except (ValueError, OverflowError):
        shown["refusal"] = "These are not all numbers: p and level lie between 0 and 1, epsilon above 0, n is whole."
    return shown
