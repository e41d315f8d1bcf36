"""Studio: the whole road in a browser on the steward's own machine. The job file on disk is always the truth.

    server.py    which address shows what, and the loopback socket it is shown on
    guard.py     who may ask: the key in the address, the host and the origin; what a browser may do with an answer
    folder.py    the one folder that can be reached, and its TOML files, changed with their comments kept
    work.py      long work: commands in processes of their own, which outlive the page and the server
      worker.py  such a process
    page.py      what every screen shows besides its own
    tables.py, schema.py, uses.py, budget.py, run.py, result.py, books.py, experiments.py    the screens
      use_forms.py  a form for every kind of use, made from the kind itself

A screen reads what the command line reads and writes what an editor writes.  Whatever takes long, spends, or reads
confidential rows is a command in a process of its own; the server itself never opens a confidential row.
"""
