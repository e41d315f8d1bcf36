"""Uses: what the release must get right, as figures of a table, errors and tolerances."""
