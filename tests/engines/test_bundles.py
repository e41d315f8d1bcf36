"""One job on every engine: with the bits of the noise on tape, every byte of the release is the same."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import hedgerow as hr
from hedgerow.errors import JobError, TableMismatch
from hedgerow.private import entropy
from tests.engines.world import in_duckdb, in_folder, in_postgresql
from tests.privacy.world import SCHEMA

MAY_DIFFER = {"statement.json", "privacy-statement.md", "DATACARD.md", "MANIFEST.json", "datapackage.json"}
MAY_DIFFER |= {"report.html", "codebook.html", "job.toml"}
"""Files that name the run, its place in the ledger, or the table's own."""


def people(rows: int = 900) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    values: dict[str, list[Any]] = {
        "sex": ["F", "M", " F", None],
        "race": ["A", "B", "C", "Z", None],
        "area": ["n", "s", "w", "?"],
    }
    drawn = {name: [of[i] for i in rng.integers(0, len(of), rows)] for name, of in values.items()}
    return pl.DataFrame({**drawn, "pay": rng.integers(-3, 44, rows), "id": rng.integers(0, 400, rows)})


TABLE = people()


@pytest.fixture(scope="module")
def places(spark: Any, database: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("places")
    TABLE.write_csv(folder / "table.csv")
    parquet = in_folder(TABLE, folder / "parquet")
    return {
        "frame": TABLE,
        "csv": folder / "table.csv",
        "duckdb": in_duckdb(TABLE, folder / "table.db"),
        "postgresql": in_postgresql(TABLE, database, "people"),
        "spark": parquet,
        "spark frame": spark.read.parquet(str(parquet)).repartition(5),
    }


@pytest.fixture
def tape(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The same bits in every run: what the gate asks of the operating system comes from a generator."""

    def begin() -> None:
        rng = np.random.default_rng(11)
        monkeypatch.setattr(entropy, "os", SimpleNamespace(urandom=rng.bytes))

    begin()
    yield begin  # type: ignore[misc]


def made(place: Any, engine: str, folder: Path, recipe: Any, *, master: str = "", **more: Any) -> dict[str, bytes]:
    """The files of a release that depend on nothing but counts, noise and the job."""
    job = hr.Job(
        confidential=hr.Confidential(place, name="people", unit=hr.Person("id", rows=2, order="pay")),
        schema=hr.Schema.loads(SCHEMA),
        budget=hr.Budget(2),
        recipe=recipe,
        engine=hr.Engine(engine, master),
        ledger=str(folder / "ledger.db"),
        seed=1,
        **more,
    )
    release = job.run(folder / "release")
    assert release.verify()
    return {
        p.name: p.read_bytes() for p in (folder / "release").iterdir() if p.name not in MAY_DIFFER and p.is_file()
    }


ENGINES = {"duckdb": "duckdb", "spark": "spark"}  # others are those that the place asks for
RECIPES = [hr.recipes.TreeBlend(), hr.recipes.DirichletMultinomial(columns=["sex", "race"], size=12)]


@pytest.mark.parametrize(
    "recipe", [RECIPES[0], pytest.param(RECIPES[1], marks=pytest.mark.thorough)], ids=["noise and choices", "an urn"]
)
def test_every_engine_makes_the_same_bundle(places: dict[str, Any], tape: Any, tmp_path: Path, recipe: Any) -> None:
    bundles = {}
    for name, place in places.items():
        (tmp_path / name).mkdir()
        tape()
        bundles[name] = made(place, ENGINES.get(name, ""), tmp_path / name, recipe)
    first = bundles.pop("frame")
    assert {"measurements.parquet", "schema.toml"} < set(first) and (
        "records.parquet" in first or "counts.csv" in first
    )
    for name, other in bundles.items():
        assert other == first, name


@pytest.mark.thorough
def test_every_engine_attaches_the_same_labels(places: dict[str, Any], tape: Any, tmp_path: Path) -> None:
    """By leaves of a tree on joined columns, under label-change: people are capped by a public column."""
    given: dict[str, Any] = {"public": hr.Public(TABLE.sample(500, seed=2), provenance="made up"), "outside": 1.0}
    given["target"] = hr.Target(TABLE.select("sex", "area", "pay"))
    bundles = {}
    for name, place in places.items():
        (tmp_path / name).mkdir()
        tape()
        recipe = hr.recipes.GuidedTree(columns=["race"])
        bundles[name] = made(place, ENGINES.get(name, ""), tmp_path / name, recipe, **given)
    first = bundles.pop("frame")
    assert {"measurements.parquet", "records.parquet"} < set(first)
    assert all(other == first for other in bundles.values()), [n for n, b in bundles.items() if b != first]


def test_an_engine_that_cannot_count_the_table_is_refused(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "table.csv")
    for engine in ("duckdb", "postgresql"):
        with pytest.raises(JobError, match=f"The engine {engine} counts"):
            made(tmp_path / "table.csv", engine, tmp_path, "independent")
    with pytest.raises(JobError, match="choose among local, duckdb"):
        hr.Engine("sparc")


def test_an_order_that_the_table_does_not_have_is_refused_before_anything_is_booked(tmp_path: Path) -> None:
    job = hr.Job(
        confidential=hr.Confidential(TABLE, name="people", unit=hr.Person("id", rows=2, order="date")),
        schema=hr.Schema.loads(SCHEMA),
        budget=hr.Budget(2),
        ledger=str(tmp_path / "ledger.db"),
    )
    with pytest.raises(TableMismatch, match="no column date"):
        job.run(tmp_path / "release")
    same = replace(job, confidential=hr.Confidential(TABLE, name="people", unit=hr.Person("id", rows=2)))
    assert same.order == ""


def test_a_job_on_a_server_is_planned_beside_a_public_file_without_asking_the_server(tmp_path: Path) -> None:
    """There is no such server, and no word of its address but the place."""
    TABLE.drop("id").write_parquet(tmp_path / "public.parquet")
    job = hr.Job(
        confidential=hr.Confidential("postgresql://me:secret@nowhere/office#people"),
        public=hr.Public(tmp_path / "public.parquet"),
        schema=hr.Schema.loads(SCHEMA),
        budget=hr.Budget(2),
        recipe=hr.recipes.Independent(),
        outside=1,
    )
    assert job.plan().requests and "secret" not in repr(job.confidential)


@pytest.mark.parametrize("place", ["postgresql://nowhere/office#people", "spark:office.people"])
def test_a_cap_without_an_order_is_refused_when_it_is_planned_not_when_it_is_run(place: str) -> None:
    """Before Spark is started, which takes seconds, and before anybody has read a plan that cannot be run."""
    told: dict[str, Any] = {"schema": hr.Schema.loads(SCHEMA), "budget": hr.Budget(2), "recipe": "independent"}
    unit = hr.Person("id", rows=2)
    with pytest.raises(JobError, match="stand in no order that\\nsays which.* order = 'date'"):
        hr.Job(confidential=hr.Confidential(place, unit=unit), **told)
    hr.Job(confidential=hr.Confidential(place, unit=replace(unit, order="pay")), **told)
    hr.Job(confidential=hr.Confidential(place), **told)
    hr.Job(confidential=hr.Confidential(TABLE, name="people", unit=unit), **told)
    with pytest.raises(JobError, match="'race' is protected"):
        by_race = hr.Confidential(place, unit=replace(unit, order="race"), relation="label-change")
        hr.Job(confidential=replace(by_race, public_columns=("sex",)), **told)


def test_the_confidential_file_by_its_address_is_no_public_table(tmp_path: Path) -> None:
    """Spark reads file:///... too; nothing of it may be read as public, and Spark is not asked."""
    place = tmp_path / "all people.parquet"
    TABLE.write_parquet(place)
    job = hr.Job(
        confidential=hr.Confidential(place.as_uri(), name="people"),
        public=hr.Public(place),
        schema=hr.Schema.loads(SCHEMA),
        budget=hr.Budget(2),
        recipe=hr.recipes.Independent(),
        engine=hr.Engine("spark"),
        outside=1,
    )
    with pytest.raises(JobError, match="names the confidential table itself"):
        job.plan()


def test_a_job_file_keeps_engine_and_order(tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "table.parquet")
    job = hr.Job(
        confidential=hr.Confidential(tmp_path / "table.parquet", unit=hr.Person("id", rows=2, order="pay")),
        schema=hr.Schema.loads(SCHEMA),
        budget=hr.Budget(2),
        engine=hr.Engine("spark", master="local[2]"),
    )
    assert hr.Job.load(job.save(tmp_path / "job.toml")) == job
    other = replace(job, confidential=hr.Confidential("postgresql://me@db/office#people"), engine=hr.Engine())
    again = hr.Job.load(other.save(tmp_path / "other.toml"))
    assert again == other and again.engine.of(again.confidential.table) == "postgresql"


@pytest.mark.parametrize(("master", "said"), [("local[2]", False), ("spark://office:7077", True)])
def test_a_plan_for_a_cluster_says_what_its_owner_has_to_see_to(tmp_path: Path, master: str, *, said: bool) -> None:
    """Spark's own warning of it is not shown: its log is off."""
    TABLE.write_parquet(tmp_path / "table.parquet")
    job = hr.Job(
        confidential=hr.Confidential(tmp_path / "table.parquet"),
        schema=hr.Schema.loads(SCHEMA),
        budget=hr.Budget(2),
        engine=hr.Engine("spark", master=master),
    )
    assert any("spark.network.crypto.enabled" in line for line in job.prepare().outline.remarks) == said
