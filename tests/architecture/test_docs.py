"""The pages lead somewhere: every link and every path they name is there, and every recipe has its page."""

import re
from pathlib import Path

import pytest

from hedgerow.recipes import RECIPES

ROOT = Path(__file__).parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("examples/**/*.md"),
    *ROOT.glob("src/**/*.md"),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_and_paths_are_there(page: Path) -> None:
    text = page.read_text("utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)", text)
    paths = re.findall(r"`((?:src|tests|bench|docs|examples)/[\w./-]+)`", text)
    assert [link for link in links if not (page.parent / link).exists()] == []
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_page_of_the_docs_is_reached_from_the_index_and_every_recipe_has_one() -> None:
    docs = ROOT / "docs"
    pages = {str(p.relative_to(docs)) for p in docs.glob("**/*.md")} - {"index.md"}
    indexes = [docs / "index.md", *docs.glob("*/index.md")]
    reached = {
        str((index.parent / link).relative_to(docs))
        for index in indexes
        for link in re.findall(r"\]\(([\w/-]+\.md)\)", index.read_text("utf-8"))
    }
    assert pages - reached == set()
    assert {f"recipes/{name}.md" for name in RECIPES} <= pages


def test_every_figure_of_the_docs_has_colours_for_light_and_dark() -> None:
    figures = list((ROOT / "docs/figures").iterdir())
    assert figures and all(f.suffix == ".svg" for f in figures)
    assert [f.name for f in figures if "prefers-color-scheme: dark" not in f.read_text("utf-8")] == []


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_recipes_measurements_are_in_the_lab_book(name: str) -> None:
    """The manual says how to use a recipe; figures and what they were measured on are in the lab book."""
    manual = (ROOT / f"docs/recipes/{name}.md").read_text("utf-8")
    rows = [line for line in manual.splitlines() if line.startswith("|")]
    figures = [sum(bool(re.fullmatch(r"[.\d][\d.,]*(?: %)?", c.strip(" *"))) for c in r.split("|")) for r in rows]
    assert [row for row, many in zip(rows, figures, strict=True) if many > 2] == []
