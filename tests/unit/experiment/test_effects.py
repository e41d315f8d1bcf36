"""Effects are what a plain analysis of variance says they are; findings are held against the figures."""

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hedgerow.experiment.effects import FindingResult, effects_on, judge
from hedgerow.experiment.grid import Finding, Grid
from hedgerow.experiment.study import _effect_lines, draw_effects


def results(seeds: int = 3, noise: float = 0.01, *, interact: float = 0.0) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    rows = []
    for a, b, c, seed in product([1, 40], [25, 500], ["x", "y", "z"], range(seeds)):
        error = 1 + 0.5 * (a == 1) + 0.2 * (b == 25) + interact * (a == 1) * (b == 25) + 0.1 * seed
        error += noise * rng.standard_normal()
        rows.append({"a": a, "b": b, "c": c, "seed": seed, "measure": "m", "error": error, "note": ""})
    return pl.DataFrame(rows)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_shares_agree_with_statsmodels() -> None:
    formula = pytest.importorskip("statsmodels.formula.api")
    api = pytest.importorskip("statsmodels.api")
    frame = results(noise=0.1, interact=0.3)
    found = effects_on(frame, "m", ["a", "b", "c"])
    data = {c: frame[c].to_list() for c in ("error", "seed", "a", "b", "c")}
    fit = formula.ols("error ~ C(seed) + (C(a) + C(b) + C(c))**2", data).fit()
    table = api.stats.anova_lm(fit, typ=2)
    rest = float(table["sum_sq"].sum() - table["sum_sq"]["C(seed)"])
    for e in (*found.single, *found.pairs):
        name = ":".join(f"C({f})" for f in e.factors)
        assert e.share == pytest.approx(table["sum_sq"][name] / rest, rel=0.05), e.name  # rest lacks triples


def test_the_strongest_factor_comes_first_and_a_seed_that_moves_all_runs_does_not_matter() -> None:
    found = effects_on(results(), "m", ["a", "b", "c"])
    assert [e.factors for e in found.single] == [("a",), ("b",), ("c",)]
    assert found.single[0].largest == pytest.approx(0.5, abs=0.01)
    assert found.by_chance < 0.01
    assert sum(e.share for e in (*found.single, *found.pairs)) == pytest.approx(1, abs=0.02)


def test_an_effect_of_chance_is_about_as_large_as_chance_makes_it() -> None:
    shares = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        frame = results(seeds=4).with_columns(error=pl.Series(rng.standard_normal(48)))
        e = effects_on(frame, "m", ["a", "b", "c"]).pairs[0]
        shares.append((e.share, e.by_chance, e.ratio))
    ratio = np.array([r for *_, r in shares])
    assert 0.5 < np.median(ratio) < 4  # the largest of three pairs


def test_runs_that_failed_are_left_out() -> None:
    frame = results().with_columns(error=pl.when(pl.col("seed") == 2).then(float("nan")).otherwise(pl.col("error")))
    assert effects_on(frame, "m", ["a", "b", "c"]).single[0].factors == ("a",)
    none = effects_on(frame.with_columns(error=pl.lit(float("nan"))), "m", ["a"])
    assert none.single == ()


GRID = """
[experiment]
job = "job.toml"
[[factor]]
name = "a"
set = "tree_blend.first_share"
levels = [1, 40]
[[factor]]
name = "b"
set = "tree_blend.bearable"
levels = [25, 500]
[[factor]]
name = "c"
set = "job.title"
levels = ["x", "y", "z"]
[[measure]]
name = "m"
columns = ["sex"]
"""


def judged(*asked: Finding, frame: pl.DataFrame, tmp_path: Path, text: str = GRID) -> tuple[FindingResult, ...]:
    (tmp_path / "job.toml").write_text('[job]\nrecipe = "tree_blend"\n', "utf-8")
    (tmp_path / "grid.toml").write_text(text, "utf-8")
    grid = Grid.load(tmp_path / "grid.toml")
    grid = Grid(grid.path, grid.file.model_copy(update={"finding": asked}), grid.job, grid.job_path)
    return judge(grid, frame)


def findings(*asked: Finding, frame: pl.DataFrame, tmp_path: Path) -> list[bool | None]:
    return [v.held for v in judged(*asked, frame=frame, tmp_path=tmp_path)]


def test_levels_are_named_in_findings_as_in_figures(tmp_path: Path) -> None:
    named = GRID.replace("levels = [25, 500]", 'levels = [25, 500]\nlabels = ["short", "long"]')
    asked = Finding(says="b", check="helps", factors=("b",), of=(25, 500))
    (found,) = judged(asked, frame=results(), tmp_path=tmp_path, text=named)
    assert " at short, " in found.figures and " at long; it falls by" in found.figures, found.figures


def test_findings_hold_when_they_do_and_only_then(tmp_path: Path) -> None:
    asked = (
        Finding(says="a first", check="first", factors=("a",)),
        Finding(says="b first", check="first", factors=("b",)),
        Finding(says="b second", check="second", factors=("b",)),
        Finding(says="a and b", check="interact", factors=("a", "b")),
        Finding(says="b and c", check="interact", factors=("b", "c")),
        Finding(says="40 helps", check="helps", factors=("a",), of=(1, 40)),
        Finding(says="1 helps", check="helps", factors=("a",), of=(40, 1)),
        Finding(says="y is no better", check="does not help", factors=("c",), of=("x", "y")),
        Finding(says="b at a", check="helps", factors=("b",), of=(25, 500), at={"a": 1}),
    )
    frame = results(interact=0.3)
    assert findings(*asked, frame=frame, tmp_path=tmp_path) == [
        True,
        False,
        True,
        True,
        False,
        True,
        False,
        True,
        True,
    ]


def test_one_run_of_each_cell_does_not_tell_what_chance_does(tmp_path: Path) -> None:
    """'0.0 % of its variation is chance' stood there, and an interaction was judged."""
    frame = results(seeds=1)
    found = effects_on(frame, "m", ["a", "b", "c"])
    assert np.isnan(found.by_chance) and all(np.isnan(e.by_chance) for e in found.single)
    said = "\n".join(_effect_lines(found))
    assert (
        "% of its variation is chance" not in said and "give the experiment more seeds" in said and "nan" not in said
    )
    draw_effects(tmp_path / "effects.svg", found)
    drawn = (tmp_path / "effects.svg").read_text("utf-8")
    assert "nan" not in drawn and "what chance alone gives" not in drawn
    assert "% of its variation is chance" in "\n".join(_effect_lines(effects_on(results(), "m", ["a", "b", "c"])))
