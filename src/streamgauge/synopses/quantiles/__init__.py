"""Quantiles: summaries of the order of numbers, with a bar in rank or in value."""
