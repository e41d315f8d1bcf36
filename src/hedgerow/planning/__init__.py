"""Planning: what a budget buys, before anything is read."""
