"""A comparison as one HTML page: self-contained, readable in print, a table behind each figure."""

from functools import cache
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from hedgerow import __version__
from hedgerow.evaluate.base import Comparison, Result
from hedgerow.evaluate.drawing import drawn
from hedgerow.evaluate.registry import METRICS

_ROWS = 120


def page(comparison: Comparison, *, title: str = "", watermark: str = "", warning: str = "") -> str:
    """The page; with a ``watermark`` over it and a ``warning`` at its head where the numbers must stay inside."""
    sections = [_section(r) for r in comparison.results]
    appendix = [s for s in sections if s["appendix"]]
    if appendix:
        appendix[0]["first_of_appendix"] = True
    ordered = [s for s in sections if not s["appendix"]] + appendix
    text: str = _template().render(
        comparison=comparison,
        sections=ordered,
        title=title or f"{comparison.b.name} against {comparison.a.name}",
        watermark=watermark,
        warning=warning,
        version=__version__,
    )
    return text


def summary(comparison: Comparison) -> str:
    """The comparison in a few lines for a terminal."""
    lines = [f"{'measure':<52} {'found':>10} {'by chance':>10} {'best':>8}"]
    for r in comparison.results:
        metric = METRICS[r.metric]
        note = "  (audit appendix: not a verdict)" if metric.appendix else ""
        lines.append(
            f"{metric.title[:52]:<52} {_shown(r.value):>10} {_shown(r.null):>10} {metric.scale.best:>8g}{note}"
        )
    lines += [f"{name}: not measured, {why}" for name, why in comparison.skipped]
    return "\n".join(lines)


def _section(result: Result) -> dict[str, Any]:
    metric = METRICS[result.metric]
    table = result.table.head(_ROWS)
    return {
        "name": result.metric,
        "title": metric.title,
        "appendix": metric.appendix,
        "first_of_appendix": False,
        "value": _shown(result.value),
        "null": _shown(result.null),
        "best": f"{metric.scale.best:g}",
        "unit": metric.scale.unit,
        "sentence": result.sentence,
        "reading": metric.reading,
        "null_words": metric.null,
        "notes": result.notes,
        "figures": [{"title": f.title, "svg": drawn(f)} for f in result.figures],
        "columns": table.columns,
        "rows": [[_shown(v) for v in row] for row in table.iter_rows()],
        "more": result.table.height if result.table.height > _ROWS else 0,
    }


def _shown(value: Any) -> str:
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


@cache
def _template() -> Any:
    place = Environment(
        loader=PackageLoader("hedgerow.evaluate"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return place.get_template("comparison.html.j2")
