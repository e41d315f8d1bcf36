"""Jobs of every recipe that publishes whole records, in the small world, with a public table where it needs one."""

from collections.abc import Callable
from pathlib import Path

from hedgerow.public.costs.accounting import Guarantee
from tests.privacy.world import COLUMNS, Row, frame, write_job

PUBLIC: tuple[Row, ...] = (
    ("F", "A", "5", "n", "a"),
    ("M", "B", "12", "s", "b"),
    ("M", None, "39", "n", "c"),
    ("F", "C", "25", "s", "d"),
) * 9
REGIMES = {"public_only": "1500", "one_way": "0.0001", "two_way": "0.00001"}
"""The constant of the rule that leads to each regime of dpsyn on tables of a few rows."""

Write = Callable[..., Path]


def write_dpsyn(
    folder: Path,
    guarantee: Guarantee,
    regime: str,
    *,
    delta: str = "1e-6",
    variant: str = "repaired",
    one_way: str | None = None,
) -> Path:
    """A job of dpsyn that ends in ``regime``, its public table beside it; ``one_way``: that constant of the rule."""
    folder.mkdir(exist_ok=True)
    job = write_job(folder, guarantee, delta=delta, recipe="dpsyn")
    frame(PUBLIC).write_csv(folder / "public.csv")
    two_way = "1000000" if regime == "one_way" else "1"
    job.write_text(
        job.read_text("utf-8")
        + f"""
[public]
table = "public.csv"
[dpsyn]
variant = "{variant}"
groups = ["pay"]
floor = 3
pool = 40
rounds = 2
sweeps = 2
round_public = 1
round_measured = 1
one_way = {one_way or REGIMES[regime]}
two_way = {two_way}
high = 0.01
""",
        "utf-8",
    )
    return job


def write_blend(folder: Path, guarantee: Guarantee, recipe: str, *, delta: str = "1e-6") -> Path:
    """A job of tree_blend, or of public_blend with its public table beside it."""
    job = write_job(folder, guarantee, delta=delta, recipe=recipe)
    if recipe == "public_blend":
        frame(PUBLIC).select(COLUMNS).write_csv(folder / "public.csv")
        job.write_text(job.read_text("utf-8") + '[public]\ntable = "public.csv"\n', "utf-8")
    return job


def _dpsyn(regime: str, variant: str) -> Write:
    return lambda folder, guarantee, *, delta: write_dpsyn(folder, guarantee, regime, delta=delta, variant=variant)


def _blend(recipe: str) -> Write:
    return lambda folder, guarantee, *, delta: write_blend(folder, guarantee, recipe, delta=delta)


JOBS: dict[str, Write] = {
    **{
        f"dpsyn, {regime}, {variant}": _dpsyn(regime, variant)
        for regime in REGIMES
        for variant in ("repaired", "paper")
    },
    "tree_blend": _blend("tree_blend"),
    "public_blend": _blend("public_blend"),
}
"""How each is written: (folder, guarantee, delta=) -> job file."""
