"""All that is measured about speed, piece by piece, in one run: JSON and one page.

    python -m bench [--out bench/results] [--only counter noise] [--full]

The page has operation counts first, which nothing else on the machine can move; then ratios to named alternatives,
best of times taken in turns in the same run; then what whole tasks cost against rows and columns; at last the limits
of the processor.  Every piece is a script of its own that can be run by itself.  ``--full`` attaches two million
rows, draws a million of 60 columns, and counts ten million in Spark.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Lines = Iterator[str]


@dataclass(frozen=True)
class Piece:
    """One script: where it stands on the page, what is run, what more in a full run, and how its JSON is shown."""

    part: str
    command: tuple[str, ...]
    show: Callable[[Any], Lines]
    full: tuple[str, ...] = ()


def _table(*rows: tuple[object, ...]) -> Lines:
    yield "| " + " | ".join(map(str, rows[0])) + " |"
    yield "|" + "---|" * len(rows[0])
    for row in rows[1:]:
        yield "| " + " | ".join(map(str, row)) + " |"


def _verdict(value: float, bar: float | None) -> str:
    return "" if bar is None else f"at most {bar:g}: {'met' if value <= bar else '**missed**'}"


def operations(found: Any) -> Lines:
    """Counts per recipe."""
    names = list(next(iter(found["found"].values())))
    yield f"A run of each recipe on {found['rows']:,} simulated rows, plan included. At most 1 each, requests apart."
    yield ""
    lines = [(recipe, *(f"{counts[n]:.3g}" for n in names)) for recipe, counts in found["found"].items()]
    yield from _table(("recipe", *names), *lines)


def counter(found: Any) -> Lines:
    """Ratios with bars."""
    yield f"The local counter on {found['rows']:,} rows of text and numbers (`bench/counter.py`)."
    yield ""
    bars = found["bars"]
    yield from _table(
        ("", "measured", "bar"),
        *((name, f"{value:.2f}", _verdict(value, bars.get(name))) for name, value in found["found"].items()),
    )


def rivals(found: Any) -> Lines:
    """Rates of others."""
    yield "All pairs of 25 columns, and of a Parquet file (`bench/count.py`): ours / theirs, per CPU second."
    yield ""
    kept = [
        line
        for part in found.values()
        for line in part
        if not line["name"].startswith(("first-cache", "memory read", "hedgerow"))
    ]
    goals = {line["name"]: line["goal"] for line in kept}
    yield from _table(
        ("against", "ours / theirs", "goal"),
        *(
            (
                line["name"].strip(),
                f"{line['ratio']:.1f}",
                ""
                if (goal := goals[line["name"]]) is None
                else f"at least {goal:g}: {'met' if line['ratio'] >= goal else '**missed**'}",
            )
            for line in kept
        ),
    )


def limits(found: Any) -> Lines:
    """The limits of the machine, from the same JSON as ``rivals``."""
    for line in found["pairs"]:
        if line["name"].startswith(("first-cache", "memory read")):
            yield f"- {line['name'].strip()}: {line['rate']:,.1f}; ours is {line['ratio']:.2f} of it."


def noise(found: Any) -> Lines:
    """Exact noise."""
    yield f"Exact noise, {found['draws']:,} draws (`bench/noise.py`)."
    yield ""
    yield from _table(
        ("law", "scale", "ns a draw", "times its random bytes", "times NumPy's floats", "OpenDP / ours"),
        *(
            (
                r["law"],
                f"{r['scale']:g}",
                f"{r['ns']:.1f}",
                f"{r['to_urandom']:.1f}",
                f"{r['to_numpy']:.2f}",
                f"{r['opendp_to_ours']:.0f}" if r["opendp_to_ours"] else "not installed",
            )
            for r in found["rows"]
        ),
    )


def engines(found: Any) -> Lines:
    """DuckDB against itself, or Spark against this process."""
    if found.get("left_out"):
        yield f"Counting in Spark was left out (`bench/engines.py`): {found['left_out']}"
        return
    where, apart = "DuckDB", ""
    if "start_up" in found:
        where, apart = "Spark (`local[2]`)", f"; its start-up, {found['start_up']:.1f} CPU-s, is apart"
    yield f"In {where}, {found['rows']:,} rows (`bench/engines.py`){apart}."
    yield ""
    yield from _table(
        ("", "measured", "bar"),
        *((name, f"{ratio:.2f}", _verdict(ratio, bar)) for name, (ratio, bar) in found["ratios"].items()),
    )


def draw(found: Any) -> Lines:
    """Memory of copies."""
    verdict = _verdict(found["ratio"], found["bar"])
    yield f"Peak memory of 5 copies / 1 copy at {found['rows']:,} x {found['columns']} (`bench/draw.py`): "
    yield (
        f"{found['ratio']:.2f}, {verdict}; "
        + ", ".join(f"{n} {r['mb']:,.0f} MB" for n, r in found["runs"].items())
        + "."
    )


def costs(found: Any) -> Lines:
    """CPU seconds and memory against rows, and columns and recipe where there are some."""
    lines = found if isinstance(found, list) else [found]
    names = [n for n in ("recipe", "rows", "columns") if n in lines[0]]
    ways = [w for w in ("", "prototype ") if f"{w}cpu" in lines[0]]
    yield from _table(
        (*names, *(f"{w}{unit}" for w in ways for unit in ("CPU s", "MB"))),
        *(
            (
                *(f"{x[n]:,}" if n != "recipe" else x[n] for n in names),
                *(figure for w in ways for figure in (f"{x[f'{w}cpu']:.1f}", f"{x[f'{w}mb']:,.0f}")),
            )
            for x in lines
        ),
    )


def _titled(title: str, show: Callable[[Any], Lines]) -> Callable[[Any], Lines]:
    def shown(found: Any) -> Lines:
        yield title
        yield ""
        yield from show(found)

    return shown


PARTS = ("Operation counts", "Ratios within one run", "Cost against rows and columns", "Limits of the machine")
_SIZES = "10000x15,100000x15,1000000x15,100000x30,100000x60,100000x120"
PIECES = {
    "operations": Piece(PARTS[0], ("bench.operations",), operations),
    "counter": Piece(PARTS[1], ("bench.counter",), counter),
    "count": Piece(PARTS[1], ("bench.count", "--quick"), rivals),
    "noise": Piece(PARTS[1], ("bench.noise", "--quick"), noise),
    "engines": Piece(PARTS[1], ("bench.engines", "--rows", "300000", "--repeat", "2"), engines),
    "spark": Piece(
        PARTS[1],
        ("bench.engines", "--rows", "1000000", "--repeat", "2", "--spark", "--no-sql"),
        engines,
        ("bench.engines", "--rows", "10000000", "--repeat", "2", "--spark", "--no-sql"),
    ),
    "draw": Piece(PARTS[1], ("bench.draw", "300000", "30"), draw, ("bench.draw", "1000000", "60")),
    "rows": Piece(
        PARTS[2],
        ("bench.rows", "--most", "100000000"),
        _titled("All pairs of 15 columns of a Parquet file (`bench/rows.py`); bar at 10^8 20 CPU-s, 4 GB:", costs),
    ),
    "scale": Piece(
        PARTS[2],
        ("bench.scale", "--sizes", _SIZES, "--recipes", "tree_blend", "public_blend"),
        _titled("Whole records, gate and drawing included (`bench/scale.py`):", costs),
    ),
    "guided": Piece(
        PARTS[2],
        ("bench.guided", "--rows", "200000"),
        _titled("Attached columns, 800 x 500 (`bench/guided.py`); at 2 million rows at most 40 CPU-s:", costs),
        ("bench.guided",),
    ),
}  # fmt: skip


def carry_out(name: str, piece: Piece, *, full: bool) -> dict[str, Any]:
    """One piece in a process of its own."""
    command, began = piece.full if full and piece.full else piece.command, time.monotonic()
    done = subprocess.run([sys.executable, "-m", *command, "--json"], capture_output=True, text=True, check=False)
    out: dict[str, Any] = {"command": " ".join(command), "wall_seconds": round(time.monotonic() - began, 1)}
    try:
        return out | {"found": json.loads(done.stdout)}
    except json.JSONDecodeError:
        return out | {"failed": (done.stderr.strip().splitlines() or ["it said nothing"])[-1]}


def page(results: dict[str, Any]) -> str:
    """What was found, in words and tables."""
    about = results["about"]
    lines = [
        "# How fast it is",
        "",
        f"Written by `make bench` on {about['date']}: {about['cores']} cores ({about['processor']}), Python"
        f" {about['python']}, load {about['load']:.1f}",
        "when it began. CPU seconds of all threads. Ratios are of times taken in turns within one run; operation",
        "counts do not depend on the machine. A bar that is missed under load says little: run it again.",
    ]
    for part in PARTS:
        lines += ["", f"## {part}"]
        for name, piece in PIECES.items():
            got = results["pieces"].get(name)
            if got is not None and piece.part == part:
                lines += [
                    "",
                    *(piece.show(got["found"]) if "found" in got else [f"`{got['command']}`: {got['failed']}"]),
                ]
        if part == PARTS[-1] and "found" in results["pieces"].get("count", {}):
            lines += ["", *limits(results["pieces"]["count"]["found"])]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Carry out the pieces, and write what they found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("bench/results"))
    parser.add_argument("--only", nargs="+", choices=tuple(PIECES), default=list(PIECES))
    parser.add_argument(
        "--full",
        action="store_true",
        help="two million attached rows, a million x 60 drawn, ten million counted in Spark: half an hour",
    )
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    about = {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
    }
    results: dict[str, Any] = {"about": about, "pieces": {}}
    for name in asked.only:
        results["pieces"][name] = carry_out(name, PIECES[name], full=asked.full)
        print(f"{name:12} {results['pieces'][name]['wall_seconds']:7.1f} s", flush=True)
        (asked.out / "bench.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        (asked.out / "bench.md").write_text(page(results), "utf-8")
    failed = [name for name, got in results["pieces"].items() if "failed" in got]
    print(
        f"{asked.out / 'bench.md'}, {asked.out / 'bench.json'}" + (f"; failed: {', '.join(failed)}" if failed else "")
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
