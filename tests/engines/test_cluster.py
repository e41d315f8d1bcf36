"""A real cluster on this machine: a master, two workers in processes of their own, and one of them killed."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

from hedgerow.model import base
from hedgerow.private import entropy
from tests.engines.on_cluster import SHARD
from tests.engines.test_bundles import RECIPES, TABLE, SimpleNamespace, made
from tests.engines.world import in_folder

PROJECT = Path(__file__).parents[2]
DEPLOY = "org.apache.spark.deploy"


def within(seconds: float, what: str, look: Callable[[], Any]) -> Any:
    """What ``look`` finds, as soon as it finds something."""
    end = monotonic() + seconds
    while not (found := look()):
        assert monotonic() < end, what
        sleep(0.1)
    return found


def reachable(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[int, Path]]]:
    """The address of the master, and the workers: the number of each process, and the folder it writes to."""
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed (pip install 'hedgerow[spark]')")
    if not shutil.which("java") or os.name == "nt":
        pytest.skip("a cluster needs Java (apt-get install openjdk-17-jre-headless) and POSIX")
    home, folder = Path(pyspark.__file__).parent, tmp_path_factory.mktemp("cluster")
    kept = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(folder)}
    kept["PYTHONPATH"] = os.pathsep.join([str(PROJECT), *sys.path])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with ExitStack() as stack:

        def start(kind: str, *given: str) -> int:
            line = [str(home / "bin/spark-class"), f"{DEPLOY}.{kind}", "--host", "127.0.0.1", "--webui-port", "0"]
            log = stack.enter_context((folder / f"log-{'-'.join(given[-2:]).replace('/', '_')}").open("wb"))
            run = subprocess.Popen([*line, *given], env=kept, stdout=log, stderr=log, start_new_session=True)
            stack.callback(run.wait)
            stack.callback(killed, run.pid)
            return run.pid

        start("master.Master", "--port", str(port))
        within(120, "the master does not run", lambda: reachable(port))
        master = f"spark://127.0.0.1:{port}"
        places = [folder / "one", folder / "two"]
        workers = [start("worker.Worker", "-c", "1", "-m", "1g", "-d", str(place), master) for place in places]
        yield master, dict(zip(workers, places, strict=True))


def killed(group: int) -> None:
    """End a process and all that it started in its group."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def worker_of(process: int, workers: dict[int, Path]) -> int:
    """Which worker a process belongs to: it is among those above it."""
    while process > 1 and process not in workers:
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    assert process in workers, "no worker of the cluster came to count"
    return process


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_worker_killed_in_the_middle_changes_no_byte_of_the_release(
    cluster: tuple[str, dict[int, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    master, workers = cluster
    table, marker, there = in_folder(TABLE, tmp_path / "table", 4), tmp_path / "marker", tmp_path / "there"
    there.mkdir()
    line = [sys.executable, "-m", "tests.engines.on_cluster", master, str(table), str(there), str(marker)]
    path = os.pathsep.join([str(PROJECT), *sys.path])
    env = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(tmp_path / "local"),
        "PYSPARK_SUBMIT_ARGS": "--conf spark.shuffle.io.retryWait=1s pyspark-shell",  # a lost worker's files
        "PYTHONPATH": path,
    }
    with subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as driver:
        try:
            at = within(300, "nobody came to count", lambda: marker.exists() and marker.read_text())
            assert len([*there.glob("release.run/answer-*.json")]) == 1, "one answer was given"
            killed(worker_of(int(at), workers))
            said = driver.communicate(timeout=300)[0]
        finally:
            driver.kill()
    assert driver.returncode == 0, said
    monkeypatch.setattr(base, "SHARD", SHARD)
    monkeypatch.setattr(entropy, "os", SimpleNamespace(urandom=np.random.default_rng(11).bytes))
    (tmp_path / "here").mkdir()
    here = made(TABLE, "", tmp_path / "here", RECIPES[0])
    assert len(here["records.parquet"]) and base.shards_of(len(TABLE)) > 3, "records are drawn in shards"
    assert {name: (there / "release" / name).read_bytes() for name in here} == here
