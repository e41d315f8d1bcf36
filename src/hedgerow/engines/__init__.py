"""Engines: counters of tables that are not read into this process. Each gives the counts that files and frames give.

sql.py          coding and counting in SQL, the same for every database
duckdb.py       how DuckDB is spoken to
postgresql.py   how PostgreSQL is spoken to
spark.py        coding and counting on the workers of Spark, by the kernel of files
"""
