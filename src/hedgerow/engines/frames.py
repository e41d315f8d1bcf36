"""Which Spark frames are taken: those of which every row is one row of a table, read by itself. Here none is read."""

import re
from typing import Any

from hedgerow.errors import TableMismatch

_PLAIN = ("Project", "Filter", "SubqueryAlias", "View", "Repartition", "RepartitionByExpression", "Sort")
_SOURCES = ("Relation", "LogicalRelation", "LogicalRDD", "LocalRelation")  # each row is one other, or dropped


def must_be_rows(frame: Any) -> Any:
    """The frame; refused if its rows are made of several others, as by a join, a window, a subquery or a sample."""
    plans, odd = [frame._jdf.queryExecution().analyzed()], list[str]()  # noqa: SLF001  the only way to see it
    while plans:
        plan = plans.pop()
        odd += [plan.nodeName()] * (plan.nodeName() not in _PLAIN + _SOURCES)
        odd += ["a subquery"] * bool(plan.subqueries().size()) + ["the place of a row"] * (not plan.deterministic())
        odd += ["a look at all rows for their types"] * _guessed(plan)
        plans += [plan.children().apply(i) for i in range(plan.children().size())]
    if odd:
        raise TableMismatch(
            f"The Spark frame is the result of {', '.join(dict.fromkeys(odd))}: a row of it may be made of\n"
            "several others; what is protected is one row of what is read. Write it out as a table whose rows are\n"
            "the units to protect (frame.write.parquet(...)), and name that. No row was read, and nothing was spent."
        )
    return frame


def _guessed(plan: Any) -> bool:
    """Whether rows of files say how other rows are read: types from all rows, quotes over line ends, ``state=1/``.

    Files that hold their types, lines of text, and whatever a catalog or a database declares, do not.
    """
    if plan.nodeName() not in _SOURCES[:2] or plan.catalogTable().isDefined():
        return False
    files, odd = plan.relation(), set[str]()
    if files.getClass().getSimpleName() == "HadoopFsRelation":
        options = files.options().toString().lower()
        odd = {files.toString(), *re.findall("inferschema -> true|multiline -> true", options)}
        odd |= {f.dataType().typeName() for f in files.partitionSchema().fields()} - {"string"}
    return bool(odd - {"parquet", "orc", "avro", "csv", "text"})
