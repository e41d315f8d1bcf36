"""Screen 5: the cost again, a typed confirmation, the run in a process of its own, and going on after a crash."""

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from hedgerow.errors import NOTHING, HedgerowError, JobError
from hedgerow.figures import many
from hedgerow.stand_in import RUNS
from hedgerow.studio.budget import left_of, rehearsed
from hedgerow.studio.page import Visit, page, prepared_of

if TYPE_CHECKING:
    from hedgerow.pipeline import PreparedJob


def screen(visit: Visit) -> Response:
    """The run of a job."""
    return _start(visit) if visit.method == "POST" else _show(visit)


def _show(visit: Visit) -> Response:
    names: dict[str, Any] = {"problem": "", "ready": False}
    try:
        prepared = prepared_of(visit)
        names |= _cost(prepared) | {"ready": True, "asked": sentence(prepared)}
        names |= _standing(visit, prepared)
    except HedgerowError as refusal:
        names["problem"] = str(refusal)
    return page(
        visit,
        "run.html.j2",
        "run",
        task=visit.work.latest("run", visit.name),
        same=f"hedgerow run {visit.name}\nhedgerow run {visit.name} --resume   # after a crash, at no cost",
        python=f"import hedgerow as hr\njob = hr.Job.load({visit.name!r})\n"
        "release = job.run()              # books, measures, publishes\n"
        "release = job.run(resume=True)   # after a crash, at no cost",
        **names,
    )


def sentence(prepared: "PreparedJob") -> str:
    """What is to be typed: what is spent, and on which table."""
    return f"spend {float(prepared.job.budget.epsilon):g} on {prepared.job.table}"


def _cost(prepared: "PreparedJob") -> dict[str, Any]:
    job, plan, guarantee = prepared.job, prepared.outline, prepared.guarantee
    found = rehearsed(prepared)
    point = found.at(job.budget.epsilon) if found else None
    judged = point.verdicts if point else ()
    rest = f", with {100 * (1 - plan.kept):.0f} % of the budget; what the rest asks follows from the answers"
    unit = "record" if guarantee.unit == "record" else f"person with at most {many(guarantee.rows_per_person, 'row')}"
    if job.recipe.career_time:
        unit = f"person with all rows, counted once and by at most {many(guarantee.rows_per_person - 1, 'step')}"
    return {
        "epsilon": f"{float(job.budget.epsilon):g}",
        "delta": f"{float(job.budget.delta):g}" if job.budget.delta else "",
        "unit": unit,
        "relation": guarantee.relation,
        "table": job.table,
        "recipe": job.stated_recipe,
        "asks": f"{many(len(plan.asked), 'table')} with {many(plan.cells, 'noisy count')}"
        + rest * (plan.kept >= 0.005),
        "needs": f"about {plan.memory / 1e6:,.0f} MB of memory and {plan.seconds:,.0f} s",
        "warnings": [*plan.warnings, *(v.sentence for v in judged if v.expected_met is False)],
        "outside": plan.outside,
        "books": prepared.books,
        "left": left_of(prepared),
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


def _start(visit: Visit) -> Response:
    visit.shown_file()
    prepared = prepared_of(visit)
    resume = visit.said("act") == "resume"
    wanted, typed = sentence(prepared), " ".join(visit.said("typed").split())
    if not resume and typed != wanted:
        raise JobError(f"You typed {typed!r}. To run it, type exactly: {wanted}. {NOTHING}")
    standing = _standing(visit, prepared)
    if not resume and standing["occupied"]:
        raise JobError(f"{standing['out']} is not empty. Choose another folder for the release first. {NOTHING}")
    words = ["run", visit.name, "--yes", "--json"]
    words += ["--resume"] if resume else []
    words += ["--no-forecast"] if visit.said("forecast") == "no" else []
    visit.work.start("run", visit.name, words)
    return visit.go("run")
