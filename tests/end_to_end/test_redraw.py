"""Verify draws the records of a release again: nothing else can stand in their place, whatever the manifest says."""

import shutil
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hedgerow as hr
from hedgerow.errors import JobError, VerifyFailed
from hedgerow.inference import EstimateTable
from hedgerow.public import whole
from hedgerow.recipes import RECIPES
from hedgerow.release.bundle import BundleReader, read_bundle, write_bundle
from hedgerow.release.redraw import Redrawing, records_are_drawn, software
from hedgerow.release.signature import create_key
from hedgerow.release.verify import CHECKS, DRAWN, TOLD, Verification, outcome, verify
from hedgerow.uses import Table
from tests.unit.release.tampering import rehash

ROWS = 3000
SETTINGS: dict[str, dict[str, Any]] = {
    "independent": {},
    "dpsyn": {"groups": ["area"], "floor": 0},
    "tree_blend": {},
    "public_blend": {},
    "integer_counts": {"columns": ["sex", "race"], "groups": ["area"], "margins": [["sex"], []], "prior": "public"},
    "dirichlet_multinomial": {"columns": ["sex", "race"], "size": 900, "copies": 2},
    "beta_binomial": {"column": "sex", "groups": ["area"], "size": "public", "copies": 2},
    "gamma_poisson": {"columns": ["area"], "size": 500, "exposures": [1, 2, 3], "copies": 2},
    "random_trees": {"columns": ["race", "sex"], "n_b": 50},
    "guided_tree": {"columns": ["race", "sex"]},
}
SCHEMA = """
[columns.sex]
kind = "categorical"
values = ["F", "M"]
other = "M"
[columns.race]
kind = "categorical"
values = ["A", "B", "C"]
other = "C"
[columns.area]
kind = "categorical"
values = ["n", "s", "w"]
other = "w"
[columns.age]
kind = "integer"
bins = { low = 16, high = 75, width = 5 }
other = "?"
[columns.pay]
kind = "integer"
bins = { low = 0, high = 60000, width = 5000 }
other = "?"
"""
HIDDEN = "files hide nothing beside their tables"
OTHER = {**software(), "polars": "1.0.0"}


def people(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    sex, age = rng.integers(0, 2, rows), rng.integers(16, 76, rows)
    race = np.minimum(2, rng.poisson(0.4 + 0.5 * sex, rows))
    area = (race + rng.integers(0, 2, rows)) % 3
    pay = np.clip(400 * age + 9000 * sex * (area == 1) + rng.normal(9000, 3000, rows), 0, 60000).astype(int)
    pay = np.where(rng.random(rows) < 0.5, pay // 100 * 100, pay)
    names = {"sex": np.array(["F", "M"])[sex], "race": np.array(["A", "B", "C"])[race]}
    return pl.DataFrame({**names, "area": np.array(["n", "s", "w"])[area], "age": age, "pay": pay})


def attaches(name: str) -> bool:
    return RECIPES[name].attaches


@pytest.fixture(scope="module", params=list(SETTINGS))
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of each recipe, its public tables not beside it but in the folder ``tables``."""
    name, folder = request.param, tmp_path_factory.mktemp(request.param)
    (folder / "tables").mkdir()
    people(ROWS, 1).write_parquet(folder / "confidential.parquet")
    people(ROWS, 2).write_parquet(folder / "tables" / "last.parquet")
    people(1500, 3).select("area", "age", "pay").write_parquet(folder / "tables" / "rows.parquet")
    given: dict[str, Any] = {"public_columns": ("area", "age", "pay")} if attaches(name) else {}
    settings = {n: tuple(v) if isinstance(v, list) else v for n, v in SETTINGS[name].items()}
    hr.Job(
        confidential=hr.Confidential(folder / "confidential.parquet", name="people", **given),
        public=hr.Public(folder / "tables" / "last.parquet", provenance="made up"),
        target=hr.Target(folder / "tables" / "rows.parquet") if attaches(name) else None,
        schema=hr.Schema.loads(SCHEMA),
        budget=hr.Budget(epsilon=1),
        recipe=RECIPES[name](**settings),
        copies=1 if name in ("dirichlet_multinomial", "beta_binomial", "gamma_poisson") else 2,
        ledger=str(folder / "ledger.db"),
        seed=5,
    ).run(folder / "release")
    (folder / "tables").rename(folder / "elsewhere")
    return folder / "release"


def drawn(folder: Path, **given: Any) -> tuple[bool | None, str]:
    """What verify says of the drawing alone; what else it checks takes as long again."""
    again = Redrawing(BundleReader(folder), given.get("public"), given.get("target"), given.get("job"))
    found = outcome(DRAWN, partial(records_are_drawn, again))
    return found.held, found.detail


def tables(folder: Path) -> dict[str, Any]:
    place = folder.parent / "elsewhere"
    here: dict[str, Any] = {"public": place / "last.parquet"}
    return here | ({"target": place / "rows.parquet"} if attaches(folder.parent.name.rstrip("0123456789")) else {})


def test_a_release_is_drawn_again_byte_by_byte(release: Path) -> None:
    found = Verification(verify(release, **tables(release)))
    assert found, [c for c in found.checks if not c.held]
    assert "the same byte by byte" in drawn(release, **tables(release))[1]


def test_numbers_inside_bins_are_those_of_the_public_table_and_the_code_book_says_so(release: Path) -> None:
    """Heaps come back, and no value of the confidential table is there that the public table lacks."""
    contents = read_bundle(release)
    name = release.parent.name.rstrip("0123456789")
    said = "<dt>within a cell</dt><dd>values of the public table" in (release / "codebook.html").read_text()
    assert said == (contents.counts is None and not attaches(name))
    if not said:
        return
    public, made = pl.read_parquet(tables(release)["public"]), whole(contents.records[0])
    kept = contents.schema.column("pay").public_values
    assert kept is not None
    full = [i for i, values in enumerate(kept) if values]
    pay = made["pay"].cast(pl.Int64, strict=False).drop_nulls()
    inside = pay.filter(pl.Series(pay.to_numpy() // 5000).clip(0, 11).is_in(full))
    assert inside.is_in(public["pay"].implode()).all()
    assert (inside % 100 == 0).mean() > 0.4 and (inside % 100 == 0).mean() < 0.6  # type: ignore[operator]


def forged(release: Path, place: Path, change: Callable[[pl.DataFrame], pl.DataFrame], **more: Any) -> Path:
    """A release with other tables, every page, margin and hash written anew to fit."""
    contents = read_bundle(release)
    statement = replace(contents.statement, version=more.pop("version", contents.statement.version))
    if contents.counts is None:
        parts: dict[str, Any] = {"records": tuple(change(whole(r)) for r in contents.records)}
    else:
        parts = {"counts": change(contents.counts), "margins": None, "copies": tuple(map(change, contents.copies))}
    write_bundle(place, replace(contents, statement=statement, **parts, **more))
    return place


def confidential(release: Path) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Confidential rows, so many and of such columns as the released table has; of counts, their exact counts."""
    rows = pl.read_parquet(release.parent / "confidential.parquet")

    def change(frame: pl.DataFrame) -> pl.DataFrame:
        if "count" not in frame.columns:
            private = rows.select(frame.columns).sample(len(frame), with_replacement=len(frame) > len(rows), seed=1)
            if attaches(release.parent.name.rstrip("0123456789")):  # the given columns stay: they are easily seen
                private = frame.with_columns(private.select("sex", "race"))
            return private.cast(frame.schema)
        labels = [c for c in frame.columns if c in rows.columns]
        exact, plain = rows.group_by(labels).len(), frame.select(pl.col(labels).cast(pl.String))
        counted = plain.join(exact, on=labels, how="left", maintain_order="left")["len"].fill_null(0).cast(pl.Int64)
        return frame.with_columns(count=counted)

    return change


def test_what_is_said_of_the_public_table_follows_from_the_answers(release: Path, tmp_path: Path) -> None:
    told, name = read_bundle(release).findings, release.parent.name.rstrip("0123456789")
    assert bool(told) == (name in ("public_blend", "guided_tree"))  # which sentence is a matter of unseeded noise
    assert all("answers" in s and s.endswith(".") for s in told)
    card = (release / "DATACARD.md").read_text("utf-8")
    assert "\n\n## What it is meant for" in card
    assert all(f". {s}" in card for s in told), "sentences stand apart"
    assert (", as far as is said next, the public table" in card) == bool(told), "it may have been put aside"
    for page in ("report.html", "DATACARD.md"):
        assert all(s in (release / page).read_text("utf-8") for s in told)
    write_bundle(tmp_path / "forged", replace(read_bundle(release), findings=("It is worth nothing.",)))
    assert drawn(tmp_path / "forged", **tables(release)) == (
        False,
        "What the release says of the public table is not what the answers tell of it.",
    )


@pytest.mark.parametrize("claimed", [software(), OTHER], ids=["same libraries", "other libraries"])
def test_confidential_rows_in_place_of_the_records_are_caught(
    release: Path, tmp_path: Path, claimed: dict[str, str]
) -> None:
    place = forged(release, tmp_path / "forged", confidential(release), software=claimed)
    held, detail = drawn(place, **tables(release))
    assert held is False, detail
    assert not Verification(verify(place)).holds, "without the public tables it must not hold either"


def test_other_values_by_other_libraries_are_not_confirmed_however_near(release: Path, tmp_path: Path) -> None:
    """Another seed stands for another library: records of the same law, every one of them another."""
    contents = read_bundle(release)
    if contents.counts is not None:
        pytest.skip("counts are the same whatever the seed")
    other = hr.Release.read(release).sample(2, seed=77, **tables(release))
    write_bundle(tmp_path / "r", replace(contents, records=other, software=OTHER))
    held, detail = drawn(tmp_path / "r", **tables(release))
    assert held is None, detail
    assert "as near to the answers as a fresh drawing, which is no proof" in detail and "(polars)" in detail
    write_bundle(tmp_path / "same", replace(contents, records=other))
    held, detail = drawn(tmp_path / "same", **tables(release))
    assert held is False and "records-1.parquet is not what" in detail


def test_without_its_public_tables_a_release_is_not_confirmed_and_says_what_is_missing(release: Path) -> None:
    held, detail = drawn(release)
    if held:  # the recipe draws the same without them
        return
    assert held is None
    missing = "rows.parquet" if attaches(release.parent.name.rstrip("0123456789")) else "last.parquet"
    assert missing in detail and "--" in detail
    assert Verification(verify(release)).exit_code == 7


def test_its_public_tables_are_found_beside_it_by_their_hash(release: Path, tmp_path: Path) -> None:
    shutil.copytree(release, tmp_path / "r")
    for name in ("last.parquet", "rows.parquet"):
        shutil.copy(release.parent / "elsewhere" / name, tmp_path / name)
    assert drawn(tmp_path / "r")[0]
    people(50, 9).write_parquet(tmp_path / "last.parquet")
    people(50, 9).drop("sex", "race").write_parquet(tmp_path / "rows.parquet")
    held, detail = drawn(tmp_path / "r")
    assert held or (held is None and "not drawn again" in detail)


def test_another_table_than_that_of_the_run_is_a_mistake_of_who_asks(release: Path) -> None:
    with pytest.raises(JobError, match="is not the public table of this release"):
        verify(release, public=release.parent / "confidential.parquet")


def test_records_of_another_version_are_drawn_again_or_not_confirmed(release: Path, tmp_path: Path) -> None:
    contents = read_bundle(release)
    write_bundle(tmp_path / "same", replace(contents, statement=replace(contents.statement, version="0.0.1")))
    assert drawn(tmp_path / "same", **tables(release))[0]
    other = forged(release, tmp_path / "other", confidential(release), version="0.0.1", software=OTHER)
    assert drawn(other, **tables(release))[0] is not True
    assert not Verification(verify(other, **tables(release)))


def test_a_file_that_hides_more_than_its_values_is_caught(release: Path, tmp_path: Path) -> None:
    shutil.copytree(release, tmp_path / "r")
    path = next(p for p in sorted((tmp_path / "r").iterdir()) if p.name.startswith(("records", "counts-2")))
    path = path.with_suffix(".parquet")
    pl.read_parquet(path).write_parquet(path, metadata={"hidden": "F,A,n,33,20000"})
    rehash(tmp_path / "r")
    held, detail = drawn(tmp_path / "r", **tables(release))
    assert held is False and path.name in detail


def test_the_same_values_by_other_libraries_hold_and_the_check_says_how_far(release: Path, tmp_path: Path) -> None:
    write_bundle(tmp_path / "r", replace(read_bundle(release), software=OTHER))
    assert Verification(verify(tmp_path / "r", **tables(release)))
    if (contents := read_bundle(release)).counts is not None:
        return  # tables of counts must have the bytes of this version, whoever made them
    path = tmp_path / "r" / "records-1.parquet"
    path.unlink()  # a second name of the release's own file
    whole(contents.records[0]).write_parquet(path, compression="snappy")
    held, detail = drawn(tmp_path / "r", **tables(release))
    assert held and "the same values; bytes not compared" in detail and "(polars)" in detail


@pytest.mark.parametrize("claimed", [software(), OTHER, {}], ids=["same libraries", "other libraries", "none"])
@pytest.mark.parametrize("stem", ["measurements", "records-1"])
def test_a_table_hidden_as_metadata_of_a_file_is_caught(
    release: Path, tmp_path: Path, claimed: dict[str, str], stem: str
) -> None:
    write_bundle(tmp_path / "r", replace(read_bundle(release), software=claimed))
    path = tmp_path / "r" / f"{stem}.parquet"
    if not path.exists():
        return
    secret = b64encode((release.parent / "confidential.parquet").read_bytes()).decode()
    rows = pl.read_parquet(path)
    path.unlink()  # a second name of the release's own file
    rows.write_parquet(path, metadata={"x": secret})
    rehash(tmp_path / "r")
    found = outcome(HIDDEN, partial(dict(CHECKS)[HIDDEN], BundleReader(tmp_path / "r")))
    assert found.held is False and path.name in found.detail


def few(folder: Path, recipe: Any, **more: Any) -> Path:
    """A release of two columns with a large budget: what is exact lies as near to its answers as any drawing."""
    people(40_000, 1).select("sex", "race").write_parquet(folder / "confidential.parquet")
    people(20_000, 2).select("sex", "race").write_parquet(folder / "last.parquet")
    people(40_000, 1).select("sex").write_parquet(folder / "rows.parquet")
    hr.Job(
        confidential=hr.Confidential(folder / "confidential.parquet", name="people", **more),
        public=hr.Public(folder / "last.parquet", provenance="made up"),
        target=hr.Target(folder / "rows.parquet") if recipe.attaches else None,
        schema=hr.Schema.loads(SCHEMA.split("[columns.area]")[0]),
        budget=hr.Budget(epsilon=1),
        recipe=recipe,
        ledger=str(folder / "ledger.db"),
    ).run(folder / "release")
    return folder / "release"


def test_exact_counts_near_the_answers_are_not_confirmed(tmp_path: Path) -> None:
    release = few(tmp_path, RECIPES["integer_counts"](columns=("sex", "race")))
    place = forged(release, tmp_path / "forged", confidential(release), software=OTHER)
    assert drawn(place)[0] is not True
    assert Verification(verify(place)).exit_code in (6, 7)


def test_attached_columns_of_other_libraries_keep_the_rows_of_the_target(tmp_path: Path) -> None:
    release = few(tmp_path, RECIPES["guided_tree"](columns=("race",)), public_columns=("sex",))
    rows = pl.read_parquet(tmp_path / "confidential.parquet")
    true = forged(release, tmp_path / "true", lambda f: rows.select(f.columns).cast(f.schema), software=OTHER)
    assert drawn(true)[0] is not True, "the true label of every given row"
    mixed = forged(release, tmp_path / "mixed", lambda f: f.sample(fraction=1, shuffle=True, seed=3), software=OTHER)
    held, detail = drawn(mixed)
    assert held is False and "given column sex does not have the values of the target, row by row" in detail


def test_what_does_not_hold_is_not_signed_in_python_either(release: Path, tmp_path: Path) -> None:
    create_key(tmp_path / "agency.key")
    shutil.copytree(release, tmp_path / "r")
    hr.Release.read(tmp_path / "r").sign(tmp_path / "agency.key", **tables(release))
    place = forged(release, tmp_path / "forged", confidential(release))
    with pytest.raises(VerifyFailed, match="does not hold, so it is not signed"):
        hr.Release.read(place).sign(tmp_path / "agency.key", **tables(release))
    assert not (place / "MANIFEST.sig").exists()


def test_figures_that_no_answer_gives_and_columns_that_no_target_gives_are_caught(tmp_path: Path) -> None:
    """Every page written anew: an exact figure of the confidential table could stand in a release that holds."""
    people(ROWS, 1).write_parquet(tmp_path / "confidential.parquet")
    people(ROWS, 2).write_parquet(tmp_path / "last.parquet")
    hr.Job(
        confidential=hr.Confidential(tmp_path / "confidential.parquet", name="people"),
        public=hr.Public(tmp_path / "last.parquet", provenance="made up"),
        schema=hr.Schema.loads(SCHEMA),
        budget=hr.Budget(epsilon=1),
        recipe=RECIPES["tree_blend"](),
        uses=(Table(["sex"], tolerance=0.05),),
        ledger=str(tmp_path / "ledger.db"),
    ).run(tmp_path / "release", forecast=False)
    contents = read_bundle(tmp_path / "release")
    first, *rest = contents.estimates
    exact = replace(first, estimate=0.5123, low=0.5122, high=0.5124, basis="From the table itself.")
    changes: dict[str, tuple[str, dict[str, Any]]] = {
        "figure": (TOLD, {"estimates": EstimateTable([exact, *rest])}),
        "nothing": (TOLD, {"estimates": EstimateTable([])}),
        "given": (DRAWN, {"given": {"sex": 0}}),
    }
    for name, (check, change) in changes.items():
        write_bundle(tmp_path / name, replace(contents, **change))
        assert Verification(verify(tmp_path / name)).failed == (check,)
    other = replace(contents, **changes["figure"][1], statement=replace(contents.statement, version="0.0.1"))
    write_bundle(tmp_path / "other", other)
    assert TOLD in Verification(verify(tmp_path / "other")).unchecked, "another version may have another way"
    (tmp_path / "last.parquet").unlink()
    assert Verification(verify(tmp_path / "release")).unchecked == (TOLD,), "they lean on the public table"
