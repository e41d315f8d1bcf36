"""What a value shows of itself in a notebook: a caption and a plain table, in the notebook's own style."""

from collections.abc import Iterable, Sequence
from html import escape


def table_html(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]], most: int = 20) -> str:
    """A table of at most ``most`` rows; what is left out is said below it.

    >>> table_html("Two", ("a", "b"), [(1, "<x>")])
    '<b>Two</b><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>&lt;x&gt;</td></tr></table>'
    """
    listed = list(rows)
    top = "".join(f"<th>{escape(h)}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(x))}</td>" for x in r) + "</tr>" for r in listed[:most])
    more = f"<i>and {len(listed) - most} more</i>" if len(listed) > most else ""
    return f"<b>{escape(caption)}</b><table><tr>{top}</tr>{body}</table>{more}"
