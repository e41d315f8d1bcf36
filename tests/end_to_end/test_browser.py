"""The pages in a real Chromium: nothing fetched, nothing complained of; choosing, pointing, sorting, dark, print."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hedgerow.api.job import Job
from hedgerow.evaluate.compare import compare, page
from hedgerow.public.costs.accounting import Budget
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable
from hedgerow.release.bundle import write_bundle
from hedgerow.release.rehearsal_folder import write
from hedgerow.simulate.personnel import personnel, personnel_schema
from hedgerow.stand_in.rehearsal import rehearse
from hedgerow.steward.exact import write_report
from tests.chromium import PROGRAM, WHY_NOT, Chromium, chromium
from tests.unit.planning.test_rehearsal import a_stand_in
from tests.unit.release.made import a_release

pytestmark = pytest.mark.skipif(PROGRAM is None, reason=WHY_NOT)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    found = rehearse(a_stand_in(), budget=Budget("1"), runs=2, workers=1, rng=np.random.default_rng(0))
    write_bundle(folder / "release", a_release(pairs=True, copies=2, rehearsal=found))
    write(found, folder / "rehearsal")
    _inside_and_compared(folder)
    return folder


def _inside_and_compared(folder: Path) -> None:
    """A release of simulated personnel over four years: the steward's page of its uses, and every metric."""
    made = personnel(3000, 2)
    made.public.write_parquet(folder / "public.parquet")
    made.confidential.write_parquet(folder / "confidential.parquet")
    (folder / "schema.toml").write_text(personnel_schema(), "utf-8")
    (folder / "job.toml").write_text(JOB, "utf-8")
    Job.load(folder / "job.toml").run()
    write_report(Job.load(folder / "job.toml"), out=folder / "inside", rng=np.random.default_rng(0))
    schema = Schema.load(folder / "schema.toml")
    a, b = (
        CodedTable.read(str(folder / f), schema, role="target")
        for f in ("confidential.parquet", "personnel/records.parquet")  # simulated: nobody's rows
    )
    (folder / "close.html").write_text(page(compare(a, b, rng=np.random.default_rng(0))), "utf-8")


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as opened:
        yield opened


REPORT, COMPARED, INSIDE = "release/report.html", "close.html", "inside/uses.html"
PAGES = [REPORT, "release/codebook.html", "rehearsal/rehearsal.html", "personnel/report.html", COMPARED, INSIDE]
JOB = """
[job]
recipe = "independent"
out = "personnel"
[confidential]
table = "confidential.parquet"
[public]
table = "public.parquet"
[budget]
epsilon = 20
[[use]]
name = "pay gap of women by year, all else equal, agencies and occupations absorbed"
kind = "coefficient"
formula = "ln(pay) ~ sex + age | agency + occupation"
term = "sex[F]"
by = ["year"]
tolerance = 0.02
[[use]]
name = "occupation by sex and supervisory status"
columns = ["occupation", "sex", "supervisory"]
tolerance = 0.2
"""


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_page_opens_without_complaint_and_fetches_nothing(
    pages: Path, browser: Chromium, name: str, dark: bool
) -> None:
    browser.open(pages / name, dark=dark)
    assert browser.complaints == []
    assert browser.fetched == [(pages / name).resolve().as_uri()]
    assert browser.run("document.documentElement.classList.contains('js')"), "the policy lets our own script run"
    paper = browser.run("getComputedStyle(document.body).backgroundColor")
    light = sum(int(x) for x in paper.removeprefix("rgb(").rstrip(")").split(","))
    assert light < 150 if dark else light > 600


@pytest.mark.parametrize("wide", [1280, 420])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_sticks_out_and_nothing_is_drawn_over_the_edge(
    pages: Path, browser: Chromium, name: str, wide: int
) -> None:
    browser.open(pages / name, wide=wide)
    assert browser.run("document.documentElement.scrollWidth") <= wide
    outside = browser.run(
        """[...document.querySelectorAll('svg')].filter((s) => s.getBBox().width > 0).filter((s) => {
             const box = s.getBBox(), view = s.viewBox.baseVal, right = box.x + box.width, low = box.y + box.height;
             return box.x < -1 || box.y < -1 || right > view.width + 1 || low > view.height + 1;
           }).map((s) => s.getAttribute('aria-label'))"""
    )
    assert outside == []


def test_the_first_screen_has_uses_promise_odds_and_limits(pages: Path, browser: Chromium) -> None:
    browser.open(pages / REPORT)
    for name in ("uses", "promise", "not"):
        top = browser.run(f"document.getElementById('{name}').getBoundingClientRect().top")
        assert 0 < top < 860, name
    words = browser.run("document.querySelector('.two').innerText")
    assert "at most about 73 chances in 100" in words and "like a" in words


@pytest.mark.parametrize("name", [REPORT, "rehearsal/rehearsal.html", "personnel/report.html", INSIDE])
def test_at_400_pixels_every_verdict_is_seen_beside_its_use(pages: Path, browser: Chromium, name: str) -> None:
    browser.open(pages / name, wide=400)
    tags = "[...document.querySelectorAll('table.uses .tag')]"
    boxes = browser.run(f"{tags}.map((t) => {{ const b = t.getBoundingClientRect(); return [b.left, b.right]; }})")
    assert boxes and all(0 <= left < right <= 400 for left, right in boxes)
    assert browser.run(f"{tags}.every((t) => t.closest('.scroll') === null)"), "none has to be scrolled to"
    words = browser.run("document.querySelector('table.uses').innerText")
    assert (
        "Expected: " in words
        or "Seen in few runs: " in words
        or "It came out " in words
        or "no public table" in words
    )
    assert "tolerance" in words.lower()


@pytest.mark.parametrize("name", [REPORT, "personnel/report.html"])
def test_at_400_pixels_a_name_in_a_table_has_room_and_no_line_begins_with_a_percent_sign(
    pages: Path, browser: Chromium, name: str
) -> None:
    """A name of three columns took five lines, while the numbers beside it can be scrolled to."""
    browser.open(pages / name, wide=400)
    wide = browser.run(
        "[...document.querySelectorAll('.scroll tbody th')].map(t => t.getBoundingClientRect().width).filter(w => w)"
    )
    assert wide and min(wide) >= 130
    prose = browser.run("[...document.querySelectorAll('p, td, th, figcaption')].map(p => p.textContent).join()")
    assert "\u00a0%" in prose and not re.search(r"\d %", prose)


def test_long_tables_of_noise_fold_away_in_print_unless_opened(pages: Path, browser: Chromium) -> None:
    browser.open(pages / "personnel/report.html", media="print")
    long = "[...document.querySelectorAll('details.long')]"
    assert browser.run(f"{long}.length") >= 3
    shown = f"{long}.filter((d) => !d.open).map((d) => d.querySelector('.scroll, pre').offsetHeight)"
    assert set(browser.run(shown)) == {0}
    assert browser.run(f"{long}.filter((d) => d.open).every((d) => d.querySelector('.scroll').offsetHeight > 0)")


def test_choosing_a_column_shows_that_one_and_all_again(pages: Path, browser: Chromium) -> None:
    browser.open(pages / REPORT)
    cards = "document.querySelectorAll('[data-choose^=Column] > .card')"
    shown = f"[...{cards}].filter((c) => c.offsetHeight).length"
    every = browser.run(shown)
    assert every == len(a_release(rows=10).schema.attributes)
    choose = """(value) => { const s = [...document.querySelectorAll('.chooser')]
        .find((l) => l.textContent.startsWith('Column')).querySelector('select');
        s.value = value; s.dispatchEvent(new Event('change')); }"""
    browser.run(f"({choose})('2')")
    assert browser.run(shown) == 1
    browser.run(f"({choose})('')")
    assert browser.run(shown) == every


def test_pointing_at_a_bar_tells_its_numbers(pages: Path, browser: Chromium) -> None:
    browser.open(pages / REPORT)
    bar = "document.querySelector('[data-choose^=Column] svg g .bar')"
    browser.run("document.documentElement.style.scrollBehavior = 'auto'")
    browser.run(f"{bar}.scrollIntoView({{block: 'center'}})")
    browser.run("new Promise((done) => setTimeout(done, 300))")  # until the scrolling, which clears the hint, is over
    box = browser.run(f"(() => {{ const r = {bar}.getBoundingClientRect(); return [r.left + 2, r.top + 2]; }})()")
    browser.move(*box)
    assert browser.run("!document.querySelector('.hint').hidden")
    assert "noisy" in browser.run("document.querySelector('.hint').textContent")


def test_a_table_sorts_by_number_not_by_text(pages: Path, browser: Chromium) -> None:
    browser.open(pages / REPORT)
    cells = "[...document.querySelectorAll('table.sorts')[0].tBodies[0].rows].map((r) => r.cells[2].textContent)"
    press = "document.querySelectorAll('table.sorts')[0].tHead.rows[0].cells[2].querySelector('button').click()"
    for reverse in (False, True):
        browser.run(press)
        found = [int(x.replace(",", "")) for x in browser.run(cells)]
        assert found == sorted(found, reverse=reverse) and len(set(found)) > 2


def test_print_shows_every_card_and_is_a_pdf(pages: Path, browser: Chromium, tmp_path: Path) -> None:
    browser.open(pages / REPORT, media="print")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.run("[...document.querySelectorAll('.card.off')].every((c) => c.offsetHeight > 0)")
    assert browser.run("[...document.querySelectorAll('.chooser')].every((c) => c.offsetHeight === 0)")
    browser.printed(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_without_the_script_every_card_and_number_is_there(pages: Path, browser: Chromium, tmp_path: Path) -> None:
    bare = (pages / REPORT).read_text().replace("script-src", "script-src-gone")
    (tmp_path / "bare.html").write_text(bare)
    browser.open(tmp_path / "bare.html")
    assert not browser.run("document.documentElement.classList.contains('js')"), "a changed policy stops the script"
    assert browser.run("[...document.querySelectorAll('[data-name]')].every((c) => c.offsetHeight > 0)")
    assert browser.run("document.querySelector('svg g > title').textContent") != ""


def choose(name: str, value: str) -> str:
    """Press the chooser that is called so."""
    return f"""(() => {{ const s = [...document.querySelectorAll('.chooser')]
        .find((l) => l.textContent.startsWith('{name}')).querySelector('select');
        s.value = '{value}'; s.dispatchEvent(new Event('change')); }})()"""


def test_labels_end_inside_their_drawings_and_do_not_lie_on_each_other(pages: Path, browser: Chromium) -> None:
    for name in (REPORT, "personnel/report.html", COMPARED, INSIDE):
        browser.open(pages / name)
        over = browser.run(
            """[...document.querySelectorAll('svg')].flatMap((s) => {
                 const words = [...s.querySelectorAll('text:not([transform])')].map((t) => [t, t.getBBox()]);
                 return words.filter(([t, b], i) => words.slice(i + 1).some(([u, c]) => b.x < c.x + c.width - 1.5 &&
                   c.x < b.x + b.width - 1.5 && b.y < c.y + c.height - 4 && c.y < b.y + b.height - 4))
                   .map(([t]) => s.getAttribute('aria-label') + ': ' + t.textContent); })"""
        )
        assert over == [], name


def test_a_comparison_has_a_figure_with_a_table_behind_it_for_every_measure_that_draws(
    pages: Path, browser: Chromium
) -> None:
    browser.open(pages / COMPARED)
    figures = browser.run("document.querySelectorAll('figure svg').length")
    assert figures == browser.run(
        "[...document.querySelectorAll('summary')].filter((s) => s.textContent === 'The same as a table').length"
    )
    assert figures > 20
    assert browser.run("[...document.querySelectorAll('figure svg')].every((s) => s.children.length > 3)")
    links = "[...document.querySelectorAll('main table a')].map((a) => a.getAttribute('href').slice(1))"
    assert browser.run(f"{links}.length") >= 15
    assert browser.run(f"{links}.every((id) => document.getElementById(id))")


def test_a_coefficient_and_a_column_of_a_comparison_can_be_chosen(pages: Path, browser: Chromium) -> None:
    browser.open(pages / COMPARED)
    cards = "document.querySelectorAll('[data-choose^=Coefficient] > .card')"
    shown = f"[...{cards}].filter((c) => c.offsetHeight).length"
    assert browser.run(shown) > 5
    browser.run(choose("Coefficient", "0"))
    assert browser.run(shown) == 1
    lines = "document.querySelectorAll('[data-choose^=Coefficient] > .card:not(.off) polyline.curve')"
    dashes = browser.run(f"[...{lines}].map((p) => getComputedStyle(p).strokeDasharray)")
    assert dashes[0] == "none" and dashes[1] != "none", "authentic solid, synthetic dashed"
    dots = "[...document.querySelector('[data-pick]').querySelectorAll('circle[data-group]')]"
    browser.run(choose("Column", "sex"))
    faint = browser.run(f"{dots}.filter((d) => getComputedStyle(d).opacity < 0.5).map((d) => d.dataset.group)")
    assert faint and "sex" not in faint


def test_the_stewards_page_draws_a_coefficient_by_year_as_lines(pages: Path, browser: Chromium) -> None:
    browser.open(pages / INSIDE)
    card = "document.querySelector('[data-name^=\"pay gap\"]')"
    assert browser.run(f"[...{card}.querySelectorAll('polyline')].map((p) => p.getAttribute('class'))") == [
        "limit",
        "limit",
        "curve",
        "curve made",
    ]
    years = browser.run(f"[...{card}.querySelectorAll('text')].map((t) => t.textContent)")
    assert {"2008", "2009", "2010", "2011"} <= set(years)
    assert browser.run(f"{card}.querySelectorAll('tbody tr').length") == 4
    assert "INSIDE ONLY" in browser.run("getComputedStyle(document.body, '::before').content")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_on_a_narrow_screen_the_stewards_verdicts_are_seen_without_scrolling(
    pages: Path, browser: Chromium, dark: bool
) -> None:
    browser.open(pages / INSIDE, wide=400, dark=dark)
    rights = browser.run("[...document.querySelectorAll('.uses .tag')].map((t) => t.getBoundingClientRect().right)")
    assert len(rights) == 2 and all(0 < right <= 400 for right in rights)
    assert browser.run("document.querySelector('.uses').getBoundingClientRect().right") <= 400
