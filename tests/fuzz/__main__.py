"""Run cases: each in a worker process that is given so many seconds, so that a hang or a crash is a finding too."""

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any

LIMIT = 60.0
"""Seconds of CPU that a case may take (one or two are usual), and a tenth of what it may take by the clock."""
_MEMORY = 12 << 30


class Worker:
    """A process that runs cases one after another."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._process = self._start()

    def _start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz", "--work", str(self._home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "XDG_CONFIG_HOME": str(self._home), "HEDGEROW_LEDGER": ""},  # no office's ledger
        )

    def run(self, seed: int, limit: float = LIMIT) -> dict[str, Any]:
        """What a case found; a hang and a crash are findings."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(f"{seed}\n")
        self._process.stdin.flush()
        begun, used, ready = monotonic(), self._cpu(), list[Any]()
        while not ready and self._cpu() - used < limit and monotonic() - begun < 10 * limit:
            ready, _, _ = select.select([self._process.stdout], [], [], 1)
        line = self._process.stdout.readline() if ready else ""
        if line:
            found: dict[str, Any] = json.loads(line)
            return found
        self._process.kill()
        code = self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._process = self._start()
        what = f"the process died ({code})" if ready else f"no end after {limit:.0f} s of CPU or ten times that"
        return {"seed": seed, "kind": "?", "commands": [], "codes": [], "wrong": [what], "said": ""}

    def _cpu(self) -> float:
        """Seconds of CPU that the process has used."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """No more cases."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(300)
        self._process.stdout.close()


def run_cases(seeds: range | list[int], *, show: bool = False, limit: float = LIMIT) -> list[dict[str, Any]]:
    """The cases with something wrong; every one is written out with the seed that repeats it."""
    found, kinds, codes = [], Counter[str](), Counter[int]()
    with tempfile.TemporaryDirectory() as home:
        worker = Worker(Path(home))
        for i, seed in enumerate(seeds, 1):
            case = worker.run(seed, limit)
            kinds[case["kind"].split(" ")[0]] += 1
            codes.update(case["codes"])
            if case["wrong"]:
                found.append(case)
            if case["wrong"] or show:
                sys.stdout.write(
                    f"seed {seed}: {case['kind']}: {case['commands']} {case['codes']}: {case['wrong']}\n"
                )
            if show:
                sys.stdout.write(case["said"] + "\n")
            if i % 100 == 0:
                sys.stdout.write(f"{i} cases, {len(found)} with something wrong\n")
            sys.stdout.flush()
        worker.close()
    sys.stdout.write(f"{sum(kinds.values())} cases: {dict(kinds)}; exit codes {dict(sorted(codes.items()))}\n")
    return found


def work(home: Path) -> None:
    """Run the cases whose seeds come on stdin."""
    import resource

    from tests.fuzz.cases import Found, run_case

    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    out = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        try:
            found = run_case(int(line), home)
        except Exception as wrong:  # noqa: BLE001  a fault of the harness is shown as one
            found = Found(int(line), "harness", wrong=[f"{type(wrong).__name__}: {wrong}"])
        out.write(json.dumps({**asdict(found), "said": found.said[-4000:]}) + "\n")
        out.flush()


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first case; the others follow")
    parser.add_argument("--only", type=int, help="one case again, with all that it says")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        work(asked.work)
        return 0
    one = asked.only is not None
    found = run_cases([asked.only] if one else range(asked.seed, asked.seed + asked.cases), show=one)
    sys.stdout.write(f"{len(found)} cases with something wrong\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
