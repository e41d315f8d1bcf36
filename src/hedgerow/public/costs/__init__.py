"""Costs: what may be asked, what a promise is, and what every request costs under it. Public numbers only."""
