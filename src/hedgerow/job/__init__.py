"""Job: what to publish, from what, under which promise, for which uses; as values, and as a TOML file."""

from hedgerow.job.values import JobValues
