"""The studio in a real Chromium: the roads of records, attach and counts; keyboard, sizes, two tabs, a restart."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from hedgerow.api.job import Job
from hedgerow.ledger.book import Ledger
from hedgerow.simulate.personnel import personnel, personnel_schema
from hedgerow.steward import ledger_book
from tests.chromium import PROGRAM, WHY_NOT

sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install playwright")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason=WHY_NOT)
PATIENCE = 400_000
SCREENS = ("tables", "schema", "uses", "budget", "run", "result", "ledger", "experiments", "compare")


class Served:
    """A studio in a process of its own."""

    def __init__(self, root: Path, port: int = 0) -> None:
        words = ["studio", str(root), "--no-browser", "--port", str(port)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hedgerow", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/\S+/", line):
                self.address, self.port = found[0], int(found[1])
                break

    def end(self) -> str:
        """What it has said on stderr."""
        self.process.terminate()
        return self.process.communicate(timeout=30)[1]


@contextmanager
def served(root: Path, page: Any) -> Iterator[Served]:
    studio = Served(root)
    try:
        yield studio
    except Exception as stuck:
        stuck.add_note(f"{page.url}\n{page.inner_text('body', timeout=5000)}")  # where it stood still
        raise
    finally:
        page.goto("about:blank")  # an open page goes on asking
        assert studio.end() == "", "nothing is logged"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page that may reach the studio alone; whatever the browser complains of fails the test."""
    context = browser.new_context(accept_downloads=True, viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    wrong: list[str] = []
    opened.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    opened.on("pageerror", lambda e: wrong.append(str(e)))
    opened.on("request", lambda r: None if r.url.startswith("http://127.0.0.1:") else wrong.append(r.url))
    yield opened
    context.close()
    assert [w for w in wrong if "409" not in w] == [], "an answer of 409 is a refusal that the test asked for"


def tables(root: Path, rows: int = 800) -> Path:
    made, some = personnel(rows, 3), ["person", "agency", "age", "pay", "sex", "race"]
    for name in ("public", "confidential"):
        getattr(made, name).select(some).write_csv(root / f"{name}.csv")
    made.target.select(some[:-2]).write_csv(root / "target.csv")
    return root


def begin(page: Any, studio: Served, kind: str, **more: str) -> None:
    """From the folder to a drafted schema."""
    page.goto(studio.address)
    page.get_by_role("button", name="Start: choose the tables").click()
    page.get_by_label(re.compile(kind)).check()
    page.locator("select[name=confidential]").select_option("confidential.csv")
    page.locator("select[name=public]").select_option("public.csv")
    for name, value in more.items():
        page.locator(f"select[name={name}]").select_option(value)
    page.get_by_label("Where it comes from").fill("an earlier period")
    page.get_by_role("button", name=re.compile("^Save")).click()


def go(page: Any, name: str) -> None:
    page.get_by_role("navigation", name="The road").get_by_role("link", name=re.compile(name)).click()


def rehearse(page: Any, runs: str = "2", epsilons: str = "1,2") -> None:
    page.get_by_label("runs at each").fill(runs)
    page.get_by_label("epsilons").fill(epsilons)
    page.get_by_role("button", name=re.compile("^Rehearse")).click()


def run(page: Any, words: str) -> None:
    page.get_by_label("To confirm").fill(words)
    page.get_by_role("button", name="Run it").click()
    page.get_by_role("link", name="Look at the result").click()


def verify(page: Any) -> None:
    page.get_by_role("button", name="Verify").click()
    page.get_by_text("the release holds").wait_for()


def test_the_road_of_records(tmp_path: Path, page: Any) -> None:
    root = tables(tmp_path)
    with served(root, page) as studio:
        begin(page, studio, "Whole synthetic records")
        page.wait_for_selector("#column-0")
        assert "person" in page.get_by_text("without a card").inner_text()
        _move_an_edge(page, root)
        go(page, "Tables")
        page.get_by_label("Each person, who may have").check()
        page.locator("select[name=person]").select_option("person")
        page.get_by_label("Most rows of one person").fill("4")
        page.get_by_role("button", name="Save", exact=True).click()
        go(page, "What for")
        page.get_by_role("button", name=re.compile("^Add ")).first.click()
        page.get_by_text("A mean, of everybody or by group").click()
        form = page.locator("details[open] form")
        form.locator("select[name=of]").select_option("pay")
        form.get_by_label("sex").check()
        form.get_by_label("It may be off").fill("10")
        form.get_by_role("button", name="Add this use").click()
        sync_api.expect(page.get_by_text("within 10 in 100")).to_have_count(1, timeout=PATIENCE)
        go(page, "Budget")
        rehearse(page)
        page.wait_for_selector("#forecasts")
        _slide(page)
        page.get_by_label("epsilon", exact=True).fill("1")
        page.get_by_role("button", name="Save and go on to the run").click()
        assert "person with at most 4 rows" in page.locator(".cost").inner_text()
        page.get_by_label("To confirm").fill("yes")
        page.get_by_role("button", name="Run it").click()
        assert "To run it, type exactly: spend 1 on confidential" in page.get_by_role("alert").inner_text()
        sync_api.expect(page.get_by_label("To confirm")).to_have_value("yes")  # as it was typed, to be mended
        run(page, "spend 1 on confidential")
        verify(page)
        _publish(page)
        _inside(page, root)
        go(page, "Ledger")
        page.get_by_label(re.compile("most that all runs")).fill("3")
        page.get_by_role("button", name="Set the cap").click()
        page.get_by_role("cell", name="epsilon 2", exact=True).wait_for()
        job = (root / "job.toml").read_text("utf-8")
        assert job.startswith("# What to publish") and 'unit = "person"' in job and job.count("[[use]]") == 2
        for screen in SCREENS:
            page.goto(f"{studio.address}job/job.toml/{screen}")
            assert page.locator(".same pre").count() >= 1, "every screen shows the same as a command"


def _move_an_edge(page: Any, root: Path) -> None:
    """By keyboard, and by mouse; what is saved keeps the comments of the file."""
    before = (root / "schema.toml").read_text("utf-8")
    card = page.locator("section.column", has=page.get_by_role("heading", name=re.compile("^pay")))
    edges = card.get_by_role("slider")
    edges.first.focus()
    start = float(card.locator("input[name=low]").input_value())
    page.keyboard.press("ArrowLeft")
    moved = float(card.locator("input[name=low]").input_value())
    assert moved < start
    box = edges.last.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] - 60, box["y"] + 20, steps=4)
    page.mouse.up()
    high = float(card.locator("input[name=high]").input_value())
    with page.expect_navigation():
        card.get_by_role("button", name="Save pay").click()
    after = (root / "schema.toml").read_text("utf-8")
    assert f"low = {moved:g}" in after.replace(".0", "") and f"high = {high:g}" in after.replace(".0", "")
    assert [x for x in before.split("\n") if x.startswith("#")] == [x for x in after.split("\n") if x.startswith("#")]


def _slide(page: Any) -> None:
    """The forecasts answer in under 100 ms, from the curve that is on the page: nothing is asked of the server."""
    asked: list[str] = []
    own = ("/state", "/icon.svg")  # what the page looks at by itself, and the browser for its tab, late at times
    page.on("request", lambda r: asked.append(r.url) if not r.url.endswith(own) else None)
    took = page.evaluate(
        """() => { const s = document.getElementById('slider'), start = performance.now();
        for (let i = 0; i < 20; i++) { s.value = String(50 * i); s.dispatchEvent(new Event('input')); }
        return (performance.now() - start) / 20; }"""
    )
    assert took < 100 and asked == []
    curve = json.loads(page.locator("#curve").inner_text())
    page.locator("#slider").focus()
    for key, end in (("End", -1), ("Home", 0)):  # read against the curve: two runs may be off by the same at both
        page.keyboard.press(key)
        assert page.locator("#slider").get_attribute("aria-valuetext") == f"epsilon {curve[0]['points'][end]['e']:g}"
        for use, shown in zip(curve, page.locator("#forecasts .error").all_inner_texts(), strict=True):
            error = use["points"][end]["error"] * (100 if use["share"] else 1)
            number = shown.removesuffix(" %").replace(",", "")
            assert abs(float(number) - error) <= 0.51 * 10.0 ** -len(number.partition(".")[2]), shown
    assert page.locator(".odd .after").first.inner_text() == "73", "epsilon 1: 50 in 100 becomes 73"


def _publish(page: Any) -> None:
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Files to publish").click()
    packed = zipfile.ZipFile(io.BytesIO(Path(waiting.value.path()).read_bytes())).namelist()
    assert "release/records.csv" in packed and "release/MANIFEST.json" in packed
    assert not any("INSIDE" in name for name in packed)


def _inside(page: Any, root: Path) -> None:
    page.get_by_label("I am the steward").check()
    page.get_by_role("button", name="Turn the switch on").click()
    page.get_by_role("button", name="Judge the release exactly").click()
    frame = page.frame_locator('iframe[title^="The steward"]')
    frame.get_by_text("CONFIDENTIAL. The numbers on this page").wait_for()
    work = root / ".studio" / "work" / "steward@job.toml"
    assert (work / "result").read_bytes() == b"" and (work / "said").read_bytes() == b"", "exact numbers are not kept"


def test_the_road_of_attach(tmp_path: Path, page: Any) -> None:
    with served(tables(tmp_path), page) as studio:
        begin(page, studio, "Private columns for public rows", target="target.csv")
        page.get_by_text("One thing more").wait_for()
        page.get_by_label("Each row by itself: a person has").check()
        assert all(page.get_by_label(name, exact=True).is_checked() for name in ("sex", "race"))
        page.locator("input[name=outcomes][value=pay]").check()
        page.get_by_role("button", name=re.compile("^Save")).click()
        page.wait_for_selector("#column-0")
        go(page, "What for")
        page.get_by_role("button", name=re.compile("^Add ")).first.click()
        go(page, "Budget")
        page.get_by_role("button", name="Save and go on to the run").click()
        assert "guided_tree" in page.locator(".cost").inner_text()
        page.get_by_label("leave the forecast out").check()  # the road of records rehearses
        run(page, "spend 1 on confidential")
        verify(page)
    header = (tmp_path / "release" / "records.csv").read_text("utf-8").splitlines()[0]
    assert "sex" in header and "race" in header


def test_the_road_of_counts_by_keyboard_alone(tmp_path: Path, page: Any) -> None:
    with served(tables(tmp_path), page) as studio:
        page.goto(studio.address)
        press(page, page.get_by_role("button", name="Start: choose the tables"), "Enter")
        page.wait_for_url("**/tables")
        press(page, page.locator("input[name=kind]"), *["ArrowDown"] * 3)
        press(page, page.locator("select[name=confidential]"), *"confid")
        press(page, page.locator("select[name=public]"), *"public")
        press(page, page.get_by_role("button", name=re.compile("^Save")), "Enter")
        page.get_by_text("One thing more").wait_for()
        for name in ("sex", "race"):
            press(page, page.get_by_label(name, exact=True), "Space")
        press(page, page.get_by_role("button", name=re.compile("^Save")), "Enter")
        press(page, page.get_by_role("button", name="Protect each person, with at most"), "Enter")
        page.wait_for_selector("#column-0")
        press(page, page.get_by_role("link", name="Go on: what is it for"), "Enter")
        page.wait_for_url("**/uses")
        press(page, page.get_by_role("button", name=re.compile("^Add ")), "Enter")
        page.get_by_role("link", name="Go on: what does it cost").wait_for()
        press(page, page.get_by_role("link", name="Go on: what does it cost"), "Enter")
        page.wait_for_url("**/budget")
        press(page, page.get_by_role("button", name="Save and go on to the run"), "Enter")
        page.wait_for_url("**/run")
        press(page, page.get_by_label("leave the forecast out"), "Space")
        page.keyboard.press("Shift+Tab")
        page.keyboard.type("spend 1 on confidential")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Look at the result").wait_for()
        press(page, page.get_by_role("link", name="Look at the result"), "Enter")
        page.wait_for_url("**/result")
        press(page, page.get_by_role("button", name="Verify"), "Enter")
        page.get_by_text("the release holds").wait_for()
    assert (tmp_path / "release" / "counts.csv").read_text("utf-8").startswith("sex,race,count")


def press(page: Any, wanted: Any, *keys: str) -> None:
    """Go to something with the Tab key, as whoever has no mouse does, and press keys there."""
    here = wanted.first.element_handle()
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("e => e === document.activeElement", here):
            break
    else:
        raise AssertionError(f"{wanted} cannot be reached by the Tab key")
    for key in keys:
        page.keyboard.press(key)


def test_two_tabs_an_editor_and_a_restart(tmp_path: Path, browser: Any) -> None:
    root = _ready(tmp_path)
    studio = Served(root)
    context = browser.new_context()
    one, two = context.new_page(), context.new_page()
    for tab in (one, two):
        tab.set_default_timeout(PATIENCE)
        tab.goto(f"{studio.address}job/job.toml/budget")
    job = root / "job.toml"
    job.write_text(job.read_text("utf-8").replace("epsilon = 1.0", "epsilon = 1.5"), "utf-8")  # in an editor
    for tab in (one, two):
        sync_api.expect(tab.locator("#epsilon")).to_have_value("1.5", timeout=PATIENCE)
        tab.wait_for_selector("html.js")  # the script has run: it knows what is begun
    two.get_by_label("epsilon", exact=True).fill("0.7")  # begun in one tab, and saved in the other
    one.get_by_label("epsilon", exact=True).fill("2")
    one.get_by_role("button", name="Save", exact=True).click()
    two.get_by_text("has changed since this page was drawn").wait_for()
    assert two.get_by_label("epsilon", exact=True).input_value() == "0.7", "what was begun is not lost"
    two.get_by_role("button", name="Save", exact=True).click()
    assert "was changed meanwhile" in two.get_by_role("alert").inner_text()
    assert "epsilon = 2.0" in job.read_text("utf-8") and "# kept" in job.read_text("utf-8")
    rehearse(one, "9", "2")
    one.wait_for_selector(".work")
    studio.end()
    one.get_by_text("The studio does not answer").wait_for()
    studio = Served(root, studio.port)  # the same key: the open tab goes on, and so did the work
    one.wait_for_selector("#forecasts")
    rehearse(one, "99", "1,2,4")  # long enough to be stopped
    one.get_by_text(re.compile(r"of \d+ runs")).wait_for()
    one.get_by_role("button", name="Stop it").click()
    one.get_by_text("The rehearsal was stopped").wait_for()
    context.close()
    studio.end()


def test_a_page_that_draws_itself_anew_leaves_the_focus_where_it_was(tmp_path: Path, page: Any) -> None:
    root = _ready(tmp_path)
    with served(root, page) as studio:
        page.goto(f"{studio.address}job/job.toml/uses")
        press(page, page.get_by_role("button", name="Remove race"))
        job = root / "job.toml"
        job.write_text(job.read_text("utf-8") + "# in an editor\n", "utf-8")
        page.wait_for_event("load")
        page.wait_for_function("document.activeElement.getAttribute('aria-label') === 'Remove race'")


def test_a_card_by_keyboard_and_a_run_that_was_killed(tmp_path: Path, page: Any) -> None:
    """Labels are merged, missing and unknown are said, all by keyboard; a killed run goes on in another browser."""
    root = _ready(tmp_path)
    with served(root, page) as studio:
        page.goto(f"{studio.address}job/job.toml/schema")
        press(page, page.get_by_text("Change race"), "Enter")
        press(page, page.get_by_label("Keep A of race"), "Space")
        card = page.locator("section.column", has=page.get_by_role("heading", name=re.compile("^race")))
        press(page, card.locator("input[name=missing_values]"), *"-9")
        press(page, card.locator("input[name=other]"), *"rest")
        press(page, page.get_by_role("button", name="Save race"), "Enter")
        sync_api.expect(page.locator("#column-4")).to_contain_text("rest", timeout=PATIENCE)
        race = tomllib.loads((root / "schema.toml").read_text("utf-8"))["columns"]["race"]
        assert "A" not in (race.get("labels") or race["values"]) and race["missing_values"] == ["-9"]
        assert race["other"] == "rest"
        page.goto(f"{studio.address}job/job.toml/run")
        page.get_by_label("leave the forecast out").check()
        page.get_by_label("To confirm").fill("spend 1 on confidential")
        page.get_by_role("button", name="Run it").click()
        end = monotonic() + 300
        while not (root / "release.run" / "run.json").exists() and monotonic() < end:
            sleep(0.01)
        for process in reversed(_below(studio.process.pid)):
            os.kill(process, signal.SIGKILL)
        assert not (root / "release" / "MANIFEST.json").exists(), "it was killed before it had ended"
        page.get_by_text("The process of the run has gone").wait_for()
        page.goto("about:blank")
        again = page.context.new_page()
        again.set_default_timeout(PATIENCE)
        again.goto(f"{studio.address}job/job.toml/run")
        for words in again.get_by_label("To confirm").all():
            words.fill("spend 1 on confidential")  # asked for if it was killed before it had booked anything
        again.get_by_role("button", name="Go on with it").click()
        again.get_by_role("link", name="Look at the result").wait_for()
        booked = Ledger.open(str(root / "ledger.db")).entries()
        assert sum(e.kind == "promise" for e in booked) == 1, "it was paid for once"
        again.close()


def _below(process: int) -> list[int]:
    """The processes that one has started, and those that these have."""
    found = []
    for part in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, part.read_text("ascii").split()):
            found += [child, *_below(child)]
    return found


def test_a_study_and_a_comparison_to_the_end(tmp_path: Path, page: Any) -> None:
    """From the form to figures: what is drawn is shown, and nothing is wider than a narrow screen."""
    root = _ready(tmp_path, rows=400)
    (root / "synthetic.csv").write_bytes((root / "public.csv").read_bytes())
    page.set_viewport_size({"width": 400, "height": 900})
    with served(root, page) as studio:
        page.goto(f"{studio.address}job/job.toml/experiments")
        page.locator("select[name=set0]").select_option("job.recipe")
        page.locator("input[name=levels0]").fill("public_blend, independent")
        page.locator("select[name=set1]").select_option("budget.epsilon")
        page.locator("input[name=levels1]").fill("1, 4")
        page.get_by_label("seeds").fill("1")
        page.get_by_role("button", name=re.compile("^Write")).click()
        page.get_by_role("heading", name="What was found").wait_for()
        sync_api.expect(page.locator(".figures img")).to_have_count(2, timeout=PATIENCE)
        for image in page.locator(".figures img").all():
            assert image.evaluate("async i => { await i.decode(); return i.naturalWidth; }") > 0
        assert page.get_by_role("cell", name="recipe x epsilon").count() == 1
        assert _over(page) <= 0
        go(page, "Compare")
        page.locator("select[name=b]").select_option("synthetic.csv")
        page.get_by_role("button", name="Compare them").click()
        frame = page.frame_locator('iframe[title="The comparison"]')
        frame.get_by_role("heading", name="synthetic.csv against public.csv").wait_for()
        assert page.locator("select[name=b]").input_value() == "synthetic.csv", "what was asked is still there"
        assert "hedgerow compare public.csv synthetic.csv" in page.locator(".same").inner_text()
        assert _over(page) <= 0


def _over(page: Any) -> int:  # by how many pixels a page is wider than the screen
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def _ready(root: Path, rows: int = 800) -> Path:
    tables(root, rows)
    (root / "schema.toml").write_text(_some_columns(personnel_schema()), "utf-8")
    text = (
        '[confidential]\ntable = "confidential.csv"  # kept\n[public]\ntable = "public.csv"\n'
        "[budget]\nepsilon = 1.0\n"
        '[[use]]\nname = "race"\ncolumns = ["race"]\ntolerance = 0.05\n'
    )
    (root / "job.toml").write_text(text, "utf-8")
    return root


def _some_columns(schema: str) -> str:
    """The schema of simulated personnel, of the columns that these tables have."""
    ours = r"\[columns\.(agency|age|pay|sex|race)[.\]]"
    return "".join(b for b in re.split(r"(?m)^(?=\[)", schema) if not b.startswith("[") or re.match(ours, b))


@pytest.mark.parametrize(
    "looks",
    [
        pytest.param(((1600, "light"), (400, "dark")), id="opposites"),
        pytest.param(((1600, "dark"), (400, "light")), id="the others", marks=pytest.mark.thorough),
    ],
)
def test_every_screen_can_be_read_by_everybody(
    tmp_path: Path, browser: Any, looks: tuple[tuple[int, str], ...]
) -> None:
    """By axe-core where it is installed, light and dark, wide and narrow; on screens with something to show."""
    root = _ready(tmp_path, rows=400)
    job = Job.load(root / "job.toml")
    job.rehearse(runs=2, epsilons=[1, 2], workers=1, out=root / "release-rehearsal")
    job.run()
    ledger_book.cap(job.ledger, job.table, epsilon="3")
    context = browser.new_context(reduced_motion="reduce")
    tab = context.new_page()
    tab.set_default_timeout(PATIENCE)
    with served(root, tab) as studio:
        tab.goto(f"{studio.address}job/job.toml/ledger")  # the first page: what is done shows without another screen
        tab.get_by_role("link", name="4 Budget (done)").wait_for()
        tab.get_by_text("epsilon 2 of 3 left").wait_for()
        for screen in ("", *(f"job/job.toml/{s}" for s in SCREENS)):
            tab.goto(f"{studio.address}{screen}")
            tab.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
            for wide, scheme in looks:
                tab.emulate_media(color_scheme=scheme)
                tab.set_viewport_size({"width": wide, "height": 900})
                assert _over(tab) <= 0, (screen, wide)
                assert _violations(tab) == [], (screen, wide, scheme)
            tab.goto(f"{studio.address}{screen}")
            tab.keyboard.press("Tab")
            assert tab.evaluate("document.activeElement.className") == "skip", "the first stop leads to the content"
    context.close()


def _violations(tab: Any) -> list[str]:
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        return []
    return [f"{v['id']}: {v['nodes'][0]['html'][:160]}" for v in Axe().run(tab).response["violations"]]
