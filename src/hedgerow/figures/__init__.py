"""Figures: numbers in, inline SVG and whole pages out. It knows nothing of releases, tables or promises.

    charts.py   charts by label: bars, intervals, heat tables
    plots.py    plots against a number or time: lines, scatters
    drawing.py  lines, texts, axes: what charts are made of; several charts on one sheet, an SVG or PNG file
    words.py    numbers as people read them
    page.py     one self-contained page: style, one small script by its hash, no network; a table in a notebook

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
from hedgerow.figures.drawing import WIDE as WIDE
from hedgerow.figures.drawing import Drawing as Drawing
from hedgerow.figures.drawing import Key as Key
from hedgerow.figures.drawing import Section as Section
from hedgerow.figures.drawing import check_sheet as check_sheet
from hedgerow.figures.drawing import number as number
from hedgerow.figures.drawing import roomy as roomy
from hedgerow.figures.drawing import series as series
from hedgerow.figures.drawing import sheet as sheet
from hedgerow.figures.drawing import svg as svg
from hedgerow.figures.drawing import text as text
from hedgerow.figures.drawing import write_sheet as write_sheet
from hedgerow.figures.page import render as render
from hedgerow.figures.page import table_html as table_html
from hedgerow.figures.plots import Dot as Dot
from hedgerow.figures.plots import LinePoint as LinePoint
from hedgerow.figures.plots import Trace as Trace
from hedgerow.figures.plots import lines as lines
from hedgerow.figures.plots import log_lines as log_lines
from hedgerow.figures.plots import log_scatter as log_scatter
from hedgerow.figures.plots import scatter as scatter
from hedgerow.figures.words import aligned as aligned
from hedgerow.figures.words import beside as beside
from hedgerow.figures.words import many as many
from hedgerow.figures.words import percent as percent
from hedgerow.figures.words import shown as shown
from hedgerow.figures.words import small as small
from hedgerow.figures.words import value_in_words as value_in_words
