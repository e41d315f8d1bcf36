"""A comparison as one HTML page: self-contained, readable in print, a table behind each figure."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from hedgerow import __version__
from hedgerow.evaluate.base import Comparison, Result, Side
from hedgerow.evaluate.drawing import Names, drawn, shown
from hedgerow.evaluate.registry import METRICS
from hedgerow.figures.page import render
from hedgerow.figures.words import aligned, many

_ROWS = 120


def page(
    comparison: Comparison,
    *,
    title: str = "",
    names: Names = ("A", "B"),
    uses: Sequence[Mapping[str, str]] = (),
    watermark: str = "",
    warning: str = "",
) -> str:
    """The page; with a ``watermark`` over it and a ``warning`` at its head where the numbers must stay inside.

    ``names`` are what the two sides are called; with judged ``uses`` the page opens with them.
    """
    sections = [_section(r, names) for r in comparison.results]
    a, b = called(comparison.a), called(comparison.b)
    return render(
        "hedgerow.evaluate",
        "comparison.html.j2",
        {
            "comparison": comparison,
            "facts": _facts(comparison, names),
            "names": names,
            "sections": [s for s in sections if not s["appendix"]],
            "appendix": [s for s in sections if s["appendix"]],
            "title": title or f"{b} against {a}",
            "sides": (a, b),
            "uses": uses,
            "watermark": watermark,
            "warning": warning,
            "version": __version__,
        },
    )


def summary(comparison: Comparison) -> str:
    """The comparison in a few lines for a terminal."""
    rows = [
        (
            METRICS[r.metric].title,
            shown(r.value),
            shown(r.null),
            f"{METRICS[r.metric].scale.best:g}",
            METRICS[r.metric].scale.unit + ("; audit appendix, not a verdict" if METRICS[r.metric].appendix else ""),
        )
        for r in comparison.results
    ]
    lines = aligned(("measure", "found", "by chance", "best", ""), rows, left=(0, 4))
    lines += [f"{METRICS[name].title}: not measured, {why}" for name, why in comparison.skipped]
    lines += ["", "by chance: what two samples of one population would give; best: what equal tables give."]
    return "\n".join(lines)


def called(side: Side) -> str:
    """What a table is called on a page: the end of its path."""
    place = PurePath(side.name)
    return place.name if len(place.parts) < 2 else "/".join(place.parts[-2:]).lstrip("/")


def _facts(comparison: Comparison, names: Names) -> list[tuple[str, str]]:
    a, b = comparison.a, comparison.b
    each = f" in each of {many(b.copies, 'copy')}" if b.copies > 1 else ""
    return [
        (f"{a.rows:,}", f"rows of {names[0]}: {called(a)}"),
        (f"{b.rows:,}", f"rows of {names[1]}{each}: {called(b)}"),
        (str(len(comparison.results)), "measures" if len(comparison.results) != 1 else "measure"),
    ]


def _section(result: Result, names: Names) -> dict[str, Any]:
    metric = METRICS[result.metric]
    table = result.table.head(_ROWS)
    return {
        "name": result.metric,
        "title": metric.title,
        "appendix": metric.appendix,
        "value": shown(result.value),
        "null": shown(result.null),
        "best": f"{metric.scale.best:g}",
        "unit": metric.scale.unit,
        "sentence": result.sentence,
        "reading": metric.reading,
        "null_words": metric.null,
        "notes": result.notes,
        "figures": [d for f in result.figures if (d := drawn(f, names)) is not None],
        "columns": [c.replace("_", " ") for c in table.columns],
        "numeric": [d.is_numeric() for d in table.dtypes],
        "rows": [[_word(v) for v in row] for row in table.iter_rows()],
        "more": result.table.height if result.table.height > _ROWS else 0,
    }


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else shown(value)
