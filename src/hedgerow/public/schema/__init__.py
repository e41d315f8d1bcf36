"""Schema: the public description of a table, from its file to the codes of its values and back."""

from hedgerow.public.schema.schema import Schema as Schema
