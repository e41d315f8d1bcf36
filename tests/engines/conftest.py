"""Real engines: one Spark session and one PostgreSQL server for all tests of this folder."""

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.postgres import new_database, running_server


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session of ``local[2]`` in which a task that fails is begun again once."""
    pytest.importorskip("pyspark", reason="pyspark is not installed (pip install 'hedgerow[spark]')")
    if not shutil.which("java"):
        pytest.skip("Spark needs Java, and there is none (apt-get install openjdk-17-jre-headless)")
    from hedgerow.public import spark_session

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # workers import what tests hand them
    os.environ["JDK_JAVA_OPTIONS"] = (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # compile little: it lives for minutes
    )
    made = spark_session("local[2,2]")
    made.conf.set("spark.sql.shuffle.partitions", "4")
    yield made
    made.stop()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with running_server() as url:
        yield url


@pytest.fixture(scope="session")
def database(server: str) -> str:
    return new_database(server)
