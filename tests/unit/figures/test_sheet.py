"""Charts on a sheet: an SVG file that stands alone, in light and dark; a PNG by a library, or a hint."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from hedgerow.errors import JobError, MissingExtra
from hedgerow.figures import (
    Bar,
    Key,
    LinePoint,
    Section,
    Trace,
    bars,
    check_sheet,
    columns,
    interval_groups,
    legend,
    lines,
    log_lines,
    series,
    sheet,
    write_sheet,
)
from hedgerow.figures.drawing import style
from hedgerow.planning.figures import draw_intervals
from tests.chromium import PROGRAM, WHY_NOT, chromium

HOSTILE = '"></title><script>alert(1)</script>'
COST = "Nothing was spent."


def example(words: str = "words") -> str:
    line = Trace(series(0), (LinePoint(0, 1.0), LinePoint(1, 2.0)))
    charts = [
        (words, lines(["2001", words], [line], said=words)),
        ("", log_lines([Trace(series(7), (LinePoint(1, 1.0), LinePoint(10, 2.0)))], said=words, show=str)),
        ("", bars([Bar(words, 3.0, words, dot=1.0, kind="bar soft")], said=words)),
        ("", columns([Bar(words, 0.3, words), Bar("b", 0.1, "")], said=words, span=(0.5, 1.5), axes=("x", "y"))),
        ("", interval_groups(["10", "20"], [[(0.1, 0.2)] * 2] * 3, at_line=0.15, said=words, axes=("n", "p"))),
    ]
    return sheet([Section(words, notes=[words], keys=[Key(words, "curve")]), Section(words, charts, across=2)])


def test_a_sheet_is_one_document_that_fetches_nothing() -> None:
    root = ElementTree.fromstring(example())
    assert root.tag.endswith("svg") and len(root.findall(".//{*}svg")) == 5
    assert not re.search(r"(?:href|src|url)\b", example())


def test_words_on_a_sheet_are_shown_and_never_obeyed() -> None:
    made = example(HOSTILE)
    assert "<script" not in made and "alert(1)" in made
    ElementTree.fromstring(made)


def test_charts_and_keys_lie_inside_their_sheet() -> None:
    keys = [Key(f"a level of a factor with a name {i}", f"curve {series(i)}") for i in range(9)]
    made = sheet([Section("a heading " * 30, [("", bars([Bar("a", 1.0, "a")], said="s"))], keys=keys)])
    wide, high = map(int, re.findall(r'width="(\d+)" height="(\d+)" role', made)[0])
    for x, y, words in re.findall(r'<text class="(?:key|heading)" x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)<', made):
        assert float(x) + 7.4 * len(words) <= wide + 40 and float(y) < high


def test_every_look_of_a_line_has_a_colour_in_light_and_dark() -> None:
    css = style()
    assert all(f"svg .s{i} {{" in css for i in range(6)) and series(0) != series(6)
    light, dark = (set(re.findall(r"(--[\w-]+):", part)) for part in css.split("@media")[:2])
    assert set(re.findall(r"var\((--[\w-]+)\)", css)) <= light & dark


def test_a_png_by_the_extra_library_and_a_hint_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "a.png"
    check_sheet(place, COST)
    write_sheet(place, example())
    assert place.read_bytes().startswith(b"\x89PNG") and place.stat().st_size > 5000
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingExtra, match=r"pip install 'hedgerow\[png\]'") as refused:
        check_sheet(place, COST)
    assert "\n" not in str(refused.value)
    check_sheet(tmp_path / "a.svg", COST)


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"must end in \.svg or \.png\. Nothing was spent\."):
        check_sheet(tmp_path / "a.pdf", COST)
    with pytest.raises(OSError):
        check_sheet(tmp_path / "nowhere" / "a.svg", COST)


OVERLAPS = """(() => {
  const found = [...document.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
  const whole = document.documentElement.getBoundingClientRect(), wrong = [];
  found.forEach(([words, a], i) => {
    const out = a.left < 0 || a.top < 0 || a.right > whole.right + 1 || a.bottom > whole.bottom + 1;
    if (out) wrong.push("out: " + words);
    found.slice(i + 1).forEach(([other, b]) => {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 3) wrong.push(words + " | " + other);
    });
  });
  return wrong;
})()"""


@pytest.mark.skipif(PROGRAM is None, reason=WHY_NOT)
def test_words_on_the_sheet_of_intervals_neither_overlap_nor_are_cut_off(tmp_path: Path) -> None:
    place = tmp_path / "intervals.svg"
    draw_intervals(place, rng=np.random.default_rng(0), p=0.03)
    wide, high = map(int, re.findall(r'width="(\d+)" height="(\d+)" role', place.read_text("utf-8"))[0])
    with chromium() as browser:
        papers = []
        for dark in (False, True):
            browser.open(place, wide=wide, high=high, dark=dark)
            assert browser.run(OVERLAPS) == [] and browser.complaints == []
            papers.append(browser.run("getComputedStyle(document.querySelector('.paper')).fill"))
    assert papers == ["rgb(255, 255, 255)", "rgb(28, 34, 30)"]


def test_no_word_of_a_legend_is_clipped() -> None:
    long = Key("weights = " + ", ".join(f"attribute_{i} {i}" for i in range(20)), "curve s0")
    chart = lines(["1", "2"], [Trace(series(0), (LinePoint(0, 1.0), LinePoint(1, 2.0)))], said="a line")
    alone = legend([long, Key("short", "bar")])
    assert alone.wide >= long.wide and "attribute_19 19" in alone
    wide = int(re.search(r'width="(\d+)"', sheet([Section("one", [("", chart)], keys=[long])]))[1])  # type: ignore[index]
    assert wide >= long.wide
