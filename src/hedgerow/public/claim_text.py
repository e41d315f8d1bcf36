"""Reading a claim about a coefficient: ``sex[F] < -0.02`` in ``ln(pay) ~ sex + race | agency``, as plain data."""

import re

import numpy as np
import numpy.typing as npt

from hedgerow.errors import JobError
from hedgerow.public.costs.claim import Claim
from hedgerow.public.costs.question import Counts
from hedgerow.public.formula import Floats, Formula
from hedgerow.public.schema import Schema

_GRAIN = 1 << 18  # numbers are whole multiples of this part of half their range: sums of 2^27 rows stay exact
_NOTHING = "No confidential row was read and nothing was spent."


def make_claim(text: str, formula: Formula, schema: Schema) -> Claim:
    """The claim ``text``, such as ``sex[F] < -0.02`` or ``0.01 < age < 0.03``, about a model."""
    name, low, high = read_claim(text)
    bound = formula.bound(schema)
    which = bound.place(name, schema)
    columns = (*(c for c in bound.columns if c != bound.response.column), bound.response.column)
    interest, made = len(bound.names(schema)), {c: list[tuple[int, Counts]]() for c in columns}
    usable = {c: np.ones(schema.size([c]), np.bool_) for c in columns}
    scales, place = dict[int, float](), 0
    for term in bound.terms:
        column = schema.column(term.column)
        if term.form == "labels":
            for code in range(column.size):
                if code != term.base(column):
                    made[term.column].append((place, np.eye(column.size, dtype=np.int64)[code]))
                    place += 1
            continue
        values, scales[place] = _whole(term.codes(column), usable[term.column])
        made[term.column].append((place, values))
        place += 1
    for name_of in bound.absorbed:
        for line in np.eye(schema.size([name_of]), dtype=np.int64):
            made[name_of].append((place, line))
            place += 1
    response = columns[-1]
    made[response].append((place, np.ones(schema.size([response]), np.int64)))
    values, of_response = _whole(bound.response.codes(schema.column(response)), usable[response])
    made[response].append((place + 1, values))
    return Claim(
        text=f"{text.strip()} in {formula}",
        columns=columns,
        designs=tuple(np.stack([v for _, v in made[c]], axis=1) for c in columns),
        usable=tuple(usable[c] for c in columns),
        places=tuple(np.array([p for p, _ in made[c]], np.int64) for c in columns),
        interest=interest,
        which=which,
        scale=of_response / scales.get(which, 1.0),
        low=low,
        high=high,
    )


def read_claim(text: str) -> tuple[str, float, float]:
    """The coefficient of a claim, and the bounds it gives."""
    number = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
    name = r"[A-Za-z_][^<>]*?"
    forms = {
        rf"\s*({name})\s*<\s*({number})\s*": (None, 2, 1),
        rf"\s*({name})\s*>\s*({number})\s*": (2, None, 1),
        rf"\s*({number})\s*<\s*({name})\s*<\s*({number})\s*": (1, 3, 2),
    }
    for pattern, (low, high, which) in forms.items():
        if found := re.fullmatch(pattern, text):
            below = float(found[low]) if low else -np.inf
            above = float(found[high]) if high else np.inf
            if below < above:
                return found[which].strip(), below, above
    raise JobError(
        f"Cannot read the claim {text!r}. Write it like 'sex[F] < 0', 'age > 0.01' or '-0.12 < sex[F] < -0.06'.\n"
        + _NOTHING
    )


def _whole(values: Floats, usable: npt.NDArray[np.bool_]) -> tuple[Counts, float]:
    """The numbers as whole ones within the grain, shifted to their middle, and the size of a grain's worth."""
    usable &= np.isfinite(values)
    known = values[np.isfinite(values)]
    if len(known) < 2 or known.min() == known.max():
        raise JobError(f"A number of the model has fewer than two different values in the schema. {_NOTHING}")
    middle, half = (known.max() + known.min()) / 2, (known.max() - known.min()) / 2
    whole = np.rint(np.where(np.isfinite(values), values - middle, 0) / half * _GRAIN).astype(np.int64)
    return whole, float(half / _GRAIN)
