"""The text of a schema file: every key as TOML, every reason as a comment beside it."""

from collections.abc import Iterator
from textwrap import wrap

from hedgerow.drafting.sketch import Draft, LeftOut, Sketch
from hedgerow.public.toml import WIDTH, key, pair, value

_ASKED = """\
Everything below was learnt from this public input and from nothing else. Never draft a schema from the \
confidential table: its labels, its range and its gaps would be published without being paid for.

Read it through once and change what you know better:
 * kind, values and bins are guesses; a reason stands above each.
 * Whole numbers with few values are taken as codes. Name them, labels = { 1 = "...", 2 = "..." }; or, if \
they count or measure something, say kind = "integer" with bins = { low = 0, high = 9, width = 1 }.
 * Numbers and dates beyond the outer edges are counted in the outer bins. If the confidential table is of \
a later year, raise `high`; if it has values that are not listed here, list them.
 * A commented key below a column, such as `# prefix = 2`, is a suggestion: remove the # to use it.
 * CHECK marks a guess that needs you.
 * A column without a block of its own is not read and not published."""


def write(draft: Draft) -> str:
    """The schema file of a draft.

    >>> draft = Draft((("file", "old.csv"),), "old.csv", (Sketch("sex", "categorical", values=("F", "M")),))
    >>> print(write(draft)[-75:], end="")
    source = "old.csv"
    <BLANKLINE>
    [columns.sex]
    kind = "categorical"
    values = ["F", "M"]
    """
    blocks = [_head(draft), f"source = {value(draft.source)}\n"]
    blocks += ["".join(_left_out(c) if isinstance(c, LeftOut) else _column(c)) for c in draft.columns]
    if draft.suggestions:
        blocks.append(comment("Suggestions about several columns: remove the # in front of a block to use it."))
        blocks += [_commented(s) for s in draft.suggestions]
    return "\n".join(blocks)


def comment(line: str) -> str:
    """A sentence as wrapped comment lines."""
    lines = wrap(_visible(line), WIDTH - 2, break_long_words=False, break_on_hyphens=False) or [""]
    return "".join(f"# {part}".rstrip() + "\n" for part in lines)


def _head(draft: Draft) -> str:
    out = [comment("Draft of a schema, written by `hedgerow schema init` from PUBLIC input."), "#\n"]
    out += [f"#   {name:<10} {_visible(value)}\n" for name, value in draft.origin]
    out.append("#\n")
    out += [_commented_paragraph(p) for p in _ASKED.split("\n")]
    return "".join(out)


def _commented_paragraph(line: str) -> str:
    hang = "   " if line.startswith(" *") else ""
    lines = wrap(line, WIDTH - 2, subsequent_indent=hang) or [""]
    return "".join(f"# {part}".rstrip() + "\n" for part in lines)


def _column(sketch: Sketch) -> Iterator[str]:
    head = f"columns.{key(sketch.name)}"
    yield f"[{head}]\n"
    yield from (comment(n) for n in sketch.notes)
    yield f"kind = {value(sketch.kind)}\n"
    if sketch.description:
        yield f"description = {value(sketch.description)}\n"
    long_labels = _short_labels(sketch) is None
    if sketch.labels and not long_labels:
        yield f"labels = {_short_labels(sketch)}\n"
    elif sketch.values and not sketch.labels:
        whole = ("type", "integer") in sketch.settings
        yield pair("values", [int(v) if whole else v for v in sketch.values]) + "\n"
    if sketch.bins:
        yield pair("bins", dict(sketch.bins)) + "\n"
    # Whole numbers without quotes say their type themselves.
    plain = bool(sketch.values) and not sketch.labels
    yield from (f"{k} = {value(v)}\n" for k, v in sketch.settings if not (plain and k == "type"))
    if sketch.special:
        yield f"special = {value(dict(sketch.special))}\n"
    if sketch.other:
        yield f"other = {sketch.other if ('type', 'integer') in sketch.settings else value(sketch.other)}\n"
    if sketch.missing:
        yield "missing = true\n"
    if sketch.missing_values:
        yield f"missing_values = {value(sketch.missing_values)}\n"
    yield from (_hint(h) for h in sketch.hints)
    if sketch.labels and long_labels:
        yield f"[{head}.labels]\n"
        yield from (f"{key(v)} = {value(w)}\n" for v, w in zip(sketch.values, sketch.labels, strict=True))


def _short_labels(sketch: Sketch) -> str | None:
    line = value(dict(zip(sketch.values, sketch.labels, strict=False)))
    return line if len(line) <= WIDTH - 10 else None


def _left_out(column: LeftOut) -> Iterator[str]:
    yield f"# [columns.{key(column.name)}] left out: {column.why}.\n"
    yield from (comment(n) for n in column.notes)


def _hint(line: str) -> str:
    return f"# {_visible(line)}\n"


def _commented(block: str) -> str:
    return "".join(f"# {_visible(line)}".rstrip() + "\n" for line in block.rstrip("\n").split("\n"))


def _visible(line: str) -> str:
    """The line without characters that a TOML comment may not hold."""
    return "".join(c if c.isprintable() else " " for c in line)
