"""Intervals from a release: the command and Python say the same, for declared uses and for what is asked in words."""

import json
from pathlib import Path

import numpy as np
import pytest

from hedgerow.api.release import Release
from hedgerow.errors import JobError
from hedgerow.figures import small
from hedgerow.public import CodedTable
from hedgerow.simulate.personnel import personnel, personnel_schema
from hedgerow.uses import Coefficient, Mean
from tests.end_to_end.conftest import Command

pytestmark = pytest.mark.usefixtures("short_forecasts")
JOB = """
[job]
recipe = "{recipe}"
[schema]
file = "schema.toml"
[confidential]
table = "secret.parquet"
name = "personnel"
assumed_rows = 2000
{more}
[budget]
epsilon = 50
[[use]]
name = "pay"
kind = "mean"
of = "pay"
by = ["sex"]
tolerance = 500
[[use]]
name = "gap"
kind = "coefficient"
formula = "ln(pay) ~ sex + age | agency"
term = "sex[F]"
tolerance = 0.02
[[use]]
columns = ["race", "sex"]
name = "people"
tolerance = 0.02
"""
PUBLIC = '[public]\ntable = "public.parquet"\nprovenance = "earlier"'
MORE = {
    "public_blend": PUBLIC,
    "tree_blend": "",
    "guided_tree": PUBLIC + '\n[target]\ntable = "target.parquet"\n[guided_tree]\ncolumns = ["sex", "race"]',
}


def release_of(folder: Path, hedgerow: Command, recipe: str, uses: str = "") -> Release:
    """A release of a few simulated people."""
    made = personnel(8000, 5, agencies=4, occupations=6)  # fewer public rows would be put aside at this epsilon
    secret = made.confidential.drop("person").sample(2000, seed=1)
    secret.write_parquet(folder / "secret.parquet")
    secret.drop("sex", "race").write_parquet(folder / "target.parquet")
    made.public.drop("person").write_parquet(folder / "public.parquet")
    (folder / "schema.toml").write_text(personnel_schema(4, 6), "utf-8")
    (folder / "job.toml").write_text(JOB.format(recipe=recipe, more=MORE[recipe]) + uses, "utf-8")
    run = hedgerow("run", folder / "job.toml", "--yes", "--json")
    assert run.code == 0, run.err
    return Release.read(folder / "release")


@pytest.mark.parametrize("recipe", MORE)
def test_declared_uses_have_intervals_that_hold_what_the_confidential_table_gives(
    recipe: str, tmp_path: Path, hedgerow: Command
) -> None:
    release = release_of(tmp_path, hedgerow, recipe)
    secret = CodedTable.read(tmp_path / "secret.parquet", release.schema, role="target")
    said = hedgerow("estimate", release.folder, "--use", "pay", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert [e["group"] for e in found] == ["female", "male"]
    truth = Mean("pay", by=["sex"], tolerance=1).figures(secret).values
    for e, true in zip(found, truth, strict=True):
        assert {"estimate", "low", "high", "level", "parts", "basis"} <= set(e)
        assert set(e["parts"]) == {"sampling", "noise", "recipe", "drawing"} and e["level"] == 0.95
        assert e["low"] <= true <= e["high"]
        assert e["parts"]["sampling"] > 0 and e["parts"]["noise"] > 0
    (gap,) = release.estimate("gap")
    if recipe == "tree_blend":
        assert gap.estimate is None and "cannot tell" in gap.basis and "public table" in gap.basis
    else:
        use = Coefficient("ln(pay) ~ sex + age | agency", "sex[F]", reference="M", tolerance=1)
        assert gap.low <= use.figures(secret).values[0] <= gap.high
    people = release.estimate("people", level=0.999)
    shares = np.bincount(secret.cells(("race", "sex")), minlength=10) / secret.rows
    assert all(e.low <= s <= e.high for e, s in zip(people, shares, strict=True))
    assert release.estimate(table=["race"], by=["sex"], level=0.999)[0].estimate == people[0].estimate
    assert len(release.estimate()) == 2 + 1 + 10  # all declared uses
    in_report(release)
    assert release.verify(), "what is measured for uses is drawn again"


def in_report(release: Release) -> None:
    """The report has the intervals that ``estimate`` gives, or why there is none; so have the uses in Python."""
    kept, now = release.contents.estimates, release.estimate()
    assert [(e.name, e.group, e.estimate, e.low, e.high) for e in kept] == [
        (e.name, e.group, e.estimate, e.low, e.high) for e in now
    ]
    page = (release.folder / "report.html").read_text("utf-8").partition('id="intervals"')[2]
    assert "± noise" in page and "female" in page
    (gap,) = release.uses.intervals["gap"]
    lines = repr(release.uses).splitlines()
    shown = next(line for line in lines if line.startswith("gap"))
    if gap.estimate is None:
        assert shown.rstrip().endswith("cannot tell") and "This release cannot tell" in page
    else:
        assert shown.rstrip().endswith(f"({small(gap.low)} to {small(gap.high)})")
    assert "2 of 2 figures shown have one" in next(line for line in lines if line.startswith("pay"))


def test_what_is_asked_wrongly_is_refused_before_anything_is_done(tmp_path: Path, hedgerow: Command) -> None:
    release = release_of(tmp_path, hedgerow, "tree_blend")
    for args, word in (
        (("--use", "nothing"), "declares no use"),
        (("--mean", "pay", "--table", "sex"), "Ask one thing"),
        (("--formula", "pay ~ sex"), "Ask one thing"),
        (("--by", "sex"), "Ask one thing"),
        (("--mean", "wages"), "schema lacks"),
        (("--table", "sex", "--level", "2"), "between 0 and 1"),
        (("--quantile", "pay", "--at", "half"), "between 0 and 1"),
    ):
        said = hedgerow("estimate", release.folder, *args)
        assert said.code == 2 and word in said.err, (args, said)
    with pytest.raises(JobError, match="Ask one thing"):
        release.estimate(means="pay")
    plain = hedgerow("estimate", release.folder, "--table", "sex")
    assert "Nothing confidential was read or spent." in plain.out and "From the noisy answers about" in plain.out
