"""One page of what was measured: operation counts before ratios before costs before limits, and failures by name."""

from bench.__main__ import PARTS, page

ABOUT = {"date": "2026-11-16", "cores": 2, "processor": "x86_64", "python": "3.11", "load": 1.0}


def test_the_page_has_its_parts_in_order_and_says_what_is_missed_or_failed() -> None:
    count = {"pairs": [{"name": "memory read (GB/s)", "rate": 16.0, "ratio": 0.03, "goal": None},
                       {"name": "pandas crosstab", "rate": 14.0, "ratio": 150.0, "goal": 200}]}  # fmt: skip
    found = {"encodes": 1.0, "streamed count / kernel alone": 9.5}
    pieces = {
        "counter": {
            "found": {"rows": 10, "found": found, "bars": {"encodes": 1, "streamed count / kernel alone": 4}}
        },
        "count": {"found": count},
        "rows": {"found": [{"rows": 10_000, "cpu": 1.5, "mb": 200.0}]},
        "draw": {"command": "bench.draw 1 1", "failed": "MemoryError"},
    }
    text = page({"about": ABOUT, "pieces": pieces})
    places = [text.index(f"## {part}") for part in PARTS]
    assert places == sorted(places)
    assert "| encodes | 1.00 | at most 1: met |" in text
    assert "| streamed count / kernel alone | 9.50 | at most 4: **missed** |" in text
    assert "| pandas crosstab | 150.0 | at least 200: **missed** |" in text
    assert "| 10,000 | 1.5 | 200 |" in text and "`bench.draw 1 1`: MemoryError" in text
    assert text.index("memory read") > places[-1]


def test_spark_is_on_the_page_with_its_start_up_apart_or_with_why_it_is_left_out() -> None:
    """Where PySpark or Java is missing the page says so, and nothing has failed."""
    found = {"rows": 10, "start_up": 21.25, "left_out": "", "ratios": {"spark / local": (3.5, 10)}}
    text = page({"about": ABOUT, "pieces": {"spark": {"found": found}}})
    assert "local[2]" in text and "its start-up, 21.2 CPU-s, is apart" in text
    assert "| spark / local | 3.50 | at most 10: met |" in text
    text = page({"about": ABOUT, "pieces": {"spark": {"found": found | {"left_out": "See that there is Java 17."}}}})
    assert "was left out (`bench/engines.py`): See that there is Java 17." in text and "spark / local" not in text
