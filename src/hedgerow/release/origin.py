"""What of a release is synthetic, and what is given: the four kinds of release, each in its own words.

    attach    the rows of a target, as they are given, with some columns drawn
    records   whole records; nothing in them is given
    counts    a table of counts, made from noisy ones; its labels are the schema's
    draws     the same, drawn from urns; how many counts are drawn is given too

Every page, the command line and Python say it in these sentences and no others.  After them comes what the data card
alone says: the files, how it was made, limits, cells in CSV files.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import polars as pl

from hedgerow.figures import many
from hedgerow.public import CodedTable, Column, Fact, Table, Urn, as_text, formulas, line_ends, pieces, whole
from hedgerow.release.contents import Contents, count_tables
from hedgerow.release.manifest import Facts

Kind = Literal["attach", "records", "counts", "draws"]
_MOST_NAMES = 12
_OF_COUNTED = (
    " So figures and intervals are those of the rows that were counted: where people with many rows are unlike "
    "others, or their first rows unlike their last, all rows have other ones."
)


def given_columns(target: CodedTable | None, records: Sequence[Table]) -> dict[str, int]:
    """The columns of records that are the target's own, if there is one, and in how many rows the value is not.

    It is looked up in the rows.  A value that the schema does not allow is replaced by one of the cell it was counted
    in: such a column is given all the same, because every row is in the cell of its own.
    """
    if target is None or not records or any(len(r) != target.rows for r in records):
        return {}
    shared = [c for c in target.schema.columns if c.name in target.frame.columns and c.name in records[0].columns]
    counted = [{c.name: 0 for c in shared} for _ in records]
    for copy, found in zip(records, counted, strict=True):
        start = 0
        for piece in pieces(copy):
            own = target.frame[start : start + len(piece)]
            start += len(piece)
            for column in (c for c in shared if c.name in found):
                mine, made = own[column.name], piece[column.name]
                if not (unlike := _unlike(mine, made)) or _same_cells(column, mine, made):
                    found[column.name] += unlike
                else:
                    del found[column.name]
    same = {
        c.name: max(found[c.name] for found in counted) for c in shared if all(c.name in found for found in counted)
    }
    return {**_own_persons(target, records), **same}


def _own_persons(target: CodedTable, records: Sequence[Table]) -> dict[str, int]:
    """The column that says whose each row is, which the schema does not describe, if it is the target's own."""
    described = {c.name for c in target.schema.columns}
    more = [c for c in records[0].columns if c not in described and c in target.frame.columns]
    texts = {c: as_text(target.frame[c]) for c in more}
    return {c: 0 for c in more if all(as_text(whole(r, [c])[c]).equals(texts[c]) for r in records)}


def _same_cells(column: Column, own: pl.Series, made: pl.Series) -> bool:
    """Whether the values of two columns lie in the same cells, row by row."""
    return bool((column.coded.encode(made) == column.coded.encode(own)).all())


def _unlike(own: pl.Series, made: pl.Series) -> int:
    """In how many rows two columns differ; whole numbers do not by a ".0" or by their type."""
    if own.dtype != made.dtype or own.dtype == pl.String:
        own, made = (c.cast(pl.String).str.replace(r"^(-?(?:0|[1-9]\d*))\.0$", "${1}") for c in (own, made))
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
    these = "this is" if len(drawn) == 1 else "these are"
    timed = [c.name for c in contents.schema.columns if c.name in contents.given and c.has_hours]
    return (
        f"{which}, with synthetic values of {listed(drawn)}{_once(contents)}. Only {these} "
        f"synthetic: drawn from {_from_what(contents)}. Everything else is given, row by row as in {target}: "
        f"{listed(list(contents.given))}{instead * (outside > 0)}."
        + f" Of {listed(timed)} the day alone is given, not the hour."
        * bool(timed)
    )


def _once(contents: Contents) -> str:
    """That labels are people's, where they are."""
    named = contents.statement.guarantee.person
    return f", one for each person ({named}) and the same in all rows of that person" * bool(contents.statement.facts)


def fact_words(contents: Contents) -> str:
    """What people were counted by, where people were counted; else nothing."""
    facts, drawn = contents.statement.facts, synthetic_columns(contents)
    given = [f"the {_fact(f)}" for f in facts if f.name not in drawn]
    if not facts:
        return ""
    return (
        f"Each person was counted once, however many rows they have, by {listed(given)}, and by their most frequent "
        f"{listed(drawn)}. "
    )


def _fact(fact: Fact) -> str:
    """A fact as people say it."""
    rule, _, column = fact.name.partition(" ")
    if fact.rule == "rows":
        return "number of rows"
    return {"most": f"most frequent {column}", "residual": f"mean residual of {column}"}.get(rule, fact.name)


def career_words(contents: Contents) -> str:
    """How people's rows were counted, where careers were; else nothing."""
    s = contents.statement
    most = s.guarantee.rows_per_person - 1
    if not s.careers:
        return ""
    return (
        f"Each person was counted once, by the first record and the span of {s.careers} to the last, and by at most "
        f"{many(most, 'step')} from one record to the next; of anyone with more, {most} at even distances. Records "
        f"of a person follow each other by {s.careers}, those of the same {s.careers} by their other values. "
    )


def _people(contents: Contents) -> str:
    """How many synthetic people the records are of, where they are of people."""
    if not contents.statement.careers:
        return ""
    rows, people = len(contents.records[0]), contents.counted[0].rows
    named = contents.statement.guarantee.person
    return f" of {people:,} synthetic people, {rows / people:.1f} each on average ({named} tells them apart)"


def _records(contents: Contents) -> str:
    s, rows, copies = contents.statement, len(contents.records[0]), len(contents.records)
    what = many(rows, "synthetic record") if copies == 1 else f"{copies} copies of about {rows:,} synthetic records"
    public = [f"“{i.name}”" for i in s.public_inputs if i.role == "public" and contents.leans_on_public]
    like = f"; one may be like a row of the public table {listed(public)}, which is no secret" if public else ""
    return (
        f"{what}{_people(contents)}: every column is synthetic, made from {_from_what(contents)}, and nothing is "
        f"given. No row was copied from “{s.table}”{like}."
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
        return several + many(len(contents.records[0]), "synthetic record") + _people(contents)
    return f"{several}{'' if contents.counts is None else many(len(contents.counts), 'synthetic count')}"


def head_words(contents: Contents) -> str:
    """What the data are called at the head of a page."""
    private = "differentially private synthetic"
    return f"given rows with {private} columns" if kind_of(contents) == "attach" else f"{private} data"


def row_words(contents: Contents) -> str:
    """What one row is."""
    described, kind = contents.schema.title or f"the table “{contents.statement.table}”", kind_of(contents)
    if kind == "attach":
        drawn = listed(synthetic_columns(contents))
        return (
            f"One row of {target_name(contents)}, as it is given. Its {drawn} were drawn: they are not those of the "
            "confidential table, and say nothing certain of whoever the row is about."
        )
    if kind == "records" and contents.statement.careers:
        return (
            f"One synthetic record of a synthetic person in the form of {described}. Rows with the same "
            f"{contents.statement.guarantee.person} are of one person, who was drawn and is nobody."
        )
    if kind == "records":
        return f"One synthetic record in the form of {described}. It was drawn, and is nobody's record."
    return f"One combination of labels of {described}, and a synthetic count of it."


def bars_words(contents: Contents) -> str:
    """What the bars of a column count."""
    if contents.counted:
        return "people of this release" if contents.given else "synthetic people, by their first records"
    return "rows of this release" if contents.given else "synthetic records"


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


_FILES = {
    "records.parquet": "",
    "counts.csv": "the synthetic counts, one row per cell",
    "counts.parquet": "the same, with standard errors and 95 % intervals where noise was added",
    "counts-wide.csv": "the same, with one column per label of the last column",
    "counts-wide.parquet": "the wide form as Parquet",
    "margins.csv": "totals, one-way and two-way sums of the counts",
    "margins.parquet": "the sums as Parquet",
    "report.html": "what was released, for which uses, under which promise; start here",
    "codebook.html": "every column with its values and labels",
    "privacy-statement.md": "the promise in plain words, and what it does not protect",
    "statement.json": "the promise and every request with its noise and cost, for machines",
    "measurements.parquet": "the noisy answers with the scale of their noise",
    "schema.toml": "columns, values and bins, as fixed before any confidential row was read",
    "datapackage.json": "the tables described for Frictionless tools",
    "combine.R": "reads the copies in R, fits a model to each and combines the estimates",
    "job.toml": "what was asked for",
    "MANIFEST.json": "size and hash of every file",
}


def card(contents: Contents, tables: Mapping[str, Facts]) -> dict[str, Any]:
    """The names that the card's template uses; ``tables`` are the table files of the release."""
    others = sorted(set(tables) - set(_FILES))
    files = [(n, w) for n, w in _FILES.items() if n in tables or not n.startswith(("records", "counts", "margins"))]
    files = [(n, w) for n, w in files if n != "combine.R" or contents.records]
    files += [(n, "a further copy of the synthetic counts" if n.startswith("counts-") else "") for n in others]
    return {
        "cells": _cells(contents),
        "files": [(n, w or _records_words(contents, n)) for n, w in files]
        if not contents.drawn
        else _as_drawn(files),
        "how_made": _how_made(contents),
        "limits": _limits(contents),
        "row_words": row_words(contents),
    }


def _as_drawn(files: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The files of a release whose counts were drawn: there is no noise in them."""
    said = {
        "counts.parquet": "the same as Parquet",
        "measurements.parquet": "the counts as they were drawn, with the least prior weight",
        "statement.json": "the promise, and the draw with its prior weights and cost, for machines",
    }
    return [(n, said.get(n, w)) for n, w in files]


def _records_words(contents: Contents, name: str) -> str:
    one = "" if name.startswith("records.") else ", one copy"
    if kind_of(contents) == "attach":
        return f"the rows of {target_name(contents)} with synthetic {listed(synthetic_columns(contents))}{one}"
    return f"the synthetic records{one}"


def _how_made(contents: Contents) -> str:
    s = contents.statement
    asked = (
        f"{many(len(contents.answers), 'table')} with {many(sum(len(m.counts) for _, m in contents.answers), 'cell')}"
    )
    public = [i.name for i in s.public_inputs if i.role == "public" and contents.leans_on_public]
    so_far = ", as far as is said next," if contents.findings else ""  # it may have been put aside
    with_help = f" and{so_far} the public table {listed(public)}" if public else ""
    said = f"The recipe {s.recipe or 'unnamed'} asked for {asked} in all. "
    kind = kind_of(contents)
    if kind == "draws":
        help_of = f", with the help of the public table {listed(public)}" if public else ""
        return (
            f"{said}The counts were drawn from urns that hold the true counts and public prior weights{help_of}; "
            "they are published as they were drawn."
        )
    said += "Each cell was answered with whole-number noise. "
    if kind == "attach":
        whom = "person" if s.facts else "row"
        return (
            f"{fact_words(contents)}{said}From the noisy answers{with_help} came, for every {whom} of "
            f"{target_name(contents)}, how likely each value of {listed(synthetic_columns(contents))} is; one was "
            "drawn. All else is the row's own."
        )
    if kind == "records" and s.careers:
        return (
            f"{career_words(contents)}{said}From the noisy answers{with_help} came a model of first records and "
            "tables of what becomes of each column in a step; people were drawn from the one and go on by the others."
            + f" They follow people of {listed(public)}: a whole career may be like that of one."
            * bool(public)
        )
    if kind == "records":
        return f"{said}From the noisy answers{with_help} a model was made; records were drawn from it and decoded."
    return (
        f"{said}From the noisy answers{with_help} possible counts were made: whole, 0 or more, with sums that agree."
    )


def _measured_together(contents: Contents) -> str:
    """How many columns stood in one table; where rows were put into leaves or bands by more, that too."""
    asked = [m.question for _, m in contents.answers]
    plain = max((len(q.columns) for q in asked), default=0)
    grouped = max((len({*q.columns, *q.tree.columns}) for q in asked if q.tree), default=0)
    if grouped > max(plain, 1):
        by = "columns and their moves" if contents.statement.careers else "columns"
        return (
            f"Relations among more than {many(max(plain, 1), 'column')} at a time were measured only as far as "
            f"groups of rows tell them (leaves of a tree, or bands of figures, by up to {grouped} {by}); the rest "
            "comes from the model."
        )
    return {
        0: "No table of the columns was measured.",
        1: "Only single columns were measured: how columns go together is not kept unless a public table brought it.",
    }.get(plain, f"Relations among more than {plain} columns at a time were not measured; they come from the model.")


def _limits(contents: Contents) -> tuple[str, ...]:
    if contents.counts is not None:
        return _limits_of_counts(contents)
    return (
        _measured_together(contents),
        *_dropped(contents),
        "Small cells carry noise as large as themselves. Look at the 95 % figures in the report before using one.",
        "Standard errors from ordinary formulas are too small: they know neither the noise nor the drawing.",
        *_unknown(contents.schema.columns),
        match_words(contents),
    )


def _dropped(contents: Contents) -> Iterator[str]:
    """What is not seen of people with several records."""
    statement = contents.statement
    cap = statement.guarantee.rows_per_person
    if statement.careers:
        kept = "what depends on earlier ones is kept only as far as the record holds it."
        yield f"A step was drawn from the record before it alone: {kept}"
    elif statement.facts:
        yield "What changes within a person was seen through these facts alone; no table of rows was measured."
    elif statement.guarantee.unit == "person":
        counted = f"only {'one was' if cap == 1 else f'{cap} were'} counted; the others leave no trace here."
        yield f"Of anyone with more than {many(cap, 'row')}, {counted}" + _OF_COUNTED * (not contents.given)


def _limits_of_counts(contents: Contents) -> tuple[str, ...]:
    noise = "Small cells carry noise as large as themselves. Look at the 95 % figures in the report before using one."
    prior = (
        "Counts hold prior weight besides what is true: in small cells it may be most of them. They have no interval."
    )
    return (
        prior if contents.drawn else noise,
        *_dropped(contents),
        *_unknown([c for c in contents.schema.columns if c.name in contents.labels]),
    )


def _unknown(columns: Sequence[Column]) -> Iterator[str]:
    """Where values are counted that the schema does not know, and numbers beyond its bins."""
    apart = {"missing": [c.name for c in columns if c.knows_unknown and c.other is None]}
    for c in columns:
        if c.knows_unknown and c.other is not None:
            apart.setdefault(repr(c.other), []).append(c.name)
    told = [f"{where} in {listed(names)}" for where, names in apart.items() if names]
    if told:
        yield f"Values that the schema does not know are in a cell of their own: {'; '.join(told)}."
    merged = [
        f"{c.cell_labels[c.unknown]!r} in {c.name}" for c in columns if c.unknown is not None and not c.knows_unknown
    ]
    if merged:
        yield (
            f"As the schema declares, values that it does not know were counted as {listed(merged)}: nothing tells "
            "them from true ones."
        )
    if clamped := [c.name for c in columns if c.bin_count and c.beyond == "outer"]:
        yield f"Values of {listed(clamped)} beyond the bins of the schema were counted in the outer bins."


def _cells(contents: Contents) -> str:
    """How cells stand in CSV files, where a spreadsheet could do something with them; else nothing."""
    if "csv" not in contents.formats and contents.counts is None:
        return ""
    counts = count_tables(contents.counts, contents.margins, contents.copies).values()
    begin, lines = dict[str, None](), dict[str, None]()
    for frame in chain(*(pieces(r) for r in contents.records), counts):
        begin |= dict.fromkeys(formulas(frame))
        lines |= dict.fromkeys(line_ends(frame))
    if contents.for_spreadsheets and (begin or lines):
        return (
            "In the CSV files an apostrophe stands before a cell that a spreadsheet would take for a formula, and a "
            f"space where a value has an end of line: so in {listed(list(begin | lines))}. The "
            "Parquet files have the values as they are."
        )
    said = []
    if begin:
        said.append(
            f"Cells of {listed(list(begin))} begin with =, +, - or @ and stand in the CSV files as they are: a "
            "spreadsheet may take them for formulas and carry them out. Import these columns as text, or ask the "
            'publisher for CSV files that are safe to open (csv = "spreadsheet" in the job).'
        )
    if lines:
        said.append(
            f"Values of {listed(list(lines))} have an end of line within: in a CSV file a row may be several lines."
        )
    return " ".join(said)
