"""Figures: numbers in, inline SVG and whole pages out. It knows nothing of releases, tables or promises.

    charts.py   charts by label: bars, intervals, heat tables
    plots.py    plots against a number or time: lines, scatters
    drawing.py  lines, texts, axes: what charts are made of; several charts on one sheet, an SVG or PNG file
    words.py    numbers as people read them
    page.py     one self-contained page: style, one small script by its hash, no network; a table in a notebook

Every figure is a function of its numbers, drawn with whole or one-decimal coordinates, so equal numbers give
equal bytes.  Hovering over a mark shows its numbers; whoever draws a figure puts a table behind it.
"""

from hedgerow.figures.charts import (
    Bar,
    Range,
    Shade,
    Twin,
    bars,
    columns,
    estimates,
    faint,
    heat,
    interval_groups,
    tiles,
    twins,
)
from hedgerow.figures.drawing import (
    WIDE,
    Axis,
    Drawing,
    Key,
    Section,
    abreast,
    check_sheet,
    escape,
    fitted,
    legend,
    line,
    number,
    roomy,
    series,
    sheet,
    svg,
    text,
    write_sheet,
)
from hedgerow.figures.page import render, script_hash, table_html, template_text
from hedgerow.figures.plots import Dot, LinePoint, Trace, lines, log_lines, log_scatter, scatter
from hedgerow.figures.words import (
    ABSURD,
    aligned,
    beside,
    many,
    one_line,
    percent,
    printable,
    shown,
    small,
    value_in_words,
)
