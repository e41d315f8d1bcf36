"""Figures: numbers in, inline SVG and whole pages out. It knows nothing of releases, tables or promises.

    bar_chart.py        lying bars and columns, with intervals, dots, or a second bar
    line_chart.py       a figure over time, or against a number on logarithmic axes
    interval_chart.py   estimates with ranges, authentic beside synthetic, groups of intervals
    scatter_plot.py     two numbers for each of many things
    heat_map.py         a table of fields
    svg.py              lines, texts, axes: what charts are made of
    sheet.py            several charts on one sheet: an SVG file, or a PNG with an extra library
    words.py            numbers as people read them
    page.py             one self-contained page: style, one small script by its hash, no network

Every figure is a function of its numbers, drawn with whole or one-decimal coordinates, so equal numbers give
equal bytes.  Hovering over a mark shows its numbers; whoever draws a figure puts a table behind it.
"""

from hedgerow.figures.bar_chart import Bar as Bar
from hedgerow.figures.bar_chart import bars as bars
from hedgerow.figures.bar_chart import columns as columns
from hedgerow.figures.heat_map import Shade as Shade
from hedgerow.figures.heat_map import heat as heat
from hedgerow.figures.interval_chart import Range as Range
from hedgerow.figures.interval_chart import Twin as Twin
from hedgerow.figures.interval_chart import estimates as estimates
from hedgerow.figures.interval_chart import faint as faint
from hedgerow.figures.interval_chart import interval_groups as interval_groups
from hedgerow.figures.interval_chart import twins as twins
from hedgerow.figures.line_chart import LinePoint as LinePoint
from hedgerow.figures.line_chart import Trace as Trace
from hedgerow.figures.line_chart import lines as lines
from hedgerow.figures.line_chart import log_lines as log_lines
from hedgerow.figures.scatter_plot import Dot as Dot
from hedgerow.figures.scatter_plot import log_scatter as log_scatter
from hedgerow.figures.scatter_plot import scatter as scatter
from hedgerow.figures.svg import WIDE as WIDE
from hedgerow.figures.svg import Drawing as Drawing
