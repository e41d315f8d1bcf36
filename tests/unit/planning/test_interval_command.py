"""``hedgerow interval``, as typed."""

import json
from pathlib import Path

import numpy as np
import pytest

from hedgerow.planning.figures import DRAWS, empirical, simulated
from hedgerow.planning.interval import interval
from tests.end_to_end.conftest import Command
from tests.end_to_end.conftest import hedgerow as hedgerow  # the fixture

LEAF = ("--p", 0.25, "--epsilon", 0.4, "--n", 1000)


def test_the_interval_as_json(hedgerow: Command) -> None:
    done = hedgerow("interval", *LEAF, "--json")
    found = json.loads(done.out)
    assert done.code == 0 and done.err == ""
    assert (round(found["low"], 6), round(found["high"], 6), found["kind"]) == (0.227239, 0.272761, "symmetric")
    assert found == interval(0.25, 0.4, 1000).to_json()
    other = json.loads(hedgerow("interval", *LEAF, "--json", "--kind", "equal-tailed", "--level", 0.5).out)
    assert other == interval(0.25, 0.4, 1000, kind="equal-tailed", level=0.5).to_json()


def test_the_least_n_and_the_least_epsilon(hedgerow: Command) -> None:
    found = json.loads(hedgerow("interval", "--p", 0.25, "--epsilon", 0.4, "--width", 0.05, "--json").out)
    assert found["n"] == 874 and found["width"] <= 0.05 and found["kind"] == "equal-tailed"
    symmetric = ("interval", "--p", 0.25, "--epsilon", 0.4, "--width", 0.05, "--json", "--kind", "symmetric")
    assert json.loads(hedgerow(*symmetric).out)["n"] == 836
    asked = ("interval", "--p", 0.25, "--n", 1000, "--width", 0.05, "--epsilon-for")
    found = json.loads(hedgerow(*asked, "--json").out)
    assert round(found["epsilon"], 6) == 0.212434 and 0.04999 < found["width"] <= 0.05
    assert hedgerow(*asked).out.startswith("least epsilon    0.212434, for a width of at most 0.05\n")


def test_the_answer_for_people_says_that_nothing_was_read(hedgerow: Command) -> None:
    done = hedgerow("interval", *LEAF)
    assert "0.227239 to 0.272761" in done.out and "227 to 273 of 1,000, probability 0.9036" in done.out
    assert done.out.endswith("No table was read and nothing was spent.\n")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ((), "do not make one question"),
        (("--p", 0.25), "do not make one question: --p."),
        ((*LEAF, "--width", 0.05), "--p, --epsilon, --n, --width"),
        ((*LEAF, "--epsilon-for"), "--width 0.05 --epsilon-for"),
        (("--p", 1.2, "--epsilon", 1, "--n", 9), "--p is 1.2: it must be a share from 0 to 1"),
        (("--p", 0.2, "--epsilon", -1, "--n", 9), "--epsilon is -1.0"),
        (("--p", 0.2, "--epsilon", "nan", "--n", 9), "--epsilon is nan"),
        (("--p", 0.2, "--epsilon", 1, "--n", 0), "--n is 0"),
        (("--p", 0.2, "--epsilon", 1, "--n", 2.5), "--n"),
        (("--p", "x", "--epsilon", 1, "--n", 9), "--p"),
        ((*LEAF, "--level", 0), "--level is 0.0"),
        ((*LEAF, "--kind", "round"), "--kind"),
        (("--p", 0.2, "--epsilon", 1, "--width", 0), "--width is 0.0"),
        (("--p", 0.5, "--n", 100, "--width", 0.05, "--epsilon-for"), "No epsilon is large enough"),
        (("--figure", "a.pdf"), "must end in .svg or .png"),
        (("--figure", "nowhere/a.png", "--level", 0.5), "Cannot write nowhere/a.png"),
    ],
)
def test_bad_input_ends_with_code_2_and_one_clear_paragraph(
    hedgerow: Command, typed: tuple[object, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = hedgerow("interval", *typed)
    assert done.code == 2 and said in done.err and "Traceback" not in done.err
    assert done.out == "" and list(tmp_path.iterdir()) == []


def test_the_figures_are_drawn_as_the_name_of_the_file_says(hedgerow: Command, tmp_path: Path) -> None:
    assert hedgerow("interval", "--figure", tmp_path / "a.svg").out.endswith(
        "No table was read and nothing was spent.\n"
    )
    assert (tmp_path / "a.svg").read_text("utf-8").startswith("<?xml")
    done = hedgerow("interval", *LEAF, "--figure", tmp_path / "c.png", "--json")
    assert json.loads(done.out)["figure"] == str(tmp_path / "c.png")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_simulated_leaves_fall_into_the_interval_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    for p in (0.0, 0.01, 0.25):
        found = interval(p, 0.3, 1000)
        counts = np.rint(simulated(p, 0.3, 1000, rng) * 1000)
        inside = float(np.mean((counts >= found.counts[0]) & (counts <= found.counts[1])))
        assert abs(inside - found.mass) < 4 * (found.mass * (1 - found.mass) / DRAWS) ** 0.5


def test_the_figure_shows_the_empirical_interval_beside_the_exact_one(hedgerow: Command, tmp_path: Path) -> None:
    assert hedgerow("interval", "--figure", tmp_path / "i.svg").code == 0
    drawn = (tmp_path / "i.svg").read_text("utf-8")
    assert "the empirical interval" in drawn and drawn.count('class="here"') >= 12  # two ends in each of six panels


def test_the_empirical_interval_is_near_the_exact_one() -> None:
    rng = np.random.default_rng(3)
    for p in (0.01, 0.05, 0.1, 0.25, 0.5):
        low, high = empirical(np.rint(simulated(p, 0.3, 1000, rng) * 1000), 1000, 0.9)
        found = interval(p, 0.3, 1000, kind="equal-tailed")
        assert abs(low - found.low) < 0.003 and abs(high - found.high) < 0.003, p
