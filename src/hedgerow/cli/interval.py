"""``hedgerow interval``: how close a synthetic share comes to the true one, from p, epsilon and n alone."""

import json
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hedgerow.cli import show
from hedgerow.errors import JobError

if TYPE_CHECKING:
    from hedgerow.planning import Interval

_NOTHING = "No table was read and nothing was spent."
_QUESTIONS = {
    "interval": "--p 0.25 --epsilon 0.4 --n 1000",
    "least n": "--p 0.25 --epsilon 0.4 --width 0.05",
    "least epsilon": "--p 0.25 --n 1000 --width 0.05 --epsilon-for",
    "figure": "--figure intervals.svg",
}


def interval(
    p: Annotated[float | None, typer.Option("--p", help="The true share of the label in the leaf.")] = None,
    epsilon: Annotated[float | None, typer.Option("--epsilon", help="What the count of the label gets.")] = None,
    n: Annotated[int | None, typer.Option("--n", help="Records in the leaf.")] = None,
    width: Annotated[float | None, typer.Option("--width", help="The width to keep; without --n: least n.")] = None,
    epsilon_for: Annotated[bool, typer.Option("--epsilon-for", help="Least epsilon for --width and --n.")] = False,
    level: Annotated[float, typer.Option("--level", help="Probability that the interval holds.")] = 0.9,
    kind: Annotated[
        Literal["symmetric", "equal-tailed"] | None,
        typer.Option("--kind", help="Default: symmetric; equal-tailed for a least n or epsilon."),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Draw intervals and a simulation.", metavar="FILE.svg|FILE.png")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The seed of the figure's simulation.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON on stdout.")] = False,
) -> None:
    """Say how far a synthetic share may be from the true one, or which n or epsilon keeps it near. Reads no data."""
    given = {"p": p, "epsilon": epsilon, "n": n, "width": width}
    asked = _asked({name for name, value in given.items() if value is not None}, epsilon_for, figure is not None)
    choice = {"level": level, "kind": kind or ("equal-tailed" if asked.startswith("least") else "symmetric")}
    found = None if asked == "figure" else _found(asked, given, choice)
    if figure is not None:
        drawn = {name: getattr(found, name) if found else given[name] for name in ("p", "epsilon", "n")}
        _draw(figure, {name: value for name, value in drawn.items() if value is not None} | choice, seed)
    if as_json:
        answer = found.to_json() if found else {}
        show.echo(json.dumps(answer | ({"figure": str(figure)} if figure else {}), indent=2))
        return
    if found:
        show.echo(_text(found, asked, width))
    if figure:
        show.echo(f"Drawn: {figure}." + ("" if found else f" {_NOTHING}"))


def _asked(given: set[str], epsilon_for: bool, figure: bool) -> str:
    """Which question the options make."""
    if epsilon_for and given == {"p", "n", "width"}:
        return "least epsilon"
    if not epsilon_for and given == {"p", "epsilon", "width"}:
        return "least n"
    if not epsilon_for and given == {"p", "epsilon", "n"}:
        return "interval"
    if not epsilon_for and figure and given <= {"epsilon", "n"}:
        return "figure"
    options = [f"--{name}" for name in ("p", "epsilon", "n", "width") if name in given]
    got = ", ".join(options + ["--epsilon-for"] * epsilon_for) or "none of --p, --epsilon, --n, --width"
    forms = "\n".join(f"  hedgerow interval {options:<46} {name}" for name, options in _QUESTIONS.items())
    raise JobError(f"These options do not make one question: {got}. Type one of:\n{forms}\n{_NOTHING}")


def _found(asked: str, given: dict[str, Any], choice: dict[str, Any]) -> "Interval":
    """The interval asked for, or the one at the least n or epsilon."""
    from hedgerow.planning import interval, least_epsilon, least_n

    p, epsilon, n, width = given["p"], given["epsilon"], given["n"], given["width"]
    if asked == "least n":
        n = least_n(p, epsilon, width=width, **choice)
    if asked == "least epsilon":
        epsilon = least_epsilon(p, n, width=width, **choice)
    return interval(p, epsilon, n, **choice)


def _draw(path: Path, asked: dict[str, Any], seed: int) -> None:
    """The figures in a file of the format its name says."""
    import numpy as np

    from hedgerow.figures import check_sheet
    from hedgerow.planning import draw_intervals

    try:
        check_sheet(path, _NOTHING)
        draw_intervals(path, rng=np.random.default_rng(seed), **asked)
    except OSError as cause:
        raise JobError(f"Cannot write {path}: {cause.strerror or cause}. {_NOTHING}") from cause


def _text(found: "Interval", asked: str, width: float | None) -> str:
    """The answer for people."""
    epsilon = ceil(found.epsilon * 1e6) / 1e6 if asked == "least epsilon" else found.epsilon
    answer = {"least n": f"{found.n:,} records", "least epsilon": f"{epsilon:.8g}"}.get(asked)
    lines = [f"{asked:<16} {answer}, for a width of at most {width:g}"] if answer else []
    lines += [
        f"leaf             {found.n:,} records, share {found.p:g} with the label, epsilon {epsilon:.8g} on its count",
        f"interval         {found.low:.6f} to {found.high:.6f} (width {found.width:.6f}), {found.kind}",
        f"                 holds the synthetic share with probability {found.level:g}",
        f"whole counts     {found.counts[0]:,} to {found.counts[1]:,} of {found.n:,}, probability {found.mass:.4f}",
        f"synthetic share  mean {found.mean:.6f}, sd {found.sd:.6f}",
        "",
        _NOTHING,
    ]
    return "\n".join(lines)
