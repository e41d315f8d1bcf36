"""Model check: does a coefficient of the synthetic file hold in the confidential table? One noisy answer."""
