"""Figures: numbers in, inline SVG and whole pages out. It knows nothing of releases, tables or promises.

svg.py      lines, texts, axes
charts.py   curves with bands, counts against counts, heat tables, estimates with ranges
scatter.py  two numbers for each of many things
pairs.py    two bars for each label
lines.py    a figure over time, authentic solid and synthetic dashed
words.py    numbers as people read them
page.py     one self-contained page: style, one small script by its hash, no network

Every figure is a function of its numbers, drawn with whole or one-decimal coordinates, so equal numbers give
equal bytes.  Hovering over a mark shows its numbers; whoever draws a figure puts a table behind it.
"""
