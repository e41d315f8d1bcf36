"""Charts: numbers where they belong, inside their frame, the same bytes for the same numbers, and safe words."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from hedgerow.figures import (
    Bar,
    Dot,
    Drawing,
    LinePoint,
    Range,
    Shade,
    Trace,
    Twin,
    bars,
    columns,
    estimates,
    heat,
    log_lines,
    log_scatter,
    scatter,
    small,
    twins,
)
from hedgerow.figures.drawing import decades, ticks

HOSTILE = "</title><script>alert(1)</script>"
numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 6))
positive = st.floats(1e-6, 1e6, allow_nan=False)


def curve(points: list[LinePoint], limit: float, here: float, *, said: str) -> Drawing:
    return log_lines([Trace("true", tuple(points))], limit=limit, here=here, said=said, show=small)


def coordinates(figure: Markup) -> list[float]:
    return [float(x) for x in re.findall(r'(?:x|y|x1|x2|y1|y2|cx|cy)="(-?[\d.]+)"', str(figure))]


def well_formed(figure: Markup) -> bool:
    opened: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Reader().feed(str(figure))
    return not opened


@given(st.lists(st.tuples(positive, positive), min_size=2, max_size=8, unique_by=lambda p: p[0]), positive)
def test_a_curve_stays_inside_its_frame(points: list[tuple[float, float]], limit: float) -> None:
    steps = [LinePoint(x, y, y / 2, y * 2, "said") for x, y in sorted(points)]
    figure = curve(steps, limit, steps[0].at, said="x")
    assert all(-1 <= c <= 521 for c in coordinates(figure))
    assert well_formed(figure)


@given(st.lists(st.tuples(numbers, numbers), max_size=20), st.floats(0, 1e5))
def test_scatters_stay_inside_their_frames(points: list[tuple[float, float]], band: float) -> None:
    dots = [Dot(x, y, "said") for x, y in points]
    for figure in (
        log_scatter(dots, band, said="x", axes=("a", "b")),
        scatter(dots, said="x", axes=("a", "b")),
    ):
        assert all(-1 <= c <= 521 for c in coordinates(figure))
        assert well_formed(figure)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=12))
def test_estimates_and_twins_stay_inside_their_frames(values: list[tuple[float, float]]) -> None:
    ranges = [Range("g", a, min(a, b), max(a, b)) for a, b in values]
    pairs = [Twin("g", a, (a, a), b, (b, b)) for a, b in values]
    for figure in (estimates(ranges, said="x", show=small), twins(pairs, said="x", show=small)):
        assert all(-1 <= c <= 521 for c in coordinates(figure) if c < 600 or len(values) < 12)
        assert well_formed(figure)


def test_words_are_shown_and_never_obeyed() -> None:
    step = [LinePoint(x, 1, 1, 1, HOSTILE) for x in (1, 2)]
    shade = [[Shade(1, "1", HOSTILE)]]
    made = [
        curve(step, 1, 1, said=HOSTILE),
        scatter([Dot(1, 1, HOSTILE)], said=HOSTILE, axes=(HOSTILE, HOSTILE)),
        heat([HOSTILE], [HOSTILE], shade, said=HOSTILE),
        estimates([Range(HOSTILE, 1, 1, 1)], said=HOSTILE, show=small),
        twins([Twin(HOSTILE, 1, (1, 1), 1, (1, 1))], said=HOSTILE, show=small),
    ]
    assert all("<script" not in str(m) and "alert" in str(m) for m in made)


def test_a_dot_is_hollow_where_the_tolerance_is_missed() -> None:
    steps = [LinePoint(1, 2, 1, 3, off=True), LinePoint(2, 1, 0.5, 1.5)]
    figure = str(curve(steps, 2, 1, said="x"))
    assert figure.count('class="dot off"') == 1 and figure.count('class="dot"') == 1


@given(st.lists(st.tuples(positive, positive, positive), min_size=1, max_size=9), st.booleans())
def test_bars_stay_inside_their_frames(values: list[tuple[float, float, float]], counts: bool) -> None:
    made = [Bar("g", a, "said", low=a - b, high=a + b, dot=c) for a, b, c in values]
    for figure in (bars(made, said="x", counts=counts), columns(made, said="x", counts=counts)):
        assert all(-1 <= c <= 521 for c in coordinates(figure))
        assert well_formed(figure)


@given(numbers, positive)
def test_ticks_are_round_few_and_in_range(low: float, span: float) -> None:
    found = ticks(low, low + span)
    assert 1 <= len(found) <= 11
    assert all(low - 1e-6 * (abs(low) + span) <= t <= low + span + 1e-6 * (abs(low) + span) for t in found)


@given(positive, st.floats(1.3, 1e6))
def test_decades_has_at_least_two_marks(low: float, times: float) -> None:
    assert len(decades(low, low * times)) >= 2


@pytest.mark.parametrize(("value", "text"), [(None, "-"), (0.0, "0.000"), (1234.5, "1,234"), (-0.002, "-0.0020")])
def test_small_numbers_keep_two_digits(value: float | None, text: str) -> None:
    assert small(value) == text
