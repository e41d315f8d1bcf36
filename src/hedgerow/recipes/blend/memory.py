"""How many bytes the recipes for whole records hold at their widest, from public facts alone."""

from collections.abc import Sequence
from math import isqrt

from hedgerow.public import Schema, Spend, law_of


def pair_cells(schema: Schema, names: Sequence[str]) -> int:
    """The cells of all two-way tables of ``names`` together."""
    shape = schema.shape(names)
    return (sum(shape) ** 2 - sum(s * s for s in shape)) // 2


def pair_records_memory(schema: Schema, names: Sequence[str], *, records: int) -> int:
    """Bytes for records fitted to all pairs of ``names``.

    Answers, estimates and their variances: about a dozen numbers of 8 bytes a cell.  Record fitting: three square
    arrays of 4 bytes over all values of all columns.  Records: a few copies of 2-byte codes, then the decoded table.
    """
    k = len(names)
    values = sum(schema.shape(names))
    fitting = 3 * 4 * values * (values + 16)
    rows = records * (8 * k + 24 * len(schema.columns))
    return 100 * pair_cells(schema, names) + fitting + rows


def noise_on_total(requests: Sequence[Spend]) -> int:
    """Three standard deviations of the noise on the number of rows, told by the best of the tables asked for."""
    asked = [a for r in requests for a in r.asked]
    return 3 * min((isqrt(round(a.cells * law_of(a.noise).variance)) for a in asked), default=0)
