"""A release opens in one line in R, Stata, SPSS and Python, with labels; R combines its copies as we do."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import frictionless
import numpy as np
import polars as pl
import pyreadstat
import pytest

from hedgerow.api.job import Job
from hedgerow.api.release import Release
from hedgerow.evaluate.least_squares import designs, least_squares
from hedgerow.evaluate.regressions import combined
from hedgerow.public import CodedTable, Formula
from hedgerow.public.schema import Schema
from hedgerow.release.origin import opening
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
