"""One self-contained page: its style inside, one small script known by its hash, nothing fetched from anywhere."""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def render(package: str, template: str, names: Mapping[str, Any]) -> str:
    """The page of ``template``, which stands in the templates of ``package`` and may build on those of this room."""
    return _environment(package).get_template(template).render({"script": script(), "policy": policy(), **names})


@cache
def _environment(package: str) -> Environment:
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("hedgerow.figures")]),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )


@cache
def script() -> Markup:
    """The one script of every page: pointing, choosing, sorting. A page says the same without it."""
    loader = PackageLoader("hedgerow.figures")
    return Markup(loader.get_source(Environment(autoescape=True), "page.js")[0])


@cache
def policy() -> str:
    """What a browser may do on a page: show its style and run this script; load, send and embed nothing."""
    digest = base64.b64encode(hashlib.sha256(str(script()).encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; form-action 'none'"
