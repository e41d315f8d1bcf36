"""Every command that a page names is one of the program's, with options that it has."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from hedgerow.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = [
    p for p in (*ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/README.md"), ROOT / "README.md") if p.stem != "cli"
]
BLOCK = re.compile(r"^```[\w-]*\n(.*?)^```|((?:^ {4}\S.*\n)+)", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(hedgerow [^`\n]+)`")


def lines(page: Path) -> list[str]:
    """The commands in the blocks of a page, each on a line, with what follows a backslash."""
    text = "\n".join(a or b for a, b in BLOCK.findall(page.read_text("utf-8"))).replace("\\\n", " ")
    return [
        line.strip().removeprefix("$ ") for line in text.splitlines() if re.match(r"\s*(\$ )?hedgerow [a-z]", line)
    ]


def parsed(line: str) -> None:
    """Read a line as the program does, without doing what it says."""
    command: Any = typer.main.get_command(app)
    words = shlex.split(re.sub(r" \[(-[^\]]*|[A-Z]+)\]", r" \1", line), comments=True)[
        1:
    ]  # [--out DIR] may be left out
    words = words[: min(words.index(w) if w in words else len(words) for w in ("|", ">", "&&"))]
    while inner := getattr(command, "commands", None):
        assert words and words[0] in inner, f"{line}: there is no command {words[:1]}"
        command, words = inner[words[0]], words[1:]
    if "..." not in words:
        command.make_context("hedgerow", words)


def test_the_pages_have_commands() -> None:
    assert sum(len(lines(page)) for page in PAGES) > 100


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_in_a_block_can_be_typed(page: Path) -> None:
    for line in lines(page):
        parsed(line)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_in_a_sentence_exists_with_its_options(page: Path) -> None:
    root: Any = typer.main.get_command(app)
    for said in INLINE.findall(page.read_text("utf-8")):
        command, words = root, said.split()[1:]
        while (inner := getattr(command, "commands", None)) and words and words[0] in inner:
            command, words = inner[words[0]], words[1:]
        known = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help"}
        assert command is not root or words[0].startswith("-") or not words[0].islower(), f"{said}: no such command"
        assert [w for w in words if w.startswith("--") and w.partition("=")[0] not in known] == [], said
