"""Schema: the public description of a table, from its file to the codes of its values and back.

bins.py        bins of numbers and dates, and the values that may stand in each
column.py      one column: its cells, their labels, the rule that codes it
structure.py   joins, structural zeros, rules between columns
file.py        from the text of a schema file;  check.py: all that is wrong with it;  text.py: back to text
resolve.py     what is taken from a public table, written out
schema.py      all of it as one value
records.py     from codes to records, and which records may not occur
"""

from hedgerow.public.schema.bins import Bins as Bins
from hedgerow.public.schema.check import nearest as nearest
from hedgerow.public.schema.column import BINNED as BINNED
from hedgerow.public.schema.column import LISTED as LISTED
from hedgerow.public.schema.column import Collapse as Collapse
from hedgerow.public.schema.column import Column as Column
from hedgerow.public.schema.records import Flags as Flags
from hedgerow.public.schema.records import column_codes as column_codes
from hedgerow.public.schema.records import decode as decode
from hedgerow.public.schema.records import impossible as impossible
from hedgerow.public.schema.records import violations as violations
from hedgerow.public.schema.schema import Schema as Schema
from hedgerow.public.schema.structure import Condition as Condition
from hedgerow.public.schema.structure import Join as Join
from hedgerow.public.schema.structure import OrderRule as OrderRule
from hedgerow.public.schema.structure import Zero as Zero
