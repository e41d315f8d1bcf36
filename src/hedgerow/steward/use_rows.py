"""The table that every exact report opens with: each intended use, its tolerance, its error, met or missed."""

from collections.abc import Sequence

from hedgerow.figures.words import aligned, beside, percent, small
from hedgerow.steward.exact_uses import ExactUse
from hedgerow.uses.uses import Verdict


def use_lines(found: Sequence[ExactUse]) -> list[str]:
    """The table in letters."""
    head = ("intended use", "tolerance", "foretold", "exact", "like a", "")
    rows = [
        (r["name"], r["tolerance"], r["foretold"], r["error"], f"{r['like']} sample", _loud(r))
        for r in map(use_row, found)
    ]
    return aligned(head, rows, left=(0, 5))


def _loud(row: dict[str, str]) -> str:
    return row["word"].upper() if row["kind"] == "missed" else row["word"]


def use_row(u: ExactUse) -> dict[str, str]:
    """One use as words."""
    v, show = u.verdict, percent if u.verdict.use.as_share else small
    word, kind = {True: ("met", "met"), False: ("missed", "missed"), None: ("not judged", "open")}[v.met]
    return {
        "name": v.use.name,
        "what": v.use.what,
        "tolerance": show(v.use.tolerance),
        "foretold": "-" if u.forecast is None else _band(u.forecast),
        "error": beside(v.error, v.use.tolerance, share=v.use.as_share),
        "like": percent(v.like_sample),
        "word": "sign lost" if v.sign_kept is False else word,
        "kind": kind,
    }


def _band(v: Verdict) -> str:
    low, error, high = (beside(x, v.use.tolerance, share=v.use.as_share) for x in (v.low, v.error, v.high))
    return error if v.low is None else f"{low} to {high}"
