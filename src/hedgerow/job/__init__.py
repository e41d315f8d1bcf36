"""Job: what to publish, from what, under which promise, for which uses; as values, and as a TOML file."""

from hedgerow.job.apart import must_differ, tables_apart
from hedgerow.job.file import known_keys, name_of_recipe, published_text, read_published, values_of
from hedgerow.job.places import Engine
from hedgerow.job.recipe import ForeignRecipe, name_of
from hedgerow.job.remarks import job_remarks
from hedgerow.job.tables import Public, Target
from hedgerow.job.values import JobValues, facts_for, only_rows
