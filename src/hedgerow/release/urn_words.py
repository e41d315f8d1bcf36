"""What a drawn table promises, in plain words: sizes, prior weights, copies, the neighbours that are covered."""

from hedgerow.public.costs.statement import Statement
from hedgerow.public.costs.urn import Urn
from hedgerow.release.words import decimal


def urn_words(statement: Statement) -> str:
    """The draws of a statement in a few sentences; empty when there are none."""
    urns = [(Urn.loads(s.detail), s.asked[0]) for s in statement.spends if s.verb == "draw"]
    if not urns:
        return ""
    urn, asked = urns[0]
    sizes = f"{urn.sizes[0]:,}" if len(urn.sizes) == 1 else f"{sum(urn.sizes):,} in all"
    where = " in each group" if urn.groups and len(urn.sizes) == 1 else ""
    said = [
        f"{sizes} counts were drawn{where} from Polya urns that hold the true counts and, in each cell, a prior "
        f"weight of {decimal(asked.noise.scale, 9)} or more, in whole numbers, by the operating system's entropy, "
        "without a seed.",
        "How many are drawn is public and was fixed before any row was read; it was not taken from them.",
        f"The epsilon is that of {statement.guarantee.relation}. {_also(statement, urn)}".strip(),
    ]
    if urn.copies > 1:
        said.append(
            f"The {urn.copies} copies come from the same urns, one after the other, and together cost what one table "
            f"of {urn.copies} times as many counts would."
        )
    return " ".join(said)


def _also(statement: Statement, urn: Urn) -> str:
    """Which other relation the same epsilon covers."""
    if statement.guarantee.relation == "label-change":
        return ""
    other = "add-remove" if statement.guarantee.relation == "replace-one" else "replace-one"
    if other == "add-remove" or not urn.groups:
        return f"Because the size is public, the same epsilon covers {other}."
    return "It does not cover replace-one: a row replaced may change two groups, and would cost more."
