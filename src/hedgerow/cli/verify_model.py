"""``hedgerow verify-model``: does a coefficient from the synthetic file hold in the confidential table?"""

import json
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.cli import show
from hedgerow.errors import NOTHING, JobError

if TYPE_CHECKING:
    from hedgerow.model_check import Answer, ModelCheck


def verify_model(
    job: Annotated[str, typer.Argument(help="The job file.", metavar="JOB.toml")],
    model: Annotated[str, typer.Option("--model", help='"ln(pay) ~ sex + age + I(age^2) | agency".')],
    claim: Annotated[str, typer.Option("--claim", help='"sex[F] < -0.02", or "sex[F]" for its sign.')],
    epsilon: Annotated[str, typer.Option("--epsilon", help="What the check may cost.")],
    parts: Annotated[int, typer.Option("--parts", min=2, help="Parts the table is divided into.")] = 50,
    reference: Annotated[
        list[str] | None, typer.Option("--reference", help="COLUMN=VALUE that others are compared with.")
    ] = None,
    synthetic: Annotated[
        Path | None, typer.Option("--synthetic", help="The synthetic file, or the folder of its release.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Where the answer goes.")] = Path("model-check.json"),
    plan: Annotated[bool, typer.Option("--plan", help="Only say what to expect; spends nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Spend without asking.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON on stdout.")] = False,
) -> None:
    """Ask whether a coefficient holds in the confidential table. One noisy count comes back; it has its own cost."""
    from hedgerow import model_check
    from hedgerow.api.job import Job

    references = tuple(_reference(r) for r in reference or ())
    with show.progress() as watch:
        watch("checking the claim on public tables")
        check = model_check.prepare(
            Job.load(job), model, claim, epsilon=epsilon, parts=parts, references=references, synthetic=synthetic
        )
        foreseen = _foreseen(check)
        watch.pause()
        if plan:
            show.echo(json.dumps(_plan_json(check), indent=2) if as_json else foreseen + "\n" + NOTHING)
            return
        show.echo(foreseen, err=True)
        show.confirm(yes)
        watch("counting behind the gate and adding noise")
        answer = model_check.carry_out(check, out)
    show.echo(json.dumps(answer.to_json(), indent=2) if as_json else _text(answer, out))


def _reference(text: str) -> tuple[str, str]:
    column, equals, value = text.partition("=")
    if not equals:
        raise JobError(f"--reference is {text!r}: write COLUMN=VALUE, such as sex=M. {NOTHING}")
    return column.strip(), value.strip()


def _foreseen(check: "ModelCheck") -> str:
    """What the check costs and what to expect of it."""
    from hedgerow.public import law_of

    left = check.road.left(check.budget)
    lines = [
        f"claim      {check.claim.text}",
        f"cost       epsilon {float(check.budget.epsilon):g} on {check.road.job.table!r}, booked by itself"
        + ("" if left is None else f"; left under the cap: {float(left[0]):g}"),
        f"answer     how many of {check.parts} parts agree, +/- {law_of(check.noise).half_width():.0f} (95 %)",
    ]
    found = check.forecast()
    if found is None:
        return "\n".join([*lines, "expect     no public or synthetic file to tell from: name one with --synthetic"])
    coefficient, share, chance = found
    where = "synthetic file" if check.synthetic is not None else "public table"
    lines += [
        f"expect     in the {where} the coefficient is "
        + (f"{coefficient:.4g}" if coefficient is not None and isfinite(coefficient) else "not determined")
        + f" and {100 * share:.0f} % of the parts agree;",
        "           if the confidential table is alike: "
        + ", ".join(f"'{word}' {100 * p:.0f} %" for word, p in chance.items()),
    ]
    return "\n".join(lines)


def _plan_json(check: "ModelCheck") -> dict[str, object]:
    found = check.forecast()
    plan: dict[str, object] = {
        "claim": check.claim.text,
        "parts": check.parts,
        "epsilon": float(check.budget.epsilon),
        "noise": {"law": check.noise.law, "scale": str(check.noise.scale)},
        "confidential_rows_read": 0,
    }
    if found is not None:
        plan |= {"coefficient": found[0], "share_of_parts_that_agree": found[1], "chance_of_verdict": found[2]}
    return plan


def _text(answer: "Answer", out: Path) -> str:
    a = answer.agreement
    low, high = a.interval(0.9)
    beyond = "" if 0 <= a.noisy <= a.parts else ", which noise took beyond what there can be"
    return (
        f"claim      {answer.claim}\n"
        f"answer     {a.verdict}: of {a.parts} parts {a.noisy} agree by the noisy count{beyond}\n"
        f"share      {a.estimate:.2f} of parts of this size agree (90 % interval {low:.2f} to {high:.2f});\n"
        f"           that most do has probability {a.most_agree:.3f}\n"
        f"cost       epsilon {float(answer.budget.epsilon):g} for {answer.unit}; in the ledger as {answer.run}\n"
        f"saved      {out}"
    )
