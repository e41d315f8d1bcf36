"""A driver of a Spark cluster: one job with the noise on tape, its records in small shards.

    python -m tests.engines.on_cluster MASTER TABLE FOLDER MARKER

The first process of a worker that comes to count hangs there, and has left its number in MARKER.
"""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from hedgerow.engines import spark
from hedgerow.model import base
from hedgerow.private import entropy
from tests.engines.failing import HangsOnce
from tests.engines.test_bundles import RECIPES, made

SHARD = 200


def main(master: str, table: str, folder: str, marker: str) -> None:
    """Make the release, in FOLDER/release."""
    quiet = spark._quiet
    spark._quiet = lambda work: HangsOnce(Path(marker), quiet(work))
    entropy.os = SimpleNamespace(urandom=np.random.default_rng(11).bytes)  # type: ignore[assignment]
    base.SHARD = SHARD
    spark.session(master).conf.set("spark.sql.shuffle.partitions", "3")
    made(Path(table), "spark", Path(folder), RECIPES[0], master=master)


if __name__ == "__main__":
    main(*sys.argv[1:])
