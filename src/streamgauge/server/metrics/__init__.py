"""Metrics: a file for each group of them, and the table that everything else is derived from."""
