"""Samples: rows that stand for all rows, with the chance each had to be kept."""
