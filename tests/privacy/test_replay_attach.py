"""Attach recipes on neighbours with equal noisy answers: equal bytes, equal words, and no request underpriced."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.question import Marginal
from hedgerow.release.bundle import BundleReader
from hedgerow.release.words import is_trial, labels_put_aside
from tests.privacy.checks import quick_folder, run_job
from tests.privacy.watch import Request, Tape, check_order, check_price, watched
from tests.privacy.world import GUARANTEES, SCHEMA, Pair, Row, frame, neighbours, write_job

RECIPES = {
    "guided_tree": "[guided_tree]\ncolumns = ['sex', 'race']\nanalyses = [['area']]\noutcomes = ['pay']",
    "random_trees": "[random_trees]\ncolumns = ['sex', 'race']\nn_b = 20\ntrees = 2\nsequence = 'chain'\n"
    "leaf_min = 3",
}
USES = """
[[use]]
name = "gap"
kind = "coefficient"
formula = "pay ~ sex | area"
term = "sex[F]"
tolerance = 9
[[use]]
name = "rate"
kind = "rate"
of = "sex"
values = ["F"]
by = ["area"]
tolerance = 0.5
"""


def attach_job(place: Path, guarantee: Guarantee, recipe: str) -> Path:
    """The toy job, attaching sex and race to forty target rows; ", no labels": the public table lacks them."""
    recipe, _, variant = recipe.partition(", ")
    job = write_job(place, guarantee, recipe=recipe)
    (place / "schema.toml").write_text(SCHEMA.split("[[joined]]")[0], "utf-8")
    rng = np.random.default_rng(0)
    public = pl.DataFrame(
        {
            "sex": rng.choice(["F", "M"], 200),
            "race": rng.choice(["A", "B", "C"], 200),
            "pay": rng.integers(0, 40, 200).astype(str),
            "area": rng.choice(["n", "s", "w"], 200),
        }
    )
    (public.drop("sex", "race") if variant == "no labels" else public).write_csv(place / "public.csv")
    public.select("pay", "area").head(40).write_csv(place / "target.csv")
    if variant in ("tried", "exchanged"):
        frame(_related(1, exchanged=variant == "exchanged")).drop("id").write_csv(place / "public.csv")
        frame(_related(2)).select("pay", "area").write_csv(place / "target.csv")
    tables = "[public]\ntable = 'public.csv'\n[target]\ntable = 'target.csv'\n"
    wanted = (
        ""
        if variant == "uses"
        else RECIPES[recipe].replace("'chain'", "'papers-2018'" if variant == "papers-2018" else "'chain'")
    )
    job.write_text(job.read_text("utf-8").split("[[use]]")[0] + tables + (wanted or USES) + "\n", "utf-8")
    return job


def _related(seed: int, *, exchanged: bool = False) -> tuple[Row, ...]:
    """People, two rows each, whose race goes with pay and area; ``exchanged``: as A and C change places."""
    rng = np.random.default_rng(seed)
    race = rng.choice(3, 6000, p=[0.4, 0.2, 0.4])
    pay, area = 12 * race + rng.integers(0, 14, 6000), np.where(rng.random(6000) < 0.2 + 0.3 * race, "n", "s")
    each = zip(rng.choice(["F", "M"], 6000), 2 - race if exchanged else race, pay, area, strict=True)
    return tuple((str(s), "ABC"[r], str(p), str(a), f"other {i // 2}") for i, (s, r, p, a) in enumerate(each))


def replayed(folder: Path, guarantee: Guarantee, recipe: str, pair: Pair) -> None:
    """The whole job on both tables of the pair, with the same noisy answers."""
    tape, outcomes = Tape(), list[tuple[list[Request], dict[str, bytes], str]]()
    for name, rows, play in (("here", pair.here, False), ("there", pair.there, True)):
        place = folder / name
        place.mkdir()
        job = attach_job(place, guarantee, recipe)
        frame(rows).write_csv(place / "secret.csv")
        with watched(tape, play=play, public=[place / "public.csv", place / "target.csv"]) as requests:
            outcomes.append((requests, *run_job(job)))
        check_order(requests)
    (here, bytes_here, said_here), (there, bytes_there, said_there) = outcomes
    assert "statement.json" in bytes_here, said_here
    check_price(here, there, "pure", Budget("1.5").total)
    assert bytes_here == bytes_there, "a file differs on a neighbour with equal answers"
    assert said_here == said_there, "something else was said on a neighbour"


every_recipe = pytest.mark.parametrize("recipe", [*RECIPES, "guided_tree, no labels", "random_trees, papers-2018"])
every_relation = pytest.mark.parametrize(
    "named", ["record, add-remove", "record, replace-one", "person, label-change"]
)


@every_recipe
@every_relation
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_attach_recipes_give_equal_bytes_on_neighbours(named: str, recipe: str, data: st.DataObject) -> None:
    pair = data.draw(neighbours(GUARANTEES[named]))
    with quick_folder() as folder:
        replayed(Path(folder), GUARANTEES[named], recipe, pair)


@pytest.mark.thorough
@every_recipe
@every_relation
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_attach_recipes_give_equal_bytes_on_many_neighbours(named: str, recipe: str, data: st.DataObject) -> None:
    pair = data.draw(neighbours(GUARANTEES[named]))
    with quick_folder() as folder:
        replayed(Path(folder), GUARANTEES[named], recipe, pair)


@pytest.mark.parametrize("variant", ["tried", "exchanged"])
@settings(max_examples=2, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_byte_is_the_same_where_public_labels_are_tried(variant: str, data: st.DataObject) -> None:
    guarantee, others = GUARANTEES["record, label-change"], _related(3)
    pair = data.draw(neighbours(guarantee))
    with quick_folder() as folder:
        both = Pair(others + pair.here, others + pair.there)
        replayed(Path(folder), guarantee, f"guided_tree, {variant}", both)
        made = BundleReader(Path(folder) / "here" / "release")
        assert is_trial(made.statement.spends[0]), "no label was tried"
        assert ("A trial refuted" in labels_put_aside(made.statement)) == (variant == "exchanged")


@pytest.mark.parametrize("named", ["record, replace-one", "person, label-change"])
@settings(max_examples=1, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_is_measured_and_estimated_for_declared_uses_is_equal_on_neighbours(
    named: str, data: st.DataObject
) -> None:
    with quick_folder() as folder:
        replayed(Path(folder), GUARANTEES[named], "guided_tree, uses", data.draw(neighbours(GUARANTEES[named])))
        made = BundleReader(Path(folder) / "here" / "release")
        asked, told = [m.question for _, m in made.answers], {e.name for e in made.contents.estimates}
    bands = [q for q in asked if q.tree and q.tree.columns == ("pay", "area")]
    assert told == {"gap", "rate"} and Marginal(("area", "sex")) in asked and bands, "the uses were not measured"
