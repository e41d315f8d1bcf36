"""Trees: private columns for given public rows."""
