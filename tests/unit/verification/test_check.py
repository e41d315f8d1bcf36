"""``verify-model`` as a steward meets it: priced, refused, answered; and how often its verdict is right."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hedgerow.api.job import Job
from hedgerow.cli.verify_model import _text
from hedgerow.errors import JobError
from hedgerow.ledger.book import BudgetExhausted, Ledger
from hedgerow.model_check import AgreementPosterior, Answer, ModelCheck, carry_out, prepare
from hedgerow.private import verification as mechanism
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.question import Noise
from hedgerow.public.files import open_source
from hedgerow.public.formula import Formula, make_claim
from hedgerow.public.schema import Schema
from tests.end_to_end.conftest import Command
from tests.end_to_end.conftest import hedgerow as hedgerow
from tests.unit.experiment.world import write

MODEL = "ln(pay) ~ sex + age + I(age^2) + number(education) + grade | occupation"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    return write(tmp_path, rows=4000, confidential=True).with_name("job.toml")


def check(job: Path, claim: str = "sex[F] < 0", **more: object) -> ModelCheck:
    given = {"epsilon": "1", "parts": 20, "references": (("sex", "M"),)} | more
    return prepare(Job.load(job), str(given.pop("model", MODEL)), claim, **given)  # type: ignore[arg-type]


def test_a_true_claim_holds_and_a_false_one_does_not(job: Path, tmp_path: Path) -> None:
    true = carry_out(check(job), tmp_path / "true.json")
    false = carry_out(check(job, "sex[F] > 0"), tmp_path / "false.json")
    assert (true.agreement.verdict, false.agreement.verdict) == ("holds", "does not hold")
    saved = json.loads((tmp_path / "true.json").read_text("utf-8"))
    assert saved == true.to_json()
    assert saved["noise"] == {"law": "laplace", "scale": "1"}
    assert set(saved) == {
        "claim",
        "parts",
        "noisy_count",
        "noise",
        "share",
        "probability_that_most_agree",
        "verdict",
        "epsilon",
        "delta",
        "protects",
        "ledger",
    }


def test_it_has_its_own_line_in_the_ledger_and_stops_at_the_cap(job: Path, tmp_path: Path) -> None:
    ledger = Ledger.open(str(tmp_path / "ledger.db"))
    ledger.cap("personnel", Budget("1.5"))
    answer = carry_out(check(job), tmp_path / "one.json")
    (spent,) = [e for e in ledger.entries() if e.kind == "spend"]
    assert spent.facts["run"] == answer.run and "sex[F] < 0" in str(spent.facts)
    with pytest.raises(BudgetExhausted):
        carry_out(check(job), tmp_path / "two.json")
    assert not (tmp_path / "two.json").exists()


def test_the_sign_of_the_synthetic_file_is_the_claim_when_only_a_coefficient_is_named(job: Path) -> None:
    assert check(job, "sex[F]").claim.text.startswith("sex[F] < 0 in ln(pay)")
    assert check(job, "grade").claim.text.startswith("grade > 0 in")


@pytest.mark.parametrize("name", ["records.parquet", "records-1.parquet"])
def test_the_folder_of_a_release_stands_for_its_records(job: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "release").mkdir()
    pl.read_parquet(tmp_path / "public.parquet").head(3000).write_parquet(tmp_path / "release" / name)
    by_folder = check(job, synthetic=tmp_path / "release")
    assert by_folder.rows == 3000
    assert by_folder.forecast() == check(job, synthetic=tmp_path / "release" / name).forecast()


def test_a_folder_without_records_is_refused(job: Path, tmp_path: Path) -> None:
    (tmp_path / "counts").mkdir()
    with pytest.raises(
        JobError, match=r"has no records.parquet(.|\n)*in Python:\s+synthetic=(.|\n)*nothing was spent"
    ):
        check(job, synthetic=tmp_path / "counts")


def test_what_is_foreseen_reads_no_confidential_row(job: Path, tmp_path: Path) -> None:
    (tmp_path / "confidential.parquet").unlink()
    coefficient, share, chance = check(job).forecast() or (None, 0.0, {})
    assert coefficient is not None and -0.15 < coefficient < -0.05
    assert share > 0.9 and chance["holds"] > 0.95
    assert not (tmp_path / "ledger.db").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"parts": 1000}, r"--parts \d+ or fewer \(in Python: parts=\d+\)"),
        ({"model": "ln(pay) ~ sex + nothing"}, "no column"),
        ({"model": "race ~ sex + pay"}, "not a number"),
        ({"parts": 1}, "2 to 10,000 parts"),
        ({"epsilon": "0"}, "epsilon must be"),
        ({"epsilon": "-1"}, "epsilon must be"),
        ({"references": (("sex", "X"),)}, "no value"),
    ],
)
def test_bad_models_and_tiny_tables_are_refused_from_public_facts(
    job: Path, tmp_path: Path, more: dict[str, object], said: str
) -> None:
    (tmp_path / "confidential.parquet").unlink()  # a refusal cannot have read it
    with pytest.raises(JobError, match=said):
        check(job, "sex[F] < 0", **more).spend  # noqa: B018
    assert not (tmp_path / "ledger.db").exists()


def test_the_confidential_table_is_no_synthetic_file(job: Path, tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"in Python: synthetic=\) names the confidential table itself"):
        check(job, synthetic=tmp_path / "confidential.parquet")


def test_an_answer_is_never_written_over(job: Path, tmp_path: Path) -> None:
    (tmp_path / "there.json").write_text("{}", "utf-8")
    with pytest.raises(JobError, match=r"exists already.*in Python: out"):
        carry_out(check(job), tmp_path / "there.json")
    assert not (tmp_path / "ledger.db").exists()


def test_the_command_asks_answers_and_plans(job: Path, tmp_path: Path, hedgerow: Command) -> None:
    asked = ["verify-model", job, "--model", MODEL, "--claim", "sex[F]", "--reference", "sex=M", "--epsilon", "0.5"]
    asked += ["--parts", "20", "--out", tmp_path / "answer.json"]
    plan = hedgerow(*asked, "--plan")
    assert plan.code == 0 and "nothing was spent" in plan.out and "'holds'" in plan.out
    assert json.loads(hedgerow(*asked, "--plan", "--json").out)["confidential_rows_read"] == 0
    assert hedgerow(*asked).code == 2  # nobody is there to say yes
    assert [e.kind for e in Ledger.open(str(tmp_path / "ledger.db")).entries()] == ["format"]
    done = hedgerow(*asked, "--yes", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out) == json.loads((tmp_path / "answer.json").read_text("utf-8"))
    wrong = hedgerow(*asked[:2], "--model", "pay = sex", "--claim", "sex[F]", "--epsilon", "1", "--yes")
    assert wrong.code == 2 and "cannot be read" in wrong.err and "Traceback" not in wrong.err


SMALL = Schema.loads(
    """
[columns.sex]
kind = "categorical"
values = ["F", "M"]
other = "M"
[columns.y]
kind = "real"
bins = { low = -6, high = 6, width = 0.25 }
other = 5.875
"""
)


def share_that_agrees(effect: float, rng: np.random.Generator, parts: int = 25) -> int:
    """The exact count of the mechanism on a simulated table whose true effect is known."""
    sex = rng.integers(0, 2, 1500)
    y = effect * (sex == 0) + rng.standard_normal(1500)
    frame = pl.DataFrame({"sex": np.where(sex == 0, "F", "M"), "y": y})
    claim = make_claim("sex[F] > 0.2", Formula.parse("y ~ sex", {"sex": "M"}), SMALL)
    rows = ConfidentialRows(open_source(frame), SMALL.coding, Guarantee())
    coding = mechanism.Coding((*SMALL.coding.columns, mechanism.CodedColumn("\0part", "text", parts, 0, 0)))
    plan = mechanism.CountPlan([mechanism.Marginal(("\0part", *q.columns)) for q in claim.questions], coding)
    return int(mechanism.agreeing(rows, plan, claim, parts)[0])


def test_coverage_and_power_of_the_whole_check_on_simulated_tables() -> None:
    """The claim is 'above 0.2': at a true 0.2 verdicts are rare, at 0.6 and -0.2 the right one is nearly sure."""
    rng = np.random.default_rng(11)
    law, runs = Noise("laplace", Fraction(2)), 60
    verdicts: dict[float, list[str]] = {}
    for effect in (-0.2, 0.2, 0.6):
        noise = np.rint(rng.laplace(0, 2, runs)).astype(int)
        verdicts[effect] = [
            AgreementPosterior(share_that_agrees(effect, rng) + int(z), 25, law).verdict for z in noise.tolist()
        ]
    assert verdicts[0.6].count("holds") >= 54 and verdicts[0.6].count("does not hold") == 0
    assert verdicts[-0.2].count("does not hold") >= 54 and verdicts[-0.2].count("holds") == 0
    assert verdicts[0.2].count("holds") <= 12 and verdicts[0.2].count("does not hold") <= 12


def test_the_share_is_that_of_the_sampling_law_of_a_part() -> None:
    """With 60 rows a part and unit noise the estimate has standard error 0.26: the share above 0.2 is known."""
    rng = np.random.default_rng(3)
    for effect, share in ((0.2, 0.5), (0.46, 0.84), (0.0, 0.22)):
        counts = [share_that_agrees(effect, rng) for _ in range(60)]  # parts are drawn unseeded: five standard errors
        assert np.mean(counts) / 25 == pytest.approx(share, abs=0.06)


@pytest.mark.parametrize(("noisy", "beyond"), [(52, True), (-2, True), (47, False), (50, False)])
def test_no_more_parts_agree_than_there_are(noisy: int, beyond: bool) -> None:
    """'52 of 50 parts agree' stood there."""
    agreement = AgreementPosterior(noisy, 50, Noise("laplace", Fraction(2)))
    said = _text(Answer("sex[F] < 0", agreement, Budget(1), "one record", "t", "r"), Path("answer.json"))
    assert f"of 50 parts {noisy} agree by the noisy count" in said
    assert ("which noise took beyond what there can be" in said) == beyond
