"""A driver of a Spark cluster: one job with the noise on tape, its records in small shards.

    python -m tests.engines.on_cluster MASTER TABLE FOLDER MARKER

A process of a worker hangs in the second count of the run, when codes are kept on both workers and the first answer
has been given, and has left its number in MARKER.
"""

import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from hedgerow.engines import spark
from hedgerow.model import base
from hedgerow.private import entropy
from hedgerow.public import spark_session
from tests.engines.failing import HangsOnce
from tests.engines.test_bundles import RECIPES, made

SHARD = 200
SECOND = 5
"""Which work given to workers is the second count: a fingerprint, codes, a cap and a count are before."""


def main(master: str, table: str, folder: str, marker: str) -> None:
    """Make the release, in FOLDER/release."""
    quiet, works = spark._quiet, count(1)
    spark._quiet = lambda work: HangsOnce(Path(marker), quiet(work)) if next(works) == SECOND else quiet(work)
    entropy.os = SimpleNamespace(urandom=np.random.default_rng(11).bytes)  # type: ignore[assignment]
    base.SHARD = SHARD
    spark_session(master).conf.set("spark.sql.shuffle.partitions", "3")
    made(Path(table), "spark", Path(folder), RECIPES[0], master=master)


if __name__ == "__main__":
    main(*sys.argv[1:])
