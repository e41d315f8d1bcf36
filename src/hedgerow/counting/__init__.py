"""Counting: exact counts of questions, wherever the rows are. Questions in, counts out, nothing else.

kernel.py   the compiled inner loops
plan.py     what to count; one batch of coded rows at a time, and the counts of batches add
order.py    which of a person's rows come first, by a declared column
fingerprint.py   a keyed hash of all records, whatever their order
encode.py   codes of whole columns, each distinct value coded once
parts.py    coded rows as they are kept from request to request
"""

from hedgerow.counting.encode import Lookup
from hedgerow.counting.encode import encode as coded
from hedgerow.counting.fingerprint import hash_rows, sealed
from hedgerow.counting.order import ALL, keys, must_be_public, ranks, ties
from hedgerow.counting.parts import TIMES, digits
from hedgerow.counting.plan import UNIT, CountPlan, axes_of
