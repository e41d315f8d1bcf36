"""Command line: read files, call the pipeline, print. No decisions are made here."""
