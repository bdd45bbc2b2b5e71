"""Distinct: how many different items there are, and sets of them combined."""
