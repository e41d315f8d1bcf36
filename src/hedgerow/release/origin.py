"""What of a release is synthetic, and what is given: the four kinds of release, each in its own words.

    attach    the rows of a target, as they are given, with some columns drawn
    records   whole records; nothing in them is given
    counts    a table of counts, made from noisy ones; its labels are the schema's
    draws     the same, drawn from urns; how many counts are drawn is given too

Every page, the command line and Python say it in these sentences and no others.
"""

from collections.abc import Sequence
from typing import Literal

import polars as pl

from hedgerow.figures import many
from hedgerow.public import CodedTable, Urn
from hedgerow.release.contents import Contents

Kind = Literal["attach", "records", "counts", "draws"]
_MOST_NAMES = 12


def given_columns(target: CodedTable | None, records: Sequence[pl.DataFrame]) -> dict[str, int]:
    """The columns of records that are the target's own, if there is one, and in how many rows the value is not.

    It is looked up in the rows.  A value that the schema does not allow is replaced by one of the cell it was counted
    in: such a column is given all the same, because every row is in the cell of its own.
    """
    if target is None or not records or any(len(r) != target.rows for r in records):
        return {}
    found: dict[str, int] = {}
    for column in (c for c in target.schema.columns if c.name in target.frame.columns):
        own, drawn = target.frame[column.name], [r[column.name] for r in records]
        codes = column.coded.encode(own)
        if all((column.coded.encode(made) == codes).all() for made in drawn):
            found[column.name] = max(_unlike(own, made) for made in drawn)
    return found


def _unlike(own: pl.Series, made: pl.Series) -> int:
    """In how many rows two columns differ."""
    if own.dtype != made.dtype:
        own, made = own.cast(pl.String), made.cast(pl.String)
    return int(own.ne_missing(made).sum())


def kind_of(contents: Contents) -> Kind:
    """Which of the four kinds a release is."""
    if contents.records:
        return "attach" if contents.given else "records"
    return "draws" if contents.drawn else "counts"


def synthetic_columns(contents: Contents) -> tuple[str, ...]:
    """The columns that were drawn or made from noisy answers."""
    if not contents.records:
        return ("count",)
    return tuple(c for c in contents.records[0].columns if c not in contents.given)


def origin(contents: Contents, column: str) -> str:
    """Where the values of a column come from, in a word or two."""
    if contents.records:
        return "given" if column in contents.given else "synthetic"
    return "label of the counts" if column in contents.labels else "not in this table"


def listed(names: Sequence[str]) -> str:
    """Names with commas; of very many the first ones.

    >>> listed(["sex"]), listed(["sex", "race", "age"]), listed([str(i) for i in range(20)])[-25:]
    ('sex', 'sex, race and age', '10, 11 and 8 more columns')
    """
    if len(names) > _MOST_NAMES:
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} more columns"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def target_name(contents: Contents) -> str:
    """The file whose rows are given."""
    names = [i.name for i in contents.statement.public_inputs if i.role == "target"]
    return "the target table" if not names or names[0] == "frame" else f"“{names[0]}”"


def made_sentence(contents: Contents) -> str:
    """What was released: what in it is synthetic, from what and by which recipe, and what is given."""
    made = {"attach": _attached, "records": _records, "counts": _counts, "draws": _draws}
    return made[kind_of(contents)](contents)


def _from_what(contents: Contents) -> str:
    s = contents.statement
    return f"noisy counts of the confidential table “{s.table}”, by the recipe “{s.recipe or 'unnamed'}”"


def _attached(contents: Contents) -> str:
    rows, copies, target = len(contents.records[0]), len(contents.records), target_name(contents)
    drawn, outside = synthetic_columns(contents), sum(contents.given.values())
    which = f"The {many(rows, 'row')} of {target}" + f", in {copies} copies" * (copies > 1)
    instead = f", but for {many(outside, 'value')} that the schema does not allow, replaced by others of their cell"
    return (
        f"{which}, with synthetic values of {listed(drawn)}. Only {'this is' if len(drawn) == 1 else 'these are'} "
        f"synthetic: drawn from {_from_what(contents)}. Everything else is given, row by row as in {target}: "
        f"{listed(list(contents.given))}{instead * (outside > 0)}."
    )


def _records(contents: Contents) -> str:
    s, rows, copies = contents.statement, len(contents.records[0]), len(contents.records)
    what = many(rows, "synthetic record") if copies == 1 else f"{copies} copies of about {rows:,} synthetic records"
    public = [f"“{i.name}”" for i in s.public_inputs if i.role == "public"]
    like = f"; one may be like a row of the public table {listed(public)}, which is no secret" if public else ""
    return (
        f"{what}: every column is synthetic, made from {_from_what(contents)}, and nothing is given. "
        f"No row was copied from “{s.table}”{like}."
    )


def _tables(contents: Contents) -> str:
    """How many tables of how many counts."""
    copies, cells = 1 + len(contents.copies), 0 if contents.counts is None else len(contents.counts)
    tables = "A table" if copies == 1 else f"{copies} copies of a table"
    return f"{tables} of {many(cells, 'synthetic count')}"


def _labels(contents: Contents) -> str:
    return f"the labels of {listed(contents.labels)}, which are the schema's"


def _counts(contents: Contents) -> str:
    settings = contents.asked.get(contents.statement.recipe)
    total = settings.get("total") if isinstance(settings, dict) else None
    fixed = f", and the sum of {total:,}, which the job declares" if isinstance(total, int) else ""
    return (
        f"{_tables(contents)}, made from {_from_what(contents)}. Given are {_labels(contents)}{fixed}. "
        f"There are no records in it, and none was copied from “{contents.statement.table}”."
    )


def _draws(contents: Contents) -> str:
    s = contents.statement
    urn = next(Urn.loads(x.detail) for x in s.spends if x.verb == "draw")
    sizes = f"{urn.sizes[0]:,}" + " in each group" * bool(urn.groups)
    sizes = sizes if len(urn.sizes) == 1 else f"{sum(urn.sizes):,} in all, group by group"
    return (
        f"{_tables(contents)}, drawn from urns that hold the counts of the confidential table “{s.table}” and public "
        f"prior weights, by the recipe “{s.recipe or 'unnamed'}”. Given are {_labels(contents)}, and how many counts "
        f"are drawn ({sizes}). There are no records in it, and none was copied from “{s.table}”."
    )


def in_short(contents: Contents) -> str:
    """What is in a release, in a few words."""
    kind, copies = kind_of(contents), len(contents.records) or 1 + len(contents.copies)
    several = f"{copies} copies of " if copies > 1 else ""
    if kind == "attach":
        rows = f"{several}{many(len(contents.records[0]), 'given row')}"
        return f"{rows}, with synthetic {listed(synthetic_columns(contents))}"
    if kind == "records":
        return several + many(len(contents.records[0]), "synthetic record")
    return f"{several}{'' if contents.counts is None else many(len(contents.counts), 'synthetic count')}"


def head_words(contents: Contents) -> str:
    """What the data are called at the head of a page."""
    private = "differentially private synthetic"
    return f"given rows with {private} columns" if kind_of(contents) == "attach" else f"{private} data"


def row_words(contents: Contents) -> str:
    """What one row is."""
    described, kind = contents.schema.title or contents.statement.table, kind_of(contents)
    if kind == "attach":
        drawn = listed(synthetic_columns(contents))
        return (
            f"One row of {target_name(contents)}, as it is given. Its {drawn} were drawn: they are not those of the "
            "confidential table, and say nothing certain of whoever the row is about."
        )
    if kind == "records":
        return f"One synthetic record in the form of {described}. It was drawn, and is nobody's record."
    return f"One combination of labels of {described}, and a synthetic count of it."


def match_words(contents: Contents) -> str:
    """What to know before looking for somebody in it."""
    if kind_of(contents) != "attach":
        return "Do not look for real people in it: any match is an accident."
    return (
        f"The rows are those of {target_name(contents)}: if that file is about real people, so are they. Their "
        f"{listed(synthetic_columns(contents))} were drawn: where they are true of somebody, that is an accident."
    )


def please_say(contents: Contents) -> str:
    """What who uses the data should say of them."""
    if kind_of(contents) != "attach":
        return (
            "Please say in the text that the data are synthetic and differentially private, with the epsilon above."
        )
    drawn = synthetic_columns(contents)
    verb = "is" if len(drawn) == 1 else "are"
    return (
        f"Please say in the text that {listed(drawn)} {verb} synthetic and differentially private, with the epsilon "
        "above, and that the other columns are given."
    )
