"""Recipes: named ways to spend a budget. One recipe, one file, one docs page."""
