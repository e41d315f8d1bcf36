"""Figures: numbers in, inline SVG and whole pages out. It knows nothing of releases, tables or promises.

    charts.py   charts by label: bars, intervals, heat tables
    plots.py    plots against a number or time: lines, scatters
    svg.py      lines, texts, axes: what charts are made of
    sheet.py    several charts on one sheet: an SVG file, or a PNG with an extra library
    notebook.py a table that a value shows of itself
    words.py    numbers as people read them
    page.py     one self-contained page: style, one small script by its hash, no network

Every figure is a function of its numbers, drawn with whole or one-decimal coordinates, so equal numbers give
equal bytes.  Hovering over a mark shows its numbers; whoever draws a figure puts a table behind it.
"""

from hedgerow.figures.charts import Bar as Bar
from hedgerow.figures.charts import Range as Range
from hedgerow.figures.charts import Shade as Shade
from hedgerow.figures.charts import Twin as Twin
from hedgerow.figures.charts import bars as bars
from hedgerow.figures.charts import columns as columns
from hedgerow.figures.charts import estimates as estimates
from hedgerow.figures.charts import faint as faint
from hedgerow.figures.charts import heat as heat
from hedgerow.figures.charts import interval_groups as interval_groups
from hedgerow.figures.charts import twins as twins
from hedgerow.figures.plots import Dot as Dot
from hedgerow.figures.plots import LinePoint as LinePoint
from hedgerow.figures.plots import Trace as Trace
from hedgerow.figures.plots import lines as lines
from hedgerow.figures.plots import log_lines as log_lines
from hedgerow.figures.plots import log_scatter as log_scatter
from hedgerow.figures.plots import scatter as scatter
from hedgerow.figures.svg import WIDE as WIDE
from hedgerow.figures.svg import Drawing as Drawing
