"""Screen 5: the cost again, a typed confirmation, the run in a process of its own, and going on after a crash."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from hedgerow.errors import NOTHING, HedgerowError, JobError
from hedgerow.figures import many
from hedgerow.stand_in import RUNS
from hedgerow.studio.budget import left_of, made, rehearsed
from hedgerow.studio.folder import ChangedMeanwhile
from hedgerow.studio.page import Visit, command, entries_of, is_booked, outline_of, page, prepared_of
from hedgerow.studio.tables import several_rows

if TYPE_CHECKING:
    from hedgerow.pipeline import PreparedJob
    from hedgerow.planning import Plan
    from hedgerow.studio.work import StartedCommand


def screen(visit: Visit) -> Response:
    """The run of a job."""
    return _start(visit) if visit.method == "POST" else _show(visit)


def _show(visit: Visit) -> Response:
    task = visit.work.latest("run", visit.name)
    names: dict[str, Any] = {"problem": "", "ready": False, "soon": False, "stage": "before"}
    try:
        prepared = prepared_of(visit)
        names |= _standing(visit, prepared)
        names["stage"] = _stage(names, task)
        if names["stage"] == "done":
            names |= _made(prepared) | {"ready": True}
        elif (plan := outline_of(prepared)) is not None:
            names |= _cost(prepared, plan) | {"ready": True}
        names |= {"soon": not names["ready"], "asked": sentence(prepared), "several": several_rows(visit)}
        names |= {"booked": is_booked(prepared), "ended": _ended(prepared, task)}
    except HedgerowError as refusal:
        names["problem"] = str(refusal)
    return page(
        visit,
        "run.html.j2",
        "run",
        task=task,
        shown=_shown(visit),
        same=_same(visit, names)[0],
        python=f"import hedgerow as hr\njob = hr.Job.load({visit.name!r})\n{_same(visit, names)[1]}",
        **names,
    )


def _same(visit: Visit, names: dict[str, Any]) -> tuple[str, str]:
    """The command and the line of Python that do what can be done now."""
    if names["stage"] in ("running", "unfinished"):
        return (
            f"{command('run', visit.name, '--resume')}   # goes on after a crash; what is booked is not booked again",
            "release = job.run(resume=True)   # goes on after a crash; what is booked is not booked again",
        )
    if names.get("occupied"):
        other = f"{names['out']}-2"
        return (
            f"{command('run', visit.name, '--out', other)}   # another run, booked by itself: it asks first",
            f"release = job.run({other!r})   # another run: books, measures, publishes",
        )
    return (
        f"{command('run', visit.name)}   # it asks first, unless --yes is added",
        "release = job.run()   # books, measures, publishes",
    )


def sentence(prepared: "PreparedJob") -> str:
    """What is to be typed: what is spent, and on which table."""
    return f"spend {float(prepared.job.budget.epsilon):g} on {prepared.job.table}"


def _stage(standing: dict[str, Any], task: "StartedCommand | None") -> str:
    """Where the run stands, by which the page speaks of it: before, running, done, or unfinished."""
    if task is not None and task.state == "running":
        return "running"
    return "done" if standing["finished"] else "unfinished" if standing["unfinished"] else "before"


def _ended(prepared: "PreparedJob", task: "StartedCommand | None") -> str:
    """What a run that did not come to its end has left: the ledger is asked, as it may have gone at any moment."""
    if task is None or task.state not in ("failed", "stopped", "lost"):
        return ""
    if is_booked(prepared):
        return "What it has paid for is kept."
    try:
        entries = entries_of(prepared)
    except HedgerowError:
        return "Whether it had booked anything cannot be seen: the ledger cannot be read."
    since = [e for e in entries if e.kind == "promise" and datetime.fromisoformat(e.at).timestamp() >= task.began]
    return "The ledger has a promise that was booked since it began." if since else "It had booked nothing."


def _made(prepared: "PreparedJob") -> dict[str, Any]:
    told = made(prepared)
    return told | {"asks": f"{many(told['tables'], 'table')} with {many(told['cells'], 'noisy count')}"}


def _cost(prepared: "PreparedJob", plan: "Plan") -> dict[str, Any]:
    job, guarantee = prepared.job, prepared.guarantee
    found = rehearsed(prepared)
    point = found.at(job.budget.epsilon) if found else None
    judged = point.verdicts if point else ()
    rest = f", with {100 * (1 - plan.kept):.0f} % of the budget; what the rest asks follows from the answers"
    unit = (
        "one record"
        if guarantee.unit == "record"
        else f"one person with at most {many(guarantee.rows_per_person, 'row')}"
    )
    if job.recipe.career_time:
        unit = f"one person with all rows, counted once and by at most {many(guarantee.rows_per_person - 1, 'step')}"
    return {
        "epsilon": f"{float(job.budget.epsilon):g}",
        "delta": f"{float(job.budget.delta):g}" if job.budget.delta else "",
        "unit": unit,
        "neighbours": prepared.promise.neighbours,
        "table": job.table,
        "recipe": job.stated_recipe,
        "asks": f"{many(len(plan.asked), 'table')} with {many(plan.cells, 'noisy count')}"
        + rest * (plan.kept >= 0.005),
        "needs": f"about {plan.memory / 1e6:,.0f} MB of memory and {plan.seconds:,.0f} s",
        "warnings": [*plan.warnings, *(v.sentence for v in judged if v.expected_met is False)],
        "outside": plan.outside,
        "books": prepared.books,
        "left": left_of(prepared, booked=is_booked(prepared)),
        "rehearsed": found.runs if found and point else 0,
        "enough": RUNS,
        "uses": len(job.uses),
    }


def _standing(visit: Visit, prepared: "PreparedJob") -> dict[str, Any]:
    """Whether a release stands already, or a run that was not finished."""
    from hedgerow.pipeline import Journal, is_finished

    out = prepared.job.out
    return {
        "out": visit.folder.name(out),
        "finished": is_finished(out),
        "occupied": out.exists() and any(out.iterdir()),
        "unfinished": Journal.beside(out).exists and not is_finished(out),
    }


def _shown(visit: Visit) -> str:
    """What the forms of this page are for: the job file as it stands, after the latest start of a run."""
    task = visit.work.latest("run", visit.name)
    return f"{visit.file.digest}-{task.began if task else 0}"


def _start(visit: Visit) -> Response:
    if visit.said("digest").partition("-")[0] != visit.file.digest:
        visit.shown_file()  # refuses
    if visit.said("digest") != _shown(visit):  # a browser may send an old form again by itself
        raise ChangedMeanwhile(
            "A run was started since this page was drawn, here or in another tab, so none was started now. Below is "
            f"how it stands. {NOTHING}"
        )
    prepared = prepared_of(visit)
    resume = visit.said("act") == "resume"
    wanted, typed = sentence(prepared), " ".join(visit.said("typed").split())
    if several_rows(visit)["asked"]:
        raise JobError(f"Say first who is protected: each person, or each row by itself. {NOTHING}")
    if not (resume and is_booked(prepared)) and typed != wanted:
        raise JobError(f"You typed {typed!r}. To run it, type exactly: {wanted}. {NOTHING}")
    standing = _standing(visit, prepared)
    if not resume and standing["occupied"]:
        raise JobError(f"{standing['out']} is not empty. Choose another folder for the release first. {NOTHING}")
    words = ["run", visit.name, "--yes", "--json"]
    words += ["--resume"] if resume else []
    words += ["--no-forecast"] if visit.said("forecast") == "no" else []
    visit.work.start("run", visit.name, words)
    return visit.go("run")
