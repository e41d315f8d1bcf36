"""Reproduce: each paper that Hedgerow grew out of on one page, its figures and tables in their own form.

    paper.py       what a page is made of: exhibits, our number beside the paper's, deviations, commands; the page
    ce.py          the Dirichlet-multinomial lecture on its own table
    rdt_2018.py    random decision trees: intervals, panels, logistic coefficients
    rdt_2019.py    the factorial study of their settings
    dpsyn.py       the temporal map: areas x years, three regimes
    shapes.py      borders of areas, from a GeoJSON file of the reader's own
    jobs/          the job files behind the pages; ``examples/`` has the same, to change

Tables are simulated or shipped, so what is exact here is nobody's secret.  A page runs the public verbs (``Job``,
``experiment``, ``interval``), the same that its commands call.
"""

from hedgerow.reproduce.paper import PAPERS, reproduce
