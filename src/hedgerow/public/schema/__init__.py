"""Schema: the public description of a table, from its file to the codes of its values and back.

bins.py        bins of numbers and dates, and the values that may stand in each
column.py      one column: its cells, their labels, the rule that codes it
structure.py   joins, structural zeros, rules between columns
file.py        from the text of a schema file and back;  check.py: all that is wrong with it
resolve.py     what is taken from a public table, written out
schema.py      all of it as one value
fit.py         what a public table holds that the schema does not know
records.py     from codes to records, and which records may not occur
"""

from hedgerow.public.schema.bins import Bins
from hedgerow.public.schema.check import nearest
from hedgerow.public.schema.column import BINNED, LISTED, Collapse, Column
from hedgerow.public.schema.records import Flags, column_codes, decode, impossible, violations
from hedgerow.public.schema.schema import Schema
from hedgerow.public.schema.structure import Condition, Join, OrderRule, Zero
