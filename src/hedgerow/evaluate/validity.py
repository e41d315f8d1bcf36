"""Whether records are possible: structural zeros, rules, and values that the schema does not know."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import polars as pl

from hedgerow.evaluate.base import AbstractMetric, CodedTable, Result, Scale
from hedgerow.figures import many
from hedgerow.public import ColumnFit, OrderRule, Zero, as_text, violations


@final
@dataclass(frozen=True)
class Validity(AbstractMetric):
    """The share of B's rows that break a structural zero or a rule, or have a value outside the schema."""

    name = "validity"
    title = "Impossible records"
    scale = Scale(0, 1, 0, "share of rows")
    null = "A's own share: authentic tables have errors too"
    reading = (
        "Above 0: some synthetic records cannot exist, which a careful user will notice and hold against the file."
    )

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """Every rule with the rows that break it."""
        rules: list[Zero | OrderRule] = [*a.schema.zeros, *a.schema.rules]
        rows = []
        for rule in rules:
            alone = replace(
                a.schema,
                zeros=(rule,) if isinstance(rule, Zero) else (),
                rules=(rule,) if isinstance(rule, OrderRule) else (),
            )
            counted = [int(violations(alone, t.frame).sum()) for t in (a, b)]
            rows.append({"rule": _words(rule), "a": counted[0] / a.rows, "b": counted[1] / b.rows})
        shares = [float(violations(a.schema, t.frame).mean() or 0.0) if t.rows else 0.0 for t in (a, b)]  # type: ignore
        outside = [_outside(t) for t in (a, b)]
        for name in sorted(set(outside[0]) | set(outside[1])):
            got = [o.get(name, 0) / t.rows for o, t in zip(outside, (a, b), strict=True)]
            rows.append({"rule": f"{name} is a value of the schema", "a": got[0], "b": got[1]})
        worst = [max([s, *(n / t.rows for n in o.values())]) for s, o, t in zip(shares, outside, (a, b), strict=True)]
        table = pl.DataFrame(rows, schema={"rule": pl.String, "a": pl.Float64, "b": pl.Float64})
        return Result(
            self.name,
            worst[1],
            worst[0],
            _sentence(rules, shares, len(outside[1])),
            table.sort("b", descending=True),
            parts={"rules": len(rules), "a_breaks": shares[0], "b_breaks": shares[1], "b_outside": len(outside[1])},
        )


def _sentence(rules: Sequence[object], shares: Sequence[float], outside: int) -> str:
    broken = (
        f"{100 * shares[1]:.2f} % of B's rows break a zero or rule of the schema ({100 * shares[0]:.2f} % of A's)"
        if rules
        else "The schema states no zeros and no rules"
    )
    return f"{broken}; {many(outside, 'column')} of B with values outside the schema."


def _outside(table: CodedTable) -> dict[str, int]:
    """In how many rows each column has a value outside; the word for what is not known is the schema's own."""
    found = []
    for c in (c for c in table.schema.columns if c.name in table.frame.columns):
        column = table.frame[c.name]
        if c.knows_unknown and c.other is not None:
            column = column.filter(as_text(column).ne_missing(c.other))
        found.append(ColumnFit(c.name).plus(c, column))
    return {f.name: f.outside + f.clamped for f in found if f.outside + f.clamped}


def _words(rule: Zero | OrderRule) -> str:
    if isinstance(rule, OrderRule):
        return f"{rule.left} <= {rule.right}"
    parts = []
    for name, condition in rule.where:
        if condition.values:
            parts.append(f"{name} in ({', '.join(condition.values)})")
        if condition.above is not None:
            parts.append(f"{name} > {condition.above}")
        if condition.below is not None:
            parts.append(f"{name} < {condition.below}")
    return "never " + " and ".join(parts)
