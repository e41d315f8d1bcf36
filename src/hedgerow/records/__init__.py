"""Records: rows drawn from a model, decoded, and made to obey the schema's rules."""
