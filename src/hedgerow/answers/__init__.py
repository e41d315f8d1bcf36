"""Answers: what a recipe may ask, and who answers.

protocol.py        what a recipe may ask: of the gate, or of one of these in its place
recorded.py        answers on record, then the gate's, kept as they come: runs, resumed runs, later samples
stand_in_gate.py   a public table in the confidential one's place: rehearsals, experiments, plans, attacks
"""
