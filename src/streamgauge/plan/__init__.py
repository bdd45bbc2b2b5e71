"""Statements to plan: queries as values, the registry, sharing, EXPLAIN."""
