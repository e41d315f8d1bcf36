"""Shards of records drawn on the executors of Spark, from noisy answers and public tables: no confidential row.

The model goes to the executors; a task is one shard with its part and its generator, and gives what it would give
here, whichever executor carries it out and however often it was begun.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from hedgerow.errors import HedgerowError, JobError
from hedgerow.public import spark_remarks_off

_KEPT = "The noisy answers are kept: go on at no cost with --resume (in Python: job.run(..., resume=True))."


def on_executors(spark: Any) -> Any:
    """A ``map`` whose work is done by the executors of a session: all values at once, results in order."""

    def spread(work: Any, tasks: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        packed = pa.array([_packed(task) for task in tasks], pa.binary())
        sent = pa.table({"task": pa.array(range(len(packed)), pa.int32()), "packed": packed})
        try:
            with spark_remarks_off():
                frame = spark.createDataFrame(sent)
                done = frame.mapInArrow(lambda batches: _done(work, batches), "task int, packed binary").collect()
        except Exception:  # of many kinds, and with long texts of Spark's
            done = None
        if done is None:
            raise JobError(
                "Spark's workers could not draw the records: they were lost, or have too little memory. See that\n"
                f"they run. {_KEPT}"
            )
        for _, result in sorted(done):
            good, found = _unpacked(result)
            if not good:
                raise found
            yield found

    return spread


def _done(work: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """The result of every task, or the error that ended it; there is nothing in it that is not public."""
    import pyarrow as pa

    for row in (row for batch in batches for row in batch.to_pylist()):
        try:
            result = True, work(_unpacked(row["packed"]))
        except HedgerowError as told:
            result = False, told
        except Exception as wrong:
            said = f"A worker of Spark could not draw its records: {type(wrong).__name__}: {wrong}."
            result = False, JobError(f"{said}\nMend that on every worker. {_KEPT}")
        done = {"task": pa.array([row["task"]], pa.int32()), "packed": pa.array([_packed(result)], pa.binary())}
        yield pa.RecordBatch.from_pydict(done)


def _packed(value: Any) -> bytes:
    import pyarrow as pa
    from pyspark.cloudpickle import dumps

    plain = dumps(value)
    return len(plain).to_bytes(8, "big") + bytes(pa.compress(plain, "zstd", asbytes=True))


def _unpacked(packed: bytes) -> Any:
    import pickle

    import pyarrow as pa

    return pickle.loads(pa.decompress(packed[8:], int.from_bytes(packed[:8], "big"), "zstd", asbytes=True))
