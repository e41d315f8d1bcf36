"""Who may ask the studio, and what a browser may do with what it answers.

The server listens on the loopback address, which every program and every web site that this machine's user has open
can reach too.  So a request must name this host and port (a name that was rebound to this machine does not), must
begin with the key that only the steward's terminal has shown, and what changes something must be a form sent by one
of these pages.  The key stands in the path and not in a cookie: browsers send the cookies of one port of a host to
every other port of it.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from hmac import compare_digest
from typing import Any, final

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES = 1 << 20
"""Of a form: a schema of a thousand columns is far below."""
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Of the studio's own pages: its one script, its one style sheet, nothing inline and nothing from elsewhere."""
_FORM = b"application/x-www-form-urlencoded"
_ALWAYS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",
    b"cache-control": b"no-store",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
}


def file_policy(script: str) -> str:
    """Of a file that lies in the folder, which may be anybody's: an origin of its own, and no script but ``script``.

    ``script`` is the hash of the one that our own reports carry.
    """
    return (
        f"sandbox allow-scripts allow-popups; default-src 'none'; style-src 'unsafe-inline'; script-src '{script}'; "
        "img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
    )


@final
class Guard:
    """Lets through to ``app`` only what the steward's own browser asks; ``hosts`` are the names of this server."""

    def __init__(self, app: App, *, key: str, hosts: frozenset[str]) -> None:
        self._app, self._key, self._hosts = app, key, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        wrong = self._refusal(scope)
        if wrong is not None:
            await _say(send, *wrong)
            return
        inner = dict(scope, root_path=f"/{self._key}")
        await self._app(inner, _bounded(receive), _armoured(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """The status and the words for what is not let through; None for what is."""
        heads = [(k.lower(), v) for k, v in scope["headers"]]
        said = dict(heads)
        if [v for k, v in heads if k == b"host"] not in [[h.encode()] for h in self._hosts]:
            return 421, "This is not a name of the studio. Open the address that hedgerow studio has shown."
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "The studio knows GET and POST."
        first, _, rest = scope["path"].removeprefix("/").partition("/")
        if not compare_digest(first.encode("utf-8", "replace"), self._key.encode()) or not scope["path"][1:].count(
            "/"
        ):
            return 404, "Open the whole address that hedgerow studio has shown: the key in it is what lets you in."
        site, aim = said.get(b"sec-fetch-site", b"none"), said.get(b"sec-fetch-dest", b"document")
        if scope["method"] == "POST":
            return self._wrong_form(said, site)
        if site not in (b"none", b"same-origin") and aim != b"document":
            return 403, "Only the studio's own pages may ask for this."
        return None

    def _wrong_form(self, said: dict[bytes, bytes], site: bytes) -> tuple[int, str] | None:
        """What is wrong with a form: another site's, of another kind, or too long."""
        own = f"http://{said[b'host'].decode('latin-1')}".encode()
        if said.get(b"origin") != own or site not in (b"none", b"same-origin"):
            return 403, "This form was sent by another site. Nothing was changed."
        if said.get(b"content-type", b"").split(b";")[0].strip().lower() != _FORM:
            return 415, "The studio takes plain forms. Nothing was changed."
        length = said.get(b"content-length", b"")
        if not length.isdigit() or int(length) > MOST_BYTES:
            return 413, "The form is too long, or does not say how long it is. Nothing was changed."
        return None


def _bounded(receive: Receive) -> Receive:
    """The body of a request, which ends the connection when it is longer than a form may be."""
    seen = 0

    async def bounded() -> MutableMapping[str, Any]:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return {"type": "http.disconnect"} if seen > MOST_BYTES else message

    return bounded


def _armoured(send: Send) -> Send:
    """Every answer with the headers that bind the browser; a stricter policy of its own is kept."""

    async def armoured(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = {k.lower(): v for k, v in message.get("headers", ())}
            policy = {b"content-security-policy": PAGE_POLICY.encode()}
            message = {**message, "headers": [*(policy | given | _ALWAYS).items()]}
        await send(message)

    return armoured


async def _say(send: Send, status: int, words: str) -> None:
    body = f"{words}\n".encode()
    heads = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await _armoured(send)({"type": "http.response.start", "status": status, "headers": heads})
    await send({"type": "http.response.body", "body": body})
