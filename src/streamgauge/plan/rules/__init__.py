"""Rules that rewrite plans, one law in each file; every law holds at every instant."""
