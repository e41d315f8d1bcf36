"""Forms of the studio in a real Chromium: what was typed is kept, refused or not, and when the script comes late."""

import fcntl
import re
from pathlib import Path
from typing import Any

from tests.end_to_end.test_studio import PATIENCE, begin, served, sync_api, tables
from tests.end_to_end.test_studio import browser as browser
from tests.end_to_end.test_studio import page as page
from tests.end_to_end.test_studio import pytestmark as pytestmark
from tests.unit.studio.visiting import a_folder

EARLY = """new MutationObserver((_, seen) => {
    const field = document.querySelector('[data-refused] input[name=typed]');
    if (field) { field.value = 'typed meanwhile'; seen.disconnect(); }
}).observe(document, { childList: true, subtree: true });"""


def test_a_late_script_does_not_put_refused_words_over_what_was_typed_meanwhile(tmp_path: Path, page: Any) -> None:
    a_folder(tmp_path)
    with served(tmp_path, page) as studio:
        page.goto(f"{studio.address}job/job.toml/run")
        for before in ("no", "typed meanwhile"):
            page.get_by_label("To confirm").fill("no")
            page.get_by_role("button", name="Run it").click()
            page.get_by_role("link", name="To what you filled in").wait_for()  # the script has run
            assert page.get_by_label("To confirm").input_value() == before
            page.add_init_script(EARLY)


TICKED = """document.addEventListener('readystatechange', () => {
    const other = document.querySelector('[data-refused] input[name=kind]:not([value=counts]):not([checked])');
    if (document.readyState === 'interactive' && other) { other.checked = true; }
});"""


def test_a_late_script_does_not_put_refused_ticks_over_what_was_ticked_meanwhile(tmp_path: Path, page: Any) -> None:
    with served(tables(tmp_path), page) as studio:
        page.goto(f"{studio.address}job/job.toml/tables")
        for others in (0, 1):
            page.get_by_label(re.compile("A table of counts")).check()
            page.locator("select[name=confidential]").select_option("confidential.csv")
            page.locator("select[name=public]").select_option("confidential.csv")
            page.get_by_role("button", name=re.compile("^Save")).click()
            page.get_by_role("link", name="To what you filled in").wait_for()  # the script has run
            assert page.locator("input[name=kind]:checked:not([value=counts])").count() == others
            page.add_init_script(TICKED)


def test_a_refused_form_keeps_what_was_filled_in(tmp_path: Path, page: Any) -> None:
    with served(tables(tmp_path), page) as studio:
        page.goto(f"{studio.address}job/job.toml/tables")
        page.get_by_label(re.compile("A table of counts")).check()
        page.locator("select[name=confidential]").select_option("confidential.csv")
        page.locator("select[name=public]").select_option("confidential.csv")
        page.get_by_role("button", name=re.compile("^Save")).click()
        assert "names the confidential table itself" in page.get_by_role("alert").inner_text()
        sync_api.expect(page.locator("input[name=kind][value=counts]")).to_be_checked(timeout=PATIENCE)  # by a script
        assert page.locator("select[name=confidential]").input_value() == "confidential.csv"
        page.locator("select[name=public]").select_option("public.csv")
        page.get_by_role("button", name=re.compile("^Save")).click()
        page.get_by_role("link", name="columns of the table of counts").click()
        sync_api.expect(page.locator("#chosen")).to_be_in_viewport(timeout=PATIENCE)


def test_a_refused_run_is_not_sent_again_by_a_page_that_draws_itself_anew(tmp_path: Path, page: Any) -> None:
    """Of two tabs that would run a job one is refused; when the other's run is killed, nothing starts by itself."""
    a_folder(tmp_path)
    sent: list[str] = []
    page.on("request", lambda r: sent.append(r.url) if r.method == "POST" else None)
    with served(tmp_path, page) as studio:
        page.goto(f"{studio.address}job/job.toml/run")
        page.get_by_label("To confirm").fill("spend 1 on personnel")
        other = tmp_path / ".studio" / "work" / "run@job.toml"
        other.mkdir(0o700, parents=True)
        (other / "task.json").write_text('{"words": ["run", "job.toml", "--yes"]}', "utf-8")
        with open(other / "lock", "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another tab's run is under way
            page.get_by_role("button", name="Run it").click()
            page.get_by_text("A run was started since this page was drawn").wait_for()
            page.get_by_role("heading", name="It is running").wait_for()
        page.get_by_text("The process of the run has gone").wait_for()  # the page has drawn itself anew
        assert len(sent) == 1 and not (tmp_path / "ledger.db").exists() and not (tmp_path / "release.run").exists()


def test_a_tick_is_not_lost_while_the_page_draws_itself_anew(tmp_path: Path, page: Any) -> None:
    """The road of attach met it in CI: the draft ended, the page was asked for anew, and the old one was ticked."""
    with served(tables(tmp_path), page) as studio:
        begin(page, studio, "Private columns for public rows", target="target.csv")
        page.get_by_role("link", name=re.compile("Schema")).get_by_text("done").wait_for(state="attached")
        page.wait_for_load_state("networkidle")
        page.evaluate(
            "new MutationObserver(() => sessionStorage.setItem('held', document.body.inert))"
            ".observe(document.body, { attributes: true, attributeFilter: ['inert'] })"
        )
        with page.expect_navigation(), (tmp_path / "job.toml").open("a", encoding="utf-8") as job:
            job.write("# a remark\n")
        assert page.evaluate("sessionStorage.getItem('held')") == "true", "the old page took ticks to the end"
        page.get_by_label("Each row by itself: a person has").check()
