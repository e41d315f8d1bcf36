"""Counting: exact counts of questions, wherever the rows are. Questions in, counts out, nothing else.

kernel.py   the compiled inner loops
plan.py     what to count; one batch of coded rows at a time, and the counts of batches add
fingerprint.py   a keyed hash of all records, whatever their order
stream.py   tables in memory and in files of any size, within a memory limit
sql.py      tables in a DuckDB database, without moving a row
"""

from hedgerow.counting.fingerprint import hash_rows
from hedgerow.counting.plan import UNIT, CountPlan
from hedgerow.counting.sql import count_sql
from hedgerow.counting.stream import count
