"""Stand-in: a job carried out with a public table in the confidential one's place, at no cost."""
