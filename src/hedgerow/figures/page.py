"""One self-contained page: its style inside, one small script known by its hash, nothing fetched from anywhere.

And what a value shows of itself in a notebook: a caption and a plain table, in the notebook's own style.
"""

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from hedgerow.figures.words import printable

if TYPE_CHECKING:
    from jinja2 import Environment  # the words of this room are needed without it, at every start


def render(package: str, template: str, names: Mapping[str, Any]) -> str:
    """The page of ``template``, which stands in the templates of ``package`` and may build on those of this room."""
    text = _environment(package).get_template(template).render({"script": script(), "policy": policy(), **names})
    return _held_together(text)


_AS_IT_IS = re.compile(r"<(script|style|pre|code|textarea)\b.*?</\1>|<[^>]*>|(?<=\d) %", re.DOTALL)
"""What is not prose: what people copy, what machines read, and tags; and in prose the sign of a percentage."""


def _held_together(text: str) -> str:
    """The page with no line that begins with the sign of a percentage.

    >>> _held_together('<p title="a 5 %">17 % of <code>5 %</code></p>')
    '<p title="a 5 %">17\\xa0% of <code>5 %</code></p>'
    """
    return _AS_IT_IS.sub(lambda found: "\u00a0%" if found[0] == " %" else found[0], text)


@cache
def _environment(package: str) -> "Environment":
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("hedgerow.figures")]),
        autoescape=True,
        finalize=_seen,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )


def _seen(value: object) -> object:
    """Text as it may be shown; markup of ours as it is."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def script() -> Markup:
    """The one script of every page: pointing, choosing, sorting. A page says the same without it."""
    return Markup(template_text("hedgerow.figures", "page.js"))


@cache
def template_text(package: str, name: str) -> str:
    """The text of a file among the templates of ``package``, as it stands."""
    from jinja2 import Environment, PackageLoader

    return PackageLoader(package).get_source(Environment(autoescape=True), name)[0]


@cache
def script_hash() -> str:
    """By which a policy names the one script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(str(script()).encode()).digest()).decode()}"


@cache
def policy() -> str:
    """What a browser may do on a page: show its style and run this script; load, send and embed nothing."""
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src '{script_hash()}'; form-action 'none'"


def table_html(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]], most: int = 20) -> str:
    """A table of at most ``most`` rows; what is left out is said below it.

    >>> table_html("Two", ("a", "b"), [(1, "<x>")])
    '<b>Two</b><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>&lt;x&gt;</td></tr></table>'
    """
    listed = list(rows)
    top = "".join(f"<th>{html.escape(printable(h))}</th>" for h in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(printable(str(x)))}</td>" for x in r) + "</tr>" for r in listed[:most]
    )
    more = f"<i>and {len(listed) - most} more</i>" if len(listed) > most else ""
    return f"<b>{html.escape(printable(caption))}</b><table><tr>{top}</tr>{body}</table>{more}"
