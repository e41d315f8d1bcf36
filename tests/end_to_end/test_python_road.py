"""The road from Python: frames in, a verified release out, and no way to publish what no run has made."""

import json
import warnings
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError, JobError, TableMismatch
from hedgerow.job.recipe import ForeignRecipe
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public import Guarantee, Marginal, Tariff
from hedgerow.recipes import AbstractRecipe

TABLES = hr.personnel(rows=1500, seed=3)
COLUMNS = ["person", "sex", "race", "agency", "pay"]
SECRET, PUBLIC = TABLES.confidential.select(COLUMNS), TABLES.public.select(COLUMNS)


def schema() -> hr.Schema:
    return hr.Schema.draft(PUBLIC.drop("person"))


def make(folder: Path, **changes: Any) -> hr.Job:
    given: dict[str, Any] = {
        "confidential": hr.Confidential(SECRET, name="personnel", unit=hr.Person("person", rows=4)),
        "public": hr.Public(PUBLIC, provenance="an earlier period"),
        "schema": schema(),
        "budget": hr.Budget(epsilon=2.0),
        "uses": [hr.uses.Table(["race"], tolerance=0.5)],
        "ledger": str(folder / "ledger.db"),
        "out": folder / "release",
        "seed": 7,
    }
    return hr.Job(**{**given, **changes})


def spends(folder: Path) -> int:
    from hedgerow.ledger.book import Ledger

    return len(Ledger.open(str(folder / "ledger.db")).entries()) if (folder / "ledger.db").exists() else 0


def test_frames_become_a_verified_release_without_a_file_of_ours(tmp_path: Path) -> None:
    job = make(tmp_path)
    release = job.run()
    assert release.verify(), release.verify()
    assert release.records.columns == ["sex", "race", "agency", "pay"]
    assert release.records.to_pandas().shape == release.records.shape
    assert release.statement.recipe == "public_blend"
    assert [i.role for i in release.statement.public_inputs] == ["schema", "public"]
    assert release.statement.public_inputs[1].name == "frame"
    assert [v.use.name for v in release.uses] == [job.uses[0].name]
    assert str(tmp_path) not in (release.folder / "job.toml").read_text("utf-8"), "no place of this machine goes out"
    again = hr.Release.read(release.folder)
    assert again.sample(2, seed=5, public=PUBLIC)[1].equals(release.sample(2, seed=5)[1])
    assert hr.Release.read(release.folder).verify(public=PUBLIC).holds
    alone = hr.Release.read(release.folder).verify()
    assert (
        not alone
        and not alone.failed
        and alone.unchecked
        == (
            "records were drawn from the answers",
            "figures of uses follow from the answers",
        )
    )


def test_attach_is_the_same_with_a_target(tmp_path: Path) -> None:
    target = TABLES.target.filter(pl.col("pay") < 100_000).select("agency", "pay").head(400)
    job = make(
        tmp_path,
        target=hr.Target(target),
        confidential=hr.Confidential(
            SECRET, name="personnel", relation="add-remove", unit=hr.Person("person", rows=4)
        ),
        uses=[hr.uses.Table(["sex", "race"], tolerance=0.5)],
    )
    release = job.run()
    assert release.verify(), release.verify()
    assert release.records.select("agency", "pay").equals(target)
    assert {"sex", "race"} <= set(release.records.columns)
    assert release.statement.recipe == "guided_tree"
    assert release.sample(1, seed=1)[0].height == 400


def test_the_same_job_as_a_file_asks_the_same(tmp_path: Path) -> None:
    SECRET.write_parquet(tmp_path / "secret.parquet")
    PUBLIC.write_parquet(tmp_path / "public.parquet")
    job = make(
        tmp_path,
        confidential=hr.Confidential(tmp_path / "secret.parquet", name="personnel", unit=hr.Person("person", rows=4)),
        public=hr.Public(tmp_path / "public.parquet", provenance="an earlier period"),
    )
    read = hr.Job.load(job.save(tmp_path / "job.toml"))
    assert read == job
    assert read.plan().to_json()["requests"] == job.plan().to_json()["requests"]


def test_a_second_run_after_a_rehearsal_fits_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[int] = []
    fit = hr.recipes.PublicBlend.fit

    def counted(*args: Any) -> Any:
        fits.append(1)
        return fit(*args)

    monkeypatch.setattr(hr.recipes.PublicBlend, "fit", counted)
    job = make(tmp_path)
    job.rehearse(epsilons=[2], runs=2, workers=1)
    fits.clear()
    job.run()
    assert len(fits) == 1
    fits.clear()
    make(tmp_path, out=tmp_path / "plain").run(forecast=False)
    assert len(fits) == 1, "without a forecast nothing is fitted but the run itself"


@dataclass(frozen=True)
class Halving(AbstractRecipe):
    """Somebody's own recipe: one-way tables, half the budget kept back."""

    name: ClassVar[str] = "public_blend"  # it may call itself what it likes

    def requests(self, tariff: Any, budget: Any, public: Any) -> Any:
        return hr.recipes.Independent().requests(tariff, budget, public)

    def fit(self, gate: Any, public: Any) -> Any:
        return hr.recipes.Independent().fit(gate, public)


class Renamed(hr.recipes.Independent):  # type: ignore[misc]
    """A subclass of ours is somebody's own, too."""


def test_a_recipe_of_ones_own_runs_and_the_statement_says_whose_it_is(tmp_path: Path) -> None:
    release = make(tmp_path, recipe=Halving()).run()
    assert release.statement.recipe == f"{__name__}.Halving (not one of Hedgerow's recipes)"
    assert release.verify(), release.verify()
    assert "not one of Hedgerow" in (release.folder / "report.html").read_text("utf-8")
    assert len(release.sample(1, seed=2)) == 1
    with pytest.raises(JobError, match="not one of Hedgerow's recipes"):
        hr.Release.read(release.folder).sample(1, seed=2)


def test_only_a_run_makes_a_statement() -> None:
    assert not {"open_gate", "write_release", "PublicData"} & set(dir(hr))
    for name in ("open_gate", "write_release", "PublicData", "draw_records"):
        with pytest.raises(AttributeError):
            getattr(hr, name)


def test_dir_and_help_show_the_road() -> None:
    assert {
        "Job",
        "Ledger",
        "Release",
        "Schema",
        "Budget",
        "Confidential",
        "Public",
        "Target",
        "Person",
        "recipes",
        "uses",
    } <= set(dir(hr))
    import inspect

    assert "confidential" in inspect.signature(hr.Job).parameters
    for verb in ("load", "save", "plan", "rehearse", "run", "steward_report", "steward_compare"):
        assert getattr(hr.Job, verb).__doc__
    for verb in ("read", "records", "copies", "statement", "uses", "verify", "sample", "compare", "open"):
        assert getattr(hr.Release, verb).__doc__


def test_everything_shows_itself_in_a_notebook_and_in_one_line_elsewhere(tmp_path: Path) -> None:
    job = make(tmp_path)
    release = job.run(forecast=False)
    shown: list[Any] = [
        job.schema,
        job.plan(),
        job.rehearse(epsilons=[2], runs=2, workers=1),
        release,
        release.verify(),
    ]
    shown.append(release.compare(PUBLIC, only=["one-way"]))
    for value in shown:
        html = value._repr_html_()
        assert "<table" in html and len(html) < 20_000, type(value)
        assert "\n" not in repr(value) and len(repr(value)) < 400, type(value)
    assert "\n" not in repr(job)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"schema": hr.Schema.loads('[columns.none]\nkind = "categorical"\nvalues = ["a"]')}, HedgerowError),
        ({"uses": [hr.uses.Table(["nothing"], tolerance=0.1)]}, JobError),
        ({"public": hr.Public(pl.DataFrame({"sex": ["F"]}))}, TableMismatch),
    ],
)
def test_a_mistake_in_what_is_public_books_nothing(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*args: object) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr(ConfidentialRows, "count", never)
    with pytest.raises(error):
        make(tmp_path, **changes).run()
    assert not (tmp_path / "ledger.db").exists()
    assert not (tmp_path / "release.run").exists()


def test_a_plan_adds_what_a_person_cap_holds_of_each_row_and_is_refused_where_that_is_too_much(
    tmp_path: Path,
) -> None:
    def planned(unit: Any, memory_gb: float = 2000) -> int:
        secret = hr.Confidential(SECRET, name="personnel", unit=unit, assumed_rows=10**8)
        job = make(tmp_path, confidential=secret, recipe=hr.recipes.Independent(), memory_gb=memory_gb)
        return job.prepare().outline.memory

    rows, people, ordered = map(planned, ("record", hr.Person("person", rows=4), hr.Person("person", 4, "pay")))
    assert (people - rows, ordered - rows) == pytest.approx((25e8, 50e8), rel=1e-5)  # noise makes some records more
    between = (rows + ordered) / 2e9
    assert planned("record", between) == rows
    with pytest.raises(JobError, match="GB of memory for 100,0"):
        planned(hr.Person("person", 4, "pay"), between)
    assert spends(tmp_path) == 0


def test_memory_that_runs_out_is_told_in_words_and_the_run_goes_on_at_no_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it does where memory_gb allows what no machine has: a plan of 800 GB passed, was paid, and broke off raw."""

    def short(*args: object, **more: object) -> None:
        raise MemoryError("Unable to allocate 74.7 GiB")

    job = make(tmp_path, recipe=hr.recipes.Independent(), memory_gb=2000)
    with monkeypatch.context() as patch:
        patch.setattr("hedgerow.pipeline.write_copies", short)
        with pytest.raises(HedgerowError, match=r"(?s)^Memory ran out.*resume=True") as told:
            job.run()
        assert told.value.__context__ is None, "the library's own words may tell how many rows there are"
    paid = spends(tmp_path)
    assert paid and job.run(resume=True).verify() and spends(tmp_path) == paid


def test_the_steward_sees_what_the_commands_show(tmp_path: Path) -> None:
    job = make(tmp_path)
    job.run(forecast=False)
    page, found = job.steward_report()
    assert page.is_file() and "INSIDE-ONLY" in str(page)
    assert "hidden" in repr(found) or "InsideOnly" in repr(found)
    report, exact = job.steward_compare(only=["one-way"])
    assert report.is_file() and "0." not in repr(exact), "a repr shows no exact number"
    alike = [[u.verdict.like_sample for u in uses] for uses in (found.reveal(), exact.reveal().uses)]
    assert alike[0] == alike[1], "one seed, one answer, whichever command is typed"


def test_rules_can_be_corrected_and_the_run_resumed_at_no_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = schema().dumps()
    impossible = hr.Schema.loads(text + '\n[[zero]]\nwhere = { sex = ["F", "M", "other"] }\n')
    wrong = make(tmp_path, schema=impossible, recipe=hr.recipes.Independent(), uses=[])
    with pytest.raises(JobError, match="--resume"):
        wrong.run()
    paid = (tmp_path / "ledger.db").read_bytes()
    assert paid

    def never(*args: object) -> None:
        raise AssertionError("rows were read again")

    monkeypatch.setattr(ConfidentialRows, "count", never)
    release = replace(wrong, schema=hr.Schema.loads(text)).run(resume=True)
    assert release.verify(), release.verify()


def test_a_run_that_measures_something_else_is_not_resumed(tmp_path: Path) -> None:
    text = schema().dumps()
    impossible = hr.Schema.loads(text + '\n[[zero]]\nwhere = { sex = ["F", "M", "other"] }\n')
    wrong = make(tmp_path, schema=impossible, recipe=hr.recipes.Independent(), uses=[])
    with pytest.raises(JobError, match="--resume"):
        wrong.run()
    with pytest.raises(JobError, match="begun with another job"):
        replace(wrong, schema=hr.Schema.loads(text), budget=hr.Budget(1)).run(resume=True)


def test_no_warning_is_given_on_the_way(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = make(tmp_path).run(forecast=False)
    assert json.loads((release.folder / "statement.json").read_text("utf-8"))["recipe"] == "public_blend"


@dataclass(frozen=True)
class Forger(AbstractRecipe):
    """Somebody's recipe that would rather be one of ours, and hide what it asked."""

    name: ClassVar[str] = "independent"

    def requests(self, tariff: Any, budget: Any, public: Any) -> Any:
        return hr.recipes.Independent().requests(tariff, budget, public)

    def fit(self, gate: Any, public: Any) -> Any:
        model = hr.recipes.Independent().fit(gate, public)
        object.__setattr__(self, "__class__", hr.recipes.Independent)
        gate.record.clear()
        return model


def test_a_recipe_cannot_forge_what_the_run_has_recorded(tmp_path: Path) -> None:
    release = make(tmp_path, recipe=Forger(), uses=[]).run()
    assert release.statement.recipe == f"{__name__}.Forger (not one of Hedgerow's recipes)"
    assert len(release.statement.spends) == 1
    assert release.verify(), release.verify()


class Pretender(ForeignRecipe):
    """A subclass of the class that stands for recipes of others."""

    @property
    def stated(self) -> str:
        return "independent"


def test_a_subclass_of_the_foreign_recipe_is_foreign_too(tmp_path: Path) -> None:
    assert "not one of Hedgerow" in make(tmp_path, recipe=Pretender("independent"), uses=[]).stated_recipe


def test_a_price_is_a_plain_fraction() -> None:
    class Cheap(Fraction):
        def __truediv__(self, other: Any) -> Any:
            return Fraction(10**6)

    tariff = Tariff(schema().coding, Guarantee(), "pure")
    with pytest.raises(JobError):
        tariff.measure_all([Marginal(("sex",))], Cheap(1, 100))
    with pytest.raises(JobError):
        tariff.select_one([Marginal(("sex",))], Cheap(1, 100))


@pytest.mark.parametrize("with_public", [True, False])
@pytest.mark.parametrize("column", ["race", "pay"])
def test_a_table_of_one_column_goes_the_whole_road(with_public: bool, column: str, tmp_path: Path) -> None:
    use = hr.uses.Table(["race"], tolerance=0.5) if column == "race" else hr.uses.Mean("pay", relative=0.5)
    only = PUBLIC.select(column)
    job = make(
        tmp_path,
        confidential=hr.Confidential(SECRET.select(column), name="personnel"),
        public=hr.Public(only, provenance="an earlier period") if with_public else None,
        schema=hr.Schema.draft(only),
        uses=[use],
    )
    release = job.run(forecast=False)
    assert release.verify(), release.verify()
    assert release.statement.spent == 2, "nothing of the budget is left"
    assert abs(len(release.records) - len(SECRET)) < 0.2 * len(SECRET)


def test_a_plan_without_a_public_table_promises_no_bands_of_a_model(tmp_path: Path) -> None:
    gap = hr.uses.Coefficient("ln(pay) ~ sex", "sex[F]", tolerance=0.5)
    uses = [gap, hr.uses.Mean("pay", by=["sex"], relative=0.5)]
    said = [
        " ".join(job.plan().remarks) for job in (make(tmp_path, uses=uses), make(tmp_path, uses=uses, public=None))
    ]
    assert ["bands of pay by sex" in s for s in said] == [True, True]
    assert ["bands of what the model leaves" in s for s in said] == [True, False]
