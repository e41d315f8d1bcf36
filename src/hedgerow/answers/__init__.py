"""Answers: what a recipe may ask, and who answers: the gate itself, a record of its answers, a public stand-in."""
