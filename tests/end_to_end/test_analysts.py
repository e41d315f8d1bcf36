"""A release opens in one line in R, Stata, SPSS and Python, with labels; R combines its copies as we do."""

import glob
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import frictionless
import numpy as np
import polars as pl
import pyreadstat
import pytest
from scipy.stats import t as student
from typer.testing import CliRunner

from hedgerow.api.job import Job
from hedgerow.api.release import Release
from hedgerow.cli.main import app
from hedgerow.evaluate.least_squares import designs, least_squares
from hedgerow.evaluate.regressions import combined
from hedgerow.public import CodedTable, Formula
from hedgerow.public.schema import Schema
from hedgerow.release.commands import opening
from hedgerow.simulate.personnel import personnel, personnel_schema

JOB = """
[job]
recipe = "independent"
formats = ["csv", "dta", "sav"]
copies = 3
seed = 5
[confidential]
table = "confidential.parquet"
name = "personnel"
unit = "person"
person = "person"
rows_per_person = 4
[budget]
epsilon = 2.0
"""
ATTACH = """
[job]
recipe = "guided_tree"
[confidential]
table = "confidential.parquet"
name = "personnel"
[public]
table = "public.parquet"
[target]
table = "rows.parquet"
[budget]
epsilon = 2.0
"""
RSCRIPT = shutil.which("Rscript")
needs_r = pytest.mark.skipif(RSCRIPT is None, reason="no R on this machine: apt-get install r-base-core r-cran-haven")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("analysts")
    personnel(rows=3000, seed=1).confidential.write_parquet(folder / "confidential.parquet")
    (folder / "schema.toml").write_text(personnel_schema(), "utf-8")
    (folder / "job.toml").write_text(JOB, "utf-8")
    return Job.load(folder / "job.toml").run(confirm=lambda prepared, plan: True, forecast=False).folder


def lines_of(release: Path) -> dict[str, str]:
    """The table "How to open it" of the data card."""
    part = (release / "DATACARD.md").read_text("utf-8").partition("## How to open it")[2].partition("##")[0]
    return dict(re.findall(r"^\| (\w+) \| `(.*)` \|$", part, re.MULTILINE))


def r(release: Path, code: str) -> str:
    done = subprocess.run(
        [str(RSCRIPT), "--vanilla", "-e", code], cwd=release, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_data_card_has_a_line_for_each_program(release: Path) -> None:
    lines = lines_of(release)
    assert set(lines) == {"R", "Stata", "SPSS", "Python", "Excel"}
    assert lines["Stata"] == 'use "records-1.dta", clear' and lines["SPSS"] == "GET FILE='records-1.sav'."
    for line in lines.values():
        assert all((release / name).is_file() for name in re.findall(r"records[-\w]*\.\w+", line)), line
    plain = dict(opening(["records.parquet"], True))
    assert set(plain) == {"R", "Python"} and "parquet" in plain["R"]


def test_the_line_for_python_gives_labels(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(release)
    names: dict[str, object] = {"pyreadstat": pyreadstat}
    exec(lines_of(release)["Python"], names)
    frame, meta = names["d"], names["meta"]
    assert set(frame["sex"].unique()) == {"female", "male"}  # type: ignore[index]
    assert meta.column_names_to_labels["pay"].startswith("Basic pay")  # type: ignore[attr-defined]
    spss, labels = pyreadstat.read_sav("records-1.sav", apply_value_formats=True)
    assert len(spss) == pl.read_parquet("records-1.parquet").height and "White" in set(spss["race"])
    assert labels.column_names_to_labels["sex"] == "Sex"


@needs_r
def test_the_line_for_r_gives_labels(release: Path) -> None:
    code = lines_of(release)["R"] + '; cat(nrow(d), levels(d$sex), attr(d$pay, "label"), sep = "|")'
    rows, one, two, label = r(release, code).split("|")
    assert int(rows) == pl.read_parquet(release / "records-1.parquet").height
    assert {one, two} == {"female", "male"} and label.startswith("Basic pay")


@needs_r
def test_r_combines_the_copies_as_we_do(release: Path) -> None:
    code = (
        'source("combine.R"); x <- combine(log(pay) ~ age, files = Sys.glob("records*.csv"), n = 3000);'
        'cat(nrow(x), x$copies[2], format(x$estimate[2], digits = 10), format(x$error[2], digits = 10), sep = "|")'
    )
    terms, copies, estimate, error = r(release, code).split("|")
    schema = Schema.load(release / "schema.toml")
    tables = [CodedTable.read(p, schema, "target") for p in sorted(release.glob("records*.parquet"))]
    formula = Formula.parse("ln(pay) ~ age").bound(schema)
    fits = [least_squares(d, errors="iid") for d in designs(formula, tables, schema)]
    ours = combined(fits, "simple", rows=3000)
    at = ours.names.index("age")
    assert (int(terms), int(copies)) == (2, 3)
    assert float(estimate) == pytest.approx(float(ours.values[at]), rel=1e-6, abs=1e-9)
    assert float(error) == pytest.approx(float(ours.errors[at]), rel=1e-4)


@needs_r
def test_r_measures_the_spread_of_replicates_around_the_release(release: Path, tmp_path: Path) -> None:
    table = pl.read_csv(release / "records-1.csv")
    pay = []
    for i, factor in enumerate((0.9, 1.2)):
        made = table.with_columns(pay=pl.col("pay") * factor)
        made.write_csv(tmp_path / f"replicate-{i}.csv")
        pay.append(float(np.mean(made["pay"].to_numpy())))
    code = (
        f'source("combine.R"); x <- combine(pay ~ 1, files = Sys.glob("{tmp_path}/*.csv"), rule = "replicates",'
        ' released = "records-1.csv"); cat(format(x$estimate, digits = 12), format(x$error, digits = 12), sep = "|")'
    )
    estimate, error = map(float, r(release, code).split("|"))
    numbers = table["pay"].to_numpy().astype(float)
    spread = np.mean([(p - numbers.mean()) ** 2 for p in pay])
    assert estimate == pytest.approx(float(numbers.mean()), rel=1e-9)
    assert error == pytest.approx(float(np.sqrt(numbers.var(ddof=1) / len(numbers) + spread)), rel=1e-9)


def intervals_of(release: Path) -> tuple[str, dict[str, str]]:
    """What the data card says of intervals by replicates: the command, and a line for each program."""
    part = (release / "DATACARD.md").read_text("utf-8").partition("## How to get intervals")[2].partition("##")[0]
    (command,) = re.findall(r"^    (hedgerow sample .*)$", part, re.MULTILINE)
    return command, dict(re.findall(r"^\| (\w+) \| `(.*)` \|$", part, re.MULTILINE))


def typed(command: str, release: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command of the data card says, typed in the folder of the release."""
    monkeypatch.chdir(release)
    done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def figure_and_error(line: str, capsys: pytest.CaptureFixture[str]) -> tuple[float, float]:
    """What the line for Python prints."""
    exec(line, {"polars": pl, "glob": glob})
    value, error = map(float, capsys.readouterr().out.split()[-2:])
    return value, error


@needs_r
def test_the_lines_of_the_card_give_an_interval_by_replicates(
    release: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command, lines = intervals_of(release)
    typed(command, release, monkeypatch)
    made = sorted((release.parent / "replicates").glob("replicate-seed1-*.csv"))
    assert len(made) == 20 and pl.read_csv(made[0]).columns == pl.read_csv(release / "records-1.csv").columns
    values = [float(np.mean(pl.read_csv(f)["pay"].to_numpy())) for f in (release / "records-1.csv", *made)]
    spread = float(np.mean([(v - values[0]) ** 2 for v in values[1:]]))
    value, error = figure_and_error(lines["Python"], capsys)
    assert value == pytest.approx(values[0]) and error == pytest.approx(spread**0.5)
    code = lines["R"].replace("combine(pay ~ sex", "x <- combine(pay ~ 1")
    wide = float(r(release, code + "; cat(x$high - x$estimate)"))
    numbers = pl.read_csv(release / "records-1.csv")["pay"].to_numpy().astype(float)
    total = numbers.var(ddof=1) / len(numbers) + spread
    freedom = 20 * (total / spread) ** 2
    assert wide == pytest.approx(float(student.ppf(0.975, freedom)) * total**0.5, rel=1e-6)
    assert "sex" in r(release, lines["R"]), "the line runs as it stands, and prints a line for each term"


@needs_r
def test_nobody_takes_an_error_from_replicates_that_do_not_tell_it_without_a_word(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns of this recipe are independent: the command line, Python and R say so."""
    said = "not the error of every figure. Of a figure that takes two columns or more"
    assert said in typed(f"hedgerow sample . --replicates 2 --out {tmp_path}", release, monkeypatch)
    with pytest.warns(UserWarning, match=said):
        Release.read(release).sample(replicates=1)
    code = f'source("combine.R"); options(warn = 2); x <- combine(MODEL, replicates = "{tmp_path}")'
    assert r(release, code.replace("MODEL", "pay ~ 1")) == "", "a mean of one column is told"
    with pytest.raises(AssertionError, match="takes two columns or more"):
        r(release, code.replace("MODEL", "pay ~ sex"))


@needs_r
def test_attached_columns_have_their_replicates_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = personnel(rows=1500, seed=3)
    made.confidential.drop("person").write_parquet(tmp_path / "confidential.parquet")
    made.public.drop("person").write_parquet(tmp_path / "public.parquet")
    made.confidential.drop("person", "sex").write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "schema.toml").write_text(personnel_schema(), "utf-8")
    (tmp_path / "job.toml").write_text(ATTACH, "utf-8")
    release = Job.load(tmp_path / "job.toml").run(confirm=lambda prepared, plan: True, forecast=False).folder
    command, lines = intervals_of(release)
    typed(command.replace("20", "3"), release, monkeypatch)
    columns = pl.read_csv(tmp_path / "replicates" / "columns-seed1.csv")
    records = pl.read_csv(release / "records.csv")
    assert columns.columns == ["sex_1", "sex_2", "sex_3"] and len(columns) == len(records)
    means = [float(np.mean(records["pay"].filter(s == "F").to_numpy())) for s in (records["sex"], *columns)]
    value, error = figure_and_error(lines["Python"], capsys)
    assert value == pytest.approx(means[0])
    assert error == pytest.approx(float(np.mean([(m - means[0]) ** 2 for m in means[1:]])) ** 0.5)
    assert "sexM" in r(release, lines["R"])


def test_the_data_package_is_valid_and_the_script_is_verified(release: Path) -> None:
    described = json.loads((release / "datapackage.json").read_text("utf-8"))
    assert not list(frictionless.Package.metadata_validate(described))
    for resource in described["resources"]:
        if resource["format"] == "csv":
            report = frictionless.Resource.from_descriptor(resource, basepath=str(release)).validate()
            assert report.valid, report.to_summary()
    assert Release.read(release).verify().failed == () and (release / "combine.R").is_file()
    with (release / "combine.R").open("a", encoding="utf-8") as script:
        script.write('system("rm -rf /")\n')
    assert Release.read(release).verify().failed, "a changed script is seen"
