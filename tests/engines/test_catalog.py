"""A table of a Spark catalog, chosen by name in the studio: only names are asked before the run, which counts it."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from hedgerow.api.job import Job
from hedgerow.engines import headers_at
from hedgerow.errors import JobError, TableMismatch
from hedgerow.studio import catalog
from hedgerow.studio.work import StartedCommand, Work
from tests.unit.studio.visiting import Studio, a_folder, said, send

FORM = {"kind": "records", "public": "public.csv", "confidential": "", "unit": "record", "confidential_name": "staff"}


@pytest.fixture
def office(spark: Any, tmp_path: Path) -> Any:
    """A database with a table and a view of it, as they stand in a warehouse."""
    spark.sql("CREATE DATABASE office")
    rows = spark.read.csv(str(a_folder(tmp_path) / "confidential.csv"), header=True, inferSchema=True)
    rows.coalesce(1).write.option("path", str(tmp_path / "warehouse")).saveAsTable("office.personnel")
    spark.sql("CREATE VIEW office.looked AS SELECT person, max(pay) AS pay FROM office.personnel GROUP BY person")
    yield spark
    spark.sql("DROP DATABASE office CASCADE")


def test_a_spark_table_is_chosen_by_name_and_published(
    office: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = pl.read_csv(tmp_path / "confidential.csv", n_rows=1).columns
    (tmp_path / "confidential.csv").unlink()
    studio = Studio(tmp_path)

    def start(self: Work, kind: str, job: str, words: list[str], **noted: Any) -> StartedCommand:
        """In this process, whose session it takes."""
        place = self._place(kind, job)
        place.mkdir(parents=True)
        (place / "task.json").write_text(json.dumps({"words": words, **noted}), "utf-8")
        with (place / "result").open("w") as told, monkeypatch.context() as patch:
            patch.setattr("sys.stdout", told)
            (place / "code").write_text(str(catalog.look(place)))
        return StartedCommand(place)

    monkeypatch.setattr(Work, "start", start)
    form = {**FORM, "confidential_address": "spark:", "master": "local[2,2]"}
    assert send(studio, "tables", form) == 409, "it does not say which table"
    assert send(studio, "tables", {**form, "act": "look"}) == 303
    page = studio.ask("job/job.toml/tables").text
    assert '<option value="spark:office.personnel">office.personnel</option>' in page
    assert "office.looked" not in page, "a view may join rows"
    assert send(studio, "tables", {**form, "served_table": "spark:office.personnel"}) == 303
    assert said(tmp_path)["confidential"]["table"] == "spark:office.personnel"
    assert f"Its header: {', '.join(columns)}." in studio.ask("job/job.toml/tables").text
    assert Job.load(tmp_path / "job.toml").run(forecast=False).records.height > 100


def test_one_table_is_asked_for_by_its_address(office: Any, tmp_path: Path) -> None:
    ((address, columns),) = headers_at("spark:office.personnel").items()
    assert address == "spark:office.personnel" and columns[0] == "person"
    parts = headers_at(f"file://{tmp_path}/warehouse")
    assert list(parts.values()) == [columns]
    with pytest.raises(TableMismatch, match="may be made of"):
        headers_at("spark:office.looked")
    with pytest.raises(JobError, match="Spark finds no table"):
        headers_at("spark:office.nothing")


def test_what_spark_says_of_a_table_that_it_cannot_open_goes_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not listed, and the others are."""

    def table(name: str) -> Any:
        if name != "`office`.`good`":
            raise RuntimeError("org.apache.spark: row 17 is me, 47640")
        fields = [SimpleNamespace(name="pay", dataType=SimpleNamespace(typeName=lambda: "long"))]
        return SimpleNamespace(schema=SimpleNamespace(fields=fields))

    there = [SimpleNamespace(name=n, isTemporary=False, tableType="MANAGED") for n in ("bad`", "good")]
    listed = SimpleNamespace(listDatabases=lambda: [SimpleNamespace(name="office")], listTables=lambda base: there)
    monkeypatch.setattr("hedgerow.engines.spark_session", lambda master: SimpleNamespace(catalog=listed, table=table))
    assert headers_at("spark:") == {"spark:office.good": ("pay",)}
