"""Release: what leaves the building, and the check that it holds."""
