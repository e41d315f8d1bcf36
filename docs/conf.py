"""The site: ``make docs`` builds it into ``docs/_site``, offline, with search; a warning is an error there.

The reference of the command line is written from the program itself, so that it cannot say something else.
"""

import re
from pathlib import Path
from typing import Any

import typer

from hedgerow import __version__

project = "Hedgerow"
author = "The Hedgerow maintainers"
copyright = "the Hedgerow maintainers, Apache-2.0"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_site"]
myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_typehints = "none"
html_theme = "furo"
html_title = f"Hedgerow {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
nitpicky = False


def command_page() -> str:
    """One section for each command, from its own help."""
    from hedgerow.cli.main import app

    lines = ["# The command line", "", "Written from the program itself: `hedgerow COMMAND --help` says the same.", ""]
    root: Any = typer.main.get_command(app)

    def describe(command: Any, name: str) -> None:
        inner = getattr(command, "commands", None)
        if inner is not None and name != "hedgerow":
            lines.extend([f"## `{name}`", "", _prose(command.help or ""), ""])
        if inner is not None:
            for each, below in inner.items():
                describe(below, f"{name} {each}")
            return
        lines.extend([f"{'###' if name.count(' ') > 1 else '##'} `{name}`", "", _prose(command.help or ""), ""])
        rows = []
        for p in command.params:
            if getattr(p, "hidden", False) or p.name == "help":
                continue
            label = p.name.upper() if p.param_type_name == "argument" else ", ".join(p.opts + p.secondary_opts)
            rows.append((f"`{label}`", _cell(getattr(p, "help", None) or "")))
        if rows:
            lines.extend(["| | |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows), ""])

    describe(root, "hedgerow")
    return "\n".join(lines) + "\n"


def _prose(text: str) -> str:
    return re.sub(r"\n(?!\n)\s*", " ", text.replace("\b", "").strip()).replace("<", "\\<")


def _cell(text: str) -> str:
    return _prose(text).replace("|", "\\|").replace("[", "\\[")


def _write_reference(app: Any) -> None:
    page = Path(app.srcdir) / "cli.md"
    text = command_page()
    if not page.exists() or page.read_text("utf-8") != text:
        page.write_text(text, "utf-8")


def _stay_on_the_site(app: Any, docname: str, source: list[str]) -> None:
    """A link to the proofs leads to their copy here; one to an example becomes the name of its folder."""
    up = "../" * docname.count("/")
    text = re.sub(r"\]\((?:\.\./)+src/hedgerow/private/PROOFS\.md", f"]({up}proofs.md", source[0])
    source[0] = re.sub(r"\[([^\]]+)\]\((?:\.\./)+(examples/[\w./-]+?)(?:/README\.md)?\)", r"\1 (`\2`)", text)


def setup(app: Any) -> None:
    """Write the generated pages before anything is read."""
    app.connect("builder-inited", _write_reference)
    app.connect("source-read", _stay_on_the_site)
