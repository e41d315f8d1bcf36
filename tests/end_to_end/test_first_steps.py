"""What a newcomer types first, and mistypes: named at once, with the cure, before anything is done."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import hedgerow as hr
from hedgerow.errors import JobError, SchemaError
from hedgerow.job import remarks
from hedgerow.model_check import prepare
from hedgerow.public import CodedTable, Formula, Guarantee, open_public
from tests.end_to_end.conftest import ROWS, Command
from tests.privacy.test_replay_attach import attach_job
from tests.privacy.world import frame

LABELS = Guarantee(relation="label-change", public_columns=("pay", "area"))


def test_every_mistyped_table_and_key_of_a_job_is_named_with_the_nearest(hedgerow: Command, job: Path) -> None:
    text = job.read_text("utf-8")
    job.write_text(
        text.replace("[budget]", "epsilom = 2\n[budjet]\n[budget]\n[public_blend]\n").replace(
            "[confidential]", "[confidential]\nrow_per_person = 3"
        )
        + "\n[[use]]\nname = 'a'\ncolums = ['sex']\ntolerance = 1\n",
        "utf-8",
    )
    said = hedgerow("plan", job)
    assert said.code == 2
    for wrong in (
        "is not a key of [confidential]: did you mean 'rows_per_person'?",
        "budjet: is not a table of a job file: did you mean 'budget'?",
        "public_blend: is the table of another recipe",
        "colums: is not a key of kind = 'table': did you mean 'columns'?",
    ):
        assert wrong in said.err, said.err
    assert "see docs" not in said.err and "nothing was spent" in said.err


def test_the_command_that_sets_a_cap_works_as_a_run_prints_it(hedgerow: Command, job: Path) -> None:
    """Also before there is a ledger, when it takes --new."""
    for _ in range(2):
        quoted = hedgerow("run", job)
        assert quoted.code == 2, "nobody said yes"
        command = re.search(r"To set one: hedgerow (.*)", quoted.err)
        assert command is not None
        before, where = shlex.split(command.group(1)), hr.Job.load(job).ledger
        assert ("--new" in before) == (not Path(where).exists())
        assert hedgerow(*before).code == 0
        job.write_text(job.read_text("utf-8").replace("name = ", "name = 'other'  # ", 1), "utf-8")


def test_a_key_outside_of_its_table_is_told_where_it_belongs(hedgerow: Command, job: Path) -> None:
    job.write_text("epsilon = 1\n" + job.read_text("utf-8"), "utf-8")
    assert "line 1: epsilon: stands outside of any table: it belongs under [budget]" in hedgerow("plan", job).err


@pytest.mark.parametrize(
    ("make", "given", "said"),
    [
        (hr.uses.Mean, {"of": "pay", "tolerence": 0.1}, "Mean does not know 'tolerence': did you mean 'tolerance'?"),
        (hr.uses.Table, {"colums": ["a"], "tolerance": 1}, "did you mean 'columns'?"),
        (hr.recipes.GuidedTree, {"outcome": ["pay"]}, "Did you mean outcomes?"),
    ],
)
def test_a_mistyped_keyword_in_python_is_named_with_the_nearest(make: Any, given: Any, said: str) -> None:
    with pytest.raises(JobError) as refused:
        make(**given)
    assert said in str(refused.value) and "spent" in str(refused.value)


def test_completion_of_recipes_and_uses_shows_what_a_job_may_name() -> None:
    assert {"Coefficient", "Mean", "PersonRate", "Quantile", "Rate", "Table"} <= set(dir(hr.uses))
    assert all(getattr(hr.uses, n).kind for n in dir(hr.uses)), "kinds of uses and nothing else"
    assert "PublicBlend" in dir(hr.recipes) and not {n for n in dir(hr.recipes) if n[0].islower() or n[0] == "_"}


def test_the_shell_completes_the_command() -> None:
    code = "import sys; sys.argv[0] = 'hedgerow'; from hedgerow.cli.main import main; main()"
    env = {"_HEDGEROW_COMPLETE": "complete_bash", "COMP_WORDS": "hedgerow re", "COMP_CWORD": "1", "PATH": ""}
    got = subprocess.run(
        [sys.executable, "-c", code], env={**env, "PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True
    )
    assert "rehearse" in got.stdout.split(), got.stderr


def test_the_package_is_the_command() -> None:
    env = {"PYTHONPATH": ":".join(sys.path), "PATH": ""}
    got = subprocess.run([sys.executable, "-m", "hedgerow", "--version"], env=env, capture_output=True, text=True)
    assert got.stdout.strip() == hr.__version__, got.stderr


@pytest.mark.parametrize("recipe", ["random_trees", "guided_tree"])
def test_public_columns_are_those_of_the_target(hedgerow: Command, tmp_path: Path, recipe: str) -> None:
    """They need not be typed again; the release says them, for who has no target."""
    frame(ROWS).write_csv(tmp_path / "secret.csv")
    job = attach_job(tmp_path, LABELS, recipe)
    full = hr.Job.load(job)
    text = "\n".join(line for line in job.read_text("utf-8").splitlines() if not line.startswith("public_columns"))
    assert text != job.read_text("utf-8").rstrip("\n")
    job.write_text(text, "utf-8")
    short = hr.Job.load(job)
    assert set(short.guarantee.public_columns) == {"pay", "area"} and short.guarantee.relation == "label-change"
    assert hr.Job.load(short.save(tmp_path / "again.toml")).guarantee == short.guarantee
    assert any("Public row by row, by declaration: pay, area." in r for r in short.prepare().outline.remarks)
    assert sorted(full.guarantee.public_columns) == sorted(short.guarantee.public_columns)
    done = hedgerow("run", job, "--yes")
    assert done.code == 0, done.err
    (tmp_path / "target.csv").rename(tmp_path / "elsewhere.csv")
    (tmp_path / "release").rename(tmp_path / "moved")
    assert hedgerow("verify", tmp_path / "moved").code == 7  # nothing failed; the records cannot be drawn again
    assert hedgerow("verify", tmp_path / "moved", "--target", tmp_path / "elsewhere.csv").code == 0
    assert "public_columns" in (tmp_path / "moved" / "job.toml").read_text("utf-8")


def test_plan_says_that_the_confidential_file_is_not_there(hedgerow: Command, job: Path) -> None:
    assert "There is no confidential table" not in hedgerow("plan", job).out
    (job.parent / "secret.csv").unlink()
    said = hedgerow("plan", job)
    assert f"There is no confidential table at {job.parent / 'secret.csv'}: a run will be refused." in said.out


@pytest.mark.parametrize(("cap", "share"), [(1, "67 %"), (2, "33 %"), (3, "")])
def test_a_plan_says_what_share_of_rows_a_cap_would_drop(cap: int, share: str) -> None:
    guarantee = Guarantee(unit="person", person="id", rows_per_person=cap)
    person = pl.Series("id", ["a", "b", "c"] * 3)
    said = " ".join(remarks._dropped(guarantee, person, ""))
    assert (f"of the public table {share} of the rows; what is published" in said) == bool(share)
    assert ("tells of the rows that count. A person there has up to 3" in said) == bool(share)
    assert bool(said) == bool(share)


def test_rows_that_name_nobody_are_counted_among_the_dropped() -> None:
    guarantee = Guarantee(unit="person", person="id", rows_per_person=1)
    (said,) = remarks._dropped(guarantee, pl.Series("id", ["a", "b", None, None]), "")
    assert "50 % of the rows, 50 % because they name nobody" in said
    (said,) = remarks._dropped(guarantee, None, "")
    assert "no public table says" in said


@pytest.mark.parametrize("verb", ["plan", "rehearse", "run"])
@pytest.mark.parametrize("bins", ["", "quantiles"])
def test_terms_of_a_use_are_checked_before_any_work(
    hedgerow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, bins: str
) -> None:
    made = hr.personnel(rows=600, seed=1)
    for name in ("public", "confidential"):
        getattr(made, name).write_parquet(tmp_path / f"{name}.parquet")
    hr.Schema.draft(made.public.drop("person")).save(tmp_path / "schema.toml")
    if bins:
        lines = (tmp_path / "schema.toml").read_text("utf-8").splitlines()
        at = lines.index("[columns.pay]")
        place = next(i for i in range(at, len(lines)) if lines[i].startswith("bins"))
        lines[place] = "bins = { quantiles = 5 }"
        (tmp_path / "schema.toml").write_text("\n".join(lines), "utf-8")
    job = tmp_path / "job.toml"
    job.write_text(
        "[confidential]\ntable = 'confidential.parquet'\n[public]\ntable = 'public.parquet'\n[budget]\nepsilon = 1\n"
        "[[use]]\nname = 'gap'\nkind = 'coefficient'\nformula = 'ln(pay) ~ sex + age'\nterm = 'sex[f]'\n"
        "tolerance = 0.1\n",
        "utf-8",
    )

    def worked(*args: Any, **more: Any) -> Any:
        raise AssertionError("work was begun")

    monkeypatch.setattr(hr.recipes.PublicBlend, "fit", worked)
    said = hedgerow(verb, job, *(["--yes"] if verb == "run" else []))
    assert said.code == 2 and "The model has no coefficient 'sex[f]'. Did you mean 'sex[" in said.err, said.err


def test_a_refusal_that_python_reaches_speaks_python_too(tmp_path: Path) -> None:
    """Options of the command line mean nothing to who never typed a command."""
    made = hr.personnel(rows=300, seed=1)
    secret = hr.Confidential(made.confidential, name="secret")
    schema = hr.Schema.draft(made.public.drop("person"))
    given: dict[str, Any] = {"schema": schema, "budget": hr.Budget(1), "ledger": tmp_path / "l.db"}
    bare = hr.Job(confidential=secret, out=tmp_path / "release", **given)
    public = hr.Job(confidential=secret, public=hr.Public(made.public), out=tmp_path / "release", **given)
    refusals: list[Callable[[], Any]] = [
        lambda: public.rehearse(),
        lambda: bare.run(resume=True),
        lambda: bare.steward_report(),
        lambda: bare.steward_compare(only="one-way"),
        lambda: hr.Job(confidential=secret, recipe=hr.recipes.PublicBlend(), **given).plan(),
    ]
    for refused in refusals:
        with pytest.raises(JobError) as said:
            refused()
        assert "in Python:" in " ".join(str(said.value).split()), str(said.value)


def _frame(women: int, men: int) -> pl.DataFrame:
    """A table in which women, men and a few others are paid apart; the last listed is not the most frequent."""
    sex = ["F"] * women + ["M"] * men + ["X"] * 40
    pay = [{"F": 30, "M": 50, "X": 70}[s] + 2 * (i % 5) for i, s in enumerate(sex)]
    return pl.DataFrame({"sex": sex, "pay": pay})


def test_a_level_is_compared_with_the_most_frequent_of_the_public_table(tmp_path: Path) -> None:
    """Everywhere the same one: in the plan, on the pages, inside, for an analyst; no confidential row decides it."""
    schema = hr.Schema.loads(
        "[columns.sex]\nkind = 'categorical'\nlabels = { F = 'women', M = 'men', X = 'others' }\nmissing = true\n"
        "[columns.pay]\nkind = 'integer'\nbins = { low = 20, high = 90, width = 2 }\nother = 50\n"
    )
    gap = hr.uses.Coefficient("pay ~ sex", "sex[women]", tolerance=5.0, name="gap")
    job = hr.Job(
        confidential=hr.Confidential(_frame(600, 300), name="secret"),  # here most are women, who do not decide it
        public=hr.Public(_frame(300, 600)),
        schema=schema,
        budget=hr.Budget(100),
        uses=(gap,),
        ledger=str(tmp_path / "l.db"),
    )
    (verdict,) = job.plan().verdicts
    assert "gap: compared with sex = men." in job.prepare().outline.remarks
    assert "compared with sex = men" in verdict.use.what
    place = tmp_path / "release"
    release = job.run(place)
    published = hr.Schema.load(place / "schema.toml")
    assert published.column("sex").reference == "M"
    (estimate,) = gap.figures(CodedTable.read(_frame(600, 300), published, "public")).values
    assert -21 < estimate < -19  # women against men, not against the others that the schema lists last
    assert "compared with sex = men" in (place / "report.html").read_text("utf-8")
    release.verify()
    page, judged = job.steward_report(release=place, out=tmp_path / "inside")
    (exact,) = judged.reveal()
    assert "compared with sex = men" in exact.verdict.use.what and exact.forecast is not None
    assert "compared with sex = men" in page.read_text("utf-8")
    check = prepare(job, "pay ~ sex", "sex[women] < 0", epsilon="1")
    assert check.formula.terms[0].reference == "men"  # an analyst asks about the same coefficient


def test_the_level_that_others_are_compared_with_is_named_as_such(tmp_path: Path) -> None:
    schema = hr.Schema.draft(_frame(300, 600))

    def plan(term: str, formula: str = "pay ~ sex") -> Any:
        uses = (hr.uses.Coefficient(formula, term, tolerance=5.0),)
        secret, public = hr.Confidential(_frame(600, 300), name="secret"), hr.Public(_frame(300, 600))
        given: dict[str, Any] = {"schema": schema, "budget": hr.Budget(1), "ledger": tmp_path / "l.db"}
        return hr.Job(confidential=secret, public=public, uses=uses, **given).plan().verdicts[0].use

    with pytest.raises(JobError, match=r"'sex\[M\]' is what the others are compared with: choose it with C\(sex"):
        plan("sex[M]", "pay ~ C(sex, ref=M)")
    assert plan("sex[F]").reference == "M"
    assert plan("sex[M]").reference == "F"  # a term is not compared with itself
    assert plan("sex[M]", "pay ~ C(sex, ref=F)").reference == ""  # the formula says it already
    without = hr.Schema.loads(schema.dumps().replace("[columns.sex]", "[columns.sex]\nreference = 'F'"))
    assert gap_names(without) == ("sex[M]", "sex[X]", "sex[other]")
    with pytest.raises(SchemaError, match="reference is 'G', which is not listed"):
        hr.Schema.loads(schema.dumps().replace("[columns.sex]", "[columns.sex]\nreference = 'G'"))


def gap_names(schema: hr.Schema) -> tuple[str, ...]:
    """The coefficients of sex where the formula leaves to the schema what they are compared with."""
    return Formula.parse("pay ~ sex").bound(schema).names(schema)


def test_a_rehearsal_says_what_stands_outside_the_schema_as_a_plan_does(hedgerow: Command, tmp_path: Path) -> None:
    known = _frame(300, 600)
    schema = hr.Schema.draft(known)
    public = pl.concat([known, pl.DataFrame({"sex": ["Y"] * 7, "pay": [40] * 7})])  # below the limit, so only said
    public.write_csv(tmp_path / "public.csv")
    known.write_csv(tmp_path / "secret.csv")
    schema.save(tmp_path / "schema.toml")
    job = tmp_path / "job.toml"
    job.write_text(
        "[confidential]\ntable = 'secret.csv'\n[public]\ntable = 'public.csv'\n[budget]\nepsilon = 1\n"
        "[[use]]\nname = 'sex'\ncolumns = ['sex']\ntolerance = 0.5\n",
        "utf-8",
    )
    lines = [line for line in hedgerow("plan", job).out.splitlines() if line.startswith("outside ")]
    assert len(lines) == 1 and " 7 " in lines[0] and "sex" in lines[0], lines
    rehearsed = hedgerow("rehearse", job, "--epsilons", "1", "--runs", "2", "--workers", "1")
    assert lines[0] in rehearsed.out.splitlines(), rehearsed.out + rehearsed.err


def test_a_term_is_never_compared_with_itself() -> None:
    """Most of the public table are women, and the term asks for them: they are compared with the next."""
    schema = hr.Schema.loads("[columns.sex]\nkind = 'categorical'\nvalues = ['X', 'F', 'M']\nmissing = true\n")
    public = open_public(_frame(600, 300))
    assert schema.referring(public, ["sex"]).column("sex").reference == "F"
    assert schema.referring(public, ["sex"], ["sex[F]"]).column("sex").reference == "M"
    assert schema.referring(public, ["sex"], ["sex[F]", "sex[M]", "sex[X]"]).column("sex").reference == "F"
