"""Lab: simulations, printed rules and baselines for figures; no part of the package."""
