"""The reference of the command line is the program's own."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_the_command_line_is_written_from_the_program() -> None:
    written = runpy.run_path(str(DOCS / "conf.py"))["command_page"]()
    assert (DOCS / "cli.md").read_text("utf-8") == written, "run `make docs` and commit docs/cli.md"
