"""The steward's folder: exact reports, watermarked, apart from every release."""

import json
from pathlib import Path
from typing import Any

from hedgerow.errors import JobError
from hedgerow.evaluate.page import page, summary
from hedgerow.steward.compare import Exact
from hedgerow.steward.inside import WARNING, WATERMARK, InsideOnly
from hedgerow.steward.use_rows import use_lines, use_row

SUFFIX = "-INSIDE-ONLY"
_MARKS = ("MANIFEST.json", "statement.json", "choice.json")


def inside_folder(asked: Path, releases: tuple[Path, ...]) -> Path:
    """The folder, if exact numbers may be written there: not in a release, and no release within it."""
    asked = asked.resolve()
    for place in (p.resolve() for p in releases):
        if asked == place or place in asked.parents or asked in place.parents:
            raise JobError(
                f"Exact numbers must not lie beside what is published: {asked} and the release {place} are one\n"
                f"inside the other. Choose another --out, such as {place.name}{SUFFIX}. Nothing was read or written."
            )
    for folder in (asked, *asked.parents):
        if any((folder / name).exists() for name in _MARKS):
            raise JobError(
                f"{folder} looks like a release. Exact numbers must not lie there: choose another --out.\n"
                "Nothing was read or written."
            )
    return asked


def write_exact(folder: Path, found: InsideOnly[Exact]) -> Path:
    """The exact report as page and JSON, readable by their owner only, and the folder's warning."""
    exact = found.reveal()
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    pages = {"report": exact.release} | ({"public-as-it-is": exact.public} if exact.public else {})
    _write(folder / f"{WATERMARK.replace(' ', '-')}.txt", f"{WATERMARK}\n{WARNING}\n")
    _write(folder / ".gitignore", "*\n")
    _write(folder / "comparison.json", exact_json(found))
    for name, comparison in pages.items():
        title = f"Exact comparison: {comparison.b.called}"
        sides = ("authentic", "synthetic" if name == "report" else "public")
        uses = [use_row(u) for u in exact.uses] if name == "report" else []
        text = page(comparison, title=title, names=sides, uses=uses, watermark=WATERMARK, warning=WARNING)
        _write(folder / f"{name}.html", text)
    return folder / "report.html"


def exact_json(found: InsideOnly[Exact]) -> str:
    """The exact numbers as JSON, with the warning as its first key."""
    exact = found.reveal()
    uses = [u.verdict.to_json() for u in exact.uses]
    data: dict[str, Any] = {WATERMARK: WARNING, "uses": uses, "release": exact.release.to_json()}
    if exact.public:
        data["public_as_it_is"] = exact.public.to_json()
    return json.dumps(data, indent=2, allow_nan=False)


def exact_text(found: InsideOnly[Exact]) -> str:
    """The exact numbers in lines for the steward's terminal."""
    exact = found.reveal()
    parts = [f"{WATERMARK}: {WARNING}", *(["", *use_lines(exact.uses)] if exact.uses else [])]
    parts += ["", "The release against the confidential table:", summary(exact.release)]
    if exact.public:
        parts += ["", "The public table as it is against the confidential table:", summary(exact.public)]
    return "\n".join(parts)


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
