"""Write the tables of this example beside it, from the survey that comes with the package statsmodels.

Fair, Ray. 1978. "A Theory of Extramarital Affairs", Journal of Political Economy; 6,366 women, Redbook 1974.
"""

import importlib.util
from pathlib import Path

import polars as pl

here = Path(__file__).parent
package = importlib.util.find_spec("statsmodels")
if package is None or not package.submodule_search_locations:
    raise SystemExit("This example takes its survey from statsmodels. Type: pip install statsmodels")
survey = pl.read_csv(Path(package.submodule_search_locations[0]) / "datasets" / "fair" / "fair.csv")
survey = survey.with_columns(affair=pl.when(pl.col("affairs") > 0).then(pl.lit("yes")).otherwise(pl.lit("no")))
survey = survey.drop("affairs").cast({"religious": pl.Int64, "occupation": pl.Int64, "occupation_husb": pl.Int64})
half = pl.int_range(pl.len()) % 2 == 0
survey.filter(half).write_csv(here / "public.csv")  # stands for an earlier wave that is out already
survey.filter(~half).write_csv(here / "confidential.csv")
survey.filter(~half).drop("affair", "religious").write_csv(here / "target.csv")
